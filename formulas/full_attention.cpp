#include "formulas/full_attention.h"

#include <array>

namespace kvplan {

namespace {
constexpr std::array kInfos{
    KindInfo{"mha", "multi-head attention", "S*H*(d + d_v)", "num_attention_heads, head_dim, hidden_size",
             "every token", "arXiv 1706.03762, section 3.2"},
    KindInfo{"gqa", "grouped-query attention", "S*H_kv*(d + d_v)", "num_key_value_heads, head_dim", "every token",
             "arXiv 2305.13245"},
    KindInfo{"mqa", "multi-query attention", "S*(d + d_v)", "num_key_value_heads = 1, multi_query, head_dim",
             "every token", "arXiv 1911.02150"},
};
}  // namespace

std::span<const KindInfo> FullAttention::infos() {
  return kInfos;
}

const KindInfo& FullAttention::info() const {
  if (heads.num_kv_heads == heads.num_heads) return kInfos[0];
  return heads.num_kv_heads == 1 ? kInfos[2] : kInfos[1];
}

}  // namespace kvplan
