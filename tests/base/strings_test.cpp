// Lists of words, and letters in lower case.
#include "kvplan/strings.h"

#include <doctest/doctest.h>

#include <array>
#include <map>

using namespace kvplan;

TEST_CASE("strings: a text is split without empty pieces") {
  using Words = std::vector<std::string_view>;
  CHECK(split("qwen2 qwen3") == Words{"qwen2", "qwen3"});
  CHECK(split(" a  b ") == Words{"a", "b"});
  CHECK(split("a b,c", ',') == Words{"a b", "c"});
  CHECK(split("").empty());
  CHECK(split("  ").empty());
}

TEST_CASE("strings: only a whole word matches a word of a list") {
  CHECK(has_word("qwen2 qwen2_moe", "qwen2"));
  CHECK(has_word("qwen2 qwen2_moe", "qwen2_moe"));
  for (const char* word : {"qwen", "qwen2_", "moe", "", " ", "qwen2 qwen2_moe"}) {
    CAPTURE(word);
    CHECK_FALSE(has_word("qwen2 qwen2_moe", word));
  }
  CHECK_FALSE(has_word("", ""));
}

TEST_CASE("strings: only ASCII letters become lower case") {
  CHECK(lower("Q4_K-XL \xC3\x84") == "q4_k-xl \xC3\x84");
  CHECK(folded("NVIDIA H100 80GB \xC3\x84") == "nvidiah10080gb");
}

TEST_CASE("strings: lists are joined, empty words too") {
  CHECK(join(std::array<std::string_view, 3>{"a", "", "c"}) == "a, , c");
  CHECK(join(std::vector<std::string>{}) == "");
  const std::map<std::string, std::string> pairs{{"a", "x"}, {"b", "y"}};
  CHECK(join(pairs, "; ", [](const auto& pair) { return pair.first + "=" + pair.second; }) == "a=x; b=y");
}
