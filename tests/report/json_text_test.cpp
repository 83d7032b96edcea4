// JSON made of texts, against the library that reads and writes it.
#include "report/json_text.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

using kvplan::JsonText;

namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

TEST_CASE("JSON text: objects and lists are laid out as the library lays them out") {
  JsonText list = JsonText::array();
  list.push_back(1);
  list.push_back({{"a", nullptr}, {"b", JsonText::array()}});
  list.push_back("x");
  const JsonText whole{
      {"list", list}, {"none", JsonText::object()}, {"yes", true}, {"names", std::vector<std::string>{"p", "q"}}};
  CHECK(whole.laid_out() == dumped({{"list", {1, {{"a", nullptr}, {"b", Json::array()}}, "x"}},
                                    {"none", Json::object()},
                                    {"yes", true},
                                    {"names", {"p", "q"}}}));
}

TEST_CASE("JSON text: strings with marks, escapes and broken UTF-8") {
  for (const std::string text :
       {"", "plain", "{\"a\": [1, 2]}", "back\\slash\\", "quote\"", "line\nbreak", "\x01", "é", "\xff\xfe", "a,b:c"})
    CHECK(JsonText(text).laid_out() == dumped(Json(text)));
}

TEST_CASE("JSON text: numbers") {
  for (const double value : {0.0, 1.0, 0.1, 1e20, 1e-5, 123456.789, -2.5, std::numeric_limits<double>::infinity()})
    CHECK(JsonText(value).laid_out() == dumped(Json(value)));
  CHECK(JsonText(-5).laid_out() == "-5\n");
  CHECK(JsonText(std::numeric_limits<std::uint64_t>::max()).laid_out() == "18446744073709551615\n");
}

TEST_CASE("JSON text: what is JSON already stays a value, all else becomes a string") {
  for (const std::string text :
       {"4096", "0", "-1", "1e-05", "true", "null", "\"llama3\"", "[1,2,3]", "{\"a\":1}", "\"a\\\"b\""})
    CHECK(JsonText::parsed(text).laid_out() == dumped(Json::parse(text)));
  for (const std::string text : {"", "007", "[1,2, ...", "word", "\"a\"b\""})
    CHECK(JsonText::parsed(text).laid_out() == dumped(Json(text)));
}
