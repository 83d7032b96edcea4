// A checkpoint's directory beyond its config: the headers of its safetensors, adapters, and layouts that hold several
// models.
#ifndef KVPLAN_SOURCES_CHECKPOINT_H_
#define KVPLAN_SOURCES_CHECKPOINT_H_

#include <functional>
#include <string>
#include <string_view>

#include "formats/safetensors.h"
#include "formulas/model.h"

namespace kvplan {

// The component that a tensor's name speaks of.
Component component_of(std::string_view tensor, std::uint64_t num_layers);

// Reads the headers of the directory's safetensors into model.stored. Nothing where there are none. Throws Error.
void read_stored(const std::string& directory, ModelSpec& model);
// The sum that the directory's index gives, whatever files are there; nothing where there is no sound index.
void read_stored_index(const std::string& directory, ModelSpec& model);
// The same for tensors that come from elsewhere: `each` calls its argument once for every tensor.
void add_stored(const std::function<void(const TensorVisitor&)>& each, ModelSpec& model);

// An Error that names and counts what a directory without a decoder holds (a LoRA adapter, a diffusers pipeline);
// returns where it is neither.
void refuse_layout(const std::string& directory);
// True where refuse_layout would throw.
bool is_other_layout(const std::string& directory);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_CHECKPOINT_H_
