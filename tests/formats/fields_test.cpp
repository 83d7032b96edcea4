#include "models/class_defaults.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "kvplan/error.h"

namespace kvplan {
namespace {

TEST_CASE("a look-up goes from the file to aliases to the class default") {
  const Fields config = Fields::parse(R"({"n_embd": 768, "num_attention_heads": 12, "head_dim": null})");
  CHECK(config.count("hidden_size") == 768);
  CHECK(config.count("num_attention_heads") == 12);
  CHECK_FALSE(config.find_count("head_dim"));
  CHECK_FALSE(config.find_count("sliding_window"));
  const Fields mistral = with_class(config, "mistral");
  CHECK(mistral.find_count("sliding_window") == 4096);
  // null is a value: no class default replaces it.
  CHECK_FALSE(mistral.find_count("head_dim"));
}

TEST_CASE("Python's bare Infinity and NaN are not values, and these words in strings stay") {
  const Fields config = Fields::parse(
      R"({"time_step_limit": [0.0, Infinity], "x": -Infinity, "y": NaN, "z": "NaN Infinity \" NaN", "n": 4})");
  // null is refused as a number, because it would mean "not given".
  CHECK_THROWS_AS(config.find_count("y"), Error);
  CHECK_THROWS_AS(config.find_real("x"), Error);
  CHECK_FALSE(config.is_number("x"));
  CHECK(config.find_string("z") == "NaN Infinity \" NaN");
  CHECK(config.count("n") == 4);
}

TEST_CASE("a count is a whole number") {
  struct Row {
    const char* value;
    bool good;
  };
  const Row rows[] = {{"32", true},
                      {"32.0", true},
                      {"0", true},
                      {"32.5", false},
                      {"-1", false},
                      {"-0.5", false},
                      {"\"32\"", false},
                      {"true", false},
                      {"[32]", false},
                      {"{}", false},
                      {"1e300", false},
                      {"4611686018427387904", false},
                      {"18446744073709551615", false},
                      {"18446744073709551616", false}};
  for (const Row& row : rows) {
    CAPTURE(row.value);
    const Fields config = Fields::parse(std::string(R"({"vocab_size": )") + row.value + "}");
    if (row.good)
      CHECK_NOTHROW(config.find_count("vocab_size"));
    else
      CHECK_THROWS_AS(config.find_count("vocab_size"), Error);
  }
}

TEST_CASE("an error names the key with its path") {
  const Fields config = Fields::parse(R"({"text_config": {"hidden_size": -1}})");
  try {
    config.child("text_config")->find_count("hidden_size");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("\"text_config.hidden_size\" is -1") == 0);
  }
}

TEST_CASE("a file that is not a config is refused") {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  for (const std::string& text :
       {std::string(), std::string(" \n"), std::string("[]"), std::string("3"), std::string("{"), std::string("{} x"),
        std::string("{\"a\": 1e999}"), std::string("{'a': 1}"), "{\"a\": " + deep + "}",
        std::string("\x7f"
                    "ELF")}) {
    CAPTURE(text.substr(0, 20));
    CHECK_THROWS_AS(Fields::parse(text), Error);
  }
}

TEST_CASE("unread keys are those whose value was never read") {
  const Fields config =
      Fields::parse(R"({"hidden_size": 1, "kv_slots": 8, "use_x": false, "none": null, "list": [], "zero": 0})");
  config.find_count("hidden_size");
  const auto unread = config.unread();
  CHECK(unread == std::vector<std::string>{"kv_slots"});
  config.touch("kv_slots");
  CHECK(config.unread().empty());
}

TEST_CASE("lists are checked element by element") {
  const Fields config = Fields::parse(R"({"a": ["x", "y"], "b": [1, true, null], "c": [1, "x"], "d": 3})");
  CHECK(config.strings("a")->size() == 2);
  CHECK(*config.counts("b") == std::vector<std::uint64_t>{1, 1, 0});
  CHECK_THROWS_AS(config.counts("c"), Error);
  CHECK_THROWS_AS(config.strings("c"), Error);
  CHECK_FALSE(config.counts("d"));
}

TEST_CASE("a key whose type differs from every look-up is reported") {
  const Fields config = Fields::parse(R"({"a": 5, "b": [1], "c": "x", "d": null, "e": 7, "in": {"f": true}})");
  (void)config.child("a");
  (void)config.find_string("b");
  (void)config.counts("c");
  (void)config.counts("d");
  (void)config.strings("e");
  (void)config.child("in")->strings("f");
  CHECK(config.misread() == std::vector<std::string>{"a (5)", "b ([1])", "c (\"x\")", "e (7)", "in.f (true)"});
  CHECK(config.find_count("e") == 7);  // a number instead of a list
  CHECK(config.counts("b")->size() == 1);
  CHECK(config.misread() == std::vector<std::string>{"a (5)", "c (\"x\")", "in.f (true)"});
  CHECK(config.facts().size() == 2);
}

TEST_CASE("a fact is written down once") {
  const Fields config = Fields::parse(R"({"hidden_size": 64})");
  for (int i = 0; i < 3; ++i) config.find_count("hidden_size");
  CHECK(config.facts().size() == 1);
  CHECK(config.facts()[0].value == "64");
}

}  // namespace
}  // namespace kvplan
