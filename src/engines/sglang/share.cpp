#include "engines/sglang/sglang.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engines/sglang/class_table.h"
#include "engines/sglang/rules.h"
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

// The prefill chunk and the largest captured batch, which depend on the GPU (handle_gpu_memory_settings).
struct CardDefaults {
  std::uint64_t below_gib, chunk, batch, batch_tp4;
};
constexpr CardDefaults kCards[] = {{20, 2048, 8, 8},
                                   {35, 4096, 48, 160},
                                   {60, 4096, 32, 160},
                                   {160, 8192, 256, 512},
                                   {~std::uint64_t{0}, 16384, 512, 512}};
constexpr CardDefaults kSmallBefore{35, 2048, 24, 80};  // GPUs of 20 to 35 GiB, until 0.5.20
constexpr double kOldChunkMib = 25000;  // depends only on the ranks; chunks of 8192 from this size on, otherwise 2048
constexpr double kGibMib = 1024;        // MiB in a GiB

// The GPU's memory as the driver reports it, in MiB: SGLang uses nvidia-smi, which reports more than CUDA.
double driver_mib(const EngineInput& input) {
  const Request& request = input.request;
  if (const Gpu* card = request.card.gpu; card != nullptr && request.card.memory == card->budget())
    return static_cast<double>(card->memory_mib);
  return static_cast<double>(request.card.memory.value_or(Bytes(0)).count()) / kMiB;
}

// handle_cuda_graph_config: whether the prefill has graphs. (DeepSeek-V3 on Blackwell has none either, but SGLang
// decides that after it has computed the fraction.)
bool captures_prefill(const EngineInput& input) {
  const Request& request = input.request;
  const SglangRules rules = sglang_rules(request);
  const SglangClass its = sglang_class(input.model);
  if (!rules.prefill_graphs || request.enforce_eager) return false;
  if (rules.breakable_prefill_graphs ? its.no_prefill_graphs : its.no_piecewise_graphs) return false;
  if (its.is_kimi_linear && !rules.kda_captures_prefills) return false;
  if (request.parallel.pipeline > 1 || request.parallel.decode_context > 1) return false;
  if ((input.draft_method && !rules.prefill_graphs_with_drafts) ||
      (its.sparse_latents && !rules.prefill_graphs_of_indexers))
    return false;
  return !sglang_multimodal(input) || (rules.prefill_graphs_with_images && its.prefill_graphs_with_images);
}

// The captured sizes of the prefill, up to the chunk (generate_prefill_cuda_graph_batch_sizes).
std::uint64_t prefill_sizes(std::uint64_t chunk) {
  const auto steps = [&](std::uint64_t first, std::uint64_t last, std::uint64_t step) {
    last = std::min(last, chunk);
    return last < first ? 0 : (last - first) / step + 1;
  };
  return steps(4, 32, 4) + steps(48, 256, 16) + steps(288, 512, 32) + steps(576, 1024, 64) + steps(1280, 4096, 256) +
         steps(4608, chunk, 512);
}

bool has_latents(const EngineInput& input) {
  return any_term(input, [](const Term& term) { return term.part == Part::kLatent; });
}

double draft_reserve(const EngineInput& input) {
  const SglangRules rules = sglang_rules(input.request);
  if (!input.draft_method || !rules.reserves_for_drafts || input.draft_method == DraftMethod::kNgram) return 0;
  return (input.draft_method == DraftMethod::kModel ? 6 : rules.wide_draft_reserve ? 4 : 2) * kGibMib;
}

