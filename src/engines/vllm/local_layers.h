// Inkling's windows, which vLLM reads only from local_layer_ids.
#pragma once

#include <span>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// If the config has no local_layer_ids, every layer's attention and convolutions are those of a full layer.
std::vector<LayerCache> vllm_local_layers(std::vector<LayerCache> caches, std::span<const ConfigFact> facts);

}  // namespace kvplan
