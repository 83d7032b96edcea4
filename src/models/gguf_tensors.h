// The tensors of a GGUF file as groups, with the bytes that the file stores them in.
#ifndef KVPLAN_MODELS_GGUF_TENSORS_H_
#define KVPLAN_MODELS_GGUF_TENSORS_H_

#include "formats/gguf.h"
#include "formulas/model.h"

namespace kvplan {

// Fills model.tensors and model.stored_weights. Nothing where the file lists no tensors (a header alone). `num_layers`
// is that of the metadata, without MTP layers.
void read_gguf_tensors(const Gguf& file, std::uint64_t num_layers, ModelSpec& model);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_GGUF_TENSORS_H_
