// The compute buffer of one GPU: the most memory that the graph of one micro-batch uses at any moment.
// llama_context::sched_reserve allocates it at the start. If kvplan can build the model's graph (compute_buffers.h), it
// computes the buffer as ggml does. Otherwise the estimate is the largest of several moments, with 4 bytes per element.
// ub = n_ubatch, E = hidden size, F and Fe = widths of the dense MLP and of an expert, u = experts per token, V =
// vocabulary, H = heads, n_kv = cells of a stream:
//
//   mask = ub * (n_kv of each cache) * 2, or 4 without flash attention; older builds have both with flash attention
//   logits     rows * (V + E)                                       rows: one for each slot of a server
//   MLP        ub * (3F + R) + mask; F + R without a gate              R what a layer keeps throughout: 3E, or 4E where
//   experts    ub * (3u*Fe + R) + mask                              a batch may mix tokens and embeddings
//              + ub * uE if that is more than 2u*Fe
//   attention  ub * (2E + q + o) + mask                             with flash attention
//              ub * (2E + 2q + kv) + mask + n_kv * ub * H           without: the scores
//   latents    ub * (R + H * (k + 2l)) + mask                       k a head's key, l the latent with its rope part
//   indexer    ub * n_kv * 6 more with its mask, and the chosen keys of every layer that has one
//   recurrence ub * (4I + 2C) + rows of states                      I inner width, C channels of the convolution
//   RWKV-7     ub * 18E + rows of states; RWKV-6 ub * 13E + twice the rows of states
//
// Two copies are added: one layer's K and V in 16 bit, if the cache has another type (CUDA's kernels only read 16 bit),
// and one layer's K and V if they are on the host. Several GPUs with all layers on them run as a pipeline, with four
// copies of the inputs on each. The first GPU multiplies layers that are on the host too, for batches of 32 tokens and
// more, and gets a copy of their largest matrix as stored.
//
// Checked against: every context of testdata/conformance (v0.5.0 and b11739), and the starts that
// testdata/observations/README.md describes. Known error: up to +20 % for experts with a shared expert or sigmoid
// gates. They keep less than others, and no config says so.
#include "engines/llama_cpp/compute.h"

#include <algorithm>
#include <set>

#include "engines/drafts.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/classes.h"
#include "engines/llama_cpp/compute_graph.h"
#include "engines/llama_cpp/rules.h"

namespace kvplan {

namespace {

constexpr std::string_view kElements = "the elements of a compute buffer";

std::uint64_t mul(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b, kElements);
}
std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return checked_add(a, b, kElements);
}
template <class... Rest>
std::uint64_t add(std::uint64_t a, std::uint64_t b, Rest... rest) {
  return add(add(a, b), rest...);
}

// The widths of a layer's graph; each is the largest of all layers.
struct Widths {
  std::uint64_t query = 0, output = 0, key_value = 0;  // attention
  std::uint64_t copied = 0;                            // elements of K and V in a type that the kernels cannot read
  std::uint64_t inner = 0, channels = 0, state = 0;    // recurrence: I, C, and the elements of the states
  std::uint64_t latent = 0;                            // elements of all heads: keys, and latents counted twice
  bool full = false;                                   // at least one cache has no window
  bool shifts = false;                                 // RWKV
  std::uint64_t index_stride = 0;                      // tokens per index key; 0 without an indexer
  std::uint64_t indexers = 0;                          // number of layers with an indexer
  std::uint64_t window = 0;
  std::set<std::uint64_t> strides;  // tokens of a compressed key
};

