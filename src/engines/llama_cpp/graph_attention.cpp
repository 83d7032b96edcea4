// Attention over keys and values of separate heads.
//
// Source: src/llama-graph.cpp (build_qkv, build_attn, build_attn_mha), src/llama-kv-cache.cpp (cpy_k, cpy_v, get_k,
//   get_v, build_input_k_rot) of v0.5.0.
#include <algorithm>
#include <array>

#include "engines/llama_cpp/graph_builder.h"
#include "kvplan/ggml_types.h"

namespace kvplan {

ElementType element_type(Dtype type) {
  switch (type) {
    case Dtype::kFloat32: return kElementF32;
    case Dtype::kBfloat16: return {30, 1, 2};
    case Dtype::kFloat16: return kElementF16;
    default:
      if (const auto known = find_ggml_type(name(type))) return {known->id, known->block, known->bytes};
      return kElementF16;
  }
}

static std::uint64_t row_bytes(const ElementType& type, std::uint64_t elements) {
  return elements / type.block * type.bytes;
}

// Finds the caches of plain keys and values. False if a layer has another kind of cache.
bool GraphBuilder::read_caches() {
  caches_.resize(model_.num_layers);
  const bool keeps_windows = question_.of_class.keeps_windows;
  const bool is_apart = llama_keeps_sequences_apart(input_);
  for (const LayerCache& cache : input_.caches) {
    if (cache.layer >= caches_.size()) continue;
    KvCache& out = caches_[cache.layer];
    for (const Term& term : question_.of_class.expands_latents ? cache.expanded : cache.compact) {
      if (term.role == Role::kState) continue;
      if (term.growth != Growth::kToken || term.stride > 1) return false;
      if (term.role == Role::kKey) {
        out.heads = term.shape.units;
        out.key += term.shape.width;
        if (term.part == Part::kLatent) out.latent = out.value = term.shape.width;
      } else if (term.role == Role::kValue) {
        out.value = term.shape.width;
      } else {
        return false;
      }
      const bool limited = term.limit.kind == LimitKind::kWindow || term.limit.kind == LimitKind::kChunk;
      if (!keeps_windows || !limited) continue;
      out.windowed = has_windows_ = true;
      window_.count = input_.request.llama_cpp.swa_full
                          ? question_.context.n_ctx_seq
                          : llama_window_cells(question_.context, term.limit.tokens.count(), is_apart);
    }
  }
  const auto keeps = [](const KvCache& cache) { return cache.heads > 0; };
  if (!has_states_ && std::none_of(caches_.begin(), caches_.end(), keeps)) return read_batch();
  full_.count = question_.context.n_ctx_seq;
  const ElementType key_type = element_type(input_.types.key), value_type = element_type(input_.types.value);
  std::uint64_t widest = 0;
  for (const KvCache& cache : caches_) widest = std::max(widest, cache.heads * cache.value);
  make_inputs(full_);
  if (has_windows_) make_inputs(window_);
  for (layer_ = 0; layer_ < caches_.size(); ++layer_) {
    KvCache& cache = caches_[layer_];
    if (cache.heads == 0) continue;
    if (cache.key == 0 || cache.value == 0 || model_.num_heads == 0) return false;
    const auto host = static_cast<int>(question_.placement.gpus);
    const int device = input_.request.llama_cpp.no_kv_offload ? host : device_of_layer();
    const std::uint64_t cells = cells_of(cache).count;
    const std::uint64_t streams = question_.context.streams;
    const std::uint64_t values = question_.transposes_values ? widest : cache.heads * cache.value;
    cache.k = graph_.cache(key_type, {cache.heads * cache.key, cells, streams, 1}, device);
    if (cache.latent == 0) cache.v = graph_.cache(value_type, {values, cells, streams, 1}, device);
  }
  layer_ = 0;
  share_caches();
  return true;
}

// A diffusion model attends to all tokens of the batch and has no cache.
bool GraphBuilder::read_batch() {
  if (model_.graph.num_heads == 0) return false;
  keeps_nothing_ = true;
  full_.count = tokens();
  full_.mask = mask_input({tokens(), tokens(), 1, 1});
  for (std::uint64_t i = 0; i < caches_.size(); ++i) {
    const GraphWeight* q = weights_.find("attn_q", i);
    const GraphWeight* k = weights_.find("attn_k", i);
    const GraphWeight* v = weights_.find("attn_v", i);
    if (q == nullptr || k == nullptr || v == nullptr) return false;
    caches_[i].key = q->ne[1] / model_.graph.num_heads;
    if (caches_[i].key == 0) return false;
    caches_[i].heads = k->ne[1] / caches_[i].key;
    if (caches_[i].heads == 0) return false;
    caches_[i].value = v->ne[1] / caches_[i].heads;
  }
  return true;
}

// A layer without its own keys reads those of the last layer of the same type, full or windowed. Its type follows from
// the other layers, because full layers are equally spaced.
void GraphBuilder::share_caches() {
  std::vector<std::uint64_t> full;
  std::array<std::optional<KvCache>, 2> last;
  for (std::uint64_t i = 0; i < caches_.size(); ++i) {
    if (caches_[i].heads == 0) continue;
    last[caches_[i].windowed ? 1 : 0] = caches_[i];
    if (!caches_[i].windowed) full.push_back(i);
  }
  const std::uint64_t step = full.size() > 1 ? full[1] - full[0] : 1;
  for (std::uint64_t i = 0; i < caches_.size(); ++i) {
    if (caches_[i].heads > 0 || states_[i].elements > 0 || weights_.find("attn_q", i) == nullptr) continue;
    const bool windowed = has_windows_ && (full.empty() || i < full[0] || (i - full[0]) % step != 0);
    if (const auto& shared = last[windowed ? 1 : 0]) caches_[i] = *shared;
    caches_[i].is_shared = true;
  }
}

TensorId GraphBuilder::mask_input(Dims ne) {
  if (!question_.flash_attention) return graph_.input(kElementF32, ne);
  if (question_.rules.half_masks) return graph_.input(kElementF16, ne);
  return graph_.make(Op::kOther, kElementF16, ne, {graph_.input(kElementF32, ne)});
}

void GraphBuilder::make_inputs(Cells& cells) {
  const std::uint64_t streams = question_.context.streams;
  std::uint64_t widest = 0, key = 0, value = 0;
  for (const KvCache& cache : caches_) {
    widest = std::max(widest, cache.heads * cache.value);
    if (key == 0) key = cache.key;
    if (value == 0) value = cache.value;
  }
  cells.k_ids = graph_.input(kElementI64, {tokens(), 1, 1, 1});
  cells.v_ids = graph_.input(kElementI64, {question_.transposes_values ? tokens() * widest : tokens(), 1, 1, 1});
  cells.mask = mask_input({cells.count, tokens() / streams, 1, streams});
  cells.k_turn = hadamard_matrix(key);
  const bool turns_values = element_type(input_.types.value).quantized() && value % 64 == 0;
  if (value > 0 && turns_values) cells.v_turn = graph_.input(kElementF32, {64, 64, 1, 1});
}

// A quantized cache is rotated by a Hadamard matrix, so that no channel has outliers.
TensorId GraphBuilder::hadamard_matrix(std::uint64_t width) {
  if (width == 0 || width % 64 != 0 || !element_type(input_.types.key).quantized()) return kNoTensor;
  std::uint64_t size = 64;
  while (width % (size * 2) == 0) size *= 2;
  return graph_.input(kElementF32, {size, size, 1, 1});
}

// Queries, keys and values of the layer. If `whole` is false they are the rows that the matrices return, for norms over
// all heads together.
GraphBuilder::Heads GraphBuilder::project(TensorId x, bool whole) {
  const KvCache& cache = caches_[layer_];
  const std::uint64_t key_width = cache.heads * cache.key, value_width = cache.heads * cache.value;
  Heads out;
  const auto shaped = [&](TensorId of, std::uint64_t width) {
    return graph_.reshape(of, {width, graph_.at(of).ne[0] / width, tokens(), 1});
  };
  if (has("attn_qkv")) {
    const TensorId all = linear_with_bias("attn_qkv", x);
    const std::uint64_t query_width = graph_.at(all).ne[0] - key_width - value_width;
    const Dims strides = graph_.at(all).nb;
    const auto part = [&](std::uint64_t width, std::uint64_t head) {
      if (!whole) return graph_.cont(graph_.view(all, {width, tokens(), 1, 1}, strides));
      return graph_.view(all, {head, width / head, tokens(), 1}, {4, head * 4, strides[1], strides[2]});
    };
    out.q = part(query_width, cache.key);
    out.k = part(key_width, cache.key);
    out.v = part(value_width, cache.value);
    return out;
  }
  out.q = linear_with_bias("attn_q", x);
  if (has("attn_k") && !cache.is_shared) out.k = linear_with_bias("attn_k", x);
  if (has("attn_v") && !cache.is_shared) out.v = linear_with_bias("attn_v", x);
  if (out.v == kNoTensor) out.v = out.k;
  if (!whole) return out;
  out.q = shaped(out.q, cache.key);
  if (out.k != kNoTensor) out.k = shaped(out.k, cache.key);
  if (out.v != kNoTensor) out.v = shaped(out.v, cache.value);
  return out;
}

TensorId GraphBuilder::turned(TensorId x, TensorId matrix) {
  const Dims ne = graph_.at(x).ne;
  const std::uint64_t size = graph_.at(matrix).ne[0];
  const Dims rows{size, graph_.at(x).elements() / size, 1, 1};
  const bool plain = graph_.at(x).nb == contiguous(graph_.at(x).type, ne);
  const TensorId out = graph_.matrix(matrix, plain ? graph_.reshape(x, rows) : graph_.cont(x, rows));
  return graph_.reshape(out, ne);
}

void GraphBuilder::store(const KvCache& cache, const Heads& heads) {
  const Cells& cells = cells_of(cache);
  const auto flat = [&](TensorId x) {
    const GraphTensor& tensor = graph_.at(x);
    return graph_.view(x, {tensor.ne[0] * tensor.ne[1], tensor.ne[2], 1, 1},
                       {tensor.nb[0], tensor.nb[2], tensor.nb[2] * tensor.ne[2], tensor.nb[2] * tensor.ne[2]});
  };
  const auto merged = [&](TensorId x) {
    const Dims ne = graph_.at(x).ne;
    return ne[2] > 1 ? graph_.reshape(x, {ne[0], ne[1] * ne[2], 1, 1}) : x;
  };
  if (heads.k != kNoTensor) {
    const TensorId rows = flat(heads.k);
    graph_.expand(graph_.write_rows(merged(cache.k), rows, cells.k_ids));
  }
  if (heads.v == kNoTensor) return;
  if (!question_.transposes_values) {
    const TensorId rows = flat(heads.v);
    graph_.expand(graph_.write_rows(merged(cache.v), rows, cells.v_ids));
    return;
  }
  // Values are transposed, so each element is stored as a row.
  const GraphTensor value = graph_.at(heads.v);
  const std::uint64_t width = value.ne[0] * value.ne[1];
  TensorId rows = width * 4 == value.nb[2] ? graph_.reshape(heads.v, {width, value.ne[2], 1, 1})
                                           : graph_.cont(heads.v, {width, value.ne[2], 1, 1});
  const std::uint64_t stored = graph_.at(cache.v).ne[0];
  if (width < stored) rows = graph_.make(Op::kOther, kElementF32, {stored, value.ne[2], 1, 1}, {rows});
  const TensorId target = graph_.reshape(cache.v, {1, graph_.at(cache.v).elements(), 1, 1});
  graph_.expand(graph_.write_rows(target, graph_.reshape(rows, {1, graph_.at(rows).elements(), 1, 1}), cells.v_ids));
}

TensorId GraphBuilder::attention_of(const KvCache& cache, TensorId q, TensorId sinks, TensorId mask) {
  const Cells& cells = cells_of(cache);
  const std::uint64_t streams = question_.context.streams;
  const GraphTensor k = graph_.at(cache.k), v = graph_.at(cache.latent != 0 ? cache.k : cache.v);
  TensorId key = graph_.view(cache.k, {cache.key, cache.heads, cells.count, streams},
                             {k.type.bytes, row_bytes(k.type, cache.key), k.nb[1], k.nb[2]});
  TensorId value = cache.latent != 0
                       ? graph_.view(key, {cache.latent, cache.heads, cells.count, streams}, graph_.at(key).nb)
                   : !question_.transposes_values
                       ? graph_.view(cache.v, {cache.value, cache.heads, cells.count, streams},
                                     {v.type.bytes, row_bytes(v.type, cache.value), v.nb[1], v.nb[2]})
                       : graph_.view(cache.v, {cells.count, cache.heads, cache.value, streams},
                                     {v.type.bytes, row_bytes(v.type, cells.count * cache.value),
                                      row_bytes(v.type, cells.count), row_bytes(v.type, cells.count * v.ne[0])});
  return attend_heads(q, key, value, mask, sinks);
}

// Attention to the keys and values in the layer's cache, in as many streams as the cache has.
TensorId GraphBuilder::attend_heads(TensorId q, TensorId key, TensorId value, TensorId mask, TensorId sinks) {
  const bool is_latent = caches_[layer_].latent > 0;
  const std::uint64_t streams = graph_.at(key).ne[3];
  const GraphTensor query = graph_.at(q);
  q = graph_.view(q, {query.ne[0], query.ne[1], query.ne[2] / streams, streams},
                  {query.nb[0], query.nb[1], query.nb[2], query.nb[3] / streams});
  q = graph_.permute(q, {0, 2, 1, 3});
  key = graph_.permute(key, {0, 2, 1, 3});
  value = graph_.permute(value, {0, 2, 1, 3});
  const bool transposes = is_latent || keeps_nothing_ || !question_.transposes_values;
  TensorId out = kNoTensor;
  const Dims ne = graph_.at(q).ne;
  if (question_.flash_attention) {
    if (keeps_nothing_) {  // the kernels read 16 bit
      key = graph_.make(Op::kOther, kElementF16, graph_.at(key).ne, {key});
      value = graph_.make(Op::kOther, kElementF16, graph_.at(value).ne, {value});
    }
    out = graph_.make(Op::kFlashAttention, kElementF32, {graph_.at(value).ne[0], ne[2], ne[1], ne[3]},
                      {q, key, value, mask, sinks});
    if (is_latent)
      out = graph_.cont(graph_.permute(graph_.matrix(value_matrix(), graph_.permute(out, {0, 2, 1, 3})), {0, 2, 1, 3}));
    const Dims made = graph_.at(out).ne;
    out = graph_.reshape(out, {made[0] * made[1], made[2] * made[3], 1, 1});
  } else {
    TensorId scores = graph_.matrix(key, q);
    scores = graph_.make(Op::kInPlace, kElementF32, graph_.at(scores).ne, {scores, mask, sinks});
    if (transposes) value = graph_.cont(graph_.transpose(value));
    out = graph_.matrix(value, scores);
    if (is_latent) out = graph_.matrix(value_matrix(), out);
    out = graph_.permute(out, {0, 2, 1, 3});
    const Dims made = graph_.at(out).ne;
    out = graph_.cont(out, {made[0] * made[1], made[2] * made[3], 1, 1});
    if (input_.request.llama_cpp.no_kv_offload)
      graph_.at(out).device = static_cast<std::int8_t>(question_.placement.gpus);
  }
  graph_.expand(out);
  return out;
}

TensorId GraphBuilder::attend_batch(const Heads& heads) {
  graph_.expand(heads.q);
  graph_.expand(heads.k);
  graph_.expand(heads.v);
  return attend_heads(heads.q, heads.k, heads.v, full_.mask, kNoTensor);
}

// Multiplies the attention's output by a gate for each head, or for each value of a head.
TensorId GraphBuilder::gated(TensorId out, TensorId x) {
  const TensorId gate = graph_.unary(linear("attn_gate", x));
  const Dims whole = graph_.at(out).ne;
  const std::uint64_t gates = graph_.at(gate).ne[0];
  if (gates == whole[0]) return graph_.mul(out, gate);
  out = graph_.reshape(out, {whole[0] / gates, gates, whole[1], 1});
  out = graph_.mul(out, graph_.reshape(gate, {1, gates, whole[1], 1}));
  return graph_.reshape(out, whole);
}

TensorId GraphBuilder::attend(const KvCache& cache, Heads heads, TensorId sinks) {
  const Cells& cells = cells_of(cache);
  if (cells.k_turn != kNoTensor) {
    heads.q = turned(heads.q, cells.k_turn);
    if (heads.k != kNoTensor) heads.k = turned(heads.k, cells.k_turn);
  }
  if (cells.v_turn != kNoTensor && heads.v != kNoTensor) heads.v = turned(heads.v, cells.v_turn);
  graph_.expand(heads.q);
  const auto first = has_windows_ ? heads.k : heads.v, second = has_windows_ ? heads.v : heads.k;
  if (first != kNoTensor) graph_.expand(first);
  if (second != kNoTensor) graph_.expand(second);
  store(cache, heads);
  TensorId out = attention_of(cache, heads.q, sinks, cells.mask);
  if (cells.v_turn != kNoTensor) out = turned(out, cells.v_turn);
  return out;
}

// The matrix that expands the values of a latent.
TensorId GraphBuilder::value_matrix() {
  const std::uint64_t heads = model_.num_heads;
  return weight_as("attn_v_b", {caches_[layer_].latent, need("attn_output").ne[0] / heads, heads, 1});
}

bool GraphBuilder::rotates() const {
  switch (model_.graph.rotary) {
    case RotaryLayers::kNone: return false;
    case RotaryLayers::kWindowed: return caches_[layer_].windowed;
    case RotaryLayers::kAllButEveryFourth: return (layer_ + 1) % 4 != 0;
    default: return true;
  }
}

TensorId GraphBuilder::attention(TensorId x) {
  const KvCache& cache = caches_[layer_];
  const GraphWeight* q_norm = find("attn_q_norm");
  const GraphWeight* output = find("attn_output");
  const std::uint64_t values = model_.num_heads * cache.value;
  // One matrix computes the queries and a gate for each of them.
  const bool doubled = has("attn_q") && output != nullptr && need("attn_q").ne[1] == 2 * output->ne[0] && values > 0;
  // A norm over all heads together is applied before the rows are split into heads.
  const bool wide = q_norm != nullptr && q_norm->ne[0] * q_norm->ne[1] != cache.key;
  Heads heads = project(x, !wide && !doubled);
  const auto shaped = [&](TensorId of, std::uint64_t width) {
    return graph_.reshape(of, {width, graph_.at(of).ne[0] / width, tokens(), 1});
  };
  TensorId gate = kNoTensor;
  if (doubled) {
    const std::uint64_t count = output->ne[0] / cache.value, pair = 2 * cache.key * 4;
    const Dims half{cache.key, count, tokens(), 1}, strides{4, pair, pair * count, pair * count * tokens()};
    const TensorId both = heads.q;
    heads.q = graph_.view(both, half, strides);
    gate = graph_.view(both, half, strides);
    heads.k = shaped(heads.k, cache.key);
    heads.v = shaped(heads.v, cache.value);
  }
  if (q_norm != nullptr) heads.q = norm(heads.q, "attn_q_norm");
  if (has("attn_k_norm") && heads.k != kNoTensor) heads.k = norm(heads.k, "attn_k_norm");
  if (doubled) gate = graph_.cont(gate, {output->ne[0], tokens(), 1, 1});
  if (wide) heads = {shaped(heads.q, cache.key), shaped(heads.k, cache.key), shaped(heads.v, cache.value)};
  if (question_.of_class.norms_values && heads.v != kNoTensor) heads.v = graph_.unary(heads.v);
  if (rotates()) {
    heads.q = rope(heads.q);
    if (heads.k != kNoTensor) heads.k = rope(heads.k);
  } else if (question_.of_class.scales_unrotated) {
    heads.q = graph_.mul(heads.q, position_scale());
  }
  TensorId out = keeps_nothing_ ? attend_batch(heads) : attend(cache, heads, weight("attn_sinks"));
  if (has("attn_gate")) out = gated(out, x);
  if (doubled) out = graph_.mul(out, graph_.unary(gate));
  return linear_with_bias("attn_output", out);
}

}  // namespace kvplan
