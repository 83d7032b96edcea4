#include "formulas/cross.h"

namespace kvplan {

namespace {
constexpr KindInfo kCrossInfo{"cross",
                              "cross attention",
                              "E*H_kv*(d + d_v)",
                              "cross_attention_layers, max_source_positions, num_key_value_heads",
                              "source tokens",
                              "arXiv 1706.03762, section 3.2.3"};
}  // namespace

std::span<const KindInfo> Cross::infos() {
  return {&kCrossInfo, 1};
}

}  // namespace kvplan
