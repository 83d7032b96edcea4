#include "formulas/sparse_mla.h"

#include <doctest/doctest.h>

#include "formulas/deepseek.h"
#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("sparse MLA: the latent and an index key of 132 bytes") {
  const SparseMla kind{kDeepSeekV3, 128, 64, 2048};
  CHECK(61 * bytes(kind, 1) == 78324);  // DeepSeek-V3.2
  CHECK(elements(kind, 1) == 576 + 128);
  CHECK(kind_info(kind).name == "sparse_mla");
  CHECK(kind.variant().empty());
}

TEST_CASE("sparse MLA: a shared indexer keeps no keys") {
  const SparseMla own{{64, 512, 64, 192, 256, 2048}, 128, 32, 2048};
  SparseMla shared = own;
  shared.index_head_dim = 0;
  CHECK(bytes(shared, 1) == 1152);
  CHECK(shared.variant() == "shared_indexer");
  // GLM-5.2: 78 layers, 21 of them with a separate indexer.
  CHECK(21 * bytes(own, 1) + 57 * bytes(shared, 1) == 78 * 1152 + 21 * 132);
}

}  // namespace
}  // namespace kvplan