void widen(Widths& out, const LayerCache& cache, const EngineInput& input, bool keeps_windows) {
  std::uint64_t key = 0, value = 0, key_elements = 0, value_elements = 0, latent = 0;
  std::uint64_t channels = 0, state = 0, inner = 0;
  for (const Term& term : llama_class(input.model).expands_latents ? cache.expanded : cache.compact) {
    if (term.growth == Growth::kSequence && term.role == Role::kState) {
      const std::uint64_t elements = mul(mul(term.shape.units, term.shape.vectors), term.shape.width);
      if (term.shape.columns > 0) {
        channels = add(channels, elements);
      } else if (term.storage == Storage::kModel) {
        out.shifts = true;
      } else if (elements > state) {
        state = elements;
        inner = mul(term.shape.units, term.shape.vectors);
      }
      continue;
    }
    if (term.role == Role::kState || term.growth != Growth::kToken) continue;
    if (term.role == Role::kIndex) {
      ++out.indexers;
      out.index_stride = out.index_stride == 0 ? term.stride : std::min(out.index_stride, term.stride);
    }
    const bool windowed = keeps_windows && term.stride == 1 && term.limit.kind != LimitKind::kNone;
    if (windowed) out.window = std::max(out.window, term.limit.tokens.count());
    if (!windowed && term.stride == 1 && term.role != Role::kIndex) out.full = true;
    if (term.stride > 1) {
      if (term.role == Role::kKey) out.strides.insert(term.stride);
      continue;
    }
    if (term.role == Role::kKey) {
      key = add(key, term.shape.width);
      key_elements = add(key_elements, term.elements().count());
      if (term.part == Part::kLatent) latent = term.shape.width;
    } else if (term.role == Role::kValue) {
      value = term.shape.width;
      value_elements = term.elements().count();
    }
  }
  if (value == 0) value = value_elements = latent;  // these widths are part of the latent
  const std::uint64_t heads = input.model.num_heads;
  std::uint64_t head = 0;  // width of the keys that the latent is expanded to
  for (const Term& term : cache.expanded)
    if (latent > 0 && term.role == Role::kKey && term.part != Part::kLatent) head = add(head, term.shape.width);
  if (latent > 0) out.latent = std::max(out.latent, mul(heads, add(head, mul(2, key))));
  out.query = std::max(out.query, mul(heads, key));
  out.output = std::max(out.output, mul(heads, value));
  out.key_value = std::max(out.key_value, add(key_elements, value_elements));
  std::uint64_t copied = input.types.key == Dtype::kFloat16 ? 0 : key_elements;
  if (input.types.value != Dtype::kFloat16 && latent == 0) copied = add(copied, value_elements);
  out.copied = std::max(out.copied, copied);
  out.inner = std::max(out.inner, inner);
  out.channels = std::max(out.channels, channels);
  out.state = std::max(out.state, add(state, channels));
}

struct Moment {
  std::string_view what;
  std::uint64_t bytes = 0;
  bool is_scores = false;  // attention scores: one tensor, by far the largest
};

// Sizes of one graph, in bytes.
struct Graph {
  LlamaContext context;
  std::uint64_t mask = 0, hidden = 0;  // of a micro-batch
  std::uint64_t scores = 0;            // the attention mask, one tensor
  std::uint64_t cast_mask = 0;         // the mask's 16 bit copy on a GPU, if the mask itself is 32 bit
  std::uint64_t embeddings = 0;        // inputs as wide as the hidden state: one row for each token of the batch
  std::uint64_t layer_inputs = 0;
  bool selects_inputs = false;
  bool copies_unused = false;  // a pipeline also copies inputs that no node reads
  Moment logits, work;         // memory at the largest moment of a layer
  std::uint64_t masks() const { return add(mask, cast_mask); }
};

// The columns of a tensor; 0 if the model has none of this name.
std::uint64_t columns_of(const ModelShape& model, std::string_view name) {
  for (const TensorGroup& group : model.tensors)
    if (group.module == name) return group.columns;
  return 0;
}

// Elements of the layers' own embeddings of a token.
std::uint64_t layer_inputs(const ModelShape& model) {
  return std::max(columns_of(model, "model.embed_tokens_per_layer"), columns_of(model, "per_layer_token_embd.weight"));
}

// The width of the dense MLP, and the number of its rows that exist at once: gate, up and their product, or one if
// there is no gate.
struct MlpShape {
  std::uint64_t width = 0, rows = 3;
};
MlpShape mlp_shape(const ModelShape& model) {
  MlpShape out;
  std::uint64_t up = 0, down = 0;
  for (const TensorGroup& group : model.tensors) {
    if (group.component != Component::kMlp || group.role != TensorRole::kLinear) continue;
    if (group.columns == model.hidden_size) up = add(up, mul(group.rows, group.num_layers()));
    if (group.rows != model.hidden_size) continue;
    down = add(down, mul(group.columns, group.num_layers()));
    out.width = std::max(out.width, group.columns);
  }
  if (out.width == 0) out.width = model.intermediate_size;
  if (down > 0 && up < add(down, down / 2)) out.rows = 1;
  return out;
}

