#include "formulas/full_attention.h"

namespace kvplan {

const KindInfo& FullAttention::info() const {
  if (heads.num_kv_heads == heads.num_heads) return kInfo[0];
  return heads.num_kv_heads == 1 ? kInfo[2] : kInfo[1];
}

}  // namespace kvplan
