// The profile run: a batch of max_num_batched_tokens goes through the model, then max_num_seqs rows are sampled; the
// larger peak is what vLLM prints as "peak activation" and takes from the budget (v1/worker/gpu_worker.py,
// determine_available_memory; worker/worker.py in V0). Against printed figures, in GiB:
//
//   tokens * 3 * (hidden + intermediate / tp) * 2 B: gate and up, their product, residual, input and output of a layer
//     Llama-3.1-8B, 20,000 tokens: 2.06 (2.07 printed); 29,000: 2.99 (2.99); Qwen3-4B, 10,000: 0.69 (0.74);
//     Gemma-3-27B with TP 4, 65,536: 3.94 (3.73)
//   rows * vocabulary * bytes of an element, beside the hidden states of the batch. What an element takes is a matter
//   of the runner and the release:
//     39 until 0.15: logits in 16 and 32 bit, the sorted copy and its int64 indices, probabilities and their sums.
//       Llama-3-8B: 1.25 (1.26); Qwen2.5-7B: 1.46 (1.43); OPT-125m: 0.47 (0.47); Qwen3-Next in 0.11: 5.68 (5.58)
//     15 since, with the old runner (gpu_model_runner.py): not all is sorted.
//       Gemma-4-31B: 3.83 (3.90); Qwen3.8-27B: 0.91 (0.85)
//     2 with the new runner (worker/gpu/model_runner.py, by its source): logits in 16 bit, nothing else; 10 since 0.33,
//       which samples a second time with every parameter set. The batch is then mostly the larger.
//   The new runner's libraries: some 32 MiB more. Qwen2.5-0.5B: 0.30 (0.31)
//
// CUDA graphs share one pool. What they take beside it differs from card to card and release to release:
//   V0: each of the captured sizes keeps one layer's activations, about 1.3 times over
//     Qwen2.5-7B: 0.69 GiB (0.76); Gemma-3-27B with TP 4: 0.33 (0.29); Qwen3-0.6B: 0.13 (0.13); Llama-70B, TP 8: 0.36
//     (0.48)
//   V1 until 0.11: 67 piecewise graphs of every layer. MiB a graph and layer: Qwen3-32B with TP 2 0.31, Llama-405B with
//     TP 4 0.60, a Llava on Llama-2-7B 0.32. Experts two and a half times that: Qwen3-Next 0.75; Qwen3-235B on 8 ranks
//     0.56
//   since: 51 piecewise graphs and up to 51 whole ones, and about 0.25 GiB however few they are: 0.40 for 3 and 2 of
//     Gemma-4-26B, 0.54 for 4 and 3 of Qwen3.6-35B with TP 2. Beyond it 0.04 to 0.13 MiB a graph and layer, more with
//     experts. The new runner: 0.23 for 86 graphs of Llama-3.1-8B, nothing at all for a small model
//
// Before the cache is sized, vLLM guesses what graphs will take, from two or three of them: half to five times what
// they take then. The guess is what comes out of the budget, and since 0.27 it is printed within "peak activation".
//
// Outside PyTorch, as printed. One GPU: 0.00 to 0.09 GiB on most cards, 0.16 on H100, 0.25 to 0.35 at times (24 logs,
// the median 0.05); 0.46 to 0.78 with ROCm. Since 0.27 "consumed" counts all that is gone when the profile is over,
// what the allocator keeps and the sampler's counts of the new runner too: 0.15 to 0.47. Several, V0: 0.11 to 0.93 (8
// logs, the median 0.30); V1: 0.21 to 2.43 (9 logs, the median 1.4). Where the processor shares the memory, what the
// host takes while weights load counts as vLLM's: GB10 -0.5 to 5.7 GiB.
#include "engines/vllm/memory.h"

#include <algorithm>
#include <cmath>

#include "engines/estimates.h"
#include "engines/vllm/card.h"
#include "engines/vllm/rules.h"
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

