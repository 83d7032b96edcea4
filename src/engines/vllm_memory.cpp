// The profile run: a batch of max_num_batched_tokens goes through the model, then max_num_seqs rows are sampled; the
// larger peak is what vLLM prints as "peak activation" and takes from the budget (v1/worker/gpu_worker.py,
// determine_available_memory; worker/worker.py in V0). Against printed figures, in GiB:
//
//   tokens * 3 * (hidden + intermediate / tp) * 2 B: gate and up, their product, residual, input and output of a layer
//     Llama-3.1-8B, 20,000 tokens: 2.06 (2.07 printed); 29,000: 2.99 (2.99); Qwen3-4B, 10,000: 0.69 (0.74);
//     Gemma-3-27B with TP 4, 65,536: 3.94 (3.73)
//   rows * vocabulary * 39 B: logits in 16 and 32 bit, the sorted copy and its int64 indices, probabilities and their
//     sums; beside the hidden states of the batch
//     Llama-3-8B: 1.25 (1.26); Qwen2.5-7B: 1.46 (1.43); OPT-125m: 0.47 (0.47); Llama-3.1-70B on 8 ranks: 1.20 (1.21 on
//     the rank that samples); Qwen3-Next in 0.11: 5.68 (5.58). Later releases no longer sort everything: 13 B an
//     element Llama-3.1-8B on an H100 in 2026: 1.65 (1.44)
//
// CUDA graphs differ widely from card to card and release to release; the ranges are meant.
//   V0: each of the captured sizes keeps one layer's activations, about 1.3 times over
//     Qwen2.5-7B: 0.69 (0.76); Gemma-3-27B with TP 4: 0.33 (0.29); Qwen3-0.6B: 0.13 (0.13); Llama-70B, TP 8: 0.36
//     (0.48)
//   V1 until 0.20: 67 piecewise graphs of every layer, 600 KB each
//     Qwen3-Next: 1.8 (2.37); Llama-405B with TP 4: 4.7 (4.95); a 14 GiB model on an H100: 1.2 (0.67)
//   since: Llama-3.1-8B 0.23, Qwen3.5-27B 0.24, Qwen2.5-0.5B 0.40
#include "engines/vllm_memory.h"

#include <algorithm>
#include <cmath>

#include "engines/vllm_rules.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::string_view kWhat = "the activations";

// Releases: V1's worker; a sampler that does not sort all logits; the smaller graphs that come out of the budget.
constexpr std::uint64_t kV1 = 9;
constexpr std::uint64_t kSparingSampler = 12;

constexpr std::uint64_t kSortingSampler = 39;  // bytes an element of the logits
constexpr std::uint64_t kSparingBytes = 13;

// Sizes that are captured: 1, 2, 4, then steps of 8, beyond 256 of `step`; their number and their sum.
struct Captured {
  std::uint64_t sizes = 0, tokens = 0;
};
Captured captured(std::uint64_t largest, std::uint64_t step) {
  Captured out;
  for (std::uint64_t size = 1; size <= largest; size += size < 4 ? size : size < 8 ? 4 : size < 256 ? 8 : step) {
    ++out.sizes;
    out.tokens += size;
  }
  return out;
}

LedgerLine estimate(Section part, std::string what, Bytes bytes, Bytes low, Bytes high, std::string formula,
                    std::string source) {
  return {
      part, std::move(what), bytes, std::min(low, bytes), std::max(high, bytes), std::move(formula), std::move(source)};
}

std::string text(std::uint64_t n) {
  return std::to_string(n);
}

std::uint64_t layer_row(const EngineInput& input) {
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t wide =
      input.model.intermediate_size > 0 ? input.model.intermediate_size : checked_mul(hidden, 4, kWhat);
  const std::uint64_t mlp = ceil_div(wide, input.request.tensor_parallel);
  return checked_mul(checked_add(hidden, mlp, kWhat), 6, kWhat);
}

