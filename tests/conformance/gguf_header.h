// GGUF files for llama.cpp's rows: a real header, and a sparse file in place of the tensors.
#pragma once

#include <string>

#include "conformance/figure.h"

namespace kvplan::conformance {

// Writes the file of a row of llama.cpp-models.jsonl, and returns its path.
std::string write_gguf(const Json& row, const std::string& folder);

}  // namespace kvplan::conformance
