#include "formulas/sparse_gqa.h"

#include <doctest/doctest.h>

#include "formulas/full_attention.h"
#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("sparse GQA: MiniMax-M3 keeps all keys and values, and an index key in 57 of 60 layers") {
  const SparseGqa sparse{{64, 4, 128, 128}, 128, 4};
  const FullAttention full{{64, 4, 128, 128}};
  CHECK(elements(sparse, 1) == 1024 + 128);
  CHECK(57 * bytes(sparse, 1) + 3 * bytes(full, 1) == 137472);
  CHECK(kind_info(sparse).name == "sparse_gqa");
}

TEST_CASE("sparse GQA: index keys follow the model's type, not the KV type") {
  CacheTypes types = k16Bit;
  types.key = types.value = Dtype::kFp8E4m3;
  CHECK(bytes(SparseGqa{{64, 4, 128, 128}, 128, 4}, 1, types) == 1024 + 256);
}

}  // namespace
}  // namespace kvplan
