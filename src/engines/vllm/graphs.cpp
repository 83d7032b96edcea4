// All CUDA graphs share one pool. In addition, V0 keeps about 1.3 times one layer's activations for each captured size.
// V1 keeps some KiB for each graph and layer, and more with experts. Before vLLM sizes the cache it captures two or
// three graphs, estimates all of them from these, and subtracts the estimate from the budget. The estimate is between
// half and five times what the graphs take later. The new runner captures the largest whole graph twice and uses the
// second capture as the estimate of each other graph.
//
// Checked against start-up logs: testdata/observations/vllm.json. Two runs of the same start can differ by a factor of
// two.

#include <algorithm>

#include "engines/estimates.h"
#include "engines/vllm/class_table.h"
#include "engines/vllm/vllm.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"

namespace kvplan {

constexpr const char* kGraphBytes = "CUDA graphs";

// Sizes up to `largest`: 1, 2, 4, then every 8, and from 256 on every `step`.
static std::vector<std::uint64_t> ladder(std::uint64_t largest, std::uint64_t step) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t size = 1; size <= largest; size += size < 4 ? size : size < 8 ? 4 : size < 256 ? 8 : step)
    out.push_back(size);
  return out;
}

// Tokens of a diffusion model's canvas, which vLLM counts as draft tokens (VllmConfig.num_speculative_tokens); 0 for
// other models.
static std::uint64_t canvas(const EngineInput& input) {
  for (const ConfigFact& fact : input.model.facts)
    if (fact.key == "canvas_length") return whole_number(fact.value).value_or(0);
  return 0;
}

// FP8 caches use FlashInfer. On Hopper FlashAttention has a kernel for them (platforms/cuda.py).
static bool uses_flashinfer_fp8(const EngineInput& input, const VllmRules& rules) {
  constexpr std::uint64_t kWidest = 256;
  const unsigned capability = input.request.card.capability();
  const bool is_fp8 = input.types.key == Dtype::kFp8E4m3 || input.types.key == Dtype::kFp8E5m2;
  if (!rules.flashinfer_fp8 || !is_fp8 || capability < 80) return false;
  if (vllm_is_hopper(input.request) || vllm_is_data_blackwell(input.request)) return false;
  if (const VllmClass the_class = vllm_class(input.model); the_class.keeps_latents || the_class.lacks_flashinfer_fp8)
    return false;
  const std::uint64_t widest = vllm_widest_value(input);
  return widest > 0 && widest <= kWidest;
}

// With drafts, FlashInfer does not capture whole decoding steps (get_cudagraph_support).
static Bytes flashinfer_workspace(const EngineInput& input, const VllmRules& rules) {
  constexpr std::uint64_t kWorkspace = 394 * kMiB;
  return Bytes(vllm_speculative_tokens(input) == 0 && uses_flashinfer_fp8(input, rules) ? kWorkspace : 0);
}

// In a captured step FlashAttention 3 splits the keys into up to 32 parts, each with a float32 output. All layers share
// one buffer, which is as large as the largest graph needs (flash_attn_max_num_splits_for_cuda_graph).
static Bytes split_outputs(const EngineInput& input, std::uint64_t tokens) {
  constexpr std::uint64_t kSplits = 32, kFloat = 4;
  if (tokens == 0 || !vllm_is_hopper(input.request)) return Bytes(0);
  std::uint64_t width = vllm_widest_value(input);
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.compact) {
      if (term.role == Role::kIndex) return Bytes(0);  // read by separate kernels
      if (term.part == Part::kLatent) width = std::max(width, term.shape.width);
    }
  const std::uint64_t heads = ceil_div(input.model.num_heads, input.request.parallel.tensor);
  return Bytes(kSplits * kFloat) * checked_mul(tokens, checked_mul(heads, width, kGraphBytes), kGraphBytes);
}

