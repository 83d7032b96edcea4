// GGUF files of llama.cpp's rows: a true header, and a hole where the tensors would be.
#ifndef KVPLAN_TESTS_CONFORMANCE_GGUF_HEADER_H_
#define KVPLAN_TESTS_CONFORMANCE_GGUF_HEADER_H_

#include <string>

#include "conformance/figure.h"

namespace kvplan::conformance {

// Writes the file of a row of llama.cpp-models.jsonl, and returns its path.
std::string write_gguf(const Json& row, const std::string& folder);

}  // namespace kvplan::conformance

#endif  // KVPLAN_TESTS_CONFORMANCE_GGUF_HEADER_H_