// Sizes that the moments of a graph are computed from: elements per token, unless stated otherwise.
struct Parts {
  const EngineInput& input;
  LlamaContext context;
  Widths widths;
  bool flash_attention = false, mixes = false, has_streams = false;
  bool is_draft = false;  // the context of the MTP layers
  std::uint64_t full_cells = 0, window_cells = 0;
  std::uint64_t row = 0;       // bytes of one element for every token of the batch
  std::uint64_t hidden = 0;    // its width
  std::uint64_t resident = 0;  // what a layer keeps throughout its graph
};

Parts parts_of(const EngineInput& input, const Load& load) {
  const LlamaClass is = llama_class(input.model);
  Parts out{input, llama_context(input, load), {}};
  const bool keeps_windows = is.keeps_windows && !input.request.llama_cpp.swa_full;
  for (const LayerCache& cache : input.caches) widen(out.widths, cache, input, keeps_windows);
  out.flash_attention = llama_flash_attention(input);
  out.mixes = llama_rules(input.request).mixes_batches && input.model.graph.mixes_batches;
  out.has_streams = is.residual_streams > 1;
  if (out.widths.full) out.full_cells = out.context.n_ctx_seq;
  if (out.widths.window > 0)
    out.window_cells = llama_window_cells(out.context, out.widths.window, llama_keeps_sequences_apart(input));
  out.row = mul(out.context.n_ubatch, kFloat);
  out.hidden = input.model.hidden_size;
  // Additional residual streams, and the layers' own embeddings, exist during the whole graph.
  const std::uint64_t streams = out.has_streams ? 9 : out.mixes ? 4 : 3;
  out.resident = add(mul(streams, out.hidden), layer_inputs(input.model));
  return out;
}

std::uint64_t mask_bytes(const Parts& parts, std::uint64_t width) {
  std::uint64_t out = mul(add(parts.full_cells, parts.window_cells), width);
  const auto cells = [&](std::uint64_t stride) { return ceil_div(parts.context.n_ctx_seq, stride); };
  for (const std::uint64_t stride : parts.widths.strides)
    out = add(out, mul(round_up(cells(stride), parts.context.pad, kElements), width));
  if (parts.widths.index_stride > 0) out = add(out, mul(cells(parts.widths.index_stride), 2));
  return mul(parts.context.n_ubatch, out);
}

void take(Graph& out, std::string_view what, std::uint64_t bytes, bool is_scores = false) {
  if (bytes > out.work.bytes) out.work = {what, bytes, is_scores};
}

void take_mlp(const Parts& parts, Graph& out) {
  const ExpertShape& experts = parts.input.model.experts;
  if (experts.used == 0 || experts.dense_layers > 0) {
    const MlpShape mlp = mlp_shape(parts.input.model);
    const std::uint64_t rows = parts.is_draft ? std::min<std::uint64_t>(mlp.rows, 2) : mlp.rows;
    take(out, "MLP", add(mul(parts.row, add(mul(rows, mlp.width), parts.resident)), out.masks()));
  }
  if (experts.used == 0) return;
  const std::uint64_t inside = mul(experts.used, experts.width), outside = mul(experts.used, parts.hidden);
  const std::uint64_t gathered = outside > 2 * inside ? outside : 0;
  take(out, "experts", add(mul(parts.row, add(mul(3, inside), gathered, parts.resident)), out.masks()));
}

// An indexer has scores in float32, and every layer stores the keys that it selects.
std::uint64_t indexer_bytes(const Parts& parts) {
  const Widths& widths = parts.widths;
  if (widths.index_stride == 0) return 0;
  const std::uint64_t seen = ceil_div(parts.context.n_ctx_seq, widths.index_stride);
  const std::uint64_t topk = std::min(parts.input.model.graph.index_topk, seen);
  const std::uint64_t layers = parts.has_streams ? widths.indexers / 2 : widths.indexers;  // in 16 bit
  return add(mul(mul(parts.context.n_ubatch, seen), kFloat), mul(mul(parts.row, topk), layers));
}

