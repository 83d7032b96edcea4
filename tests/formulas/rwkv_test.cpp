#include "formulas/rwkv.h"

#include <doctest/doctest.h>

#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("RWKV: llama.cpp's 20.62 MiB of rwkv7-2.9b, float32") {
  const Rwkv kind{7, 2560, 64, 2};
  CHECK(32 * bytes(kind, 4096, k32Bit) == 21626880);
  CHECK(32 * bytes(kind, 4096) == 10813440);
  CHECK(kind.variant() == "rwkv7");
}

TEST_CASE("RWKV 4 keeps five numbers for each channel") {
  CHECK(elements(Rwkv{4, 768, 0, 2}, 1) == 5 * 768);
}

}  // namespace
}  // namespace kvplan
