// The pool of blocks that vLLM makes for a model and a request.
#ifndef KVPLAN_ENGINES_VLLM_LAYOUT_H_
#define KVPLAN_ENGINES_VLLM_LAYOUT_H_

#include <memory>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// Throws Error(kBadInput) with vLLM's rule where it refuses the request; adds notes.
std::unique_ptr<CacheLayout> vllm_layout(const EngineInput& input, std::vector<Note>& notes);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_LAYOUT_H_
