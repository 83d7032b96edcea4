#include "formulas/none.h"

namespace kvplan {

namespace {
constexpr KindInfo kNoneInfo{
    "none", "no cache", "0", "hybrid_override_pattern, block_configs", "nothing", "arXiv 2504.03624, 2411.19146"};
}  // namespace

std::span<const KindInfo> None::infos() {
  return {&kNoneInfo, 1};
}

}  // namespace kvplan
