// Holds kvplan against one file of executed figures.
#ifndef KVPLAN_TESTS_CONFORMANCE_CHECK_H_
#define KVPLAN_TESTS_CONFORMANCE_CHECK_H_

#include <string>

namespace kvplan::conformance {

// `name`: of a file in testdata/conformance, "vllm-0.33.0".
void check_executed(const std::string& name);

}  // namespace kvplan::conformance

#endif  // KVPLAN_TESTS_CONFORMANCE_CHECK_H_
