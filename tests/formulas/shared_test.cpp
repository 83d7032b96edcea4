#include "formulas/shared.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("shared: a layer that reads another layer's cache stores none, but attends") {
  const Shared kind{18, {8, 2, 256, 256}, Tokens(512)};
  CHECK(elements(kind, 8192) == 0);
  CHECK(kind.macs_per_entry() == 8 * 512);
  CHECK(kind_info(kind).name == "shared");
}

}  // namespace
}  // namespace kvplan