void take_attention(const Parts& parts, Graph& out) {
  const Widths& widths = parts.widths;
  if (widths.query == 0) return;
  const std::uint64_t cells = std::max(parts.full_cells, parts.window_cells), chosen = indexer_bytes(parts);
  const auto of_cells = [&](std::uint64_t elements) {
    return mul(mul(mul(cells, parts.context.streams), elements), 2);
  };
  const bool on_host = parts.input.request.llama_cpp.no_kv_offload || LlamaPlacement(parts.input).first_on_gpu > 0;
  const auto bytes = [&](std::uint64_t width, std::uint64_t more) {
    return add(mul(parts.row, width), out.masks(), chosen, more);
  };
  if (on_host)
    take(out, "keys and values of the host",
         add(mul(parts.row, parts.resident), out.masks(), of_cells(widths.key_value)));
  if (!parts.flash_attention) {
    const std::uint64_t scores = mul(mul(cells, parts.context.n_ubatch), mul(parts.input.model.num_heads, kFloat));
    out.scores = scores;
    take(out, "attention scores", bytes(add(2 * parts.hidden, 2 * widths.query, widths.key_value), scores), true);
  } else if (parts.has_streams && widths.index_stride > 0) {
    take(out, "attention", bytes(add(parts.resident, parts.hidden, mul(2, widths.query)), 0));
  } else if (widths.latent > 0) {
    take(out, "attention", bytes(add(parts.resident, widths.latent), of_cells(widths.copied)));
  } else {
    take(out, "attention", bytes(add(2 * parts.hidden, widths.query, widths.output), of_cells(widths.copied)));
  }
}

void take_states(const Parts& parts, Graph& out) {
  const Widths& widths = parts.widths;
  const std::uint64_t states = mul(mul(parts.context.num_seqs, widths.state), kFloat);
  if (widths.shifts) {
    const bool is_seventh = columns_of(parts.input.model, "blk.*.time_mix_w0.weight") > 0;
    const std::uint64_t alive = (is_seventh ? 18U : 13U) + (parts.mixes ? 1U : 0U);
    take(out, "time mix", add(mul(parts.row, mul(alive, parts.hidden)), is_seventh ? states : mul(2, states)));
  } else if (widths.inner > 0) {
    // Elements in a recurrence: the projection (inner, gate and convolution input), the convolution's input and output,
    // the time steps, the scan.
    const std::uint64_t channels = std::max(widths.channels, widths.inner);
    take(out, "recurrence", add(mul(parts.row, add(mul(4, widths.inner), mul(2, channels))), states));
  }
}

Graph graph_of(const EngineInput& input, const Load& load, bool is_draft = false) {
  Parts parts = parts_of(input, load);
  parts.is_draft = is_draft;
  Graph out;
  out.context = parts.context;
  const bool casts = parts.flash_attention && !llama_rules(input.request).half_masks;
  out.mask = mask_bytes(parts, parts.flash_attention && !casts ? 2 : 4);
  if (casts) out.cast_mask = mask_bytes(parts, 2);
  out.hidden = mul(parts.row, parts.hidden);
  out.embeddings = parts.mixes ? 2 : 1;
  out.layer_inputs = mul(parts.row, layer_inputs(input.model));
  out.selects_inputs = llama_rules(input.request).selects_inputs;
  out.copies_unused = llama_rules(input.request).copies_unused_inputs;
  const std::uint64_t rows = mul(llama_output_rows(input, parts.context), kFloat);
  const std::uint64_t logits = mul(rows, add(input.model.vocab_size, parts.hidden));
  out.logits = {"logits", add(logits, parts.mixes ? mul(4, out.hidden) : 0)};
  take_mlp(parts, out);
  take_attention(parts, out);
  take_states(parts, out);
  return out;
}

// The MTP layers have their own context (common/speculative.cpp), with the model's length, batch and head. Its compute
// buffer is for one attention and one MLP, whose product overwrites the gate.
std::optional<LedgerLine> mtp_context(const EngineInput& input, const Load& load) {
  EngineInput own = input;
  own.caches = mtp_layers(input);
  if (own.caches.empty()) return std::nullopt;
  own.request.mtp = false;
  own.types = llama_mtp_types(input);
  const Graph graph = graph_of(own, load, true);
  const Moment& most = graph.logits.bytes > graph.work.bytes ? graph.logits : graph.work;
  return LedgerLine{
      Section::kActivation,
      "compute buffer of the MTP context",
      Bytes(most.bytes),
      Bytes(most.bytes / 20 * 14),
      Bytes(add(most.bytes, most.bytes / 10, 32 * kMiB)),
      {"{moment} of a micro-batch of {n_ubatch} tokens", {{"moment", most.what}, {"n_ubatch", graph.context.n_ubatch}}},
      "llama.cpp common/speculative.cpp, sched_reserve"};
}

// llama.cpp's --fit also counts copies of the hidden state for later GPUs, which a real run does not make.
std::uint64_t fitted_copies(const Graph& graph) {
  return mul(kPipelineCopies, graph.hidden);
}

