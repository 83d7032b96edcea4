// DeepSeek-V4: four residual streams (hyper connections), and attention to a window and to compressed keys. Blocks of
// four tokens overlap and an indexer chooses among them (CSA); blocks of 128 are all read (HCA).
//
// Source: src/models/deepseek4.cpp, src/llama-kv-cache-dsv4.cpp (dsv4_build_reserve_comp_plan), src/llama-graph.cpp
//   (build_inp_dsv4) of v0.5.0, unchanged in v0.6.0. The operations that CUDA fuses are fused.
#include <algorithm>

#include "engines/llama_cpp/graph_builder.h"
#include "kvplan/quantity.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kOverlapping = 4;  // tokens of a block that overlaps the previous one
constexpr std::string_view kCompressedCells = "cells of compressed keys";

}  // namespace

// Each sequence has its own streams, whatever --kv-unified says.
std::uint64_t GraphBuilder::own_streams() const {
  return std::max<std::uint64_t>(1, question_.context.num_seqs);
}

// Inputs for the most blocks that may end in a batch: one per sequence more than its tokens fill.
void GraphBuilder::make_compressor(Compressor& out, std::uint64_t ratio, std::uint64_t width) {
  const bool overlaps = ratio == kOverlapping, is_index = &out == &of_index_;
  const std::uint64_t streams = own_streams(), rows = (overlaps ? 2 : 1) * ratio * streams;
  out.ratio = ratio;
  out.blocks = tokens() / ratio + streams;
  out.cells.count = round_up(ceil_div(question_.context.n_ctx_seq, ratio), question_.context.pad, kCompressedCells);
  out.cells.mask = graph_.input(question_.flash_attention || is_index ? kElementF16 : kElementF32,
                                {out.cells.count, tokens() / streams, 1, streams});
  out.cells.k_ids = graph_.input(kElementI64, {out.blocks, 1, 1, 1});
  out.cells.k_turn = is_index ? graph_.input(kElementF32, {width, width, 1, 1}) : hadamard_matrix(width);
  out.positions = graph_.input(kElementI32, {tokens(), 1, 1, 1});
  out.block_positions = graph_.input(kElementI32, {out.blocks, 1, 1, 1});
  out.read_ids = graph_.input(kElementI32, {(overlaps ? 2 : 1) * ratio * out.blocks, 1, 1, 1});
  const std::uint64_t kept = std::min(tokens(), rows);
  out.kept_ids = graph_.input(kElementI32, {kept, 1, 1, 1});
  out.kept_slots = graph_.input(kElementI32, {kept, 1, 1, 1});
}

GraphBuilder::Compressed GraphBuilder::keep_compressed(const Compressor& compressor, std::uint64_t width) {
  const auto host = static_cast<int>(question_.placement.gpus);
  const int device = input_.request.llama_cpp.no_kv_offload ? host : device_of_layer();
  const std::uint64_t streams = own_streams(), halves = compressor.ratio == kOverlapping ? 2 : 1;
  const Dims state{halves * width, halves * compressor.ratio * streams, 1, 1};
  return {graph_.cache(element_type(input_.types.key), {width, compressor.cells.count, streams, 1}, device),
          graph_.cache(kElementF32, state, device), graph_.cache(kElementF32, state, device)};
}

