// Lists of modules with expressions and globs: which modules they match, and how much time and memory they may take.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/random_expression.h"
#include "kvplan/error.h"
#include "weights/expression.h"
#include "weights/rules.h"

namespace kvplan {
namespace {

using Rules = std::vector<SchemeRule>;

Rules numbered(std::string_view before, std::size_t count, std::string_view behind) {
  Rules out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({std::string(before) + std::to_string(i) + std::string(behind), {}});
  return out;
}

// Matches every module of every layer, as a plan does. Returns the line of the Error that ends it.
std::string refusal(const Rules& rules, std::uint64_t layers) {
  try {
    const RuleBook book(rules);
    for (const std::string_view module : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                          "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
      const RuleBook::Named named = book.named("model.layers.*." + std::string(module));
      for (std::uint64_t layer = 0; layer < layers; ++layer) named.find(layer);
    }
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kBadInput);
    return error.line();
  }
  return "";
}

// One digit means layers 0 to 9, however many layers there are.
TEST_CASE("expressions distinguish layers if they match digits") {
  const auto layers = [](const std::string& expression) {
    const Rules rules{{"re:" + expression, {}}};
    const RuleBook book(rules);
    REQUIRE(book.unread() == 0);
    const RuleBook::Named named = book.named("model.layers.*.mlp.gate");
    std::string out;
    for (const std::uint64_t layer : {0U, 7U, 12U, 103U})
      if (named.find(layer) != nullptr) out += std::to_string(layer) + " ";
    return out;
  };
  CHECK(layers(".*layers\\.\\d\\.") == "0 7 ");
  CHECK(layers(".*layers\\.\\d\\d\\.") == "12 ");
  CHECK(layers(".*layers\\.\\d+\\.mlp") == "0 7 12 103 ");
  CHECK(layers(".*layers\\.[^1]") == "0 7 ");
  CHECK(layers(".*layers\\.[0-9]\\.") == "0 7 ");
  CHECK(layers(".*layers\\.[.-9]\\.") == "0 7 ");
  CHECK(layers(".*layers\\.[--z]\\.") == "0 7 ");
  CHECK(layers(".*layers\\.[]5-9]\\.") == "7 ");
  CHECK(layers(".*layers\\.[]!-z]\\.") == "0 7 ");
  CHECK(layers(".*layers\\.[a-z\\d]\\.") == "0 7 ");
  CHECK(layers(".*[l-n]lp\\.[a-z_-]+$") == "0 7 12 103 ");
  CHECK(layers(".*layers\\.[a-z]") == "");
  CHECK(layers(".*layers\\...\\.") == "12 ");
  CHECK(layers(".*layers..+.+\\.mlp") == "12 103 ");
  CHECK(layers(".*layers...mlp") == "0 7 ");
  CHECK(layers(".*layers\\.\\w\\w\\w\\.") == "103 ");
  CHECK(layers(".*layers\\.(0|12)\\.") == "0 12 ");
  CHECK(layers(".*\\.1") == "12 103 ");
  CHECK(layers(".*s.?.?.?m") == "0 7 ");
  CHECK(layers(".*s.g?.?m") == "");
  CHECK(layers(".*s.g*.*.m") == "0 7 12 103 ");
  CHECK(layers("model.layers.*mlp.gate") == "0 7 12 103 ");
  CHECK(layers(".*mlp.gate$") == "0 7 12 103 ");
  CHECK(layers("layers\\..*gate") == "0 7 12 103 ");  // without the wrapper
  CHECK(layers("mlp.gate") == "");                    // from the beginning, not anywhere
}

// An expression that is matched once for all layers gives the same result as matching it with each layer's name.
TEST_CASE("a look-up for all layers gives the same result as one for each") {
  std::mt19937 random(20261123);
  std::size_t alike = 0, apart = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint8_t> bytes(100);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    fuzz::Source source(bytes.data(), bytes.size());
    const std::string middle = "(?:" + fuzz::make_expression(source, 1) + ")";
    const std::string text = i % 2 == 0 ? ".*s" + middle + "mlp" : ".*\\." + middle + "\\.mlp.b";
    const auto expression = Expression::read(text);
    if (!expression) continue;
    CAPTURE(text);
    const Rules rules{{"re:" + text, {}}};
    const RuleBook book(rules);
    const RuleBook::Named named = book.named("model.layers.*.mlp.b");
    std::size_t count = 0;
    for (const std::uint64_t layer : {0U, 7U, 12U, 103U}) {
      const std::string name = "layers." + std::to_string(layer) + ".mlp.b";
      std::uint64_t steps = 0;
      const bool matches = expression->matches_start("model." + name, steps) || expression->matches_start(name, steps);
      CHECK((named.find(layer) != nullptr) == matches);
      count += matches;
    }
    ++(count % 4 == 0 ? alike : apart);
  }
  CHECK(alike > 5000);
  CHECK(apart > 100);
}

