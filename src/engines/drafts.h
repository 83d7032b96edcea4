// What guesses tokens ahead, as layers with a cache of their own.
#ifndef KVPLAN_ENGINES_DRAFTS_H_
#define KVPLAN_ENGINES_DRAFTS_H_

#include <string>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

struct DraftLayers {
  std::string label;               // "draft model", "EAGLE layers", "MTP layers"
  std::vector<LayerCache> caches;  // numbered behind the model's own
  CacheTypes types;
  // "EAGLE layers, 1 layer"
  Template line() const { return {"{label}, {num_layers:layer}", {{"label", label}, {"num_layers", caches.size()}}}; }
};

// The caching layers of the draft model, or the model's own MTP layers where they are asked for; none otherwise.
DraftLayers draft_layers(const EngineInput& input);

// MTP layers are decoder layers of the main kind: full attention, with an indexer where the model has one;
// DeepSeek-V4's hold a window alone.
std::vector<LayerCache> mtp_layers(const EngineInput& input);

// Tokens that are guessed in one step: what was asked for, else `otherwise` where anything guesses.
std::uint64_t guessed_tokens(const EngineInput& input, std::uint64_t otherwise);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_DRAFTS_H_
