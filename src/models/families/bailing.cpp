// Ant's Ling and Ring (Bailing), LLaDA. Source: the checkpoints' modeling_bailing*.py; vLLM models/bailing_*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Ling 3 has a gate of one number per head in addition to KDA; Ling 2.5's lightning attention has none.
static bool write_bailing_hybrid(Inventory& out, const Mixer& mixer) {
  const auto* mla = std::get_if<Mla>(&mixer);
  if (mla != nullptr && (out.text.has("linear_num_heads") || out.text.has("short_conv_kernel_size")))
    out.linear(Component::kAttention, "self_attn.g_proj", mla->latent.num_heads, out.hidden, Split::kRows,
               mla->latent.num_heads);
  return false;
}

constexpr std::string_view kBailingMoeModules =
    "self_attn.qkv_proj=attention.query_key_value "
    "self_attn.o_proj=attention.dense self_attn=attention embed_tokens=word_embeddings";

// clang-format off
std::span<const Family> bailing_family() {
  static constexpr Traits kBailing{.qkv_bias = "use_qkv_bias", .o_bias = "use_bias", .mlp_bias = "use_bias",
      .qk_norm = QkNorm::kHead, .qk_norm_key = "use_qk_norm", .fuses_qkv = true,
      .router_bias_key = "moe_router_enable_expert_bias", .has_full_rank_gates = true};
  static constexpr Family kRows[] = {
    {.is = {"bailing_moe bailing_moe_v2 llada2_moe", kPublishedTotal}, .tensors = kBailing,
     .modules = kBailingMoeModules},
    {.is = {"llada", kPublishedTotal}, .tensors = {.qkv_bias = "include_qkv_bias", .o_bias = "include_bias",
     .mlp_bias = "include_bias", .mlp_ratio = 4}},
    {.is = {"bailing_moe_linear", kExecutedClass, Arch::kBailingLinear}, .layers = read_lightning, .tensors = kBailing,
     .modules = kBailingMoeModules},
    {.is = {"bailing_moe_v2_linear", kExecutedClass}, .layers = read_lightning, .tensors = kBailing,
     .modules = kBailingMoeModules},
    {.is = {"bailing_hybrid bailing_moe_v3", kExecutedClass, Arch::kBailingHybrid}, .layers = read_lightning, .tensors = kBailing,
     .mixer = write_bailing_hybrid, .modules = kBailingMoeModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
