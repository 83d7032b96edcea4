// vLLM's own command line for a plan.
#ifndef KVPLAN_ENGINES_VLLM_LAUNCHER_H_
#define KVPLAN_ENGINES_VLLM_LAUNCHER_H_

#include <string_view>

#include "engines/launch_input.h"

namespace kvplan {

// Its options that not every engine has.
inline constexpr std::string_view kVllmOptions =
    "--block-size --enable-prefix-caching --mamba-cache-mode --disable-hybrid-kv-cache-manager "
    "--enforce-eager --mamba-ssm-cache-dtype --decode-context-parallel-size "
    "--enable-expert-parallel --cpu-offload-gb --kv-offloading-size --swap-space --enable-lora "
    "--max-loras --max-lora-rank --max-cpu-loras --lora-targets --fully-sharded-loras "
    "--limit-mm-per-prompt --language-model-only";

Launch vllm_launch(const LaunchInput& input);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_LAUNCHER_H_
