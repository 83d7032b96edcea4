// Attention over a latent (MLA), with the absorbed matrices or with expanded keys and values.
//
// Source: src/models/deepseek2.cpp, src/llama-graph.cpp (build_attn with llm_graph_input_attn_k) of v0.5.0.
#include "engines/llama_cpp/graph_builder.h"

namespace kvplan {

// The queries, and the latent with its rotary part, before rotation.
TensorId GraphBuilder::latent_attention(TensorId x) {
  const KvCache& cache = caches_[layer_];
  const std::uint64_t rank = need("attn_kv_a_norm").ne[0], rope_width = need("attn_kv_a_mqa").ne[1] - rank;
  const bool absorbs = has("attn_k_b");
  TensorId q = kNoTensor;
  if (has("attn_q_a")) {
    const TensorId low_rank = norm(graph_.matrix(weight("attn_q_a"), x), "attn_q_a_norm");
    q = graph_.matrix(weight("attn_q_b"), low_rank);
  } else {
    q = graph_.matrix(weight("attn_q"), x);
  }
  const std::uint64_t heads = model_.num_heads;
  const std::uint64_t head = graph_.at(q).ne[0] / heads;
  const std::uint64_t nope = head - rope_width;
  q = graph_.reshape(q, {head, heads, tokens(), 1});
  const TensorId packed = graph_.matrix(weight("attn_kv_a_mqa"), x);
  const std::uint64_t row = graph_.at(packed).nb[1];
  TensorId latent = graph_.view(packed, {rank, tokens(), 1, 1}, {4, row, row * tokens(), row * tokens()});
  TensorId k_rope = graph_.view(packed, {rope_width, 1, tokens(), 1}, {4, row, row, row * tokens()});
  if (rotates()) k_rope = rope(k_rope);
  latent = norm(latent, "attn_kv_a_norm");
  const Dims strides = graph_.at(q).nb;
  if (absorbs) {
    const TensorId q_nope = graph_.view(q, {nope, heads, tokens(), 1}, strides);
    TensorId q_rope = graph_.view(q, {rope_width, heads, tokens(), 1}, strides);
    if (rotates()) q_rope = rope(q_rope);
    const TensorId key_matrix = weight_as("attn_k_b", {nope, rank, heads, 1});
    const TensorId absorbed =
        graph_.permute(graph_.matrix(key_matrix, graph_.permute(q_nope, {0, 2, 1, 3})), {0, 2, 1, 3});
    Heads made;
    made.q = graph_.concat(absorbed, q_rope, 0);
    const TensorId value = graph_.reshape(latent, {rank, 1, tokens(), 1});
    made.k = graph_.concat(value, k_rope, 0);
    made.v = value;
    if (model_.graph.scales_by_position) made.q = graph_.mul(made.q, position_scale());
    return linear_with_bias("attn_output", attend_latent(cache, made));
  }
  const TensorId expanded = graph_.matrix(weight("attn_kv_b"), latent);
  const std::uint64_t value_width = graph_.at(expanded).ne[0] / heads - nope;
  const std::uint64_t both = (nope + value_width) * 4;
  const TensorId k_nope =
      graph_.view(expanded, {nope, heads, tokens(), 1}, {4, both, both * heads, both * heads * tokens()});
  Heads made;
  made.v = graph_.cont(
      graph_.view(expanded, {value_width, heads, tokens(), 1}, {4, both, both * heads, both * heads * tokens()}));
  made.q = rotates() ? rope(q) : q;
  made.k = graph_.concat(k_nope, graph_.make(Op::kOther, kElementF32, {rope_width, heads, tokens(), 1}, {k_rope}), 0);
  if (model_.graph.scales_by_position) made.q = graph_.mul(made.q, position_scale());
  return linear_with_bias("attn_output", attend(cache, made, kNoTensor));
}

// There is one key head, whose first part is the value. The result is expanded afterwards.
TensorId GraphBuilder::attend_latent(const KvCache& cache, const Heads& heads) {
  graph_.expand(heads.q);
  graph_.expand(heads.v);
  graph_.expand(heads.k);
  store(cache, {heads.q, heads.k, kNoTensor});
  return attention_of(cache, heads.q, kNoTensor, cells_of(cache).mask);
}

}  // namespace kvplan
