// A GGUF file's metadata as a model.
#ifndef KVPLAN_INPUT_GGUF_MODEL_H_
#define KVPLAN_INPUT_GGUF_MODEL_H_

#include <string>
#include <string_view>

#include "formulas/model.h"
#include "input/gguf.h"
#include "input/input.h"

namespace kvplan {

// Reads the header of `path` (one file of a split set stands for all). Throws Error.
ModelSpec load_gguf(const std::string& path, const ReadOptions& options);

// The same of a header that is read already: no files, what tests and fuzzers call.
ModelSpec read_gguf(const Gguf& file, std::string_view source, const ReadOptions& options);

}  // namespace kvplan

#endif  // KVPLAN_INPUT_GGUF_MODEL_H_
