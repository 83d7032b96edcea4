#include "engines/sglang/models.h"

#include <algorithm>
#include <array>

#include "engines/drafts.h"
#include "engines/estimates.h"
#include "engines/sglang/backends.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kSlotsPerRequest = 3;  // one live, two kept by the radix tree
constexpr std::uint64_t kCutEmbeddingSince = 5;
constexpr std::uint64_t kDefaultDraftTokens = 3;  // --speculative-num-steps where not given
// --max-running-requests where not given (arg_groups/deepseek_v4_hook.py; server_args.py,
// _handle_speculative_decoding).
constexpr std::uint64_t kRunningCompressed = 256;
constexpr std::uint64_t kRunningWithDrafts = 48;

// Models whose sliding-window layers have their own pool (model_config.py, is_hybrid_swa_model).
constexpr Arch kHybridWindows[] = {Arch::kLlama4,       Arch::kGptOss,        Arch::kMimoV2,     Arch::kStep3p5,
                                   Arch::kGemma4,       Arch::kGemma4Unified, Arch::kGraniteSwa, Arch::kLaguna,
                                   Arch::kMellum,       Arch::kMuseGlimmer,   Arch::kInkling,    Arch::kDeepseekV4,
                                   Arch::kUnlimitedOcr, Arch::kGraniteMoeSwa};
// Classes that have one pool although their type is in the list above, and the other way round.
constexpr std::string_view kOnePool[] = {"Llama4ForCausalLM", "Step3p7FlashForCausalLM"};
constexpr std::string_view kTwoPools[] = {"BeamForCausalLM"};
constexpr std::string_view kPagedStates[] = {"KimiK3ForConditionalGeneration"};  // states in pages, on Blackwell

constexpr std::uint64_t kBareLatentsSince = 10;    // FP8 latents use TRT-LLM's kernels; FlashMLA in 0.5.9
constexpr std::uint64_t kExtraBufferSince = 14;    // since then "auto" is that strategy
constexpr std::uint64_t kWindowsOnBlackwell = 10;  // before that, TRT-LLM's kernels of gpt-oss used one pool
constexpr std::uint64_t kNemotronPagesSince = 19;  // before that, models with states had pages of one token

template <class List, class Wanted>
bool is_in(const List& list, const Wanted& wanted) {
  return std::find(std::begin(list), std::end(list), wanted) != std::end(list);
}

bool is_blackwell(const Request& request) {
  return request.card.capability() / 10 == 10;
}

}  // namespace

bool sglang_runs_library_class(const EngineInput& input) {
  constexpr std::string_view kNow = "RecurrentGemmaForCausalLM";
  constexpr std::string_view kBefore =
      "Lfm2ForCausalLM Lfm2VlForConditionalGeneration Cohere2VisionForConditionalGeneration";
  if (!sglang_since(input.request, 0) || input.model.is_gguf) return false;
  return has_word(sglang_since(input.request, kSglangClassesSince) ? kNow : kBefore, input.model.architecture);
}

bool sglang_prefills_whole(const EngineInput& input) {
  constexpr std::string_view kWhole =
      "MllamaForConditionalGeneration MossVLForConditionalGeneration LlavaLlamaForCausalLM Grok1VForCausalLM "
      "Grok1AForCausalLM HrmTextForCausalLM";
  return !input.model.is_gguf && has_word(kWhole, input.model.architecture);
}

bool sglang_hybrid_windows(const EngineInput& input) {
  const ModelShape& model = input.model;
  if (input.request.extras.one_pool) return false;
  if (is_in(kOnePool, model.architecture)) return false;
  if (model.arch == Arch::kGptOss && is_blackwell(input.request) && !sglang_since(input.request, kWindowsOnBlackwell))
    return false;
  return is_in(kHybridWindows, model.arch) || is_in(kTwoPools, model.architecture);
}

bool sglang_compressed(Arch arch) {
  return arch == Arch::kDeepseekV4;
}

// Page size of the card's default attention backend: TRT-LLM's have 64 tokens.
std::uint64_t sglang_page(const EngineInput& input, bool sparse) {
  const ModelShape& model = input.model;
  if (sglang_compressed(model.arch)) return 256;
  if (sparse) return 64;
  if (const auto page = sglang_backend_page(input)) return *page;
  if (!is_blackwell(input.request)) return 1;
  if (model.arch == Arch::kMinimaxM3) return 128;
  if (!has_states(input) || is_in(kPagedStates, model.architecture)) return 64;
  return model.arch == Arch::kNemotronH && sglang_since(input.request, kNemotronPagesSince) ? 64 : 1;
}

