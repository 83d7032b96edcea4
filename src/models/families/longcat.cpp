// Meituan's LongCat-Flash: two latent attentions in a layer. Source: transformers modeling_longcat_flash.py; vLLM's
// NgramEmbedding.
#include "models/blocks/blocks.h"

namespace kvplan {

// LongCat-Flash: each layer has two latent attentions; num_layers counts the layers, num_hidden_layers the
// attentions.
static void read_longcat(Reader& reader) {
  const Latent latent = read_latent(reader.text);
  const std::uint64_t attentions = reader.text.contains("num_layers")
                                       ? checked_mul(reader.text.count("num_layers"), 2, "the attention layers")
                                       : reader.text.count("num_hidden_layers");
  for (const std::string_view key : {"num_hidden_layers", "mla_scale_q_lora", "mla_scale_kv_lora"})
    reader.text.touch(key);
  check_layers(attentions, "num_layers");
  reader.model.layers.assign(attentions, Layer{{Mla{latent}}});
}

// Two dense MLPs and one block of experts: only an MLP follows the second attention of a layer.
static void plan_longcat(const Inventory&, MlpPlan& plan) {
  plan.in_pairs = true;
}

constexpr std::string_view kLongcatFlashModules = "mlp.gate=mlp.router.classifier";

// clang-format off
std::span<const Family> longcat_family() {
  static constexpr Family kRows[] = {
    {.is = {"longcat_flash longcat_flash_ngram", kPublishedTotal, Arch::kLongcat}, .layers = read_longcat,
     .rule = "longcat", .tensors = {.mlp_width = "ffn_hidden_size", .expert_width = "expert_ffn_hidden_size",
     .has_router_bias = true}, .extras = write_ngrams, .mlps = plan_longcat, .modules = kLongcatFlashModules},
    {.is = {"longcat_next", kUnchecked, Arch::kLongcat}, .layers = read_longcat, .rule = "longcat",
     .tensors = {.may_have_more = true, .mlp_width = "ffn_hidden_size", .expert_width = "expert_ffn_hidden_size",
     .has_router_bias = true}, .extras = write_ngrams, .mlps = plan_longcat, .modules = kLongcatFlashModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
