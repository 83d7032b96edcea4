#include "kvplan/quantity.h"

#include <doctest/doctest.h>

namespace kvplan {
namespace {

TEST_CASE("a size in a sentence has the largest unit that shows it") {
  CHECK(format_bytes(Bytes(0)) == "0 bytes");
  CHECK(format_bytes(Bytes(1)) == "1 byte");
  CHECK(format_bytes(Bytes(1536)) == "1.5 KiB");
  CHECK(format_bytes(Bytes(3ULL << 19)) == "1.5 MiB");
  CHECK(format_bytes(Bytes(24ULL << 30)) == "24.00 GiB");
  CHECK(format_gib(Bytes(1ULL << 29)) == "0.50 GiB");
}

TEST_CASE("a size for use in a command is rounded up") {
  CHECK(format_bytes_up(Bytes(24ULL << 30)) == "24.00 GiB");
  CHECK(format_bytes_up(Bytes((24ULL << 30) + 1)) == "24.01 GiB");
  CHECK(format_bytes_up(Bytes((1ULL << 20) + 1)) == "1.1 MiB");
}

TEST_CASE("a single item has no plural s") {
  CHECK(counted(1, "sequence") == "1 sequence");
  CHECK(counted(0, "sequence") == "0 sequences");
  CHECK(counted(8, "token") == "8 tokens");
}

}  // namespace
}  // namespace kvplan
