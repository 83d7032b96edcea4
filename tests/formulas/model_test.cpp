#include "formulas/model.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "support/figures.h"

namespace kvplan {
namespace {

constexpr Heads kHeads{32, 8, 128, 128};

ModelSpec of(std::vector<Layer> layers) {
  ModelSpec model;
  model.layers = std::move(layers);
  return model;
}

TEST_CASE("the kind of a model is the kind of its layers with a cache") {
  const Layer full{{FullAttention{kHeads}}};
  const Layer window{{SlidingWindow{kHeads, Tokens(128)}}};
  const Layer none{{None{}}};
  const Layer shared{{Shared{0, kHeads, Tokens(0)}}};
  const Layer conv{{ShortConv{2048, 3}}};
  CHECK(model_attention(of({full, full})) == "gqa");
  CHECK(model_attention(of({full, none, shared})) == "gqa");
  CHECK(model_attention(of({full, window})) == "hybrid");
  CHECK(model_attention(of({full, conv})) == "hybrid");
  CHECK(model_attention(of({{{FullAttention{kHeads}, ShortConv{2048, 3}}}})) == "hybrid");
}

TEST_CASE("the sizes of a model's heads that weights depend on") {
  // Query heads of one KV head, the most of any layer; llama.cpp keeps one KV head for a latent.
  const auto view = [](std::vector<Layer> layers) { return WeightModel(of(std::move(layers))); };
  const Layer full{{FullAttention{kHeads}}};
  CHECK(view({full}).group == 4);
  CHECK(view({full}).num_layers == 1);
  CHECK(view({full, {{SlidingWindow{{64, 4, 128, 128}, Tokens(128)}}}}).group == 16);
  CHECK(view({full, {{FullAttention{{32, 16, 128, 128}}}}}).group == 4);
  CHECK(view({{{FullAttention{{7, 0, 128, 128}}}}}).group == 7);
  const WeightModel mla = view({{{Mla{{128, 512, 64, 128, 192, 1536}}}}});
  CHECK(mla.group == 128);
  CHECK(mla.nope == 128);
  CHECK(mla.value_width == 192);
  CHECK(view({{{SparseMla{{64, 512, 64, 192, 256, 2048}, 128, 32, 2048}}}}).group == 64);
  CHECK(model_attention(of({{{None{}}}})) == "none");
  CHECK(model_attention(of({})) == "none");
  CHECK(index_ranges({}).empty());
  CHECK(index_ranges({0, 1}) == "0-1");
}

TEST_CASE("equal layers form a group, and a layer with two mixers is in two groups") {
  const Layer full{{FullAttention{kHeads}}};
  const Layer both{{FullAttention{kHeads}, ShortConv{2048, 3}}};
  const ModelSpec model = of({full, both, full});
  const auto groups = group_layers(model);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].indices == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(groups[1].indices == std::vector<std::uint64_t>{1});
}

TEST_CASE("indices of layers are printed as ranges") {
  CHECK(index_ranges({0, 1, 2}) == "0-2");
  CHECK(index_ranges({3, 7, 11, 12, 13}) == "3,7,11-13");
  CHECK(index_ranges({5}) == "5");
}

TEST_CASE("the table of kinds has no empty cells and no name twice") {
  std::set<std::string> names;
  for (const KindInfo& row : all_kinds()) {
    CAPTURE(std::string(row.name));
    CHECK(names.insert(std::string(row.name)).second);
    for (const std::string_view text : {row.title, row.formula, row.growth, row.source}) CHECK_FALSE(text.empty());
  }
}

}  // namespace
}  // namespace kvplan
