// The parts of a checkpoint's directory other than its config: headers of safetensors, adapters, and layouts with
// several models.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "formats/safetensors.h"
#include "formulas/model.h"

namespace kvplan {

// The component that a tensor belongs to, by its name.
Component component_of(std::string_view tensor, std::uint64_t num_layers);

// Reads the headers of the directory's safetensors into model.stored. Does nothing if there are none. Throws Error.
void read_stored(const std::string& directory, ModelSpec& model);
// Reads the sum in the directory's index, whatever files exist; does nothing without a valid index.
void read_stored_index(const std::string& directory, ModelSpec& model);
// The same for tensors from elsewhere: `each` calls its argument once for every tensor.
void add_stored(const std::function<void(const TensorVisitor&)>& each, ModelSpec& model);

// Throws Error that says what a directory without a decoder contains and how much (a LoRA adapter, a diffusers
// pipeline); returns if it is neither.
void refuse_layout(const std::string& directory);
// Whether refuse_layout would throw.
bool is_other_layout(const std::string& directory);

}  // namespace kvplan
