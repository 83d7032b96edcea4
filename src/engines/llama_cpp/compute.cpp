// The compute buffer of one GPU: the most that is alive at once in the graph of one micro-batch, for which
// llama_context::sched_reserve takes memory when it starts. Where the model's graph can be built (compute_buffers.h) it
// is worked out as ggml does it. Elsewhere it is modelled as a maximum of moments. ub = n_ubatch, E = hidden size, F
// and Fe = widths of the dense MLP and of an expert, u = experts of a token, V = vocabulary, H = heads, n_kv = cells of
// a stream; 4 bytes an element:
//
//   mask = ub * (n_kv of each cache) * 2, or 4 without flash attention
//   logits     rows * (V + E)                                       rows: one for each slot of a server
//   MLP        ub * (3F + 3E) + mask
//   experts    ub * max(2uE + E, 3u*Fe + 3E) + mask
//   attention  ub * (2E + q + o) + mask                             with flash attention
//              ub * (2E + 2q + kv) + mask + n_kv * ub * H           without: the scores
//              + ub * n_kv * 10 where an indexer chooses the cells     a fused indexer, as CUDA has it
//   recurrence ub * (3I + 2C + I) + rows of states                  I inner width, C channels of the convolution
//
// plus a copy in 16 bit of one layer's K and V where the cache has another type (CUDA's kernels read no other). Several
// GPUs with all layers on them run as a pipeline, four copies of the inputs on each. Layers left on the host are
// multiplied on the GPU all the same, by batches of 32 tokens and more: their largest matrix is copied there as stored
// (8B in f16, -ngl 16: 84 + 112 MiB; the experts of Qwen3-30B-A3B in f16: 84 + 384 MiB).
//
// Checked against: runs of v0.5.0 with a GPU that holds no memory (781 contexts: 74 % within 5 %, 84 % within 10 %);
// logs. The range is the one that covers 95 % of them: 1.1 times the figure and 32 MiB. Experts with a shared one or
// sigmoid gates keep less than others, which no config says: up to 20 % off.
#include "engines/llama_cpp/compute.h"

#include <algorithm>

#include "engines/drafts.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/compute_buffers.h"
#include "engines/llama_cpp/compute_graph.h"
#include "engines/llama_cpp/models.h"

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
  std::uint64_t copied = 0;                            // elements of K and V in a type that the kernels do not read
  std::uint64_t inner = 0, channels = 0, state = 0;    // recurrence: I, C, elements of the states
  bool full = false;                                   // some cache has no window
  std::uint64_t index_stride = 0;                      // tokens per index key; 0 without an indexer
  std::uint64_t window = 0;
};

void widen(Widths& out, const LayerCache& cache, const EngineInput& input, bool keeps_windows) {
  std::uint64_t key = 0, value = 0, key_elements = 0, value_elements = 0, latent = 0;
  std::uint64_t channels = 0, state = 0, inner = 0;
  for (const Term& term : llama_cpp_expands_latents(input.model) ? cache.expanded : cache.compact) {
    if (term.growth == Growth::kSequence && term.role == Role::kState) {
      const std::uint64_t elements = mul(mul(term.shape.units, term.shape.vectors), term.shape.width);
      if (term.shape.columns > 0) {
        channels = add(channels, elements);
      } else if (elements > state) {
        state = elements;
        inner = mul(term.shape.units, term.shape.vectors);
      }
      continue;
    }
    if (term.role == Role::kState || term.growth != Growth::kToken) continue;
    if (term.role == Role::kIndex)
      out.index_stride = out.index_stride == 0 ? term.stride : std::min(out.index_stride, term.stride);
    const bool windowed = keeps_windows && term.stride == 1 && term.limit.kind != LimitKind::kNone;
    if (windowed) out.window = std::max(out.window, term.limit.tokens.count());
    if (!windowed) out.full = true;
    if (term.stride > 1) continue;
    if (term.role == Role::kKey) {
      key = add(key, term.shape.width);
      key_elements = add(key_elements, term.elements().count());
      if (term.part == Part::kLatent) latent = term.shape.width;
    } else if (term.role == Role::kValue) {
      value = term.shape.width;
      value_elements = term.elements().count();
    }
  }
  if (value == 0) value = value_elements = latent;  // read from the latent
  const std::uint64_t heads = input.model.num_heads;
  out.query = std::max(out.query, mul(heads, key));
  out.output = std::max(out.output, mul(heads, value));
  out.key_value = std::max(out.key_value, add(key_elements, value_elements));
  std::uint64_t copied = input.types.key == Dtype::kFloat16 ? 0 : key_elements;
  if (input.types.value != Dtype::kFloat16) copied = add(copied, value_elements);
  out.copied = std::max(out.copied, copied);
  out.inner = std::max(out.inner, inner);
  out.channels = std::max(out.channels, channels);
  out.state = std::max(out.state, add(state, channels));
}