constexpr std::string_view kWhat = "the activations";

// Releases: V1's worker; a sampler that does not sort all logits; the smaller graphs that come out of the budget.
constexpr std::uint64_t kV1 = 9;
constexpr std::uint64_t kSparingSampler = 16;  // 0.15 still sorts: 1.40 GiB for 256 rows of 151,936
constexpr std::uint64_t kWholeGraphs = 12;     // graphs of whole decode steps beside the piecewise ones
constexpr std::uint64_t kWholeSteps = 27;      // sizes of steps with drafts; 0.26 has them not, 0.30 has
constexpr std::uint64_t kWidestStep = 31;      // a step of all sequences has a size; 0.30 has it not, 0.33 has

constexpr std::uint64_t kNewRunner = 26;          // worker/gpu/model_runner.py for dense models with attention alone
constexpr std::uint64_t kNewRunnerOnly = 30;      // for every model
constexpr std::uint64_t kImagesInNewRunner = 27;  // 0.26 still has the old one for Gemma-4
constexpr std::uint64_t kGuessesGraphs = 30;      // profile_cudagraph_memory of the new runner; 0 before
constexpr std::uint64_t kGuessInPeak = 27;        // the line with "consumed"; 0.26 has it not
constexpr std::uint64_t kSamplesTwice = 33;       // _dummy_sampler_run; 0.32 has it not

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

// The same as a list: 1, 2, 4, steps of 8, and from 256 on of `step`.
std::vector<std::uint64_t> ladder(std::uint64_t largest, std::uint64_t step) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t size = 1; size <= largest; size += size < 4 ? size : size < 8 ? 4 : size < 256 ? 8 : step)
    out.push_back(size);
  return out;
}

LedgerLine estimate(Section part, std::string what, Bytes bytes, Bytes low, Bytes high, std::string formula,
                    std::string source) {
  return {
      part, std::move(what), bytes, std::min(low, bytes), std::max(high, bytes), std::move(formula), std::move(source)};
}

// VllmConfig.use_v2_model_runner.
bool has_new_runner(const EngineInput& input, const VllmRules& rules) {
  if (rules.version < kNewRunner || input.draft_method == DraftMethod::kNgram) return false;
  if (rules.version >= kNewRunnerOnly) return true;
  if (input.model.vision && rules.version < kImagesInNewRunner) return false;
  return !has_states(input) && input.model.experts.used == 0;
}

std::uint64_t layer_row(const EngineInput& input) {
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t wide =
      input.model.intermediate_size > 0 ? input.model.intermediate_size : checked_mul(hidden, 4, kWhat);
  const std::uint64_t mlp = ceil_div(wide, input.request.parallel.tensor);
  return checked_mul(checked_add(hidden, mlp, kWhat), 6, kWhat);
}

// Bytes of an element of the logits while rows are sampled.
std::uint64_t sampled_bytes(const EngineInput& input, const VllmRules& rules) {
  constexpr std::uint64_t kSorting = 39, kSparing = 15, kPlain = 2, kTwice = 10;
  if (has_new_runner(input, rules)) return rules.version >= kSamplesTwice ? kTwice : kPlain;
  return rules.version >= kSparingSampler ? kSparing : kSorting;
}

