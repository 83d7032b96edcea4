// Runs every command in docs/claims.md and compares the field that the page names.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/words.h"

TEST_CASE("docs/claims.md agrees with what kvplan computes") {
  std::ifstream page(KVPLAN_SOURCE_DIR "/docs/claims.md");
  REQUIRE(page.good());
  const std::regex row(R"(`kvplan ([^`]*)` `([^`]*)` = ([0-9]+|"[^"]*") \|)");
  int checked = 0;
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, row)) continue;
    ++checked;
    CAPTURE(line);
    const auto report = nlohmann::json::parse(kvplan::run_program(kvplan::words_of(match[1].str() + " --json")).out);
    std::string path = "/" + match[2].str();
    for (char& c : path)
      if (c == '.') c = '/';
    CHECK(report.at(nlohmann::json::json_pointer(path)) == nlohmann::json::parse(match[3].str()));
  }
  CHECK(checked >= 18);
}
