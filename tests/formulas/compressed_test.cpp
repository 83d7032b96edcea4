#include "formulas/compressed.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

Compressed v4_flash(std::uint64_t ratio) {
  Compressed kind;
  kind.num_heads = 64;
  kind.head_dim = 512;
  kind.qk_rope_head_dim = 64;
  kind.compress_ratio = ratio;
  kind.index_head_dim = ratio == 4 ? 128 : 0;
  kind.index_n_heads = ratio == 4 ? 64 : 0;
  kind.window = Tokens(128);
  return kind;
}

TEST_CASE("compressed: a window, and one entry for every m tokens") {
  CHECK(elements(v4_flash(0), 1 << 20) == 128 * 512);
  CHECK(elements(v4_flash(0), 100) == 100 * 512);
  // 128 more tokens: 32 entries with their index keys, or one entry.
  CHECK(elements(v4_flash(4), 65536 + 128) - elements(v4_flash(4), 65536) == 32 * (512 + 128));
  CHECK(elements(v4_flash(128), 65536 + 128) - elements(v4_flash(128), 65536) == 512);
  CHECK(elements(v4_flash(128), 65536 + 127) == elements(v4_flash(128), 65536));
}

TEST_CASE("compressed: DeepSeek-V4-Flash needs 6,880 B per token in 16 bit") {
  const auto step = [](std::uint64_t ratio) {
    return bytes(v4_flash(ratio), 1 << 20) - bytes(v4_flash(ratio), (1 << 20) - 128);
  };
  CHECK(21 * step(4) + 20 * step(128) + 2 * step(0) == 6880 * 128);
}

TEST_CASE("compressed: the compressor's float32 state, 0.5 MiB for HCA") {
  const auto states = [](std::uint64_t ratio) {
    std::uint64_t out = 0;
    for (const Term& term : cache_terms(v4_flash(ratio)))
      if (term.role == Role::kState) out += entry_bytes(term, k16Bit).count() * term.entries(Tokens(65536), Tokens(0));
    return out;
  };
  CHECK(states(128) == std::uint64_t{512} << 10);
  CHECK(states(4) == 8 * 4 * (512 + 128) * 4);
  CHECK(states(0) == 0);
}

TEST_CASE("compressed: the variants have names") {
  CHECK(v4_flash(0).variant() == "window");
  CHECK(v4_flash(4).variant() == "csa");
  CHECK(v4_flash(128).variant() == "hca");
}

TEST_CASE("compressed: FlashMLA's cell of an entry is 584 bytes") {
  CacheTypes types = k16Bit;
  types.key = types.value = Dtype::kFp8DsMla;
  CHECK(bytes(v4_flash(0), 1, types) == 584);
}

TEST_CASE("compressed: in DeepSeek-V4.1 only source layers have entries, and sums if they compress") {
  Compressed kind;
  kind.num_heads = 64;
  kind.head_dim = 512;
  kind.qk_rope_head_dim = 64;
  kind.window = Tokens(128);
  kind.index_head_dim = 128;
  kind.compress_ratio = 2;
  kind.by_source = true;
  CHECK(kind.variant() == "window");
  CHECK(kind.terms(Form::kCompact).size() == 2);
  kind.is_source = true;
  CHECK(kind.variant() == "source");
  const CacheTerms halved = kind.terms(Form::kCompact);
  REQUIRE(halved.size() == 6);  // window, entries, index keys, sums
  CHECK(halved[2].entries(Tokens(64), Tokens(0)) == 32);
  // A ring of vLLM 0.33: 8 rows of 4,096 B.
  CHECK(halved[5].elements().count() * 4 == 4096);
  kind.compress_ratio = 1;
  const CacheTerms whole = kind.terms(Form::kCompact);
  REQUIRE(whole.size() == 5);
  CHECK(whole[2].entries(Tokens(64), Tokens(0)) == 64);
}

}  // namespace
}  // namespace kvplan
