// Runs every command of docs/claims.md and compares the field that the page names.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace {

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, got);
  pclose(pipe);
  return out;
}

}  // namespace

TEST_CASE("docs/claims.md says what kvplan computes") {
  std::ifstream page(KVPLAN_SOURCE_DIR "/docs/claims.md");
  REQUIRE(page.good());
  const std::regex row(R"(`kvplan ([^`]*)` `([^`]*)` = ([0-9]+|"[^"]*") \|)");
  int checked = 0;
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, row)) continue;
    ++checked;
    CAPTURE(line);
    const auto report =
        nlohmann::json::parse(output_of("cd " KVPLAN_SOURCE_DIR " && " KVPLAN_BINARY " " + match[1].str() + " --json"));
    std::string path = "/" + match[2].str();
    for (char& c : path)
      if (c == '.') c = '/';
    CHECK(report.at(nlohmann::json::json_pointer(path)) == nlohmann::json::parse(match[3].str()));
  }
  CHECK(checked >= 18);
}
