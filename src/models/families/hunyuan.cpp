// Tencent's Hunyuan, Hy and Youtu. Source: transformers modeling_hunyuan*.py, modeling_hy_v*.py, modeling_youtu.py.
#include "models/blocks/blocks.h"

namespace kvplan {

static void write_hy_v4(Inventory& out) {
  write_hyper_connections(out, {.weighs = true});
  const std::uint64_t heads = out.text.count_or("num_attention_heads", 0);
  out.in_layers(all_layers(out));
  out.plain(Component::kAttention, "self_attn.sinks", heads, Split::kRows, heads).kept = Kept::kFloat32;
}

// Even with a single expert the class builds a whole sparse layer: a router, an expert and an MLP.
static void write_hunyuan_moe(Inventory& out) {
  if (out.text.class_name() != "hunyuan_v1_moe" || out.text.count_or("num_experts", 1) != 1) return;
  out.in_layers(all_layers(out));
  out.linear(Component::kRouter, "mlp.gate", 1, out.hidden);
  write_dense_mlp(out, Component::kSharedExperts, "mlp.shared_experts.", out.text.count_or("intermediate_size", 0),
                  out.hidden, true, false);
}

constexpr std::string_view kHunyuanModules = "mlp.gate=mlp.gate.wg mlp.shared_experts=mlp.shared_mlp";

// clang-format off
std::span<const Family> hunyuan_family() {
  static constexpr Family kRows[] = {
    {.is = {"hunyuan_vl_text"}, .tensors = {.qk_norm = QkNorm::kHead, .qk_norm_key = "use_qk_norm"}},
    {.is = {"hy_v3", kExecutedClass}, .tensors = {.qk_norm = QkNorm::kHead, .dense_first = 1, .has_router_bias = true,
     .has_float32_router = true}},
    {.is = {"hunyuan hunyuan_large hunyuan_moe", kExecutedClass}, .layers = read_cross_layer,
     .tensors = {.qk_norm = QkNorm::kHead, .qk_norm_key = "use_qk_norm"}, .modules = kHunyuanModules},
    // transformers' class always has these norms. Files for the checkpoint's own code say whether they have them.
    {.is = {"hunyuan_v1_dense hunyuan_v1_moe", kExecutedClass}, .layers = read_cross_layer,
     .tensors = {.qk_norm = QkNorm::kHead, .qk_norm_key = "+use_qk_norm"}, .extras = write_hunyuan_moe,
     .modules = kHunyuanModules},
    {.is = {"youtu youtu_llm", kExecutedClass}, .layers = read_mla, .tensors = {.ties_by_default = true}},
    {.is = {"hy_v4 hy_v4_vl_text", kExecutedClass, Arch::kHyV4}, .layers = read_sparse_mla, .tensors = {.gate = Gate::kWide,
     .dense_first = 1, .has_router_bias = true, .has_float32_router = true}, .extras = write_hy_v4,
     .modules = "mlp.gate_proj=mlp.linear_gate shared_experts.gate_proj=shared_experts.linear_gate "
     "self_attn.gate_proj=self_attn.linear_gate | ="},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
