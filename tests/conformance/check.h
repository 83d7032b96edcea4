// Compares kvplan with one file of executed figures.
#pragma once

#include <string>

namespace kvplan::conformance {

// `name`: the name of a file in testdata/conformance, such as "vllm-0.33.0".
void check_executed(const std::string& name);

}  // namespace kvplan::conformance
