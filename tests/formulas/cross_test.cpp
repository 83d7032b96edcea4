#include "formulas/cross.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("cross attention: Whisper medium keeps 1,500 frames, and a token adds nothing") {
  const Cross kind{{16, 16, 64, 64}};
  CHECK(24 * elements(kind, 448, 1500) == 24 * 2 * 1024 * 1500);
  CHECK(elements(kind, 448, 1500) == elements(kind, 1, 1500));
  CHECK(elements(kind, 448) == 0);
  CHECK(kind_info(kind).name == "cross");
}

}  // namespace
}  // namespace kvplan
