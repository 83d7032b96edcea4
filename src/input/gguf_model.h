// A GGUF file's metadata as a model.
#ifndef KVPLAN_INPUT_GGUF_MODEL_H_
#define KVPLAN_INPUT_GGUF_MODEL_H_

#include <string>

#include "formulas/model.h"
#include "input/input.h"

namespace kvplan {

// Reads the header of `path` (the first file of a split set stands for all). Throws Error.
ModelSpec load_gguf(const std::string& path, const ReadOptions& options);

}  // namespace kvplan

#endif  // KVPLAN_INPUT_GGUF_MODEL_H_