// The buffer, computed as ggml does. It is exact on one GPU that fits everything, if the model is a GGUF of an
// architecture whose contexts were executed. On GPUs with the kernel, CUDA keeps experts longer for the fused sum.
LedgerLine graph_line(const OverheadInput& in, const Graph& graph, const LlamaPlacement& placement,
                      std::uint64_t bytes) {
  const EngineInput& input = *in.engine;
  const ModelShape& model = input.model;
  LedgerLine out{
      Section::kActivation,
      "compute buffer",
      Bytes(bytes),
      Bytes(bytes),
      Bytes(bytes),
      {"graph of a micro-batch of {n_ubatch} tokens, placed as ggml does", {{"n_ubatch", graph.context.n_ubatch}}},
      "llama.cpp sched_reserve, ggml_gallocr; checked against runs of v0.5.0 and v0.6.0",
      LineId::kComputeBuffer,
      Basis::kExact};
  if (const std::uint64_t ranks = input.request.parallel.tensor; ranks > 1) {  // some tensors are whole on each GPU
    out.low = Bytes(bytes / ranks);
    out.basis = Basis::kEstimate;
    return out;
  }
  const bool all_on_gpu = placement.first_on_gpu == 0 && !input.request.llama_cpp.no_kv_offload &&
                          input.request.llama_cpp.cpu_moe_layers.value_or(0) == 0;
  const bool was_run = llama_rules(input.request).half_masks;  // older builds place the masks a little differently
  if (was_run && model.is_gguf && model.graph.is_checked && model.experts.used == 0 && all_on_gpu &&
      placement.gpus == 1)
    return out;
  std::uint64_t more = mul(model.experts.used, graph.hidden);
  if (placement.gpus > 1 && in.stage > 0) more = add(more, fitted_copies(graph));
  const std::uint64_t unsure = bytes / (model.graph.is_checked && all_on_gpu ? was_run ? 20 : 5 : 4);
  out.low = Bytes(bytes - unsure);
  out.high = Bytes(add(bytes, unsure, more));
  out.basis = Basis::kEstimate;
  return out;
}

}  // namespace

