// The tensors of a GGUF file as groups, with the bytes stored in the file.
#pragma once

#include "formats/gguf.h"
#include "formulas/model.h"

namespace kvplan {

// Fills model.tensors and model.stored_weights. Does nothing if the file lists no tensors (only a header).
// `num_layers` is the metadata's, without MTP layers.
void read_gguf_tensors(const Gguf& file, std::uint64_t num_layers, ModelSpec& model);

}  // namespace kvplan
