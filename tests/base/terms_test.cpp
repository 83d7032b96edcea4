#include "kvplan/terms.h"

#include <doctest/doctest.h>

namespace kvplan {
namespace {

Term growing(Limit limit, std::uint64_t stride = 1) {
  Term term{.name = "key"};
  term.limit = limit;
  term.stride = stride;
  return term;
}

TEST_CASE("entries: how each growth and each limit counts tokens") {
  struct Row {
    const char* what;
    Term term;
    std::uint64_t tokens, entries;
  };
  const Limit window{LimitKind::kWindow, Tokens(128), Tokens(0)};
  const Limit chunk{LimitKind::kChunk, Tokens(8192), Tokens(0)};
  const Limit sink{LimitKind::kSink, Tokens(4096), Tokens(4)};
  const Row rows[] = {
      {"every token", growing({}), 32768, 32768},        {"no token", growing({}), 0, 0},
      {"within the window", growing(window), 127, 127},  {"at the window", growing(window), 128, 128},
      {"beyond the window", growing(window), 129, 128},  {"beyond the chunk", growing(chunk), 10000000, 8192},
      {"sink and window", growing(sink), 4100, 4100},    {"beyond sink and window", growing(sink), 32768, 4100},
      {"whole strides only", growing({}, 128), 127, 0},  {"a stride", growing({}, 128), 128, 1},
      {"many strides", growing({}, 4), 1048579, 262144},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(row.term.entries(Tokens(row.tokens), Tokens(0)) == row.entries);
  }
  Term cross{.name = "key", .growth = Growth::kSourceToken};
  CHECK(cross.entries(Tokens(448), Tokens(1500)) == 1500);
  Term state{.name = "state", .growth = Growth::kSequence};
  CHECK(state.entries(Tokens(0), Tokens(0)) == 1);
  CHECK(state.entries(Tokens(1 << 20), Tokens(0)) == 1);
}

TEST_CASE("elements: a convolution keeps columns - 1 inputs") {
  Term conv{.name = "conv"};
  conv.shape = {.units = 5120, .vectors = 1, .width = 1, .columns = 4};
  CHECK(conv.elements().count() == 15360);
  Term state{.name = "state"};
  state.shape = {.units = 48, .vectors = 128, .width = 128};
  CHECK(state.elements().count() == 786432);
}

}  // namespace
}  // namespace kvplan
