// StepFun's Step. Source: vLLM models/step3*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Step-3.5 and 3.7: one in four layers is full. The sliding ones have more query heads for the same KV heads.
static void read_step3p5(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(reader.text);
  Heads sliding = full;
  if (const auto other = reader.text.child("attention_other_setting")) {
    reader.text.touch("attention_other_setting");
    sliding = read_heads(*other, {"num_attention_heads", "num_attention_groups", "head_dim", ""}, full);
  }
  const std::vector<Label> labels = layer_labels(reader.text, layers, full_first_of(4));
  push_attention(reader, labels, full, sliding);
}

// Step-5: full layers choose regions of eight tokens. Each region has one key of 8 bits per element. Source: vLLM
// models/step5.
static void read_step5(Reader& reader) {
  read_step3p5(reader);
  const auto sparse = reader.text.child("sparse_config");
  reader.text.touch("sparse_config");
  if (!sparse || !sparse->flag("enabled", true)) return;
  const std::uint64_t width = sparse->count_or("proxy_dim", 256);
  const std::uint64_t heads = sparse->count_or("sparse_indexer_num_heads", 16);
  const std::uint64_t region = sparse->count_or("region_block_size", 8);
  for (Layer& layer : reader.model.layers)
    if (const auto* full = std::get_if<FullAttention>(&layer.mixers.front()))
      layer.mixers.front() = SparseGqa{full->heads, width, heads, region, Storage::kFp8Scaled};
}

// Step-3: the queries of all heads come from one normalised vector of share_q_dim, and there is one head of keys and
// values. Source: vLLM models/step3_text.py.
static bool write_shared_query(Inventory& out, const Mixer& mixer) {
  const Heads* heads = heads_of(mixer);
  if (heads == nullptr) return false;
  const std::uint64_t shared = out.text.count_or("share_q_dim", heads->head_dim);
  const std::uint64_t queries = times(heads->num_heads, heads->head_dim);
  out.linear(Component::kAttention, "self_attn.q_proj", shared, out.hidden);
  out.linear(Component::kAttention, "self_attn.kv_proj", times(2, times(heads->num_kv_heads, heads->head_dim)),
             out.hidden);
  out.norms("self_attn.inter_norm", shared);
  out.linear(Component::kAttention, "self_attn.wq", queries, shared, Split::kRows, heads->num_heads);
  out.linear(Component::kAttention, "self_attn.o_proj", out.hidden, queries, Split::kColumns, heads->num_heads);
  return true;
}

// clang-format off
std::span<const Family> step_family() {
  static constexpr Family kRows[] = {
    {.is = {"step1", kExecutedClass}},
    {.is = {"step3p5 step3p7", kExecutedClass, Arch::kStep3p5}, .layers = read_step3p5, .rule = "step3p5",
     .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kHead, .dense_first = 3, .has_router_bias = true,
     .moe = "moe"}, .modules = "moe.shared_experts=share_expert moe.experts.*=moe | moe.shared_experts=share_expert"},
    {.is = {"step5 step5_text"}, .layers = read_step5, .rule = "step5", .tensors = {.may_have_more = true,
     .qk_norm = QkNorm::kHead, .gate = Gate::kHead, .has_router_bias = true, .moe = "moe"}},
    {.is = {"step3_text", kPublishedTotal}, .layers = read_step3p5, .rule = "step3p5", .tensors = {.qkv_bias = "",
     .o_bias = "", .dense_first = 1}, .mixer = write_shared_query},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