LedgerLine activation(const EngineInput& input, const VllmRules& rules, bool samples) {
  const std::string_view term = rules.version >= kSparingSampler ? "vllm activation" : "vllm activation until 0.15";
  constexpr std::string_view kSource =
      "estimate: the profile run of v1/worker/gpu_worker.py, held against start-up logs";
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t tokens = vllm_batched_tokens(input, rules);
  const std::uint64_t rows = std::min(vllm_max_num_seqs(input.request, rules), tokens);
  const Bytes layer = Bytes(tokens) * layer_row(input);
  const std::uint64_t each = sampled_bytes(input, rules);
  const Bytes libraries(has_new_runner(input, rules) ? 32 * kMiB : 0);
  const std::string beside = libraries > Bytes(0) ? " + 32 MiB" : "";
  Bytes sampler;
  if (samples) sampler = Bytes(rows) * checked_mul(input.model.vocab_size, each, kWhat) + Bytes(tokens) * hidden * 2;
  if (sampler > layer)
    return of_kind(LineId::kSampled,
                   ranged_line(term, Section::kActivation, "activation peak (sampler)", sampler + libraries,
                               std::to_string(rows) + " rows * " + std::to_string(input.model.vocab_size) +
                                   " logits * " + std::to_string(each) + " B + " + std::to_string(tokens) +
                                   " tokens * " + std::to_string(hidden) + " * 2 B" + beside,
                               std::string(kSource)));
  return ranged_line(term, Section::kActivation, "activation peak (batch)", layer + libraries,
                     std::to_string(tokens) + " tokens * 3 * (" + std::to_string(hidden) +
                         " + MLP width of a rank) * 2 B = " + std::to_string(tokens) + " * " +
                         std::to_string(layer_row(input)) + " B" + beside,
                     std::string(kSource));
}

// The CUDA context stands before the budget is taken; what grows after it: libraries' workspaces, NCCL's buffers.
LedgerLine outside_torch(const EngineInput& input, const VllmRules& rules) {
  const Request& request = input.request;
  const bool alone = request.parallel.tensor == 1 && request.parallel.pipeline == 1;
  const Gpu* card = request.card.name ? &parse_gpu(*request.card.name) : nullptr;
  const auto line = [](std::string_view term, std::string what, std::uint64_t mib, const std::string& of,
                       std::string source) {
    return of_kind(LineId::kOutsideTorch,
                   ranged_line(term, Section::kRuntime, std::move(what), Bytes(mib * kMiB),
                               std::to_string(mib) + " MiB" + of, "estimate: " + std::move(source)));
  };
  if (card != nullptr && card->vendor == "AMD")
    return line("vllm outside, ROCm", "outside PyTorch", 600, " with ROCm", "0.46 to 0.78 GiB in 6 start-up logs");
  if (card != nullptr && card->unified)
    return line("vllm outside, unified memory", "outside PyTorch, and what the host takes meanwhile", 2048,
                " where the processor shares the memory", "-0.5 to 5.7 GiB in 7 start-up logs on GB10");
  if (!alone && rules.version < kV1)
    return line("vllm outside, several GPUs", "outside PyTorch and communication", 300, " on a rank of several",
                "0.11 to 0.93 GiB in 8 start-up logs of V0");
  if (!alone)
    return line("vllm outside, several GPUs", "outside PyTorch and communication", 1400, " on a rank of several",
                "0.21 to 2.43 GiB in 9 start-up logs of V1");
  if (rules.version < kV1 && vllm_is_hopper(request))
    return line("vllm outside", "outside PyTorch", 164, " on this card", "0.16 GiB in 4 start-up logs of V0");
  if (rules.version < kGuessInPeak)
    return line("vllm outside", "outside PyTorch", 56, " on one GPU",
                "0.00 to 0.35 GiB in 24 start-up logs, the median 0.05");
  if (!has_new_runner(input, rules))
    return line("vllm outside", "outside PyTorch, and kept by its allocator", 230, " on one GPU",
                "0.15 to 0.47 GiB in start-up logs since 0.27");
  // PenaltiesState: int32 counts of every token for every request, and a bit.
  const std::uint64_t seqs = vllm_max_num_seqs(request, rules);
  const Bytes counts(checked_mul(checked_mul(seqs, input.model.vocab_size, kWhat), 33, kWhat) / 8);
  const Bytes base(90 * kMiB);
  return of_kind(
      LineId::kOutsideTorch,
      ranged_line("vllm outside", Section::kRuntime, "outside PyTorch, and kept by its allocator", base + counts,
                  "90 MiB + " + std::to_string(seqs) + " requests * " + std::to_string(input.model.vocab_size) +
                      " logits * 33 bits",
                  "estimate: worker/gpu/sample/penalties.py; 0.26 and 0.30 GiB in start-up logs"));
}

