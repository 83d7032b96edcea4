// Index keys of sparse attention, where an engine's classes give every layer some, whatever the model shares.
#ifndef KVPLAN_ENGINES_INDEXES_H_
#define KVPLAN_ENGINES_INDEXES_H_

#include <vector>

#include "engines/engine.h"

namespace kvplan {

// Each layer that caches with the index keys that the first such layer has; as they are where none has any.
std::vector<LayerCache> with_indexes(std::vector<LayerCache> caches);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_INDEXES_H_
