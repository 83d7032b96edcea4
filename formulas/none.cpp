#include "formulas/none.h"

namespace kvplan {

namespace {
constexpr KindInfo kInfo{
    "none", "no cache", "0", "hybrid_override_pattern, block_configs", "nothing", "arXiv 2504.03624, 2411.19146"};
}  // namespace

std::span<const KindInfo> None::infos() {
  return {&kInfo, 1};
}

}  // namespace kvplan
