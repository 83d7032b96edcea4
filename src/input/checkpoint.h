// A checkpoint's directory beyond its config: the headers of its safetensors, adapters, and layouts that hold several
// models.
#ifndef KVPLAN_INPUT_CHECKPOINT_H_
#define KVPLAN_INPUT_CHECKPOINT_H_

#include <string>
#include <string_view>

#include "formulas/model.h"

namespace kvplan {

// The component that a tensor's name speaks of.
Component component_of(std::string_view tensor, std::uint64_t num_layers);

// Reads the headers of the directory's safetensors into model.stored. Nothing where there are none. Throws Error.
void read_stored(const std::string& directory, ModelSpec& model);

// An Error that names and counts what a directory without a decoder holds (a LoRA adapter, a diffusers pipeline);
// returns where it is neither.
void refuse_layout(const std::string& directory);
// True where refuse_layout would throw.
bool is_other_layout(const std::string& directory);

}  // namespace kvplan

#endif  // KVPLAN_INPUT_CHECKPOINT_H_
