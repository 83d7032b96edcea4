// Lists of a config that speak of its layers: what is wrong with them, before and after the layers are known.
#ifndef KVPLAN_MODELS_LAYER_LISTS_H_
#define KVPLAN_MODELS_LAYER_LISTS_H_

#include "models/reader.h"

namespace kvplan {

// Lists that are something else would be no lists at all: every layer would be read as the first. Error(kBadInput).
void refuse_layers_that_are_no_list(const Fields& text);

// A list with an entry for each layer that ends before the layers do is an Error(kBadInput); a list of layers that
// names one beyond the last is a warning: the engines skip it, and the config may have been cut short.
void check_layer_lists(const Reader& reader);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_LAYER_LISTS_H_
