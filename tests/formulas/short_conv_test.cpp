#include "formulas/short_conv.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("short convolution: LFM2-1.2B's ten layers, llama.cpp's 0.156 MiB") {
  const ShortConv kind{2048, 3};
  CHECK(10 * elements(kind, 1) == 10 * 2 * 2048);
  CHECK(10 * bytes(kind, 1, k32Bit) == 163840);
  CHECK(kind_info(kind).name == "short_conv");
}

}  // namespace
}  // namespace kvplan
