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
// CUDA graphs differ from card to card and release to release; the ranges are meant. MiB a graph and layer, as printed:
//   V0: each of the captured sizes keeps one layer's activations, about 1.3 times over
//     Qwen2.5-7B: 0.69 GiB (0.76); Gemma-3-27B with TP 4: 0.33 (0.29); Qwen3-0.6B: 0.13 (0.13); Llama-70B, TP 8: 0.36
//     (0.48)
//   V1 until 0.11: 67 piecewise graphs of every layer. Qwen3-32B with TP 2 0.31, Llama-405B with TP 4 0.60; two logs
//     that name no model, told by their KV bytes a token: 0.28 (28 layers), 0.33 (32). Experts three times that:
//     Qwen3-Next 0.75; a model on four ranks, 46 layers assumed, 1.1
//   since: 51 piecewise graphs and up to 51 whole ones. Qwen2.5-1.5B 0.20, Llama-2-7B 0.17; told by KV bytes a token:
//     0.20 (28 layers), 0.18 (36). Experts twice that: a Qwen3-Coder in NVFP4, 48 layers assumed, 0.36. Some builds
//     print half or nothing
// The factors are fitted to these few logs and were not held against others.
//
// Outside PyTorch, as printed. One GPU: 0.00 to 0.09 GiB on most cards, 0.16 on H100, 0.25 to 0.35 at times (24 logs,
// the median 0.05); 0.46 and 0.62 with ROCm. Several, V0: 0.11 to 0.93 (7 logs, the median 0.33); V1: 0.21 to 2.43 (5
// logs, the median 1.4).
#include "engines/vllm/memory.h"

#include <algorithm>
#include <cmath>

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

std::uint64_t layer_row(const EngineInput& input) {
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t wide =
      input.model.intermediate_size > 0 ? input.model.intermediate_size : checked_mul(hidden, 4, kWhat);
  const std::uint64_t mlp = ceil_div(wide, input.request.tensor_parallel);
  return checked_mul(checked_add(hidden, mlp, kWhat), 6, kWhat);
}

LedgerLine activation(const EngineInput& input, const VllmRules& rules, bool samples) {
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t tokens = vllm_batched_tokens(input, rules);
  const std::uint64_t rows = std::min(vllm_max_num_seqs(input.request, rules), tokens);
  const Bytes layer = Bytes(tokens) * layer_row(input);
  const std::uint64_t each = rules.version >= kSparingSampler ? kSparingBytes : kSortingSampler;
  Bytes sampler;
  if (samples) sampler = Bytes(rows) * checked_mul(input.model.vocab_size, each, kWhat) + Bytes(tokens) * hidden * 2;
  if (sampler > layer)
    return of_kind(LineId::kSampled,
                   estimate(Section::kActivation, "activation peak (sampler)", sampler,
                            Bytes(sampler.count() / 20 * (each == kSparingBytes ? 14 : 18)),
                            Bytes(sampler.count() / 20 * (each == kSparingBytes ? 46 : 23)),
                            std::to_string(rows) + " rows * " + std::to_string(input.model.vocab_size) + " logits * " +
                                std::to_string(each) + " B + " + std::to_string(tokens) + " tokens * " +
                                std::to_string(hidden) + " * 2 B",
                            "estimate: the profile run of v1/worker/gpu_model_runner.py, held against start-up logs"));
  const bool has_experts = input.model.experts.used > 0;
  return estimate(
      Section::kActivation, "activation peak (batch)", layer, Bytes(layer.count() / 20 * (has_experts ? 14 : 18)),
      Bytes(layer.count() / 20 * (has_experts ? 32 : 25)),
      std::to_string(tokens) + " tokens * 3 * (" + std::to_string(hidden) +
          " + MLP width of a rank) * 2 B = " + std::to_string(tokens) + " * " + std::to_string(layer_row(input)) + " B",
      "estimate: the profile run of v1/worker/gpu_model_runner.py, held against start-up logs");
}

