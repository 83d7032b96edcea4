// What a family's file is written with: the layers and tensors that families share, and what refuses a config.
#ifndef KVPLAN_MODELS_BLOCKS_BLOCKS_H_
#define KVPLAN_MODELS_BLOCKS_BLOCKS_H_

#include <algorithm>

#include "kvplan/error.h"
#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/family.h"

#endif  // KVPLAN_MODELS_BLOCKS_BLOCKS_H_
