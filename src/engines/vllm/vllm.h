// The parts of vLLM's row in the table of engines, each in the file of its name.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/launch_input.h"
#include "engines/lora_slots.h"

namespace kvplan {

// The pool of blocks. Throws Error(kBadInput) with vLLM's rule if it refuses the request; adds notes.
std::unique_ptr<CacheLayout> vllm_layout(const EngineInput& input, std::vector<Note>& notes);

// The first refusal that a start would meet for reasons other than memory, in vLLM's own words if it has some. Without
// a GPU every kernel is assumed to be available.
std::optional<Refusal> vllm_refusal(const EngineInput& input, const Load& load);

// What adapters take at the start. Throws Error(kBadInput) with vLLM's rule; may add notes.
LoraSlots vllm_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes);

// Its options that not every engine has.
inline constexpr std::string_view kVllmOptions =
    "--cuda-graph-max-bs --cudagraph-capture-sizes --mm-encoder-tp-mode "
    "--block-size --enable-prefix-caching --mamba-cache-mode --disable-hybrid-kv-cache-manager "
    "--enforce-eager --attention-backend --mamba-ssm-cache-dtype --decode-context-parallel-size "
    "--cudagraph-mode --enable-expert-parallel --enable-eplb --num-redundant-experts --all2all-backend "
    "--cpu-offload-gb "
    "--kv-offloading-size --swap-space --enable-lora "
    "--max-loras --max-lora-rank --max-cpu-loras --lora-targets --fully-sharded-loras "
    "--limit-mm-per-prompt --language-model-only --pp-layer-partition --mamba-block-size --enable-sleep-mode";

Launch vllm_launch(const LaunchInput& input);

}  // namespace kvplan