struct Moment {
  std::string_view what;
  std::uint64_t bytes = 0;
  bool is_scores = false;  // of attention: one tensor, by far the largest
};

// Sizes of one graph, in bytes.
struct Graph {
  LlamaContext context;
  std::uint64_t mask = 0, hidden = 0;  // of a micro-batch
  Moment logits, work;                 // the largest moment of a layer
};

Graph graph_of(const EngineInput& input, const Load& load) {
  const ModelShape& model = input.model;
  Graph out;
  out.context = llama_context(input, load);
  const LlamaContext& context = out.context;
  const bool flash_attention = llama_flash_attention(input);
  const bool keeps_windows = llama_cpp_keeps_windows(model) && !input.request.llama_cpp.swa_full;
  Widths widths;
  for (const LayerCache& cache : input.caches) widen(widths, cache, input, keeps_windows);

  const std::uint64_t ub = context.n_ubatch;
  const std::uint64_t row = mul(ub, kFloat);
  const std::uint64_t hidden = model.hidden_size;
  const std::uint64_t window_cells =
      widths.window > 0 ? llama_window_cells(context, widths.window, llama_keeps_sequences_apart(input)) : 0;
  const std::uint64_t full_cells = widths.full ? context.n_ctx_seq : 0;
  out.mask = mul(mul(ub, add(full_cells, window_cells)), flash_attention ? 2 : 4);
  out.hidden = mul(row, hidden);

  std::uint64_t rows = context.num_seqs;
  if (input.request.mtp || input.draft_method)
    rows = mul(rows,
               1 + (input.request.num_speculative_tokens > 0 ? input.request.num_speculative_tokens : kDefaultDraft));
  if (llama_build(input.request)) rows = ub;  // builds before n_outputs_max existed
  out.logits = {"logits", mul(mul(std::min(rows, ub), add(model.vocab_size, hidden)), kFloat)};

  // Further residual streams (Gemma 3n, DeepSeek-V4) exist throughout.
  const std::uint64_t residual = mul(3 * llama_cpp_residual_streams(model), hidden);
  const auto widest = [&out](std::string_view what, std::uint64_t bytes, bool is_scores = false) {
    if (bytes > out.work.bytes) out.work = {what, bytes, is_scores};
  };
  const ExpertShape& experts = model.experts;
  if (experts.used == 0 || experts.dense_layers > 0)
    widest("MLP", add(mul(row, add(mul(3, model.intermediate_size), residual)), out.mask));
  if (experts.used > 0) {
    const std::uint64_t gathered = add(mul(2, mul(experts.used, hidden)), hidden);
    const std::uint64_t inside = add(mul(3, mul(experts.used, experts.width)), residual);
    widest("experts", add(mul(row, std::max(gathered, inside)), out.mask));
  }
  if (widths.query > 0) {
    const std::uint64_t cells = std::max(full_cells, window_cells);
    // For an indexer: scores in float32, its own mask, and a mask of the chosen cells in two types.
    const std::uint64_t chosen =
        widths.index_stride > 0 ? mul(mul(ub, ceil_div(cells, widths.index_stride)), 4 + 2 + 4) : 0;
    if (flash_attention)
      widest("attention", add(mul(row, add(2 * hidden, widths.query, widths.output)), add(out.mask, chosen),
                              mul(mul(mul(cells, context.streams), widths.copied), 2)));
    else
      widest("attention scores",
             add(mul(row, add(2 * hidden, 2 * widths.query, widths.key_value)), out.mask,
                 mul(mul(cells, ub), mul(model.num_heads, kFloat))),
             true);
  }
  if (widths.inner > 0) {
    // The projection (inner, gate and what passes the convolution), the convolution's input and output, time steps, the
    // scan.
    const std::uint64_t channels = std::max(widths.channels, widths.inner);
    const std::uint64_t alive = add(mul(4, widths.inner), mul(2, channels));
    widest("recurrence", add(mul(row, alive), mul(mul(context.num_seqs, widths.state), kFloat)));
  }
  return out;
}