LedgerLine activation(const EngineInput& input, const VllmRules& rules, bool samples) {
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t tokens = vllm_batched_tokens(input.request);
  const std::uint64_t rows = std::min(vllm_max_num_seqs(input.request, rules), tokens);
  const Bytes layer = Bytes(tokens) * layer_row(input);
  const std::uint64_t each = rules.version >= kSparingSampler ? kSparingBytes : kSortingSampler;
  Bytes sampler;
  if (samples) sampler = Bytes(rows) * checked_mul(input.model.vocab_size, each, kWhat) + Bytes(tokens) * hidden * 2;
  if (sampler > layer)
    return estimate(Section::kActivation, "activation peak (sampler)", sampler,
                    Bytes(sampler.count() / 10 * (each == kSparingBytes ? 6 : 8)),
                    Bytes(sampler.count() / 10 * (each == kSparingBytes ? 25 : 12)),
                    text(rows) + " rows * " + text(input.model.vocab_size) + " logits * " + text(each) + " B + " +
                        text(tokens) + " tokens * " + text(hidden) + " * 2 B",
                    "estimate: the profile run of v1/worker/gpu_model_runner.py, held against start-up logs");
  return estimate(Section::kActivation, "activation peak (batch)", layer, Bytes(layer.count() / 10 * 8),
                  Bytes(layer.count() / 10 * 15),
                  text(tokens) + " tokens * 3 * (" + text(hidden) + " + MLP width of a rank) * 2 B = " + text(tokens) +
                      " * " + text(layer_row(input)) + " B",
                  "estimate: the profile run of v1/worker/gpu_model_runner.py, held against start-up logs");
}

// The CUDA context stands before the budget is taken; what grows after it: libraries' workspaces, NCCL's buffers.
LedgerLine outside_torch(const EngineInput& input, const VllmRules& rules) {
  const bool alone = input.request.tensor_parallel == 1 && input.request.pipeline_parallel == 1;
  if (alone)
    return estimate(Section::kRuntime, "outside PyTorch", Bytes(64 * kMiB), Bytes(0), Bytes(400 * kMiB),
                    "64 MiB on one GPU", "estimate: 0.00 to 0.35 GiB in start-up logs");
  const Bytes bytes(rules.version >= kV1 ? 1400 * kMiB : 480 * kMiB);
  return estimate(Section::kRuntime, "outside PyTorch and communication", bytes, Bytes(100 * kMiB), Bytes(2200 * kMiB),
                  text(bytes.count() / kMiB) + " MiB on a rank of several",
                  "estimate: 0.11 to 0.52 GiB in logs of V0, 1.38 and 1.63 GiB in logs of V1");
}

LedgerLine graphs(const EngineInput& input, const VllmRules& rules) {
  const std::uint64_t layers = ceil_div(input.model.num_layers, input.request.pipeline_parallel);
  const std::uint64_t seqs = vllm_max_num_seqs(input.request, rules);
  if (rules.version < kV1) {
    const Captured sizes = captured(std::min<std::uint64_t>(seqs, 256), 8);
    const Bytes kept = Bytes(sizes.tokens) * layer_row(input);
    return estimate(Section::kRuntime, "CUDA graphs", Bytes(kept.count() / 10 * 13), Bytes(kept.count() / 2), kept * 2,
                    text(sizes.sizes) + " sizes of " + text(sizes.tokens) + " tokens in all * " +
                        text(layer_row(input)) + " B of a layer * 1.3",
                    "estimate: \"Graph capturing finished\" in start-up logs, 0.13 to 0.76 GiB");
  }
  const Captured sizes =
      captured(std::min<std::uint64_t>(checked_mul(seqs, 2, kWhat), 512), rules.graphs_in_budget ? 16 : 8);
  const std::uint64_t each = (rules.graphs_in_budget ? 120 : 600) * kKiB;
  const Bytes bytes = Bytes(sizes.sizes) * checked_mul(layers, each, kWhat);
  return estimate(
      Section::kRuntime, "CUDA graphs", bytes, Bytes(bytes.count() / 4), bytes * (rules.graphs_in_budget ? 3 : 2),
      text(sizes.sizes) + " sizes * " + text(layers) + " layers * " + text(each / kKiB) + " KiB",
      rules.graphs_in_budget ? "estimate: 0.0 to 0.72 GiB in start-up logs"
                             : "estimate: 0.67 to 4.95 GiB in start-up logs; taken from what the budget leaves");
}

}  // namespace

std::vector<LedgerLine> vllm_overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const VllmRules rules = vllm_rules(input.request);
  std::vector<LedgerLine> out;
  out.push_back(activation(input, rules, in.stage + 1 == input.request.pipeline_parallel));
  out.push_back(outside_torch(input, rules));
  if (!input.request.enforce_eager) out.push_back(graphs(input, rules));
  return out;
}

Bytes vllm_cache_budget(const EngineInput& input, Bytes gpu_memory, Bytes beside, Bytes captured) {
  const VllmRules rules = vllm_rules(input.request);
  const double share = input.request.memory_utilization.value_or(rules.utilization);
  const Bytes requested(static_cast<std::uint64_t>(std::ceil(static_cast<double>(gpu_memory.count()) * share)));
  if (!rules.graphs_in_budget) beside = beside > captured ? beside - captured : Bytes(0);
  return requested > beside ? requested - beside : Bytes(0);
}

}  // namespace kvplan
