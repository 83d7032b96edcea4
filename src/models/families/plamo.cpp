// Preferred Networks' PLaMo. Source: the checkpoints' modeling_plamo*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// PLaMo: n_shared_head query heads share one head of keys and values.
static void read_plamo(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  const std::uint64_t shared = reader.text.count_or("n_shared_head", 8);
  if (shared == 0) fail("\"n_shared_head\" is 0", "correct the config");
  push_full(reader, heads_of_width(reader.text, num_heads, ceil_div(num_heads, shared)));
}

// PLaMo-2: the Mamba heads have the attention's width, and the convolution is over x only. Every mamba_step-th layer
// has attention: full if full_attention_idx lists it, otherwise within a window.
static void read_plamo2(Reader& reader) {
  const Fields& text = reader.text;
  Ssm ssm;
  ssm.d_state = text.count_or("mamba_d_state", 64);
  ssm.conv_kernel = text.count_or("mamba_d_conv", 4);
  ssm.num_heads = text.count_or("mamba_num_heads", 64);
  Heads heads;
  heads.num_heads = text.count("num_attention_heads");
  heads.num_kv_heads = text.count_or("num_key_value_heads", 4);
  heads.head_dim = heads.v_head_dim = text.count_or("hidden_size_per_head", 128);
  check_heads(heads);
  ssm.head_dim = heads.head_dim;
  ssm.d_inner = checked_mul(ssm.num_heads, ssm.head_dim, "the inner width of a Mamba layer");
  ssm.conv_over_groups = false;
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t step = text.count_or("mamba_step", 2);
  // If the key is absent the class's default is 2048. null means full attention in all layers.
  const Tokens window =
      text.contains("attention_window_size") || text.contains("sliding_window") ? read_window(text) : Tokens(2048);
  const bool mamba = text.flag("mamba_enabled", true);
  const std::vector<bool> full = listed_layers(text, "full_attention_idx", layers);
  for (std::uint64_t i = 0; i < layers; ++i) {
    // As in its code: short models have attention only in the last layer.
    const bool attends = !mamba || step == 0 || (layers <= step / 2 ? i == layers - 1 : i % step == step / 2);
    if (!attends)
      reader.add({{ssm}});
    else
      reader.add({{attention_mixer(reader, full[i] ? Label::kFull : Label::kSliding, heads, window)}});
  }
}

// Time step, B and C are computed from the convolved input, through a low rank.
static bool write_plamo2(Inventory& out, const Mixer& mixer) {
  const auto* ssm = std::get_if<Ssm>(&mixer);
  if (ssm == nullptr) return false;
  constexpr Component kMix = Component::kStateMixer;
  const std::uint64_t inner = ssm->d_inner;
  const std::uint64_t rank = std::max<std::uint64_t>(64, out.hidden / 16);
  const std::uint64_t low = checked_add(rank, times(2, ssm->d_state), "a projection");
  out.linear(kMix, "mamba.in_proj", times(2, inner), out.hidden, Split::kRows);
  out.conv(kMix, "mamba.conv1d", inner, ssm->conv_kernel, Split::kRows);
  out.linear(kMix, "mamba.bcdt_proj", low, inner, Split::kColumns);
  out.linear(kMix, "mamba.dt_proj", ssm->num_heads, rank, Split::kRows);
  out.plain(kMix, "mamba.decay", times(3, ssm->num_heads), Split::kRows);
  out.norms("mamba.norms", low);
  out.linear(kMix, "mamba.out_proj", out.hidden, inner, Split::kColumns);
  return true;
}

// clang-format off
std::span<const Family> plamo_family() {
  static constexpr Family kRows[] = {
    {.is = {"plamo3", kExecutedClass, Arch::kPlamo3}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead,
     .norms = 4, .ties_by_default = true}, .pattern = full_every(8)},
    {.is = {"plamo"}, .layers = read_plamo, .rule = "plamo", .tensors = {.norms = 1}},
    {.is = {"plamo2", kPublishedTotal, Arch::kPlamo2, {.overflows_float16 = true}}, .layers = read_plamo2,
     .rule = "plamo2", .tensors = {.qk_norm = QkNorm::kEveryHead, .norms = 4, .ties_by_default = true},
     .mixer = write_plamo2},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
