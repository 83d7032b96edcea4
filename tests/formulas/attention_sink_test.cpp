#include "formulas/attention_sink.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("attention sink: 80 layers of 4 + 4,096 tokens are 1,343,488,000 B") {
  const AttentionSink kind{{64, 8, 128, 128}, Tokens(4), Tokens(4096)};
  CHECK(80 * bytes(kind, 32768) == 1343488000);
  CHECK(80 * bytes(kind, 4099) == std::uint64_t{80} * 4099 * 4096);
  CHECK(kind_info(kind).name == "attention_sink");
}

}  // namespace
}  // namespace kvplan
