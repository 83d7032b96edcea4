// The includes of a family's file: the layers and tensors that families share, and the functions that refuse a config.
#ifndef KVPLAN_MODELS_BLOCKS_BLOCKS_H_
#define KVPLAN_MODELS_BLOCKS_BLOCKS_H_

#include <algorithm>

#include "kvplan/error.h"
#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/family.h"

#endif  // KVPLAN_MODELS_BLOCKS_BLOCKS_H_
