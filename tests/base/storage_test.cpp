#include "kvplan/storage.h"

#include <doctest/doctest.h>

#include <string>

#include "formulas/kinds.h"
#include "kvplan/error.h"
#include "support/figures.h"

namespace kvplan {
namespace {

CacheTypes all(Dtype type) {
  return {type, type, type, type};
}

// K and V of one token of one layer, 8 KV heads of 128.
std::uint64_t gqa_token(Dtype type) {
  return bytes(FullAttention{{32, 8, 128, 128}}, 1, all(type));
}

TEST_CASE("storage: bytes per token of 8 KV heads of 128, in each type") {
  struct Row {
    Dtype type;
    std::uint64_t bytes;
  };
  // 2048 elements. Scaled types: 8 heads x (K + V) x the bytes of one vector of 128.
  const Row rows[] = {
      {Dtype::kFloat32, 8192},
      {Dtype::kFloat16, 4096},
      {Dtype::kBfloat16, 4096},
      {Dtype::kFp8E4m3, 2048},
      {Dtype::kFp8E5m2, 2048},
      {Dtype::kInt8, 16 * (128 + 4)},  // 0.516 of 16 bit: a float32 scale for each token and head
      {Dtype::kFp8PerTokenHead, 16 * (128 + 4)},
      {Dtype::kInt4, 16 * (64 + 4)},
      {Dtype::kNvfp4, 16 * (64 + 8)},  // d/2 + d/16
      {Dtype::kQ8_0, 2048 * 34 / 32},  // ggml block types: 32 elements and their scales
      {Dtype::kQ5_1, 2048 * 24 / 32},
      {Dtype::kQ5_0, 2048 * 22 / 32},
      {Dtype::kQ4_1, 2048 * 20 / 32},
      {Dtype::kQ4_0, 2048 * 18 / 32},
      {Dtype::kIq4Nl, 2048 * 18 / 32},
      {Dtype::kTurboquantK8V4, 8 * (128 + 64 + 4)},
      {Dtype::kTurboquant4bit, 8 * (64 + 2 + 64 + 4)},
      {Dtype::kTurboquantK3V4, 8 * (48 + 2 + 64 + 4)},
      {Dtype::kTurboquant3bit, 8 * (48 + 2 + 48 + 4)},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(name(row.type)));
    CHECK(gqa_token(row.type) == row.bytes);
  }
}

TEST_CASE("storage: K and V may have different types") {
  CacheTypes types = k16Bit;
  types.key = Dtype::kQ8_0;
  types.value = Dtype::kQ4_0;
  CHECK(bytes(FullAttention{{32, 8, 128, 128}}, 1, types) == 1024 * 34 / 32 + 1024 * 18 / 32);
}

TEST_CASE("fp8_ds_mla is FlashMLA's cell, and only for MLA") {
  CHECK(bytes(Mla{{128, 512, 64, 128, 128, 1536}}, 1, all(Dtype::kFp8DsMla)) == 656);
  CHECK_THROWS_AS(gqa_token(Dtype::kFp8DsMla), Error);
}

TEST_CASE("index keys are FP8 with a float32 scale for every 128, whatever the KV type") {
  const SparseMla kind{{128, 512, 64, 128, 128, 1536}, 128, 64, 2048};
  CHECK(bytes(kind, 1, all(Dtype::kBfloat16)) == 1152 + 132);
  CHECK(bytes(kind, 1, all(Dtype::kFp8E4m3)) == 576 + 132);
  CHECK(bytes(kind, 1, all(Dtype::kFp8DsMla)) == 656 + 132);
}

TEST_CASE("a rank's part of a cache, and convolutions with other numbers of columns") {
  Term key{.name = "key"};
  key.shape = {.units = 8, .vectors = 1, .width = 128};
  CHECK(entry_bytes(key, k16Bit, 1, 0).count() == 256);
  Term conv{.name = "conv", .role = Role::kState, .growth = Growth::kSequence};
  conv.shape = {.units = 10, .vectors = 1, .width = 1, .columns = 4};
  conv.storage = Storage::kModel;
  CHECK(entry_bytes(conv, k16Bit).count() == 10 * 3 * 2);
  CHECK(entry_bytes(conv, k16Bit, 10, 4).count() == 10 * 4 * 2);
}

TEST_CASE("types are found by each of their names") {
  struct Row {
    const char* text;
    Dtype type;
  };
  const Row rows[] = {{"bf16", Dtype::kBfloat16},    {"torch.bfloat16", Dtype::kBfloat16},
                      {"BF16", Dtype::kBfloat16},    {"f16", Dtype::kFloat16},
                      {"half", Dtype::kFloat16},     {"fp32", Dtype::kFloat32},
                      {"fp8", Dtype::kFp8E4m3},      {"fp8_e4m3", Dtype::kFp8E4m3},
                      {"fp8_e5m2", Dtype::kFp8E5m2}, {"int8_per_token_head", Dtype::kInt8},
                      {"q8_0", Dtype::kQ8_0},        {"Q4_0", Dtype::kQ4_0}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    REQUIRE(find_dtype(row.text));
    CHECK(*find_dtype(row.text) == row.type);
  }
  CHECK_FALSE(find_dtype("float17"));
  CHECK_FALSE(find_dtype(""));
  CHECK_FALSE(find_dtype("fp8 e4m3"));
  CHECK_THROWS_AS(parse_dtype("q9_9", "--cache-type-k"), Error);
}

TEST_CASE("storage: the table of types is in the order of the enum") {
  for (std::size_t i = 0; i < dtypes().size(); ++i) CHECK(static_cast<std::size_t>(dtypes()[i].id) == i);
}

}  // namespace
}  // namespace kvplan
