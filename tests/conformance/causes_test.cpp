// The list of causes itself: names, reasons, and nothing that explains nothing.
#include "conformance/causes.h"

#include <doctest/doctest.h>

#include <set>

#include "conformance/planner.h"

namespace kvplan::conformance {
namespace {

TEST_CASE("conformance: every cause has a name, a reason and misses") {
  std::set<std::string> names;
  const Causes causes;
  for (const Json& cause : causes.all()) {
    const std::string name = cause.at("cause");
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK(cause.at("why").get<std::string>().size() > 20);
    CHECK_MESSAGE(!cause.at("where").empty(), "a cause of every case of an engine is none");
    CHECK_MESSAGE((updating() || !cause.at("misses").empty()), "no misses: take it out of causes.json");
    for (const auto& [release, number] : cause.at("misses").items()) {
      CAPTURE(release);
      CHECK(number.get<std::uint64_t>() > 0);
      CHECK_FALSE(listed_counts(cause.at("engine"), release).empty());
    }
  }
}

}  // namespace
}  // namespace kvplan::conformance