// Batch sizes that are captured, and graphs: of each size one, or one that is piecewise and, where a step of decoding
// is so small, one of the whole step.
struct Graphs {
  Captured sizes;  // before V1, with the tokens of all
  std::uint64_t count = 0;
};
Graphs captured_graphs(const EngineInput& input, const VllmRules& rules) {
  if (input.request.enforce_eager) return {};
  const std::uint64_t seqs = vllm_max_num_seqs(input.request, rules);
  Graphs out;
  if (rules.version < kV1) {
    out.sizes = captured(std::min<std::uint64_t>(seqs, 256), 8);
    out.count = out.sizes.sizes;
    return out;
  }
  const std::vector<std::uint64_t> sizes = vllm_graph_sizes(input, rules);
  out.count = out.sizes.sizes = sizes.size();
  if (rules.version >= kWholeGraphs) {
    const std::uint64_t decoded = checked_mul(seqs, vllm_speculative_tokens(input) + 1, kWhat);
    out.count += static_cast<std::uint64_t>(std::upper_bound(sizes.begin(), sizes.end(), decoded) - sizes.begin());
  }
  return out;
}

LedgerLine graphs(const EngineInput& input, const VllmRules& rules) {
  const std::uint64_t layers = ceil_div(input.model.num_layers, input.request.parallel.pipeline);
  const Graphs captures = captured_graphs(input, rules);
  const std::string per_layer = " graphs * " + std::to_string(layers) + " layers * ";
  if (rules.version < kV1) {
    const Captured& sizes = captures.sizes;
    const Bytes kept = Bytes(sizes.tokens) * layer_row(input);
    return of_kind(LineId::kGraphs,
                   ranged_line("vllm graphs", Section::kRuntime, "CUDA graphs", Bytes(kept.count() / 10 * 13),
                               std::to_string(sizes.sizes) + " sizes of " + std::to_string(sizes.tokens) +
                                   " tokens in all * " + std::to_string(layer_row(input)) + " B of a layer * 1.3",
                               "estimate: \"Graph capturing finished\" in start-up logs, 0.13 to 0.76 GiB"));
  }
  const bool has_experts = input.model.experts.used > 0;
  const bool is_new = has_new_runner(input, rules);
  std::uint64_t each = 0;      // KiB
  std::uint64_t at_least = 0;  // MiB
  if (rules.version >= kWholeGraphs) {
    each = has_experts ? 230 : 87;
    at_least = is_new ? 0 : 256;
  } else {
    each = 215 + input.model.hidden_size / 43;  // 24 KiB for each 1024 of the hidden size
    if (has_experts) each = each * 5 / 2;
  }
  const Bytes bytes = Bytes(at_least * kMiB) + Bytes(captures.count) * checked_mul(layers, each * kKiB, kWhat);
  return of_kind(
      LineId::kGraphs,
      ranged_line("vllm graphs", Section::kRuntime, "CUDA graphs", bytes,
                  (at_least > 0 ? std::to_string(at_least) + " MiB + " : std::string()) +
                      std::to_string(captures.count) + per_layer + std::to_string(each) + " KiB",
                  rules.graphs_in_budget ? "estimate: 0.00 to 1.28 GiB in start-up logs, the same start often twice "
                                           "another"
                                         : "estimate from start-up logs; taken from what the budget leaves"));
}

