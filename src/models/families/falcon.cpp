// TII's Falcon and Falcon-H1. Source: transformers modeling_falcon.py, modeling_falcon_h1.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Falcon-40B's first config ("RefinedWeb") has KV heads and no architecture; 7B's says "RefinedWebModel".
static bool is_first_40b(const Reader& reader) {
  return reader.model.model_type == "RefinedWeb" && reader.text.has("n_head_kv");
}

// Falcon: num_kv_heads only counts in the new decoder. In the old decoder, multi_query means one KV head.
static void read_falcon(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  const bool newer = reader.text.contains("new_decoder_architecture")
                         ? reader.text.flag("new_decoder_architecture", false)
                         : is_first_40b(reader);
  const bool multi_query = reader.text.flag("multi_query", true);
  const std::uint64_t named = reader.text.count_or("num_key_value_heads", num_heads);
  push_full(reader, heads_of_width(reader.text, num_heads, newer ? named : multi_query ? 1 : num_heads));
}

// Falcon-H1: attention and Mamba 2 in parallel in every layer. The inner width is mamba_d_ssm, or follows from
// mamba_expand if that is null.
static void read_falcon_h1(Reader& reader) {
  const Fields& text = reader.text;
  Ssm ssm = read_mamba2(text);
  if (const auto named = text.find_count("mamba_d_ssm"); named && *named > 0) {
    ssm.d_inner = *named;
  } else {
    const std::uint64_t hidden_size = text.count("hidden_size");
    ssm.d_inner = scaled_width(text.find_real("expand").value_or(2.0), hidden_size, "mamba_expand");
  }
  if (ssm.d_inner % ssm.num_heads != 0)
    fail("\"mamba_d_ssm\" is not a multiple of mamba_n_heads", "correct the config");
  ssm.head_dim = ssm.d_inner / ssm.num_heads;
  read_hybrid(reader, in_all_layers(Label::kHybrid), ssm);
}

static std::uint64_t falcon_norms(const Inventory& inventory, std::uint64_t) {
  const Fields& text = inventory.text;
  const bool first_40b = is_first_40b(inventory.reader);
  const bool newer = text.bare().find_bool("new_decoder_architecture").value_or(first_40b);
  const bool parallel = text.flag("parallel_attn", true);
  const auto named = text.find_count("num_ln_in_parallel_attn");
  return newer ? named.value_or(2) : parallel ? 1 : 2;
}

// clang-format off
std::span<const Family> falcon_family() {
  static constexpr Traits kFalcon{.biases = "bias", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false,
      .fuses_qkv = true, .mlp_ratio = 4, .stores_head = true};
  static constexpr Family kRows[] = {
    {.is = {"falcon", kExecutedClass, Arch::kOther, {.is_first_falcon = true}}, .layers = read_falcon, .rule = "falcon",
     .tensors = kFalcon, .norms = falcon_norms, .modules = kBloomModules},
    {.is = {"refinedweb refinedwebmodel", kExecutedClass}, .layers = read_falcon, .rule = "falcon", .tensors = kFalcon,
     .norms = falcon_norms, .modules = kBloomModules},
    {.is = {"falcon_h1", kExecutedClass, Arch::kFalconH1}, .layers = read_falcon_h1, .rule = "falcon_h1",
     .tensors = {.ssm_norm = "mamba_rms_norm", .ssm_out_bias = "projectors_bias", .has_mup_vector = true},
     .modules = kFeedForwardModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
