// Index keys of sparse attention, for engines whose classes give every layer some, whatever the model shares.
#ifndef KVPLAN_ENGINES_INDEXES_H_
#define KVPLAN_ENGINES_INDEXES_H_

#include <vector>

#include "engines/engine.h"

namespace kvplan {

// The caches with the index keys of the first layer that has some added to each layer; unchanged where none has any.
std::vector<LayerCache> with_indexes(std::vector<LayerCache> caches);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_INDEXES_H_