// What is kept free for graphs beyond what they take; before it was printed with the peak it was near what they take.
std::optional<LedgerLine> room_for_graphs(const EngineInput& input, const VllmRules& rules, Bytes taken) {
  if (rules.version < kGuessInPeak || taken == Bytes(0)) return std::nullopt;
  const bool is_new = has_new_runner(input, rules);
  if (is_new && rules.version < kGuessesGraphs) return std::nullopt;  // it does not guess
  const Bytes room = is_new ? taken * 4 : Bytes(taken.count() / 4);
  return ranged_line(is_new ? "vllm room for graphs, new runner" : "vllm room for graphs", Section::kActivation,
                     "kept free for CUDA graphs beyond what they take", room,
                     is_new ? "4 times the graphs" : "a quarter of the graphs",
                     "estimate: profile_cudagraph_memory guesses from a few graphs, half to five times what all take");
}

// The encoder runs over as many items as its budget holds, and its outputs stay while the batch is profiled
// (v1/core/encoder_cache_manager.py, multimodal/encoder_budget.py): budget = max(batch, tokens of the largest item).
struct EncoderBudget {
  std::uint64_t batch = 0, item = 0;  // tokens; 0: the config sizes no item
  std::uint64_t budget = 0, held = 0;
};

std::optional<EncoderBudget> encoder_budget(const EngineInput& input, const VllmRules& rules) {
  constexpr std::uint64_t kQwenImage = 16384;  // max_pixels of Qwen's processors over the pixels of a token
  if (!input.model.vision || input.request.extras.language_model_only) return std::nullopt;
  std::uint64_t limit = input.request.extras.mm_limits.empty() ? 1 : 0;
  for (const auto& [what, count] : input.request.extras.mm_limits)
    if (what != "audio") limit = std::max(limit, count);
  if (limit == 0) return std::nullopt;
  EncoderBudget out;
  out.batch = vllm_batched_tokens(input, rules);
  out.item = is_one_of(input.model.arch, {Arch::kQwen, Arch::kQwen3Next, Arch::kQwen3p5, Arch::kQwen4Exp})
                 ? kQwenImage
                 : input.model.vision->image_tokens;
  out.budget = std::max(out.batch, out.item);
  out.held = out.item == 0 ? out.budget : out.budget / out.item * out.item;
  return out;
}

LedgerLine encoder_cache(const EngineInput& input, const EncoderBudget& encoder) {
  const std::uint64_t width =
      checked_mul(checked_mul(input.model.hidden_size, input.model.vision->copies, kWhat), 2, kWhat);
  return {Section::kKvCache,
          std::string(kEncoderCache),
          Bytes(encoder.held) * width,
          Bytes(0),
          Bytes(encoder.budget) * width,
          std::to_string(encoder.held) + " embeddings (budget " + std::to_string(encoder.budget) +
              " = max of a batch of " + std::to_string(encoder.batch) +
              (encoder.item > 0 ? " and an item of " + std::to_string(encoder.item)
                                : std::string("; the config sizes no item")) +
              ") * " + std::to_string(width) + " B",
          "estimate: vLLM v1/core/encoder_cache_manager.py compute_mm_encoder_budget",
          LineId::kEncoderCache};
}

// The encoder's own peak counts where it is beyond the batch's: the same rule as for a layer of the decoder.
std::optional<LedgerLine> encoder_pass(const EngineInput& input, const EncoderBudget& encoder, Bytes beside) {
  const VisionShape& vision = *input.model.vision;
  const std::uint64_t patches = checked_mul(encoder.held, vision.patches, kWhat);
  // Of the MLP's part two thirds are split over the ranks: Qwen3.6-35B with TP 2 1.49 GiB (1.54 printed).
  const std::uint64_t ranks = input.request.parallel.tensor;
  const std::uint64_t mlp = checked_add(checked_mul(vision.intermediate, 2, kWhat),
                                        checked_mul(ceil_div(vision.intermediate, ranks), 4, kWhat), kWhat);
  const std::uint64_t row = checked_add(checked_mul(vision.width, 6, kWhat), mlp, kWhat);
  const Bytes peak = Bytes(patches) * row;
  if (vision.width == 0 || peak <= beside) return std::nullopt;
  const Bytes more = peak - beside;
  return ranged_line("vllm encoder", Section::kActivation, "vision encoder's pass beyond the batch", more,
                     std::to_string(patches) + " patches * " + std::to_string(row) +
                         " B of a rank's share of a layer, less the batch's peak and the encoder cache",
                     "estimate: the profile run of v1/worker/gpu_worker.py");
}

