// Draft models, and heads for speculative decoding, as layers with their own cache.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

struct DraftLayers {
  std::string label;               // "draft model", "EAGLE layers", "MTP layers"
  std::vector<LayerCache> caches;  // numbered after the model's own
  CacheTypes types;
  // "EAGLE layers, 1 layer"
  Template line() const { return {"{label}, {num_layers:layer}", {{"label", label}, {"num_layers", caches.size()}}}; }
};

// The layers of the draft model that have a cache, or the model's own MTP layers if requested; otherwise none.
DraftLayers draft_layers(const EngineInput& input);

// MTP layers have the same attention as the main decoder: full attention, with an indexer if the model has one. Those
// of DeepSeek-V4 only have a window.
std::vector<LayerCache> mtp_layers(const EngineInput& input);

// Draft tokens in one step: as requested, or `otherwise` if speculative decoding is on without a number, or 0.
std::uint64_t step_draft_tokens(const EngineInput& input, std::uint64_t otherwise);

// A draft model's cache in addition to the model's: two layouts of one engine, queried together. Both have the same
// number of GPUs. `load_of` turns a load of the model into one of the draft, and must not decrease as the load grows.
std::unique_ptr<CacheLayout> with_draft(std::unique_ptr<CacheLayout> main, std::unique_ptr<CacheLayout> draft,
                                        std::function<Load(const Load&)> load_of, Template label);

}  // namespace kvplan
