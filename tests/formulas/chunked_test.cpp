#include "formulas/chunked.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("chunked: Llama 4 Scout's 36 chunked layers stop at 8,192 tokens") {
  const Chunked kind{{40, 8, 128, 128}, Tokens(8192)};
  CHECK(elements(kind, 1) == 2 * 8 * 128);
  CHECK(36 * bytes(kind, 131072) == std::uint64_t{36} * 8192 * 2048 * 2);
  CHECK(bytes(kind, 131072) == bytes(kind, 10485760));
  CHECK(kind_info(kind).name == "chunked");
}

}  // namespace
}  // namespace kvplan