TEST_CASE("an expression that cannot be read matches nothing and is counted") {
  const Rules rules{{"re:.*(gate", {}}, {"re:.*gate{1}", {}}, {"re:.*gate", {}}};
  const RuleBook book(rules);
  CHECK(book.unread() == 2);
  CHECK(book.find("model.layers.0.mlp.gate") == &rules[2]);
}

TEST_CASE("a list has a limit of expressions and globs") {
  CHECK(refusal(numbered("re:x", 5000, ""), 1) == "");
  CHECK(refusal(numbered("re:x", 5001, ""), 1) ==
        "kvplan: the quantization config names modules by more than 5000 expressions (\"re:x5000\" is one too many); "
        "name "
        "the modules, join expressions by \"|\", or say the type with --weights");
  CHECK(refusal(numbered("x*", 50000, "y"), 1) == "");
  CHECK(refusal(numbered("x*", 50001, "y"), 1).find("more than 50000 globs (\"x*50000y\" is") != std::string::npos);
  CHECK(refusal(numbered("x", 200'000, ""), 1) == "");
  CHECK(refusal(numbered("x", 200'001, ""), 1).find("more than 200000 names (\"x200000\" is") != std::string::npos);
  Rules ignored = numbered("re:x", 5001, "");
  for (SchemeRule& rule : ignored) rule.list = "ignore";
  CHECK(refusal(ignored, 1).starts_with("kvplan: \"ignore\" of the quantization config names modules by more than"));
  // Expressions that kvplan cannot read are compared with nothing, but reading them takes time.
  CHECK(refusal(numbered("re:(x", 5001, ""), 1).find("more than 5000 expressions") != std::string::npos);
}

// A model may list 10,000 layers.
TEST_CASE("the cost of a list is limited") {
  constexpr std::string_view kTooLong = "which take too long to match against every module of every layer";
  const auto takes_too_long = [&](const Rules& rules, std::uint64_t layers) {
    return refusal(rules, layers).find(kTooLong) != std::string::npos;
  };
  CHECK(refusal(numbered("re:.*layers\\.", 2000, "\\..*"), 10000).find(" 2000 expressions and globs, which") !=
        std::string::npos);
  CHECK(takes_too_long(numbered("*layers.", 2000, ".*x"), 10000));
  std::string stars;
  for (int i = 0; i < 100; ++i) stars += ".*";
  CHECK(takes_too_long(numbered("re:" + stars + "x", 5000, ""), 32));
  // Expressions that fail at the first character also cost a little.
  CHECK(takes_too_long(numbered("re:x", 5000, ""), 10000));
  CHECK(takes_too_long(numbered("x*", 50000, "y"), 10000));
}

// The search for names that match nothing ends without an error, and does not use the budget of the weights.
TEST_CASE("a list that takes too long to check gives no note") {
  const auto unmatched = [](const Rules& rules, std::uint64_t layers) {
    const RuleBook book(rules);
    const std::size_t count = book.unmatched({{{"model.layers.*.mlp.up_proj"}, {{0, layers, 1}}, 1}}).size();
    const RuleBook::Named named = book.named("model.layers.*.mlp.up_proj");
    for (std::uint64_t layer = 0; layer < 20; ++layer) CHECK(named.find(layer) == nullptr);
    return count;
  };
  CHECK(unmatched(numbered("re:.*layers\\.x", 100, "\\..*"), 32) == 100);
  CHECK(unmatched(numbered("re:.*layers\\.x", 100, "\\..*"), 10000) == 0);
}

TEST_CASE("rules that name a module in some layer or copy") {
  const Rules rules{{"layers.3", {}},           {"layers.4", {}},        {"experts.7.up_proj", {}},
                    {"experts.8.up_proj", {}},  {"model.layers.2*", {}}, {"model.layers.5*", {}},
                    {"re:.*layers\\.3\\.", {}}, {"*layers.?.mlp*", {}},  {"*layers.??.mlp*", {}}};
  const RuleBook book(rules);
  std::string out;
  for (const SchemeRule* rule : book.unmatched({{{"model.layers.*.mlp.experts.*.up_proj"}, {{0, 4, 1}}, 8}}))
    out += rule->pattern + " ";
  CHECK(out == "layers.4 experts.8.up_proj model.layers.5* *layers.??.mlp* ");
}

// Lists as checkpoints have them, and some that are many times as long.
TEST_CASE("lists of a realistic size are matched with every layer") {
  Rules by_layer;
  for (const char* module : {"q_proj", "gate_proj", "down_proj"})
    for (const SchemeRule& rule : numbered("re:.*layers\\.", 126, "\\..*" + std::string(module) + ".*"))
      by_layer.push_back(rule);
  CHECK(refusal(by_layer, 126) == "");
  CHECK(refusal(numbered("re:.*layers\\.", 100, "\\..*"), 512) == "");  // as many layers as are read
  CHECK(refusal(numbered("*layers.", 1000, ".*_proj"), 126) == "");
  CHECK(refusal(numbered("model.layers.", 200'000, ".mlp.up_proj"), 10000) == "");
}

}  // namespace
}  // namespace kvplan
