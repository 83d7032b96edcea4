#include "formulas/rg_lru.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("RG-LRU: RecurrentGemma-2B's 18 layers") {
  const RgLru kind{2560, 4, 10};
  CHECK(18 * elements(kind, 1) == 18 * (3 * 2560 + 2560));
  CHECK(18 * bytes(kind, 1) == 368640);
  CHECK(18 * bytes(kind, 1, k16BitState32) == 460800);
  CHECK(kind_info(kind).name == "rg_lru");
}

}  // namespace
}  // namespace kvplan
