// Index keys of sparse attention, for engines whose classes give every layer some, whatever the model shares.
#pragma once

#include <vector>

#include "engines/engine.h"

namespace kvplan {

// The caches with the index keys of the first layer that has some added to each layer; unchanged where none has any.
std::vector<LayerCache> with_indexes(std::vector<LayerCache> caches);

}  // namespace kvplan