bool GraphBuilder::read_compressed() {
  const std::uint64_t streams = own_streams();
  std::uint64_t window = 0;
  for (const LayerCache& cache : input_.caches)
    for (const Term& term : cache.compact)
      if (term.limit.kind == LimitKind::kWindow && term.role == Role::kKey) window = term.limit.tokens.count();
  window_.count = input_.request.llama_cpp.swa_full ? question_.context.n_ctx_seq
                                                    : llama_window_cells(question_.context, window, true);
  window_.k_ids = graph_.input(kElementI64, {tokens(), 1, 1, 1});
  window_.mask = graph_.input(question_.flash_attention ? kElementF16 : kElementF32,
                              {window_.count, tokens() / streams, 1, streams});
  caches_.resize(model_.num_layers);
  compressed_.resize(model_.num_layers);
  compressed_index_.resize(model_.num_layers);
  const auto host = static_cast<int>(question_.placement.gpus);
  for (layer_ = 0; layer_ < model_.num_layers; ++layer_) {
    const std::uint64_t width = need("attn_kv").ne[1];
    if (window_.k_turn == kNoTensor) window_.k_turn = hadamard_matrix(width);
    KvCache& cache = caches_[layer_];
    cache.heads = 1;
    cache.key = cache.value = width;
    const int device = input_.request.llama_cpp.no_kv_offload ? host : device_of_layer();
    cache.k = graph_.cache(element_type(input_.types.key), {width, window_.count, streams, 1}, device);
    if (!has("attn_compressor_ape")) continue;
    const std::uint64_t ratio = need("attn_compressor_ape").ne[1];
    Compressor& compressor = ratio == kOverlapping ? overlapping_ : distinct_;
    if (compressor.ratio == 0) make_compressor(compressor, ratio, width);
    if (compressor.ratio != ratio) return false;
    compressed_[layer_] = keep_compressed(compressor, width);
    if (!has("indexer.proj")) continue;
    const std::uint64_t index_width = need("indexer_compressor_norm").ne[0];
    if (of_index_.ratio == 0) make_compressor(of_index_, ratio, index_width);
    index_ = of_index_.cells;
    compressed_index_[layer_] = keep_compressed(of_index_, index_width);
  }
  layer_ = 0;
  return true;
}

// The values that the blocks of a batch are computed from: {tokens of a block, width, blocks}.
TensorId GraphBuilder::blocks_of(TensorId stored, TensorId fresh, const Compressor& compressor) {
  const Dims before = graph_.at(stored).ne, strides = graph_.at(stored).nb;
  const TensorId whole = graph_.view(stored, before, strides);
  TensorId all = graph_.concat(graph_.view(whole, before, strides), fresh, 1);
  TensorId rows = kNoTensor;
  if (compressor.ratio == kOverlapping) {
    // A row of zeros stands for the block before the first.
    TensorId none = graph_.unary(graph_.view(all, {before[0], 1, 1, 1}, strides));
    none = graph_.reshape(none, {before[0], 1, 1, 1});
    all = graph_.concat(all, none, 1);
    const TensorId read = graph_.rows(all, compressor.read_ids);
    const std::uint64_t width = before[0] / 2, count = compressor.ratio * compressor.blocks;
    const auto half = [&] {
      const TensorId part = graph_.cont(graph_.view(read, {width, count, 1, 1}, graph_.at(read).nb));
      return graph_.reshape(part, {width, compressor.ratio, compressor.blocks, 1});
    };
    const TensorId previous = half();
    rows = graph_.concat(previous, half(), 1);
  } else {
    const TensorId read = graph_.rows(all, compressor.read_ids);
    rows = graph_.reshape(read, {before[0], compressor.ratio, compressor.blocks, 1});
  }
  return graph_.cont(graph_.permute(rows, {1, 0, 2, 3}));
}

// Computes the keys of blocks that end in this batch, and stores what the next blocks need.
void GraphBuilder::compress(TensorId x, const Compressor& compressor, const Compressed& kept, const std::string& name) {
  const TensorId sums = graph_.matrix(weight(name + "_kv"), x);
  TensorId scores = graph_.matrix(weight(name + "_gate"), x);
  scores = graph_.add(scores, graph_.rows(weight(name + "_ape"), compressor.positions));
  const TensorId values = blocks_of(kept.sums, sums, compressor);
  const TensorId shares = graph_.unary(blocks_of(kept.scores, scores, compressor));
  TensorId key = graph_.sum_rows(graph_.mul(values, shares));
  key = norm(graph_.cont(graph_.permute(key, {1, 0, 2, 3})), name + "_norm");
  key = graph_.like(Op::kRope, key, compressor.block_positions);
  if (compressor.cells.k_turn != kNoTensor) key = turned(key, compressor.cells.k_turn);
  const Dims cells = graph_.at(kept.keys).ne;
  const TensorId rows = graph_.view(key, {cells[0], compressor.blocks, 1, 1}, graph_.at(key).nb);
  const TensorId target = cells[2] > 1 ? graph_.reshape(kept.keys, {cells[0], cells[1] * cells[2], 1, 1}) : kept.keys;
  graph_.expand(graph_.write_rows(target, rows, compressor.cells.k_ids));
  const auto keep = [&](TensorId stored, TensorId fresh) {
    const TensorId last = graph_.rows(fresh, compressor.kept_ids);
    const TensorId whole = graph_.view(stored, graph_.at(stored).ne, graph_.at(stored).nb);
    graph_.expand(graph_.write_rows(whole, last, compressor.kept_slots));
  };
  keep(kept.sums, sums);
  keep(kept.scores, scores);
}

