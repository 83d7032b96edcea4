// Pages that vLLM 0.33 gave, executed: testdata/conformance/vllm-0.33.0.jsonl.
#include "formulas/pooled_index.h"

#include <doctest/doctest.h>

#include "formulas/sparse_gqa.h"
#include "formulas/sparse_mla.h"

namespace kvplan {
namespace {

TEST_CASE("pooled index keys: one key for a group of tokens, and the tokens of the open group") {
  // GLM-5.3-Flash: a block of 4,352 tokens has 143,616 B of keys of 132 B; the open group has 2,048 B.
  CacheTerms terms;
  add_index_terms(terms, 128, Storage::kFp8Scaled, 4, 2);
  REQUIRE(terms.size() == 2);
  CHECK(terms[0].entries(Tokens(4352), Tokens(0)) * 132 == 143616);
  CHECK(terms[0].elements() == Elements(128));
  for (const std::uint64_t tokens : {4U, 5U, 4352U})
    CHECK(terms[1].entries(Tokens(tokens), Tokens(0)) * terms[1].elements().count() * 2 == 2048);
  CHECK(terms[1].entries(Tokens(3), Tokens(0)) == 3);
}

TEST_CASE("pooled index keys: a pool of one token is an index key for each") {
  const SparseMla whole{{64, 512, 64, 128, 128, 1536}, 128, 64, 2048};
  SparseMla pooled = whole;
  pooled.index_pool = 4;
  CHECK(whole.terms(Form::kCompact).size() + 1 == pooled.terms(Form::kCompact).size());
  CHECK(whole.symbols().size() + 1 == pooled.symbols().size());
  SparseGqa heads{{24, 2, 256, 256}, 128, 24, 4};
  CHECK(heads.terms(Form::kCompact).back().shape.vectors == 1);
  CHECK(heads.symbols().back().value == 4);
  heads.index_pool = 1;
  CHECK(heads.terms(Form::kCompact).back().role == Role::kIndex);
}

}  // namespace
}  // namespace kvplan
