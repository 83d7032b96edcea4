#include "engines/vllm/vllm.h"

#include <algorithm>

namespace kvplan {

std::vector<LayerCache> vllm_local_layers(std::vector<LayerCache> caches, std::span<const ConfigFact> facts) {
  if (std::any_of(facts.begin(), facts.end(), [](const ConfigFact& fact) {
        return fact.origin == Origin::kFile && fact.key.ends_with("local_layer_ids") && fact.value != "null";
      }))
    return caches;
  const auto has_window = [](const LayerCache& cache) {
    return any_term(cache.compact, [](const Term& term) { return term.limit.kind != LimitKind::kNone; });
  };
  const auto is_attention = [](const LayerCache& cache) {
    return any_term(cache.compact, [](const Term& term) { return term.growth == Growth::kToken; });
  };
  std::size_t full = 0;
  while (full < caches.size() && (!is_attention(caches[full]) || has_window(caches[full]))) ++full;
  for (std::size_t i = 0; full + 1 < caches.size() && i + 1 < caches.size(); ++i) {
    if (!has_window(caches[i])) continue;
    for (std::size_t part = 0; part < 2; ++part) {  // attention, convolutions
      caches[i + part].kind = caches[full + part].kind;
      caches[i + part].compact = caches[full + part].compact;
    }
  }
  return caches;
}

}  // namespace kvplan
