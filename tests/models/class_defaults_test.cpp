// The class defaults in the build: their form, and their values compared with what the library itself wrote.
#include "models/class_defaults.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>

#include "conformance/planner.h"
#include "kvplan/strings.h"

namespace kvplan {
namespace {

using Defaults = std::map<std::string, conformance::Json>;

const std::string kExecuted = KVPLAN_SOURCE_DIR "/testdata/conformance/transformers-5.23.0.jsonl";

// The value of "key=value<other,other", without the keys that it is derived from.
std::string_view value_of(std::string_view field) {
  field.remove_prefix(field.find('=') + 1);
  return field.substr(0, field.find('<'));
}

// Every line except the first, by its name.
std::map<std::string, Defaults> rows() {
  std::map<std::string, Defaults> out;
  for (const std::string_view line : class_default_lines().subspan(1)) {
    const auto colon = line.find(": ");
    Defaults& row = out[std::string(line.substr(0, colon))];
    for (const std::string_view field : split(line.substr(colon + 2))) {
      const auto equals = field.find('=');
      row[std::string(field.substr(0, equals))] = conformance::Json::parse(value_of(field));
    }
  }
  return out;
}

TEST_CASE("class defaults: the first line names the release, the others are sorted and whole") {
  const auto lines = class_default_lines();
  REQUIRE(lines.size() > 2);
  CHECK(lines.front().starts_with("# transformers 5.24.0: "));
  std::string_view last;
  for (const std::string_view line : lines.subspan(1)) {
    CAPTURE(line);
    const auto colon = line.find(": ");
    REQUIRE(colon != std::string_view::npos);
    const std::string_view name = line.substr(0, colon);
    CHECK(last < name);
    CHECK(has_class(name));
    for (const std::string_view field : split(line.substr(colon + 2))) {
      const auto equals = field.find('=');
      REQUIRE(equals != std::string_view::npos);
      REQUIRE(conformance::Json::accept(value_of(field)));
      CHECK(conformance::Json::parse(value_of(field)).is_primitive());
    }
    last = name;
  }
  CHECK_FALSE(has_class(""));
  CHECK_FALSE(has_class("#"));
  CHECK_FALSE(has_class("zzz"));
}

// The harness had each class write its default config, which is a second way to the same numbers.
TEST_CASE("class defaults: the table equals the classes' output") {
  const std::map<std::string, Defaults> known = rows();
  std::size_t compared = 0;
  for (const conformance::Json& line : conformance::read_lines(kExecuted)) {
    const std::string id = line.value("id", "");
    if (!id.starts_with("default/") || !line.contains("config")) continue;
    const std::string type = line["config"].value("model_type", "");
    if (!known.contains(type)) continue;
    for (const auto& [key, value] : known.at(type)) {
      if (!line["config"].contains(key)) continue;
      CAPTURE(id);
      CAPTURE(key);
      CHECK(line["config"][key] == value);
      ++compared;
    }
  }
  CHECK(compared > 2000);
}

}  // namespace
}  // namespace kvplan