// The MiB that SGLang keeps free for activations and graphs by SglangRules::sums_reserve.
double reserve_mib(const EngineInput& input, double mib) {
  const Request& request = input.request;
  const SglangSettings settings = sglang_card_settings(input);
  const auto batch = static_cast<double>(settings.batch);
  double out = 512 + 1.5 * static_cast<double>(std::max<std::uint64_t>(settings.chunk, 2048)) +
               static_cast<double>(request.parallel.tensor * request.parallel.pipeline) / 8 * kGibMib;
  if (!request.enforce_eager || sglang_rules(request).counts_unused_graphs) out += 2 * batch;
  if (request.parallel.dp_attention) {
    const double padded = batch * static_cast<double>(request.parallel.data);
    out += 3 * padded;
    if (settings.batch > 300) out += 1.5 * padded;
  }
  if (captures_prefill(input)) {
    out += has_latents(input) ? 1.5 * kGibMib : 8 * static_cast<double>(sglang_prefill_captured(input));
  }
  out += draft_reserve(input);
  if (mib > 60 * kGibMib) out = std::max(out, 10 * kGibMib);
  if (sglang_rules(request).reserves_for_exchange && request.sglang.deepep && !request.enforce_eager)
    out += 2 * kGibMib;
  return out;
}

// adjust_mem_fraction_for_vlm: the larger the vision tower is compared with ViT-L/14, the smaller the fraction.
double tower_factor(const EngineInput& input) {
  const std::optional<VisionShape>& vision = input.model.vision;
  if (!sglang_multimodal(input) || (!vision && !sglang_class(input.model).default_tower)) return 1;
  constexpr double kLayers = 24, kWidth = 1024;
  const auto layers = vision && vision->declared_layers > 0 ? static_cast<double>(vision->declared_layers) : kLayers;
  const auto width = vision && vision->declared_width > 0 ? static_cast<double>(vision->declared_width) : kWidth;
  const double ratio = layers * (width * width) / (kLayers * (kWidth * kWidth));
  return 0.95 * std::clamp(1 - 0.1 * (ratio - 1), 0.8, 1.05);
}

// The GiB that releases without SglangRules::sums_reserve keep free, by the GPU's size.
double share_by_size(const EngineInput& input, double mib) {
  const Request& request = input.request;
  const auto ranks = static_cast<double>(request.parallel.tensor * request.parallel.pipeline);
  const double gib = mib / kGibMib;
  double reserve = gib < 35 ? 2.8 + ranks / 10 : gib < 90 ? 9.5 + ranks / 2 : gib < 160 ? 12 + ranks / 2 : 32;
  if (input.draft_method) reserve += 2;
  if (request.parallel.dp_attention) reserve += 4;
  const double share = std::round((gib - reserve) / gib * 1000) / 1000;
  return sglang_multimodal(input) ? share * 0.90 : share;
}

// Without SglangRules::sizes_by_card the fraction only depends on the ranks.
double share_by_ranks(const EngineInput& input) {
  const std::uint64_t ranks = input.request.parallel.tensor;
  const double share = ranks >= 16  ? 0.79
                       : ranks >= 8 ? sglang_rules(input.request).share_of_eight_ranks
                       : ranks >= 4 ? 0.85
                       : ranks >= 2 ? 0.87
                                    : 0.88;
  return sglang_multimodal(input) ? share * 0.95 : share;
}

}  // namespace

std::uint64_t sglang_prefill_captured(const EngineInput& input) {
  if (!captures_prefill(input)) return 0;
  // A rank captures its chunk. With DP attention that is its part of the whole chunk.
  const Parallel& parallel = input.request.parallel;
  return prefill_sizes(sglang_card_settings(input).chunk / (parallel.dp_attention ? parallel.data : 1));
}

