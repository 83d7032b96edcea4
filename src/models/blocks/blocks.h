// The includes of a family's file: the layers and tensors that families share, and the functions that refuse a config.
#pragma once

#include <algorithm>

#include "kvplan/error.h"
#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/family.h"