VllmGraphs vllm_captured_graphs(const EngineInput& input, const VllmRules& rules) {
  if (input.request.enforce_eager) return {};
  const std::string_view mode = input.request.vllm.graph_mode;
  const std::uint64_t seqs = vllm_max_num_seqs(input.request, rules);
  const std::vector<std::uint64_t> sizes =
      !rules.v1_engine ? ladder(std::min<std::uint64_t>(seqs, 256), 8) : vllm_graph_sizes(input, rules);
  VllmGraphs out{sizes.size(), sizes.size(), 0, sizes.empty() ? 0 : sizes.back(), 0, 0};
  for (const std::uint64_t size : sizes) out.tokens += size;
  if (rules.whole_graphs && mode != "piecewise") {
    const std::uint64_t decoded = checked_mul(seqs, vllm_speculative_tokens(input) + 1, kGraphBytes);
    const auto end = mode == "full" ? sizes.end() : std::upper_bound(sizes.begin(), sizes.end(), decoded);
    out.whole = static_cast<std::uint64_t>(end - sizes.begin());
    out.count += out.whole;
    if (out.whole > 0) out.largest_whole = *(end - 1);
    // Encoder-decoders only capture whole decode steps (VllmConfig, FULL_DECODE_ONLY).
    if (vllm_has_cross_attention(input) || mode.starts_with("full")) {
      out.count = out.whole;
      out.largest = out.largest_whole;
    }
  }
  return out;
}

bool vllm_captures_whole_steps(const EngineInput& input, const VllmRules& rules) {
  if (vllm_captured_graphs(input, rules).whole == 0) return false;
  return vllm_speculative_tokens(input) == 0 || !uses_flashinfer_fp8(input, rules);
}

std::uint64_t vllm_largest_graph(const EngineInput& input, const VllmRules& rules) {
  if (rules.gpt_oss_graphs && vllm_class(input.model).names_largest_graph) return 1024;
  return rules.largest_graphs && vllm_is_data_blackwell(input.request) ? 1024 : 512;
}

