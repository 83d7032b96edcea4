#include "engines/sglang/models.h"

#include <algorithm>
#include <array>

#include "engines/drafts.h"
#include "engines/estimates.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kSlotsPerRequest = 3;  // one live, two kept by the radix tree
constexpr std::uint64_t kCutEmbeddingSince = 5;
constexpr std::uint64_t kGuesses = 3;  // --speculative-num-steps where nothing names it
// --max-running-requests where nothing names it (arg_groups/deepseek_v4_hook.py; server_args.py,
// _handle_speculative_decoding).
constexpr std::uint64_t kRunningCompressed = 256;
constexpr std::uint64_t kRunningGuesses = 48;

// Models whose sliding layers get a pool of their own (model_config.py, is_hybrid_swa_model).
constexpr Arch kHybridWindows[] = {Arch::kLlama4,      Arch::kGptOss,        Arch::kMimoV2,     Arch::kStep3p5,
                                   Arch::kGemma4,      Arch::kGemma4Unified, Arch::kGraniteSwa, Arch::kLaguna,
                                   Arch::kMellum,      Arch::kMuseGlimmer,   Arch::kInkling,    Arch::kDeepseekV4,
                                   Arch::kUnlimitedOcr};

}  // namespace

bool sglang_hybrid_windows(Arch arch) {
  return std::find(std::begin(kHybridWindows), std::end(kHybridWindows), arch) != std::end(kHybridWindows);
}

bool sglang_compressed(Arch arch) {
  return arch == Arch::kDeepseekV4;
}

std::uint64_t sglang_page(const ModelShape& model, bool sparse) {
  if (sglang_compressed(model.arch)) return 256;
  return sparse ? 64 : 1;
}

CacheTypes sglang_types(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (types.model == Dtype::kFloat32) types.model = Dtype::kBfloat16;  // convolution states
  types.state = request.state_dtype.value_or(model.declared_state_dtype.value_or(Dtype::kFloat32));
  const bool compressed = sglang_compressed(model.arch);
  const bool sparse = is_one_of(model.arch, {Arch::kDeepseekV32, Arch::kGlmMoeDsa});
  const bool blackwell = request.gpu && (request.gpu->starts_with("b200") || request.gpu->starts_with("b300"));
  if (!request.cache_type_k && (compressed || (sparse && blackwell))) types.key = Dtype::kFp8E4m3;
  if ((compressed || sparse) && types.key == Dtype::kFp8E4m3) types.key = types.value = Dtype::kFp8DsMla;
  refuse_types(types, "sglang",
               {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kFp8E4m3, Dtype::kFp8E5m2, Dtype::kNvfp4,
                Dtype::kMxfp8, Dtype::kFp8DsMla});
  return types;
}

// _calculate_mamba_ratio: state slots of a running request.
std::uint64_t sglang_slots(const ExtrasRequest& extras) {
  if (extras.disable_radix_cache) return 1;
  if (extras.mamba_strategy.empty() || extras.mamba_strategy == "auto" || extras.mamba_strategy == "no_buffer")
    return kSlotsPerRequest;
  if (extras.mamba_strategy == "extra_buffer") return kSlotsPerRequest + 2;
  if (extras.mamba_strategy == "extra_buffer_lazy") return kSlotsPerRequest + 1;
  refuse("--mamba-scheduler-strategy: SGLang has no strategy \"" + one_line(extras.mamba_strategy, 40) + "\"",
         "use auto, no_buffer, extra_buffer or extra_buffer_lazy");
}

bool sglang_since(const Request& request, std::uint64_t patch) {
  constexpr std::uint64_t kMinor = 5;
  const std::uint64_t version = engine_version(engine_of(request), request);
  return version > kMinor || (version == kMinor && engine_patch(request) >= patch);
}

std::uint64_t sglang_running(const EngineInput& input) {
  const Request& request = input.request;
  const std::uint64_t otherwise = sglang_compressed(input.model.arch) ? kRunningCompressed
                                  : input.draft_method                ? kRunningGuesses
                                                                      : 0;
  const std::uint64_t all = request.max_num_seqs.value_or(otherwise);
  // Attention's data parallel ranks share them out.
  return request.dp_attention && all > 0 ? std::max<std::uint64_t>(all / request.data_parallel, 1) : all;
}

// Tokens that are verified at once, the last real one among them.
std::uint64_t sglang_verified(const EngineInput& input) {
  if (!input.draft_method) return 0;
  return input.request.extras.verify_tokens.value_or(guessed_tokens(input, kGuesses) + 1);
}

std::uint64_t sglang_attention_ranks(const Request& request) {
  if (!request.dp_attention) return request.tensor_parallel;
  if (request.tensor_parallel % request.data_parallel != 0)
    refuse("--enable-dp-attention: --tensor-parallel-size " + std::to_string(request.tensor_parallel) +
               " is not a multiple of --data-parallel-size " + std::to_string(request.data_parallel),
           "with DP attention the data parallel ranks are among the tensor parallel ones");
  return request.tensor_parallel / request.data_parallel;
}

TensorCuts sglang_cuts(const Request& request) {
  const std::uint64_t attention = sglang_attention_ranks(request);
  // Until January 2026 (pull request 17403) every rank held the whole table.
  const bool cuts_table = engine_version(engine_of(request), request) >= kCutEmbeddingSince;
  return {attention, request.dp_attention && !cuts_table ? 1 : attention};
}

}  // namespace kvplan