SglangSettings sglang_card_settings(const EngineInput& input) {
  const Request& request = input.request;
  const SglangRules rules = sglang_rules(request);
  SglangSettings out{8192, 256};
  if (request.card.memory) {
    const double mib = driver_mib(input);
    const auto row = std::find_if(std::begin(kCards), std::end(kCards), [&](const CardDefaults& card) {
      return mib < static_cast<double>(card.below_gib) * kGibMib;
    });
    const CardDefaults& card = row->below_gib == kSmallBefore.below_gib && rules.small_chunks ? kSmallBefore : *row;
    out = {card.chunk, request.parallel.tensor >= 4 ? card.batch_tp4 : card.batch};
    if (!rules.sizes_by_card) out.chunk = mib >= kOldChunkMib ? 8192 : 2048;
  }
  if (request.max_num_batched_tokens) out.chunk = request.max_num_batched_tokens->count();
  if (request.extras.graph_batch) out.batch = *request.extras.graph_batch;
  if (request.max_num_seqs && rules.requests_limit_graphs)
    out.batch = std::min(out.batch, std::max<std::uint64_t>(*request.max_num_seqs, 1));
  return out;
}

std::uint64_t sglang_captured(const EngineInput& input, std::uint64_t largest) {
  const bool has_draft = input.draft_method.has_value();
  std::uint64_t out = 0;
  std::uint64_t last = 0;
  for (std::uint64_t size = 1; size <= largest; ++out) {
    last = size;
    if (has_draft)
      size += size < 8 ? 1 : size < 32 ? 2 : size == 32 ? 8 : size < 64 ? 4 : size < 256 ? 8 : 16;
    else
      size += size < 4 ? size : size < 16 ? 4 : size < 256 ? 8 : size < 512 ? 16 : 32;
  }
  return last < largest ? out + 1 : out;  // the largest size is always included
}

bool sglang_multimodal(const EngineInput& input) {
  const ModelShape& model = input.model;
  if (model.is_gguf || sglang_runs_library_class(input)) return false;
  const SglangClass its = sglang_class(model);
  // 0.4.4 always served images.
  if (its.images_by_option && sglang_rules(input.request).sizes_by_card) return false;
  return model.vision || model.has_audio || its.default_tower || its.always_multimodal;
}

// For contexts beyond 8192 tokens AMD's kernels keep more memory free, even if the user sets the fraction
// (attention_hook.py). Kimi-K2.5 in 0.5.8 does not.
static double share_beside_kernels(const EngineInput& input) {
  constexpr std::uint64_t kLongContext = 8192;
  const Request& request = input.request;
  if (!request.card.gpu || !sglang_rules(request).amd_long_contexts || request.card.gpu->vendor != "AMD") return 1;
  if (const std::string& backend = request.extras.attention_backend; !backend.empty() && backend != "aiter") return 1;
  // SGLang uses these kernels for latents only with 16 or 128 heads on a rank.
  const std::uint64_t heads = input.model.num_heads / request.parallel.tensor;
  if (has_latents(input) && heads != 16 && heads != 128) return 1;
  return request.max_model_len.value_or(input.model.max_model_len).count() > kLongContext ? 0.85 : 1;
}

static double share_of_card(const EngineInput& input) {
  const Request& request = input.request;
  if (request.memory_utilization) return *request.memory_utilization;
  const SglangRules rules = sglang_rules(request);
  if (!rules.sizes_by_card) return share_by_ranks(input);
  constexpr double kUsual = 0.88;
  if (!request.card.memory) return kUsual;
  const double mib = driver_mib(input);
  if (!rules.sums_reserve) return std::max(0.1, share_by_size(input, mib));
  const double share = std::round((mib - reserve_mib(input, mib)) / mib * 1000) / 1000;
  return std::max(0.1, share * tower_factor(input));
}

double sglang_share(const EngineInput& input) {
  return share_of_card(input) * share_beside_kernels(input);
}

Bytes sglang_kept_back(const EngineInput& input) {
  if (!sglang_multimodal(input) || !sglang_rules(input.request).keeps_back_for_images) return Bytes(0);
  // On large Hopper GPUs.
  const bool shares = input.request.card.capability() / 10 == 9 && driver_mib(input) >= 60 * kGibMib &&
                      sglang_class(input.model).shares_images && sglang_rules(input.request).shares_images;
  return Bytes((shares ? 1024 : 100) * kMiB);
}

}  // namespace kvplan
