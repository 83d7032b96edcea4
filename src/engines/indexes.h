// Index keys of sparse attention, for engines whose classes give them to every layer, even if layers share an indexer.
#pragma once

#include <vector>

#include "engines/engine.h"

namespace kvplan {

// Adds the index keys of the first layer that has some to each layer; changes nothing if none has any.
std::vector<LayerCache> with_indexes(std::vector<LayerCache> caches);

}  // namespace kvplan