std::vector<LedgerLine> llama_cpp_overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  if (llama_without_gpu(input.request)) return {};
  const ModelShape& model = input.model;
  const Graph graph = graph_of(input, in.load);
  const LlamaPlacement placement(input);
  const bool last = in.stage + 1 == placement.gpus;
  const bool pipelined = placement.pipelined;

  Moment most = graph.work;
  Template formula{" of a micro-batch of {n_ubatch} tokens", {{"n_ubatch", graph.context.n_ubatch}}};
  if (pipelined) {
    // The copies include the masks, but not the masks' 16 bit copies.
    most.bytes -= std::min(most.bytes, graph.mask);
    if (last && graph.logits.bytes > most.bytes) most = graph.logits;
    const std::uint64_t embeddings = in.stage == 0 && graph.embeddings == 2 ? 3 : 1;
    const std::uint64_t inputs = add(graph.mask, mul(graph.hidden, embeddings), in.stage > 0 ? 0 : graph.layer_inputs);
    most.bytes = add(most.bytes, mul(kPipelineCopies, inputs));
    formula += ", 4 copies of its inputs";
  } else if (last && graph.logits.bytes > most.bytes) {
    most = graph.logits;
    formula = {" of {num_seqs} slots", {{"num_seqs", graph.context.num_seqs}}};
  }
  // Apart from the scores, fewer tensors may exist at the same time.
  Bytes low(most.bytes / 20 * (most.is_scores ? 19 : 14));
  Bytes high(add(most.bytes, most.bytes / 10, 32 * kMiB));
  if (graph.cast_mask > 0 && last && graph.logits.bytes == most.bytes)
    high += Bytes(graph.mask);  // the masks may be needed in addition
  if (pipelined && in.stage > 0) high += Bytes(fitted_copies(graph));
  const bool experts_on_host = input.request.llama_cpp.cpu_moe_layers.value_or(0) > 0 && model.experts.used > 0;
  // From this batch size on, the first GPU computes experts that are in host memory. Smaller batches run on the CPU.
  constexpr std::uint64_t kLeastCopied = 32;
  constexpr double kHeadBits = 6.5625;  // q6_k, the usual type of the head in checkpoints with smaller types
  const bool copies = in.stage == 0 && (placement.first_on_gpu > 0 || experts_on_host);
  if (copies && graph.context.n_ubatch >= kLeastCopied) {
    std::uint64_t matrix = mul(model.hidden_size, mlp_shape(model).width);
    if (model.experts.used > 0)
      matrix = std::max(matrix, mul(model.experts.count, mul(model.hidden_size, model.experts.width)));
    double bits = std::min(in.weight_bits, 32.0);
    if (const std::uint64_t head = mul(model.vocab_size, model.hidden_size);
        placement.units_on_gpu == 0 && head > matrix) {
      matrix = head;
      bits = std::max(bits, kHeadBits);
    }
    const auto copied = static_cast<std::uint64_t>(static_cast<double>(matrix) * bits / 8);
    most.bytes = add(most.bytes, copied);
    low += Bytes(copied / 2);
    high = high + Bytes(add(copied, copied / 2));
    formula += ", the largest matrix of the host's layers as stored";
  }
  LedgerLine compute{Section::kActivation,
                     "compute buffer",
                     Bytes(most.bytes),
                     low,
                     high,
                     Template("{moment}", {{"moment", most.what}}) + formula,
                     "llama.cpp sched_reserve; checked against runs of v0.5.0",
                     LineId::kComputeBuffer,
                     Basis::kEstimate};
  if (const auto buffers = llama_compute_buffers(input, in.load))
    compute = graph_line(in, graph, placement, (*buffers)[in.stage]);
  LedgerLine runtime{Section::kRuntime,
                     "driver context and libraries",
                     Bytes(512 * kMiB),
                     Bytes(400 * kMiB),
                     Bytes(800 * kMiB),
                     "512 MiB per GPU",
                     "estimate: 457 to 749 MiB are seen; llama.cpp's own --fit leaves 1024 MiB free for it and others",
                     LineId::kContext};
  std::vector<LedgerLine> out{std::move(compute), std::move(runtime)};
  if (input.request.mtp && last) {
    if (auto line = mtp_context(input, in.load)) out.push_back(std::move(*line));
  }
  if (input.draft != nullptr) {
    // The draft has its own context with a separate buffer.
    OverheadInput draft = in;
    draft.engine = input.draft.get();
    LedgerLine line = llama_cpp_overhead(draft).front();
    line.what = "compute buffer of the draft";
    line.id = LineId::kDraftBuffer;
    out.push_back(std::move(line));
  }
  return out;
}

Bytes llama_largest_piece(const EngineInput& input, const Load& load) {
  const Graph graph = graph_of(input, load);
  return Bytes(graph.scores > 0 && llama_rules(input.request).chunks_buffers ? graph.scores : graph.work.bytes);
}

std::vector<LedgerLine> llama_cpp_host_buffers(const EngineInput& input, const Load& load) {
  const Graph graph = graph_of(input, load);
  const LlamaPlacement placement(input);
  const bool pipelined = placement.pipelined;
  const std::uint64_t copies = pipelined ? kPipelineCopies : 1, given = graph.copies_unused ? copies : 1;
  Bytes compute(add(mul(copies, graph.mask),
                    mul(graph.selects_inputs ? mul(graph.embeddings, 1 + given) : 1, graph.hidden),
                    graph.layer_inputs));
  Template formula("inputs of a micro-batch and its masks");
  const bool alone = llama_without_gpu(input.request);
  if (alone) {
    compute += Bytes(std::max(graph.work.bytes, graph.logits.bytes));
    formula = {"{moment} of a micro-batch, its inputs and masks", {{"moment", graph.work.what}}};
  }
  Bytes low = compute, high = compute * 2;
  if (const auto buffers = llama_compute_buffers(input, load)) {
    compute = low = Bytes(buffers->back());
    high = compute + Bytes(compute.count() / 4);
    formula = "host memory for the graph of a micro-batch";
  }
  const Bytes logits(mul(mul(input.model.vocab_size, graph.context.num_seqs), kFloat));
  return {{Section::kActivation, "compute buffer of the host", compute, low, high, std::move(formula),
           "llama.cpp sched_reserve", LineId::kComputeBuffer, Basis::kEstimate},
          of_kind(LineId::kSampled,
                  exact_line(Section::kActivation, "logits", logits,
                             {"vocab_size * {num_seqs} sequences * 4 B", {{"num_seqs", graph.context.num_seqs}}},
                             "llama.cpp output buffer"))};
}

}  // namespace kvplan
