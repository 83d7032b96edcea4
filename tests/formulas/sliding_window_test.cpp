#include "formulas/sliding_window.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("sliding window: tokens up to the window") {
  const SlidingWindow oss{{64, 8, 64, 64}, Tokens(128)};
  CHECK(12 * elements(oss, 32768) == 12 * 128 * 1024);
  CHECK(elements(oss, 127) == 127 * 1024);
  CHECK(elements(oss, 0) == 0);
  // Mistral-7B-v0.1 at 32k: 512 MiB, the figure of its paper's rolling buffer.
  CHECK(32 * bytes(SlidingWindow{{32, 8, 128, 128}, Tokens(4096)}, 32768) == std::uint64_t{512} << 20);
  CHECK(kind_info(oss).name == "sliding_window");
}

}  // namespace
}  // namespace kvplan
