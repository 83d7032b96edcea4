#include "formulas/full_attention.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("full attention: bytes per token of all layers") {
  struct Row {
    const char* model;
    std::uint64_t layers;
    Heads heads;
    std::uint64_t bytes_per_token;
    const char* kind;
  };
  const Row rows[] = {
      {"Llama-3.1-8B", 32, {32, 8, 128, 128}, 131072, "gqa"},
      {"Llama-2-7B", 32, {32, 32, 128, 128}, 524288, "mha"},
      {"Llama-2-7B were it multi-query", 32, {32, 1, 128, 128}, 16384, "mqa"},
      {"Llama-3-70B", 80, {64, 8, 128, 128}, 327680, "gqa"},
      {"Falcon-7B", 32, {71, 1, 64, 64}, 8192, "mqa"},
      {"Qwen3-0.6B, 16 heads of 128 over a width of 1024", 28, {16, 8, 128, 128}, 114688, "gqa"},
      {"MiMo-V2-Flash's 9 full layers, K of 192 and V of 128", 9, {64, 4, 192, 128}, 9 * 1280 * 2, "gqa"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const FullAttention kind{row.heads};
    CHECK(row.layers * bytes(kind, 1) == row.bytes_per_token);
    CHECK(row.layers * bytes(kind, 131072) == row.bytes_per_token * 131072);
    CHECK(kind_info(kind).name == row.kind);
  }
}

TEST_CASE("full attention: 32 layers of width 4096 in float32 take 128 GiB at 131,072 tokens") {
  CHECK(32 * bytes(FullAttention{{32, 32, 128, 128}}, 131072, k32Bit) == std::uint64_t{128} << 30);
}

TEST_CASE("full attention: an entry is scored and added up for every query head") {
  CHECK(FullAttention{{32, 8, 128, 128}}.macs_per_entry() == 32 * 256);
}

}  // namespace
}  // namespace kvplan