// V0 profiled max_num_seqs prompts of an encoder-decoder, each with its largest image, and ran the encoder over all of
// them at once; what it yields stands beside the batch (worker/enc_dec_model_runner.py, profile_run).
// Llama-3.2-11B-Vision, 128 prompts of 65,536 tokens: 36.63 GiB as printed.
std::optional<LedgerLine> crossed_images(const EngineInput& input, const VllmRules& rules, const Load& load,
                                         Bytes beside) {
  const bool crosses = std::any_of(input.caches.begin(), input.caches.end(), [](const LayerCache& cache) {
    return std::any_of(cache.compact.begin(), cache.compact.end(),
                       [](const Term& term) { return term.growth == Growth::kSourceToken; });
  });
  if (rules.version >= kV1 || !input.model.vision || !crosses || load.source_tokens == Tokens(0)) return std::nullopt;
  const VisionShape& vision = *input.model.vision;
  const std::uint64_t tokens = checked_mul(vllm_max_num_seqs(input.request, rules), load.source_tokens.count(), kWhat);
  // Outputs of five layers are kept beside the last one's, once more where they are joined.
  constexpr std::uint64_t kJoined = 24;  // two times six, twice
  const std::uint64_t row = checked_add(
      checked_mul(checked_add(vision.width, vision.intermediate, kWhat), 6, kWhat),
      checked_add(checked_mul(vision.width, kJoined, kWhat), checked_mul(input.model.hidden_size, 2, kWhat), kWhat),
      kWhat);
  const Bytes peak = Bytes(tokens) * row;
  if (vision.width == 0 || peak <= beside) return std::nullopt;
  const Bytes more = peak - beside;
  return estimate(Section::kActivation, "vision encoder over every prompt's image", more, Bytes(more.count() / 20 * 16),
                  Bytes(more.count() / 20 * 24),
                  std::to_string(tokens) + " patches * " + std::to_string(row) + " B, less the batch's peak",
                  "estimate: the profile run of V0, worker/enc_dec_model_runner.py");
}

}  // namespace

