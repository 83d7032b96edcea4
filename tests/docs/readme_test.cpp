// The screens that the pages show are what the program prints.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.h"

namespace {

// "--engine vllm x.json" as the words of a command line.
std::vector<std::string> split(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

// Re-runs every screen of a page.
void check_screens(const std::string& path) {
  CAPTURE(path);
  std::ifstream page(std::string(KVPLAN_SOURCE_DIR) + "/" + path);
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
      const std::string printed = kvplan::run_program(split(command)).out;
      // A screen that ends with "..." shows the beginning.
      if (shown.ends_with("\n...\n"))
        CHECK(printed.starts_with(shown.substr(0, shown.size() - 4)));
      else
        CHECK(printed == shown);
    } else if (inside && line.starts_with("$ kvplan")) {
      command = line.substr(8);
    } else if (inside) {
      shown += line + "\n";
    }
  }
  CHECK(screens >= 1);
}

}  // namespace

TEST_CASE("README.md shows what kvplan prints") {
  check_screens("README.md");
}

TEST_CASE("docs/extras.md shows what kvplan prints") {
  check_screens("docs/extras.md");
}
