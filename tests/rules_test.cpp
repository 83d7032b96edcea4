// The rules of the house that a compiler does not see: which room may include which, where third-party code stays,
// and what a formula's header must say.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/figures.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;

// A folder, the rooms whose headers its files may include, and the third-party code that may stand there.
struct Room {
  std::string_view folder;
  std::string_view rooms;
  std::string_view third_party;
};
constexpr Room kRooms[] = {
    {"include/kvplan/", "kvplan", ""},
    {"src/base/", "kvplan", "fmt"},
    {"formulas/", "kvplan formulas", ""},
    {"src/input/", "kvplan formulas input", "nlohmann"},
    {"src/weights/", "kvplan weights", ""},
    {"src/engines/", "kvplan engines", "fmt"},
    {"src/plan/", "kvplan formulas input weights engines plan", "fmt"},
    {"src/measure/", "kvplan formulas input weights engines plan measure", "fmt"},
    {"src/report/", "kvplan formulas input weights engines plan report", "nlohmann fmt"},
    {"src/library/", "kvplan formulas input engines plan report", ""},
    {"src/cli/", "kvplan formulas input weights engines plan measure report cli", "CLI fmt"},
};

struct File {
  std::string path;  // from the source folder
  std::string text;
};

std::vector<File> sources() {
  std::vector<File> out;
  for (const std::string_view top : {"include", "formulas", "src"}) {
    const fs::path root = fs::path(KVPLAN_SOURCE_DIR) / top;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      const std::string path = entry.path().lexically_relative(KVPLAN_SOURCE_DIR).string();
      out.push_back({path, test_file(path)});
    }
  }
  return out;
}

std::vector<std::string> includes(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("#include ")) out.push_back(line.substr(9));
  return out;
}

bool lists(std::string_view words, std::string_view word) {
  std::istringstream stream{std::string(words)};
  for (std::string each; stream >> each;)
    if (each == word) return true;
  return false;
}

TEST_CASE("rules: files include what their room may include") {
  for (const File& file : sources()) {
    CAPTURE(file.path);
    const Room* room = nullptr;
    for (const Room& row : kRooms)
      if (file.path.starts_with(row.folder)) room = &row;
    REQUIRE_MESSAGE(room != nullptr, "a file in no room; give the folder a row in this test and in the documentation");
    for (const std::string& include : includes(file.text)) {
      CAPTURE(include);
      const auto slash = include.find('/');
      if (slash == std::string::npos) continue;  // the standard library
      const std::string top = include.substr(1, slash - 1);
      if (include.front() == '"')
        CHECK(lists(room->rooms, top));
      else if (top != "sys")
        CHECK(lists(room->third_party, top));
    }
  }
}

TEST_CASE("rules: a formula says where it comes from and what it was checked against") {
  std::size_t headers = 0;
  for (const File& file : sources()) {
    if (!file.path.starts_with("formulas/") || !file.path.ends_with(".h")) continue;
    // A kind's header has a struct with infos(); the rest are what kinds share.
    if (file.text.find("static std::span<const KindInfo> infos()") == std::string::npos) continue;
    CAPTURE(file.path);
    for (const std::string_view line : {"// Source: ", "// Checked against: ", "Engines differ: "})
      CHECK(file.text.find(line) != std::string::npos);
    // A config that it names is there.
    for (auto at = file.text.find("testdata/configs/"); at != std::string::npos;
         at = file.text.find("testdata/configs/", at + 1)) {
      const std::string path = file.text.substr(at, file.text.find(".json", at) + 5 - at);
      CAPTURE(path);
      CHECK(fs::exists(fs::path(KVPLAN_SOURCE_DIR) / path));
    }
    ++headers;
  }
  CHECK(headers >= 16);
}

TEST_CASE("rules: every formula has its test") {
  for (const File& file : sources()) {
    if (!file.path.starts_with("formulas/") || !file.path.ends_with(".h")) continue;
    if (file.text.find("infos()") == std::string::npos || file.path == "formulas/kind.h") continue;
    CAPTURE(file.path);
    const std::string name = fs::path(file.path).stem().string();
    CHECK(fs::exists(fs::path(KVPLAN_SOURCE_DIR) / "tests/formulas" / (name + "_test.cpp")));
  }
}

TEST_CASE("rules: headers have guards and files stay small") {
  for (const File& file : sources()) {
    CAPTURE(file.path);
    if (file.path.ends_with(".h")) {
      CHECK(file.text.find("#ifndef KVPLAN_") != std::string::npos);
      CHECK(file.text.find("#pragma once") == std::string::npos);
    }
    CHECK(std::count(file.text.begin(), file.text.end(), '\n') < 520);
  }
}

}  // namespace
}  // namespace kvplan
