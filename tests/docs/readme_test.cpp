// The screens that the README shows are what the program prints.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
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

TEST_CASE("README.md shows what kvplan prints") {
  std::ifstream page(KVPLAN_SOURCE_DIR "/README.md");
  REQUIRE(page.good());
  int screens = 0;
  std::string command;
  std::string shown;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```console") {
      inside = true;
      command.clear();
      shown.clear();
    } else if (inside && line == "```") {
      inside = false;
      ++screens;
      CAPTURE(command);
      CHECK(output_of("cd " KVPLAN_SOURCE_DIR " && NO_COLOR=1 " KVPLAN_BINARY + command) == shown);
    } else if (inside && line.starts_with("$ kvplan")) {
      command = line.substr(8);
    } else if (inside) {
      shown += line + "\n";
    }
  }
  CHECK(screens >= 1);
}
