// How an engine's layout treats a term.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "kvplan/terms.h"

namespace kvplan {

inline bool is_fixed(const Term& term) {
  return term.growth == Growth::kSequence;
}
inline bool is_latent(const Term& term) {
  return term.part == Part::kLatent;
}
inline bool is_index(const Term& term) {
  return term.role == Role::kIndex;
}
// Tokens that wait until their shared entry or index key is complete.
inline bool is_open_group(const Term& term) {
  return term.role == Role::kState && term.growth == Growth::kToken;
}
inline bool is_windowed(const Term& term) {
  return term.limit.kind != LimitKind::kNone;
}
// DeepSeek-V4's terms: latents in a window, and entries for several tokens.
inline bool is_packed(const Term& term) {
  return (term.stride > 1 && term.role == Role::kKey) || (is_latent(term) && is_windowed(term));
}

// Index keys of sparse attention, for engines whose classes have them in every layer even if layers share an indexer.

// Adds the index keys of the first layer that has any to every layer; changes nothing if no layer has any.
std::vector<LayerCache> with_indexes(std::vector<LayerCache> caches);

}  // namespace kvplan