TensorId GraphBuilder::compressed_attention(TensorId x) {
  const KvCache& cache = caches_[layer_];
  const std::uint64_t width = cache.key, streams = own_streams();
  const TensorId low_rank = norm(graph_.matrix(weight("attn_q_a"), x), "attn_q_a_norm");
  TensorId q = graph_.matrix(weight("attn_q_b"), low_rank);
  q = rope(graph_.unary(graph_.reshape(q, {width, graph_.at(q).ne[0] / width, tokens(), 1})));
  TensorId key = norm(graph_.matrix(weight("attn_kv"), x), "attn_kv_a_norm");
  key = rope(graph_.reshape(key, {width, 1, tokens(), 1}));
  const Compressed& kept = compressed_[layer_];
  const bool compresses = kept.keys != kNoTensor, chooses = has("indexer.proj");
  const Compressor& compressor = chooses ? overlapping_ : distinct_;
  if (compresses) compress(x, compressor, kept, "attn_compressor");
  TensorId best = kNoTensor;
  if (chooses) {
    compress(x, of_index_, compressed_index_[layer_], "indexer_compressor");
    best = best_keys(x, low_rank, compressed_index_[layer_].keys, streams);
  }
  if (window_.k_turn != kNoTensor) {
    q = turned(q, window_.k_turn);
    key = turned(key, window_.k_turn);
  }
  graph_.expand(q);
  graph_.expand(key);
  const TensorId rows = graph_.view(key, {width, tokens(), 1, 1}, graph_.at(key).nb);
  const TensorId target = streams > 1 ? graph_.reshape(cache.k, {width, window_.count * streams, 1, 1}) : cache.k;
  graph_.expand(graph_.write_rows(target, rows, window_.k_ids));
  const auto read = [&](TensorId stored) {
    const GraphTensor tensor = graph_.at(stored);
    return graph_.view(stored, {width, 1, tensor.ne[1], streams},
                       {tensor.type.bytes, tensor.nb[1], tensor.nb[1], tensor.nb[2]});
  };
  TensorId keys = read(cache.k), mask = window_.mask;
  if (compresses) {
    keys = graph_.concat(keys, read(kept.keys), 2);
    const TensorId more = compressor.cells.mask;
    mask = graph_.concat(mask, chooses ? mask_of_chosen(more, best) : more, 0);
  }
  TensorId out = attend_heads(q, keys, keys, mask, weight("attn_sinks"));
  if (window_.k_turn != kNoTensor) out = turned(out, window_.k_turn);
  return expanded(graph_.like(Op::kRope, graph_.reshape(out, graph_.at(q).ne), position_ids()));
}

// The output's two matrices, of which the first is per group of heads.
TensorId GraphBuilder::expanded(TensorId x) {
  const GraphWeight& first = need("attn_output_a");
  const std::uint64_t values = graph_.at(x).ne[0] * graph_.at(x).ne[1], groups = values / first.ne[0];
  const std::uint64_t rank = first.ne[1] * first.ne[2] / groups;
  x = graph_.permute(graph_.reshape(x, {first.ne[0], groups, tokens(), 1}), {0, 2, 1, 3});
  x = graph_.matrix(weight_as("attn_output_a", {first.ne[0], rank, groups, 1}), x);
  x = graph_.cont(graph_.permute(x, {0, 2, 1, 3}), {rank * groups, tokens(), 1, 1});
  return graph_.matrix(weight("attn_output_b"), x);
}

