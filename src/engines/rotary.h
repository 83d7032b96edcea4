// The tables of cosines and sines that engines keep on every GPU beside the weights.
#ifndef KVPLAN_ENGINES_ROTARY_H_
#define KVPLAN_ENGINES_ROTARY_H_

#include <vector>

#include "engines/engine.h"

namespace kvplan {

// One line for all of the model's tables, none where it has none. `element` is the bytes of an element; a multimodal
// table has `video` times the positions, for frames beyond the text's.
std::vector<LedgerLine> rotary_lines(const ModelShape& model, std::uint64_t element, std::uint64_t video,
                                     std::string_view source);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_ROTARY_H_
