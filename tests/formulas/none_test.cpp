#include "formulas/none.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("none: a layer without attention has no cache") {
  CHECK(elements(None{}, 8192) == 0);
  CHECK(kind_info(None{}).name == "none");
}

}  // namespace
}  // namespace kvplan