// The CUDA context stands before the budget is taken; what grows after it: libraries' workspaces, NCCL's buffers.
LedgerLine outside_torch(const EngineInput& input, const VllmRules& rules) {
  const bool alone = input.request.tensor_parallel == 1 && input.request.pipeline_parallel == 1;
  if (input.request.gpu && parse_gpu(*input.request.gpu).vendor == "AMD")
    return of_kind(LineId::kOutsideTorch,
                   estimate(Section::kRuntime, "outside PyTorch", Bytes(600 * kMiB), Bytes(400 * kMiB),
                            Bytes(900 * kMiB), "600 MiB with ROCm", "estimate: 0.46 to 0.73 GiB in 4 start-up logs"));
  if (alone && rules.version < kV1 && vllm_is_hopper(input.request))
    return of_kind(LineId::kOutsideTorch,
                   estimate(Section::kRuntime, "outside PyTorch", Bytes(164 * kMiB), Bytes(100 * kMiB),
                            Bytes(300 * kMiB), "164 MiB on this card", "estimate: 0.16 GiB in 4 start-up logs of V0"));
  if (alone)
    return of_kind(LineId::kOutsideTorch,
                   estimate(Section::kRuntime, "outside PyTorch", Bytes(56 * kMiB), Bytes(0), Bytes(300 * kMiB),
                            "56 MiB on one GPU", "estimate: 0.00 to 0.35 GiB in 24 start-up logs, the median 0.05"));
  if (rules.version < kV1)
    return of_kind(
        LineId::kOutsideTorch,
        estimate(Section::kRuntime, "outside PyTorch and communication", Bytes(360 * kMiB), Bytes(100 * kMiB),
                 Bytes(960 * kMiB), "360 MiB on a rank of several", "estimate: 0.11 to 0.93 GiB in logs of V0"));
  return of_kind(
      LineId::kOutsideTorch,
      estimate(Section::kRuntime, "outside PyTorch and communication", Bytes(1400 * kMiB), Bytes(200 * kMiB),
               Bytes(2200 * kMiB), "1400 MiB on a rank of several", "estimate: 0.21 to 2.43 GiB in logs of V1"));
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
  const std::uint64_t layers = ceil_div(input.model.num_layers, input.request.pipeline_parallel);
  const Graphs captures = captured_graphs(input, rules);
  if (rules.version < kV1) {
    const Captured& sizes = captures.sizes;
    const Bytes kept = Bytes(sizes.tokens) * layer_row(input);
    return of_kind(LineId::kGraphs,
                   estimate(Section::kRuntime, "CUDA graphs", Bytes(kept.count() / 10 * 13),
                            Bytes(kept.count() / 10 * 8), Bytes(kept.count() / 10 * 19),
                            std::to_string(sizes.sizes) + " sizes of " + std::to_string(sizes.tokens) +
                                " tokens in all * " + std::to_string(layer_row(input)) + " B of a layer * 1.3",
                            "estimate: \"Graph capturing finished\" in start-up logs, 0.13 to 0.76 GiB"));
  }
  const bool has_experts = input.model.experts.used > 0;
  const std::uint64_t sizes = captures.count;
  std::uint64_t each = 0;  // KiB
  if (rules.version >= kWholeGraphs) {
    each = has_experts ? 370 : 185;
  } else {
    each = 215 + input.model.hidden_size / 43;  // 24 KiB for each 1024 of the hidden size
    if (has_experts) each *= 3;
  }
  const Bytes bytes = Bytes(sizes) * checked_mul(layers, each * kKiB, kWhat);
  return of_kind(
      LineId::kGraphs,
      estimate(
          Section::kRuntime, "CUDA graphs", bytes, Bytes(bytes.count() / 10 * 4), Bytes(bytes.count() / 10 * 16),
          std::to_string(sizes) + " graphs * " + std::to_string(layers) + " layers * " + std::to_string(each) + " KiB",
          rules.graphs_in_budget ? "estimate: 0.24 to 0.56 GiB in start-up logs of dense models, 1.4 of experts"
                                 : "estimate from start-up logs; taken from what the budget leaves"));
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
  const std::uint64_t row = checked_mul(checked_add(vision.width, vision.intermediate, kWhat), 6, kWhat);
  const Bytes peak = Bytes(patches) * row;
  if (vision.width == 0 || peak <= beside) return std::nullopt;
  const Bytes more = peak - beside;
  return estimate(Section::kActivation, "vision encoder's pass beyond the batch", more, Bytes(0), more * 2,
                  std::to_string(patches) + " patches * 3 * (" + std::to_string(vision.width) + " + " +
                      std::to_string(vision.intermediate) + ") * 2 B, less the batch's peak and the encoder cache",
                  "estimate: the profile run of v1/worker/gpu_model_runner.py");
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
  const std::uint64_t most =
      std::min({checked_mul(checked_mul(seqs, of_step, kWhat), 2, kWhat), limit, vllm_batched_tokens(input, rules)});
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
  out.push_back(activation(input, rules, in.stage + 1 == input.request.pipeline_parallel));
  out.push_back(outside_torch(input, rules));
  if (!input.request.enforce_eager) out.push_back(graphs(input, rules));
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
  if (request.host_kv_cache)
    out.push_back(
        of_kind(LineId::kOffloaded, exact_line(Section::kKvCache, "offloaded KV cache", *request.host_kv_cache,
                                               "--kv-offloading-size, all ranks together", "vLLM config/cache.py")));
  const std::uint64_t ranks = checked_mul(request.tensor_parallel, request.pipeline_parallel, "the ranks");
  const Bytes swap = request.swap_space.value_or(Bytes(rules.version < kV1 ? kSwap : 0)) * ranks;
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
  if (!rules.graphs_in_budget) beside = beside > captured ? beside - captured : Bytes(0);
  return requested > beside ? requested - beside : Bytes(0);
}

}  // namespace kvplan