CacheTypes sglang_types(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (types.model == Dtype::kFloat32) types.model = Dtype::kBfloat16;  // convolution states
  types.state = request.state_dtype.value_or(model.declared_state_dtype.value_or(Dtype::kFloat32));
  const bool compressed = sglang_compressed(model.arch);
  const bool sparse = is_one_of(model.arch, {Arch::kDeepseekV32, Arch::kGlmMoeDsa});
  if (!request.cache_type_k) {
    if (compressed || (sparse && is_blackwell(request)))
      types.key = Dtype::kFp8E4m3;
    else if (sparse && request.card.capability() > 0)
      types.key = types.value = types.model;
    // ModelOptFp8Config reads kv_cache_quant_algo, and kv_cache_scheme only as an object.
    else if (model.tags_kv_by_word && model.quantization.dialect.starts_with("modelopt"))
      types.key = types.value = types.model;
  }
  // FlashMLA's layout has scales; TRT-LLM's kernels on Blackwell store the latent without (calculate_mla_kv_cache_dim;
  // 0.5.8 has one layout for all cards).
  const bool bare = is_blackwell(request) && sglang_since(request, kBareLatentsSince);
  const bool scaled = compressed || (sparse && !bare);
  if (scaled && types.key == Dtype::kFp8E4m3) types.key = types.value = Dtype::kFp8DsMla;
  refuse_types(types, "sglang",
               {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kFp8E4m3, Dtype::kFp8E5m2, Dtype::kNvfp4,
                Dtype::kMxfp8, Dtype::kFp8DsMla});
  return types;
}

bool sglang_has_radix_cache(const EngineInput& input) {
  if (input.request.extras.disable_radix_cache) return false;
  return input.model.arch != Arch::kKimiLinear || sglang_since(input.request, kExtraBufferSince);
}

// _calculate_mamba_ratio: state slots of a running request.
std::uint64_t sglang_slots(const EngineInput& input) {
  const ExtrasRequest& extras = input.request.extras;
  if (!sglang_has_radix_cache(input)) return 1;
  const bool is_auto = extras.mamba_strategy.empty() || extras.mamba_strategy == "auto";
  // Kernels that only track states per chunk can keep them in a buffer.
  const bool has_chunks = !is_one_of(input.model.arch, {Arch::kMamba, Arch::kJamba, Arch::kLfm2, Arch::kZaya});
  if (extras.mamba_strategy == "extra_buffer" ||
      (is_auto && has_chunks && sglang_since(input.request, kExtraBufferSince)))
    return kSlotsPerRequest + 2;
  if (is_auto || extras.mamba_strategy == "no_buffer") return kSlotsPerRequest;
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
                                  : input.draft_method                ? kRunningWithDrafts
                                                                      : 0;
  const std::uint64_t all = request.max_num_seqs.value_or(otherwise);
  // The data parallel ranks of attention share them.
  return request.parallel.dp_attention && all > 0 ? std::max<std::uint64_t>(all / request.parallel.data, 1) : all;
}

// Tokens verified in one step, the last accepted one included.
std::uint64_t sglang_verified(const EngineInput& input) {
  if (!input.draft_method) return 0;
  return input.request.extras.verify_tokens.value_or(step_draft_tokens(input, kDefaultDraftTokens) + 1);
}

std::uint64_t sglang_attention_ranks(const Request& request) {
  if (!request.parallel.dp_attention) return request.parallel.tensor;
  if (request.parallel.tensor % request.parallel.data != 0)
    refuse("--enable-dp-attention: --tensor-parallel-size " + std::to_string(request.parallel.tensor) +
               " is not a multiple of --data-parallel-size " + std::to_string(request.parallel.data),
           "with DP attention the data parallel ranks are among the tensor parallel ones");
  return request.parallel.tensor / request.parallel.data;
}

TensorCuts sglang_cuts(const Request& request) {
  const std::uint64_t attention = sglang_attention_ranks(request);
  // Until January 2026 (pull request 17403) every rank held the whole table.
  const bool cuts_table = engine_version(engine_of(request), request) >= kCutEmbeddingSince;
  return {attention, request.parallel.dp_attention && !cuts_table ? 1 : attention};
}

}  // namespace kvplan
