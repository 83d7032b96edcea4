// The indexer of DeepSeek's sparse attention: with small index keys each token chooses those that it attends to; all
// others are masked.
//
// Source: src/models/deepseek32.cpp, src/llama-graph.cpp (build_attn with llm_graph_input_attn_k_dsa) of v0.5.0.
#include <algorithm>

#include "engines/llama_cpp/graph_builder.h"

namespace kvplan {

// Its keys are always rotated by a Hadamard matrix, and its mask is made for the fused kernel only.
void GraphBuilder::make_index_inputs(std::uint64_t width) {
  const std::uint64_t streams = question_.context.streams;
  index_.count = full_.count;
  index_.k_ids = graph_.input(kElementI64, {tokens(), 1, 1, 1});
  index_.mask = graph_.input(kElementF16, {index_.count, tokens() / streams, 1, streams});
  index_.k_turn = graph_.input(kElementF32, {width, width, 1, 1});
}

// The chosen keys, from the layer's input and the low-rank query: {chosen, tokens of a stream, 1, streams}.
TensorId GraphBuilder::chosen_keys(TensorId x, TensorId low_rank) {
  const std::uint64_t width = need("indexer.attn_k").ne[1], streams = question_.context.streams;
  TensorId key = norm(graph_.matrix(weight("indexer.attn_k"), x), "indexer.k_norm");
  key = graph_.matrix(index_.k_turn, rope(graph_.reshape(key, {width, 1, tokens(), 1})));
  const TensorId kept = caches_[layer_].index_k;
  graph_.expand(graph_.write_rows(streams > 1 ? graph_.reshape(kept, {width, index_.count * streams, 1, 1}) : kept,
                                  graph_.reshape(key, {width, tokens(), 1, 1}), index_.k_ids));
  return best_keys(x, low_rank, kept, streams);
}

// The best of the cached keys.
TensorId GraphBuilder::best_keys(TensorId x, TensorId low_rank, TensorId kept, std::uint64_t streams) {
  const std::uint64_t width = graph_.at(kept).ne[0], heads = need("indexer.proj").ne[1], each = tokens() / streams;
  TensorId query = graph_.matrix(weight("indexer.attn_q_b"), low_rank);
  query = graph_.matrix(index_.k_turn, rope(graph_.reshape(query, {width, heads, tokens(), 1})));
  const Dims q = graph_.at(query).nb;
  query = graph_.view(query, {width, heads, each, streams}, {q[0], q[1], q[2], q[3] / streams});
  TensorId weights = graph_.matrix(weight("indexer.proj"), x);
  const Dims w = graph_.at(weights).nb;
  weights = graph_.unary(graph_.view(weights, {heads, each, 1, streams}, {w[0], w[1], w[2] / streams, w[3] / streams}));
  const GraphTensor stored = graph_.at(kept);
  const TensorId keys = graph_.view(kept, {width, 1, index_.count, streams},
                                    {stored.type.bytes, stored.nb[1], stored.nb[1], stored.nb[2]});
  const TensorId scores =
      graph_.make(Op::kOther, kElementF32, {index_.count, each, 1, streams}, {query, keys, weights, index_.mask});
  const std::uint64_t count = std::min(model_.graph.index_topk, index_.count);
  return graph_.cont(graph_.make(Op::kOther, kElementI32, {count, each, 1, streams}, {scores}));
}

// The mask with all keys masked except the chosen ones.
TensorId GraphBuilder::mask_of_chosen(TensorId mask, TensorId chosen) {
  const Dims ne = graph_.at(mask).ne, nb = graph_.at(mask).nb;
  const std::uint64_t streams = ne[3];
  const GraphTensor ids = graph_.at(chosen);
  TensorId all = graph_.unary(mask);
  all = graph_.view(all, {1, ne[0], ne[1], streams}, {nb[0], nb[0], nb[1], nb[2]});
  const TensorId shaped =
      graph_.view(chosen, {ids.ne[0], ids.ne[1], streams, 1}, {ids.nb[0], ids.nb[1], ids.nb[2], streams * ids.nb[3]});
  // Zeros that exist before the graph runs: one tensor in each layer.
  const ElementType type = compresses() ? graph_.at(mask).type : kElementF32;
  const TensorId zeros = graph_.unary(graph_.make(Op::kNone, type, {1, ids.ne[0], ids.ne[1], streams}, {}));
  const TensorId open = graph_.write_rows(all, zeros, shaped);
  return graph_.add(graph_.view(open, ne, nb), mask);
}

}  // namespace kvplan