std::vector<std::uint64_t> vllm_graph_sizes(const EngineInput& input, const VllmRules& rules) {
  const ExtrasRequest& asked = input.request.extras;
  const std::uint64_t batched = vllm_batched_tokens(input, rules);
  if (!asked.graph_sizes.empty()) {
    std::vector<std::uint64_t> out = asked.graph_sizes;
    std::erase_if(out, [&](std::uint64_t size) { return size > batched; });
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  const std::uint64_t seqs = vllm_max_num_seqs(input.request, rules);
  const std::uint64_t drafts = std::max(vllm_speculative_tokens(input), canvas(input));
  const std::uint64_t of_step = rules.counts_drafts ? checked_add(drafts, 1, kGraphBytes) : 1;
  const bool is_named = rules.gpt_oss_graphs && vllm_class(input.model).names_largest_graph;
  const std::uint64_t limit = asked.graph_batch.value_or(vllm_largest_graph(input, rules));
  // A class may fix the largest captured size, whatever the number of sequences (GptOssForCausalLMConfig).
  const std::uint64_t by_steps = is_named || asked.graph_batch || !rules.graphs_by_seqs
                                     ? limit
                                     : checked_mul(checked_mul(seqs, of_step, kGraphBytes), 2, kGraphBytes);
  const std::uint64_t most = std::min({by_steps, limit, batched});
  std::vector<std::uint64_t> out = ladder(most, rules.wide_steps ? 16 : 8);
  if (is_named || asked.graph_batch) return out;
  // With drafts vLLM also captures steps of whole requests and their drafts. Without drafts it only adds the widest
  // step.
  const std::uint64_t requests = std::min(seqs, limit);
  std::vector<std::uint64_t> steps;
  if (of_step > 1 && rules.whole_steps) {
    steps = ladder(requests, 16);
    steps.push_back(requests);
  } else if (of_step == 1 && rules.widest_step) {
    steps.push_back(seqs);
  }
  for (const std::uint64_t count : steps)
    if (count <= most / of_step) out.push_back(count * of_step);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

namespace {

struct GraphTerm {
  Bytes bytes;
  Template formula;
};

// The size of a graph follows from the number of its kernels, as seen on an H200 (docs/measure.md) and in logs. The
// layers between two attention calls are captured as one piece.
GraphTerm of_kernels(const VllmGraphs& captures, std::uint64_t layers) {
  constexpr std::uint64_t kPiece = 118, kLayer = 20;  // KiB
  const std::uint64_t pieces = checked_mul(captures.count - captures.whole, layers + 1, kGraphBytes);
  const std::uint64_t whole = checked_mul(captures.whole, layers, kGraphBytes);
  return {
      Bytes(kPiece * kKiB) * pieces + Bytes(kLayer * kKiB) * whole,
      {"{pieces} graphs of pieces * {piece} KiB + {whole} whole graphs * {num_layers} layers * {each} KiB",
       {{"pieces", pieces}, {"piece", kPiece}, {"whole", captures.whole}, {"num_layers", layers}, {"each", kLayer}}}};
}

// NCCL's memory for the all-reduces of captured layers, two in each. vLLM's own kernel needs none, but more than two
// GPUs only use it if NVLink connects them all (custom_all_reduce.py).
GraphTerm of_reduces(const EngineInput& input, const VllmRules& rules, std::uint64_t graphs, std::uint64_t layers) {
  constexpr std::uint64_t kReduce = 132;  // KiB
  const unsigned capability = input.request.card.capability();
  const bool has_nvlink = capability == 0 || capability % 10 == 0 || vllm_is_data_blackwell(input.request);
  const std::uint64_t reduces = checked_mul(graphs, layers * 2, kGraphBytes);
  if (!rules.keeps_reduces || has_nvlink || input.request.card.is_amd() || input.request.parallel.tensor <= 2 ||
      reduces == 0)
    return {};
  return {Bytes(kReduce * kKiB) * reduces,
          {"{reduces} all-reduces of NCCL * {each} KiB + ", {{"reduces", reduces}, {"each", kReduce}}}};
}

// bitsandbytes unpacks a matrix into 16 bit before it multiplies, in up to two types, and has 17 more kernels a layer:
// one more for each matrix, and one that copies each product.
GraphTerm of_unpacking(const EngineInput& input, std::uint64_t graphs, std::uint64_t layers) {
  constexpr std::uint64_t kKernels = 42;  // KiB
  const bool is_bnb =
      input.model.quantization.dialect == "bitsandbytes" || input.request.weights.value_or("").starts_with("bnb-nf4");
  if (!is_bnb) return {};
  const std::uint64_t matrix = checked_mul(
      input.model.hidden_size, ceil_div(input.model.intermediate_size, input.request.parallel.tensor), kGraphBytes);
  const std::uint64_t kernels = checked_mul(graphs, layers, kGraphBytes);
  return {Bytes(matrix) * 4 + Bytes(kKernels * kKiB) * kernels,
          {"2 * {matrix} * 2 B of an unpacked matrix + {kernels} layers of graphs * {each} KiB + ",
           {{"matrix", matrix}, {"kernels", kernels}, {"each", kKernels}}}};
}

}  // namespace

LedgerLine vllm_graphs_line(const EngineInput& input, const VllmRules& rules) {
  const std::uint64_t layers = ceil_div(input.model.num_layers, input.request.parallel.pipeline);
  const VllmGraphs captures = vllm_captured_graphs(input, rules);
  const bool shares = input.request.card.is_unified();
  const Bytes splits = split_outputs(input, captures.largest_whole);
  const bool alone = input.request.parallel.tensor == 1 && input.request.parallel.pipeline == 1;
  const std::string_view term = shares                                              ? "vllm graphs, unified memory"
                                : !rules.whole_graphs                               ? "vllm graphs until 0.10"
                                : splits > Bytes(0) && rules.empties_before_capture ? "vllm graphs, Hopper"
                                : alone                                             ? "vllm graphs"
                                                                                    : "vllm graphs, several GPUs";
  const GraphTerm reduces = of_reduces(input, rules, captures.count, layers);
  const GraphTerm unpacking = of_unpacking(input, captures.count, layers);
  if (!rules.v1_engine) {
    const std::uint64_t row = vllm_layer_row(input);
    const Bytes kept = Bytes(captures.tokens) * row;
    return of_kind(LineId::kGraphs,
                   ranged_line(term, Section::kRuntime, kGraphBytes,
                               Bytes(kept.count() / 10 * 13) + reduces.bytes + unpacking.bytes,
                               reduces.formula + unpacking.formula +
                                   Template("{sizes} sizes of {tokens} tokens in all * {row} B of a layer * 1.3",
                                            {{"sizes", captures.sizes}, {"tokens", captures.tokens}, {"row", row}}),
                               "estimate: \"Graph capturing finished\" in start-up logs, 0.13 to 0.76 GiB"));
  }
  constexpr std::uint64_t kPool = 256 * kMiB, kPoolTokens = 512;
  const bool has_experts = input.model.experts.used > 0;
  const bool by_kernels = rules.whole_graphs && !has_experts && !vllm_is_hopper(input.request) && captures.count > 0;
  std::uint64_t each = 0;  // KiB
  std::uint64_t pool = 0, stream = 0;
  if (rules.whole_graphs) {
    each = has_experts ? 230 : 132;
    // What estimating took is kept and reused. This also applies to the memory of the stream that captures.
    if (!rules.keeps_graph_pool) {
      pool = kPool / kPoolTokens * std::min(captures.largest, kPoolTokens);
      if (by_kernels) stream = 50 * kMiB;
    }
  } else {
    each = 215 + input.model.hidden_size / 43;  // 24 KiB for each 1024 of the hidden size
  }
  const Bytes workspace = flashinfer_workspace(input, rules);
  GraphTerm graphs = by_kernels ? of_kernels(captures, layers)
                                : GraphTerm{Bytes(captures.count) * checked_mul(layers, each * kKiB, kGraphBytes),
                                            {"{graphs} graphs * {num_layers} layers * {each} KiB",
                                             {{"graphs", captures.count}, {"num_layers", layers}, {"each", each}}}};
  const Bytes bytes = workspace + splits + Bytes(pool + stream) + graphs.bytes + reduces.bytes + unpacking.bytes;
  Template formula = reduces.formula + unpacking.formula;
  if (workspace > Bytes(0)) formula += {"{workspace} MiB of FlashInfer + ", {{"workspace", workspace.count() / kMiB}}};
  if (splits > Bytes(0)) formula += {"{splits} MiB of 32 splits' outputs + ", {{"splits", splits.count() / kMiB}}};
  if (pool > 0)
    formula += {"{tokens} tokens' pool of {pool} KiB + ", {{"tokens", captures.largest}, {"pool", pool / kKiB}}};
  if (stream > 0) formula += {"{stream} MiB of a stream + ", {{"stream", stream / kMiB}}};
  formula += std::move(graphs.formula);
  std::string_view source = alone ? "estimate: 0.00 to 1.56 GiB in start-up logs; repeating a start can double it"
                                  : "estimate: 0.09 to 4.13 GiB in start-up logs on several GPUs";
  if (shares) source = "estimate: with unified memory host allocations count too: 0.01 to 1.35 GiB in logs";
  return of_kind(LineId::kGraphs,
                 ranged_line(term, Section::kRuntime, kGraphBytes, bytes, std::move(formula), std::string(source)));
}

std::optional<LedgerLine> vllm_room_for_graphs(const EngineInput& input, const VllmRules& rules, Bytes taken) {
  if (!rules.graphs_in_peak || taken == Bytes(0)) return std::nullopt;
  const bool is_new = vllm_has_new_runner(input, rules);
  if (is_new && !rules.estimates_new_graphs) return std::nullopt;  // this release does not estimate
  const bool shares = input.request.card.is_unified();
  if (is_new) {
    // The largest whole graph is captured twice, and the second capture is the estimate of each other graph.
    constexpr std::uint64_t kEach = 30 * kMiB;
    const VllmGraphs captures = vllm_captured_graphs(input, rules);
    const Bytes estimated = Bytes(kEach) * (captures.whole > 0 ? captures.whole - 1 : 0);
    const Bytes theirs(taken.count() / captures.count * captures.whole);
    return ranged_line("vllm room for graphs, new runner", Section::kActivation,
                       "kept free for CUDA graphs beyond what they take",
                       estimated > theirs ? estimated - theirs : Bytes(0),
                       {"({whole} - 1) whole graphs * {each} MiB, minus what they take",
                        {{"whole", captures.whole}, {"each", kEach / kMiB}}},
                       "estimate: profile_cudagraph_memory (v1/worker/gpu/cudagraph_utils.py) captures the largest "
                       "whole graph twice and counts the second for every other one; 0.5 to 1.5 GiB in start-up logs");
  }
  const Bytes room(taken.count() / (shares ? 2 : 4));
  return ranged_line(
      "vllm room for graphs", Section::kActivation, "kept free for CUDA graphs beyond what they take", room,
      shares ? "half of the graphs, where the CPU shares the memory" : "a quarter of the graphs",
      "estimate: profile_cudagraph_memory extrapolates from a few graphs: half to five times what all take");
}

bool vllm_estimates_graphs(const EngineInput& input, const VllmRules& rules) {
  return rules.graphs_in_budget && (!vllm_has_new_runner(input, rules) || rules.estimates_new_graphs);
}

}  // namespace kvplan
