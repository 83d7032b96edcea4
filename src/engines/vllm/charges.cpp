// How many blocks vLLM charges a request for a layer.
#include <algorithm>

#include "engines/vllm/specs.h"

namespace kvplan {

std::uint64_t filled_blocks(const VllmSpec& spec, const ChargeRules& charge, const Load& load) {
  const std::uint64_t tokens = load.max_model_len.count();
  switch (spec.type) {
    case SpecType::kFull:
    case SpecType::kMla: return ceil_div(ceil_div(tokens, charge.context_ranks), spec.block_size);
    case SpecType::kSliding:
    case SpecType::kSlidingMla:
    case SpecType::kChunked: return ceil_div(std::min(tokens, spec.window), spec.block_size);
    case SpecType::kCross: return ceil_div(load.source_tokens.count(), spec.block_size);
    case SpecType::kState:
    case SpecType::kRing: break;
  }
  return 1;
}

std::uint64_t charged_blocks(const VllmSpec& spec, const ChargeRules& charge, const Load& load) {
  const std::uint64_t tokens = load.max_model_len.count();
  switch (spec.type) {
    case SpecType::kSliding:
    case SpecType::kSlidingMla: {
      // One more block, since a window may begin in the middle of a block.
      const std::uint64_t reach = checked_add(spec.window - 1, charge.in_flight_tokens, "a window and its batch");
      return ceil_div(std::min(reach, tokens), spec.block_size) + 1;
    }
    case SpecType::kChunked: {
      const std::uint64_t reach = checked_add(spec.window, charge.in_flight_tokens, "a chunk and its batch");
      return ceil_div(std::min(reach, tokens), spec.block_size);
    }
    case SpecType::kState:
      if (charge.mamba_mode != MambaMode::kAll) return charge.state_slots;
      return ceil_div(tokens, spec.block_size) + charge.extra_slots;
    case SpecType::kCross:
      if (charge.source_tokens == 0 || load.source_tokens == Tokens(0)) break;
      return ceil_div(charge.source_tokens, spec.block_size);
    case SpecType::kFull:
    case SpecType::kMla:
    case SpecType::kRing: break;
  }
  return filled_blocks(spec, charge, load);
}

Bytes filled_bytes(const VllmSpec& spec, const ChargeRules& charge, const Load& load) {
  if (spec.is_state() || spec.type == SpecType::kRing) return spec.page;
  std::uint64_t tokens = load.max_model_len.count();
  if (spec.type == SpecType::kCross) tokens = load.source_tokens.count();
  if (spec.is_full_family()) tokens = ceil_div(tokens, charge.context_ranks);
  if (spec.window > 0) tokens = std::min(tokens, spec.window);
  return spec.entry * (tokens / spec.stride);
}

}  // namespace kvplan
