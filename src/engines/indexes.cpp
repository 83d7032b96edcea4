#include "engines/term_kinds.h"

#include <algorithm>

namespace kvplan {

std::vector<LayerCache> with_indexes(std::vector<LayerCache> caches) {
  const auto is_index = [](const Term& term) { return term.role == Role::kIndex; };
  std::optional<Term> index;
  for (const LayerCache& cache : caches)
    for (const Term& term : cache.compact)
      if (!index && is_index(term)) index = term;
  if (!index) return caches;
  for (LayerCache& cache : caches)
    if (!cache.compact.empty() && std::none_of(cache.compact.begin(), cache.compact.end(), is_index))
      cache.compact.own().push_back(*index);
  return caches;
}

}  // namespace kvplan
