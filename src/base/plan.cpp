#include "kvplan/plan.h"

#include <algorithm>

#include "kvplan/strings.h"
#include "kvplan/tensors.h"

namespace kvplan {

// In the order of LineId, after kUsual.
constexpr std::string_view kIds =
    "embedding attention mlp experts shared_experts router state_mixer norms lm_head encoder vision_encoder "
    "audio_encoder projector mtp other_weights rotary_tables loading_allocator draft_weights lora mmproj "
    "encoder_cache states state_pool state_padding_slot draft_cache draft_states rollback_rows offloaded_cache "
    "logits attention_scores compute_buffer draft_compute_buffer image_encoder cuda_graphs context non_torch "
    "request_table prompt_cache";
static_assert(std::count(kIds.begin(), kIds.end(), ' ') + 1 == static_cast<int>(LineId::kPromptCache));
static_assert(static_cast<std::size_t>(LineId::kOther) == static_cast<std::size_t>(Component::kOther) + 1);

std::string_view name(Section section) {
  return nth_word(section, "weights kv_cache activation runtime");
}

std::string_view name(Basis basis) {
  return nth_word(basis, "exact estimate log calibrated");
}

std::string_view id_of(const LedgerLine& line) {
  return line.id == LineId::kUsual ? name(line.part) : nth_word(static_cast<std::size_t>(line.id) - 1, kIds);
}

bool is_extra(LineId id) {
  switch (id) {
    case LineId::kMtp:
    case LineId::kDraftWeights:
    case LineId::kLora:
    case LineId::kImageProjector:
    case LineId::kEncoderCache:
    case LineId::kDraftCache:
    case LineId::kDraftStates:
    case LineId::kRollBack:
    case LineId::kDraftBuffer:
    case LineId::kImageEncoder: return true;
    default: return false;
  }
}

LedgerLine of_kind(LineId id, LedgerLine line) {
  line.id = id;
  return line;
}

LedgerLine exact_line(Section part, Template what, Bytes bytes, Template formula, std::string source) {
  return {part, std::move(what), bytes, bytes, bytes, std::move(formula), std::move(source)};
}

}  // namespace kvplan