// The MTP layers have their own context (common/speculative.cpp), as long as the model's and with its batch and head: a
// compute buffer for one attention and one MLP. Qwen3.8-27B, 32,768 tokens, -ub 2048: 520 MiB with Vulkan (planned
// 656).
std::optional<LedgerLine> mtp_context(const EngineInput& input, const Load& load) {
  EngineInput own = input;
  own.caches = mtp_layers(input);
  if (own.caches.empty()) return std::nullopt;
  own.request.mtp = false;
  const Graph graph = graph_of(own, load);
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

// The buffer by ggml's own steps. It is exact on one GPU that holds everything, if a file describes the graph and
// contexts of its architecture were executed. On cards with the kernel CUDA keeps experts longer, for the fused sum;
// llama.cpp's --fit counts a copy of the hidden state for later GPUs, which a run does not make.
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
  const bool all_on_gpu = placement.first_on_gpu == 0 && !input.request.llama_cpp.no_kv_offload &&
                          input.request.llama_cpp.cpu_moe_layers.value_or(0) == 0;
  if (model.is_gguf && model.graph.is_checked && model.experts.used == 0 && all_on_gpu && placement.gpus == 1)
    return out;
  std::uint64_t more = mul(model.experts.used, graph.hidden);
  if (placement.gpus > 1 && in.stage > 0) more = add(more, mul(kPipelineCopies, graph.hidden));
  const std::uint64_t unsure = model.graph.is_checked && all_on_gpu ? bytes / 20 : bytes / 4;
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
  const bool pipelined = placement.gpus > 1 && placement.first_on_gpu == 0;

  Moment most = graph.work;
  Template formula{" of a micro-batch of {n_ubatch} tokens", {{"n_ubatch", graph.context.n_ubatch}}};
  if (pipelined) {
    // The copies include the masks.
    most.bytes -= std::min(most.bytes, graph.mask);
    if (last && graph.logits.bytes > most.bytes) most = graph.logits;
    const std::uint64_t inputs = add(graph.mask, mul(graph.hidden, in.stage == 0 ? 1 : 2));
    most.bytes = add(most.bytes, mul(kPipelineCopies, inputs));
    formula += ", 4 copies of its inputs";
  } else if (last && graph.logits.bytes > most.bytes) {
    most = graph.logits;
    formula = {" of {num_seqs} slots", {{"num_seqs", graph.context.num_seqs}}};
  }
  // Apart from the scores, fewer tensors may exist at once.
  Bytes low(most.bytes / 20 * (most.is_scores ? 19 : 14));
  Bytes high(add(most.bytes, most.bytes / 10, 32 * kMiB));
  const bool experts_on_host = input.request.llama_cpp.cpu_moe_layers.value_or(0) > 0 && model.experts.used > 0;
  // Smaller batches are multiplied where the weights are.
  constexpr std::uint64_t kLeastCopied = 32;
  if ((placement.first_on_gpu > 0 || experts_on_host) && graph.context.n_ubatch >= kLeastCopied) {
    std::uint64_t matrix = mul(model.hidden_size, model.intermediate_size);
    if (model.experts.used > 0)
      matrix = std::max(matrix, mul(model.experts.count, mul(model.hidden_size, model.experts.width)));
    if (placement.units_on_gpu == 0) matrix = std::max(matrix, mul(model.vocab_size, model.hidden_size));
    const auto copied = static_cast<std::uint64_t>(static_cast<double>(matrix) * std::min(in.weight_bits, 32.0) / 8);
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
  if (const auto buffers = llama_compute_buffers(input, in.load, in.weight_bits))
    compute = graph_line(in, graph, placement, (*buffers)[in.stage]);
  LedgerLine runtime{Section::kRuntime,
                     "driver context and libraries",
                     Bytes(512 * kMiB),
                     Bytes(400 * kMiB),
                     Bytes(800 * kMiB),
                     "512 MiB a GPU",
                     "estimate: 457 to 749 MiB are seen; llama.cpp's own --fit leaves 1024 MiB free for it and others",
                     LineId::kContext};
  std::vector<LedgerLine> out{std::move(compute), std::move(runtime)};
  if (input.request.mtp && last) {
    if (auto line = mtp_context(input, in.load)) out.push_back(std::move(*line));
  }
  if (input.draft != nullptr) {
    // The draft has its own context, whose buffer is separate from the model's.
    OverheadInput draft = in;
    draft.engine = input.draft.get();
    LedgerLine line = llama_cpp_overhead(draft).front();
    line.what = "compute buffer of the draft";
    line.id = LineId::kDraftBuffer;
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<LedgerLine> llama_cpp_host_buffers(const EngineInput& input, const Load& load) {
  const Graph graph = graph_of(input, load);
  Bytes compute(add(mul(2, graph.hidden), graph.mask));
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
    formula = "what the graph of a micro-batch holds in host memory";
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
