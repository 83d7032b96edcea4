// SGLang's pools for a model and a request.
#ifndef KVPLAN_ENGINES_SGLANG_LAYOUT_H_
#define KVPLAN_ENGINES_SGLANG_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

std::unique_ptr<CacheLayout> sglang_layout(const EngineInput& input, std::vector<Note>& notes);
// Requests that a rank runs at once, which the table of requests has rows for: as many as the pools of a budget hold,
// or the least number where there is no budget.
std::uint64_t sglang_requests(const EngineInput& input, std::optional<Bytes> budget, const Load& load);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_LAYOUT_H_
