#include "engines/llama_cpp_compute.h"

namespace kvplan {

std::vector<LedgerLine> llama_cpp_overhead(const OverheadInput& in) {
  return logical_engine().overhead(in);
}

}  // namespace kvplan