// The embedding, copied for each stream.
TensorId GraphBuilder::copied_streams(TensorId x) {
  graph_.expand(window_.mask);
  const std::uint64_t width = model_.hidden_size, streams = need("hc_attn_fn").ne[0] / width;
  x = graph_.reshape(x, {width, 1, tokens(), 1});
  return graph_.make(Op::kOther, kElementF32, {width, streams, tokens(), 1}, {x});
}

// The streams {hidden, streams, tokens} merged into one, with weights that depend on all of them.
GraphBuilder::Mixed GraphBuilder::mix_streams(TensorId x, const std::string& name) {
  const Dims ne = graph_.at(x).ne;
  const std::uint64_t streams = ne[1], count = ne[2];
  const TensorId flat = graph_.unary(graph_.reshape(x, {ne[0] * streams, count, 1, 1}));
  const TensorId all = graph_.matrix(weight(name + "_fn"), flat);
  const TensorId scale = weight(name + "_scale"), base = weight(name + "_base");
  const auto part = [&] {
    TensorId out = graph_.view(all, {streams, count, 1, 1}, graph_.at(all).nb);
    out = graph_.mul(out, graph_.view(scale, {1, 1, 1, 1}, graph_.at(scale).nb));
    out = graph_.add(out, graph_.view(base, {streams, 1, 1, 1}, graph_.at(base).nb));
    return graph_.unary(graph_.unary(out));
  };
  Mixed out;
  const TensorId pre = part();
  out.post = part();
  out.combined = graph_.make(Op::kOther, kElementF32, {streams, streams, count, 1}, {all, scale, base});
  out.x = graph_.make(Op::kOther, kElementF32, {ne[0], count, 1, 1}, {x, pre});
  return out;
}

TensorId GraphBuilder::split_stream(TensorId x, TensorId streams, const Mixed& mixed) {
  return graph_.make(Op::kOther, kElementF32, graph_.at(streams).ne, {x, streams, mixed.post, mixed.combined});
}

TensorId GraphBuilder::compressed_layer(TensorId x) {
  Mixed mixed = mix_streams(x, "hc_attn");
  x = split_stream(compressed_attention(norm(mixed.x, "attn_norm")), x, mixed);
  mixed = mix_streams(x, "hc_ffn");
  graph_.expand(x);
  graph_.expand(mixed.post);
  graph_.expand(mixed.combined);
  return split_stream(mlp_or_experts(norm(mixed.x, "ffn_norm")), x, mixed);
}

// Adds the streams up; no kernel fuses this here.
TensorId GraphBuilder::compressed_head(TensorId x) {
  is_outside_ = true;
  const Dims ne = graph_.at(x).ne;
  const std::uint64_t width = ne[0], streams = ne[1];
  x = chosen(graph_.reshape(x, {width * streams, ne[2], 1, 1}));
  const std::uint64_t count = graph_.at(x).ne[1];
  x = graph_.reshape(x, {width, streams, count, 1});
  TensorId shares =
      graph_.matrix(weight("output_hc_fn"), graph_.unary(graph_.reshape(x, {width * streams, count, 1, 1})));
  shares = graph_.add(graph_.mul(shares, weight("output_hc_scale")), weight("output_hc_base"));
  shares = graph_.unary(graph_.unary(shares));
  TensorId sum = kNoTensor;
  for (std::uint64_t i = 0; i < streams; ++i) {
    const TensorId stream = graph_.view(x, {width, count, 1, 1}, graph_.at(x).nb);
    const TensorId share = graph_.view(shares, {1, count, 1, 1}, graph_.at(shares).nb);
    const TensorId scaled = graph_.mul(stream, share);
    sum = sum == kNoTensor ? scaled : graph_.add(sum, scaled);
  }
  const TensorId out = linear("output", norm(sum, "output_norm"));
  is_outside_ = false;
  return out;
}

}  // namespace kvplan
