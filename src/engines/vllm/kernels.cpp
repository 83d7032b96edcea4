#include "engines/vllm/vllm.h"

#include <algorithm>
#include <iterator>

#include "engines/vllm/class_table.h"
#include "kvplan/gpus.h"

namespace kvplan {

constexpr std::uint64_t kUsualBlock = 16;
constexpr std::uint64_t kFlashMlaBlock = 64;
constexpr std::uint64_t kWideBlock = 64;
constexpr std::uint64_t kWidestHead = 512;
constexpr std::uint64_t kMaskedHead = 256;  // the other head width that TRITON_FLASHINFER supports

// kda_checkpoint.py; FLASHINFER_GDN_CHECKPOINT_ALIGNMENT in gdn_attn.py.
constexpr std::uint64_t kFlashKdaAlignment = 16;
constexpr std::uint64_t kDeltaAlignment = 64;

// Whether the GPU runs FlashKDA and FlashInfer's gated delta rule: compute capabilities 9, 10 and 12.
static bool has_prefill_kernels(const Request& request) {
  const unsigned major = request.card.capability() / 10;
  return !request.card.gpu || major == 9 || major == 10 || major == 12;
}

bool vllm_supports(const Gpu& card) {
  constexpr unsigned kOldest = 70;
  constexpr unsigned kRocm[] = {0x90a, 0x942, 0x950, 0x1100, 0x1101, 0x1151, 0x1200, 0x1201};
  if (card.capability == 0) return true;
  if (card.vendor == "NVIDIA") return card.capability >= kOldest;
  return card.vendor != "AMD" || std::find(std::begin(kRocm), std::end(kRocm), card.capability) != std::end(kRocm);
}

bool vllm_is_hopper(const Request& request) {
  return request.card.capability() == 90;
}

bool vllm_is_data_blackwell(const Request& request) {
  return request.card.capability() / 10 == 10;
}

bool vllm_has_indexers(const EngineInput& input, const VllmRules& rules) {
  return !vllm_builds_no_indexer(input.model.arch, rules) &&
         any_term(input, [](const Term& term) { return term.role == Role::kIndex; });
}

std::uint64_t vllm_widest_value(const EngineInput& input) {
  std::uint64_t widest = 0;
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.compact)
      if (term.role == Role::kValue) widest = std::max(widest, term.shape.width);
  return widest;
}

bool vllm_has_cross_attention(const EngineInput& input) {
  return any_term(input, [](const Term& term) { return term.growth == Growth::kSourceToken; });
}

std::uint64_t vllm_latent_block(const EngineInput& input, const VllmRules& rules) {
  const Request& request = input.request;
  if (vllm_has_indexers(input, rules)) return kFlashMlaBlock;
  if (request.card.gpu && !vllm_is_hopper(request) && !vllm_is_data_blackwell(request)) return kUsualBlock;
  if (vllm_is_data_blackwell(request)) return rules.blackwell_latent_block;
  if (!rules.latents_by_card || !request.card.gpu) return kFlashMlaBlock;  // as in logs, if the GPU is not known
  return plain_bytes(input.types.key) == 2 ? kUsualBlock : kFlashMlaBlock;
}

std::uint64_t vllm_head_block(const EngineInput& input, const VllmRules& rules) {
  const Request& request = input.request;
  const std::uint64_t widest = vllm_widest_value(input);
  const bool is_fp8 = input.types.key == Dtype::kFp8E4m3;
  if (rules.wide_fp8_blocks && is_fp8 && widest == kWidestHead && (!request.card.gpu || vllm_is_hopper(request)))
    return kWideBlock;
  const bool masks = input.model.vision && input.model.vision->both_ways && !request.extras.language_model_only;
  const bool composite = masks && (widest == kWidestHead || widest == kMaskedHead);
  return rules.composite_masks && composite && vllm_is_data_blackwell(request) ? kWideBlock : kUsualBlock;
}

std::optional<std::uint64_t> vllm_checkpoint_alignment(const EngineInput& input, const VllmRules& rules) {
  const bool has_kernels = has_prefill_kernels(input.request);
  const VllmClass the_class = vllm_class(input.model);
  if (the_class.has_kda_checkpoints)
    return rules.latent_checkpoints && has_kernels && !(the_class.doubles_rings && rules.pooled_layout)
               ? std::optional(kFlashKdaAlignment)
               : std::nullopt;
  // Mamba 2: the state is a matrix for each head.
  const bool scans =
      any_term(input, [](const Term& term) { return term.part == Part::kScan && term.shape.vectors > 1; });
  if (scans) return rules.scan_checkpoints ? std::optional<std::uint64_t>(1) : std::nullopt;
  return the_class.has_delta_checkpoints && rules.delta_checkpoints && has_kernels ? std::optional(kDeltaAlignment)
                                                                                   : std::nullopt;
}

}  // namespace kvplan
