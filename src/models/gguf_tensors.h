// The tensors of a GGUF file as groups, with the bytes that the file stores them in.
#ifndef KVPLAN_MODELS_GGUF_TENSORS_H_
#define KVPLAN_MODELS_GGUF_TENSORS_H_

#include "formulas/model.h"
#include "models/gguf_reader.h"

namespace kvplan {

// Fills model.tensors and model.stored_weights. Nothing where the file lists no tensors (a header alone).
void read_gguf_tensors(const GgufReader& reader);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_GGUF_TENSORS_H_