std::vector<std::uint64_t> vllm_graph_sizes(const EngineInput& input, const VllmRules& rules) {
  const std::uint64_t seqs = vllm_max_num_seqs(input.request, rules);
  const std::uint64_t drafts = vllm_speculative_tokens(input);
  const std::uint64_t of_step = rules.version >= kWholeSteps ? checked_add(drafts, 1, kWhat) : 1;
  const std::uint64_t limit = vllm_largest_graph(input.request, input.model.arch, rules);
  // A largest size that the class names holds whatever the number of sequences (GptOssForCausalLMConfig).
  const std::uint64_t by_steps = vllm_names_largest_graph(input.model.arch, rules)
                                     ? limit
                                     : checked_mul(checked_mul(seqs, of_step, kWhat), 2, kWhat);
  const std::uint64_t most = std::min({by_steps, limit, vllm_batched_tokens(input, rules)});
  std::vector<std::uint64_t> out = ladder(most, rules.version >= kWholeGraphs ? 16 : 8);
  // Steps of whole requests with their drafts; without drafts the widest step alone.
  const std::uint64_t requests = std::min(seqs, limit);
  std::vector<std::uint64_t> steps;
  if (of_step > 1) {
    steps = ladder(requests, 16);
    steps.push_back(requests);
  } else if (rules.version >= kWidestStep) {
    steps.push_back(seqs);
  }
  for (const std::uint64_t count : steps)
    if (count <= most / of_step) out.push_back(count * of_step);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

EngineSettings vllm_settings(const EngineInput& input, const Load&) {
  const Request& request = input.request;
  const VllmRules rules = vllm_rules(request);
  const bool has_states = std::any_of(input.caches.begin(), input.caches.end(), [](const LayerCache& cache) {
    return std::any_of(cache.compact.begin(), cache.compact.end(),
                       [](const Term& term) { return term.growth == Growth::kSequence; });
  });
  const Graphs captures = captured_graphs(input, rules);
  EngineSettings out;
  out.max_num_batched_tokens = vllm_batched_tokens(input, rules);
  out.max_num_seqs = vllm_max_num_seqs(request, rules);
  out.memory_fraction = request.memory_utilization.value_or(rules.utilization);
  out.cuda_graph_sizes = captures.sizes.sizes;
  out.cuda_graphs = captures.count;
  out.prefix_caching = vllm_caches_prefixes(request, input.model.arch, has_states, rules);
  return out;
}

std::vector<LedgerLine> vllm_overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const VllmRules rules = vllm_rules(input.request);
  std::vector<LedgerLine> out;
  out.push_back(activation(input, rules, in.stage + 1 == input.request.parallel.pipeline));
  if (auto kept = loaded_weights("vllm weights", in.weights)) out.push_back(std::move(*kept));
  out.push_back(outside_torch(input, rules));
  if (!input.request.enforce_eager) {
    out.push_back(graphs(input, rules));
    if (auto room = room_for_graphs(input, rules, out.back().bytes)) out.push_back(std::move(*room));
  }
  if (in.stage == 0)
    if (auto images = crossed_images(input, rules, in.load, out.front().bytes)) out.push_back(std::move(*images));
  const auto encoder = rules.version >= kV1 ? encoder_budget(input, rules) : std::nullopt;
  if (encoder && in.stage == 0) {
    out.push_back(encoder_cache(input, *encoder));
    if (auto pass = encoder_pass(input, *encoder, out.front().bytes + out.back().bytes))
      out.push_back(std::move(*pass));
  }
  return out;
}

std::vector<LedgerLine> vllm_host_caches(const Request& request, const VllmRules& rules) {
  constexpr std::uint64_t kSwap = 4 * kGiB;  // EngineArgs.swap_space, until V0 went
  std::vector<LedgerLine> out;
  if (request.vllm.host_kv_cache)
    out.push_back(
        of_kind(LineId::kOffloaded, exact_line(Section::kKvCache, "offloaded KV cache", *request.vllm.host_kv_cache,
                                               "--kv-offloading-size, all ranks together", "vLLM config/cache.py")));
  const std::uint64_t ranks = checked_mul(request.parallel.tensor, request.parallel.pipeline, "the ranks");
  const Bytes swap = request.vllm.swap_space.value_or(Bytes(rules.version < kV1 ? kSwap : 0)) * ranks;
  if (swap > Bytes(0))
    out.push_back(exact_line(Section::kKvCache, "swap space (CPU blocks)", swap,
                             "--swap-space on each of " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"),
                             "vLLM engine/arg_utils.py of V0"));
  return out;
}

Bytes vllm_cache_budget(const EngineInput& input, Bytes gpu_memory, Bytes beside, Bytes captured) {
  const VllmRules rules = vllm_rules(input.request);
  const double share = input.request.memory_utilization.value_or(rules.utilization);
  const Bytes requested(static_cast<std::uint64_t>(std::ceil(static_cast<double>(gpu_memory.count()) * share)));
  const bool guesses = rules.graphs_in_budget && (!has_new_runner(input, rules) || rules.version >= kGuessesGraphs);
  if (!guesses) beside = beside > captured ? beside - captured : Bytes(0);
  return requested > beside ? requested - beside : Bytes(0);
}

}  // namespace kvplan
