// Rules of the repository that a compiler does not check: which folder may include which, where third-party code is
// used, and what the header of a formula must contain.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "kvplan/strings.h"
#include "models/family.h"
#include "models/gguf_archs.h"
#include "support/figures.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;

// A row of the table in docs/architecture.md: a folder, the folders whose headers its files may include, and its
// third-party code.
struct Room {
  std::string folder, rooms, third_party;
};

std::vector<Room> rooms() {
  std::vector<Room> out;
  std::istringstream lines(test_file("docs/architecture.md"));
  bool rows = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| folder |")) rows = true;
    if (!line.starts_with("|")) rows = false;
    if (!rows || !line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    REQUIRE(cells.size() >= 4);
    out.push_back({cells[0].substr(2, cells[0].rfind('`') - 2), cells[2], cells[3]});
  }
  return out;
}

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

TEST_CASE("rules: files include what their folder may include") {
  const std::vector<Room> table = rooms();
  REQUIRE(table.size() >= 11);
  for (const File& file : sources()) {
    CAPTURE(file.path);
    const Room* room = nullptr;
    for (const Room& row : table)
      if (file.path.starts_with(row.folder)) room = &row;
    REQUIRE_MESSAGE(room != nullptr, "a file in no room; give the folder a row in docs/architecture.md");
    for (const std::string& include : includes(file.text)) {
      CAPTURE(include);
      const auto slash = include.find('/');
      if (slash == std::string::npos) continue;  // the standard library
      const std::string top = include.substr(1, slash - 1);
      // A folder, or a single header of one.
      if (include.front() == '"')
        CHECK((lists(room->rooms, top) || lists(room->rooms, include.substr(1, include.size() - 2))));
      else if (top != "sys")
        CHECK(lists(room->third_party, top));
    }
  }
}

TEST_CASE("rules: only one folder and the measuring code call the operating system") {
  for (const File& file : sources()) {
    const bool asks = file.path.starts_with("src/base/os_") || file.path == "src/base/library.cpp" ||
                      file.path.starts_with("src/measure/");
    if (asks) continue;
    CAPTURE(file.path);
    for (const std::string& include : includes(file.text)) {
      // No C++ header of the standard library ends in this way.
      CAPTURE(include);
      CHECK_FALSE((include.ends_with(".h>") && !include.starts_with("<fmt/")));
    }
  }
}

// The string literals of a source, without its comments and includes.
std::vector<std::string> literals(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#include")) continue;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line.compare(at, 2, "//") == 0) break;
      // A quotation mark by itself is not a literal's beginning.
      if (line.compare(at, 3, "'\"'") == 0) at += 3;
      if (at >= line.size() || line[at] != '"') continue;
      std::size_t end = at + 1;
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2U : 1U;
      out.push_back(line.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return out;
}

// Names of an architecture that also have other meanings: kinds, drafting methods, a type of weights.
constexpr std::string_view kOtherWords =
    "dflash new git beam rwkv rwkv5 rwkv6 rwkv7 mamba mamba2 eagle3 deepseek_mtp bitnet";

// Prose may mention a model.
bool is_sentence(std::string_view literal) {
  return std::any_of(literal.begin(), literal.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || c == ',' || c == ';'; }) ||
         literal.find(" of ") != std::string_view::npos || literal.find(" the ") != std::string_view::npos;
}

// Every name of an architecture: model_types, and general.architecture of a GGUF.
std::set<std::string> registered_names() {
  std::set<std::string> out;
  for (const auto& file : families())
    for (const Family& row : file)
      for (const std::string_view name : split(row.is.names)) out.emplace(name);
  for (const GgufArch& arch : gguf_archs())
    for (const std::string_view word : split(arch.names)) out.emplace(word.substr(0, word.find('=')));
  for (const std::string_view word : split(kOtherWords)) out.erase(std::string(word));
  return out;
}

TEST_CASE("rules: only code that reads models compares an architecture's name") {
  const std::set<std::string> names = registered_names();
  REQUIRE(names.size() > 350);
  CHECK(names.count("deepseek_v3") == 1);
  CHECK(names.count("deepseek2") == 1);
  for (const File& file : sources()) {
    if (file.path.starts_with("src/formats/") || file.path.starts_with("src/models/")) continue;
    if (file.path.starts_with("src/engines/") && file.path.find("log") != std::string::npos)
      continue;                                               // engines' words
    if (file.path.starts_with("src/engines/mlx/")) continue;  // MLX's modules have model_types as names
    if (file.path == "src/engines/known_errors.cpp" || file.path == "src/engines/latents.cpp" ||
        file.path == "src/engines/llama_cpp/classes.cpp")
      continue;                                                            // tables of an engine's classes
    if (file.path == "src/engines/llama_cpp/launcher.cpp") continue;       // "llama serve" is its program
    if (file.path == "src/engines/llama_cpp/image_encoder.cpp") continue;  // its projectors' names
    for (const std::string& literal : literals(file.text))
      if (!is_sentence(literal))
        for (const std::string_view word : split(literal))
          CHECK_MESSAGE(names.count(std::string(word)) == 0,
                        file.path << ": \"" << word << "\" is an architecture's name");
    // Code does not inspect a model's name either.
    for (const char* call : {"model_type.starts_with(", "model_type.find(", "model_type ==", "model_type !=",
                             "architecture ==", "architecture !=", "architecture.starts_with("})
      CHECK_MESSAGE(file.text.find(call) == std::string::npos, file.path << ": " << std::string(call));
  }
}

TEST_CASE("rules: only the engines' tables of rules compare releases") {
  for (const File& file : sources()) {
    const bool is_table = file.path.ends_with("/rules.cpp") || file.path == "src/engines/ollama/ollama.cpp" ||
                          file.path == "src/engines/tensorrt_llm/tensorrt_llm.cpp" ||
                          file.path == "src/engines/known_errors.cpp";
    // The interpreters of the tables, and whether a release is known at all.
    const bool reads = file.path.starts_with("src/engines/release.") || file.path == "src/engines/tensor_edits.h" ||
                       file.path.starts_with("src/engines/engine") || file.path == "src/plan/facts.cpp";
    if (is_table || reads) continue;
    for (const char* call : {"engine_version(", "engine_patch(", "release_of(engine", "release_of(request", "Since ="})
      CHECK_MESSAGE(file.text.find(call) == std::string::npos, file.path << ": " << call);
  }
}

// Whether the text contains the word as a whole identifier.
bool has_identifier(std::string_view text, std::string_view word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_part(text[at - 1])) && (at + word.size() >= text.size() || !is_part(text[at + word.size()])))
      return true;
  return false;
}

TEST_CASE("rules: only its family and the engines' tables of classes name an architecture") {
  const std::vector<File> files = sources();
  const std::string list = test_file("include/kvplan/architecture.h");
  const std::set<std::string> shared = {"kOther", "kQwen", "kDflash"};  // words of other enumerations too
  // The header, the family, and each engine's tables of classes and of tensors.
  constexpr std::size_t kMostFiles = 9;
  std::size_t count = 0;
  for (auto at = list.find("\n  k"); at != std::string::npos; at = list.find("\n  k", at + 1)) {
    const std::string name = list.substr(at + 3, list.find(',', at) - at - 3);
    if (name.find_first_of(" ;=") != std::string::npos || shared.count(name) == 1) continue;
    ++count;
    std::set<std::string> in;
    for (const File& file : files)
      if (has_identifier(file.text, name)) in.insert(file.path);
    CAPTURE(name);
    CHECK(in.size() <= kMostFiles);
    for (const std::string& path : in) {
      CAPTURE(path);
      const bool is_table = path.ends_with("/class_table.cpp") || path.ends_with("/classes.cpp") ||
                            path.ends_with("/tensor_edits.cpp") || path == "src/engines/transformers/rules.cpp" ||
                            path == "src/engines/ollama/ollama.cpp";
      CHECK((is_table || !path.starts_with("src/engines/")));
    }
  }
  CHECK(count > 60);
}

TEST_CASE("rules: code for one engine is in its folder, and no other code compares its name") {
  std::set<std::string> names;
  for (const Engine& engine : engines()) {
    names.emplace(engine.name);
    for (const std::string_view alias : split(engine.aliases)) names.emplace(alias);
  }
  names.erase("none");  // a word with many meanings
  CHECK(names.count("llama-cpp") == 1);
  // The public API's default, a quantization's name, and a group of options.
  const std::set<std::string> exceptions = {"include/kvplan/kvplan.h logical", "src/formats/quantization.cpp mlx",
                                            "src/models/blocks/module_names.cpp mlx",
                                            "src/cli/option_table.cpp llama.cpp"};
  for (const File& file : sources()) {
    if (file.path.starts_with("src/engines/")) continue;
    for (const std::string& literal : literals(file.text))
      if (names.count(literal) == 1)
        CHECK_MESSAGE(exceptions.count(file.path + " " + literal) == 1, file.path << ": \"" << literal << "\"");
  }
}

TEST_CASE("rules: the table of folders matches the repository") {
  const fs::path root = KVPLAN_SOURCE_DIR;
  const std::string text = test_file("docs/architecture.md");
  std::set<std::string> folders;
  for (const Room& room : rooms()) {
    CAPTURE(room.folder);
    CHECK(fs::is_directory(root / room.folder));
    CHECK(folders.insert(room.folder).second);
  }
  for (const auto& entry : fs::directory_iterator(root / "src"))
    if (entry.is_directory()) CHECK(folders.count("src/" + entry.path().filename().string() + "/") == 1);
  // Every file and folder that the page names in code exists, from the top folder or in src/sources.
  for (auto at = text.find('`'); at != std::string::npos;) {
    const auto end = text.find('`', at + 1);
    const std::string name = text.substr(at + 1, end - at - 1);
    at = text.find('`', end + 1);
    const bool is_path = name.ends_with("/") || name.ends_with(".cpp") || name.ends_with(".h") || name.ends_with(".sh");
    if (!is_path || name.find('\n') != std::string::npos) continue;
    CAPTURE(name);
    bool found = false;
    for (const char* from : {"", "src/sources", "src/models", "tests", "include/kvplan"})
      found = found || fs::exists(root / from / name);
    CHECK(found);
  }
  // No folder in between knows an engine or a format.
  for (const Room& room : rooms()) {
    if (room.folder == "formulas/" || room.folder == "include/kvplan/") {
      CHECK_FALSE(lists(room.rooms, "engines"));
      for (const char* upper : {"formats", "models", "sources"}) CHECK_FALSE(lists(room.rooms, upper));
      CHECK(room.third_party.find_first_not_of(' ') == std::string::npos);
    }
    if (room.folder == "src/engines/") CHECK_FALSE(lists(room.rooms, "formulas"));
  }
}

TEST_CASE("rules: a formula names its source and what it was checked against") {
  std::size_t headers = 0;
  for (const File& file : sources()) {
    if (!file.path.starts_with("formulas/") || !file.path.ends_with(".h")) continue;
    // A kind's header has a struct with kInfo; the rest are what kinds share.
    if (file.text.find("static constexpr KindInfo kInfo[]") == std::string::npos) continue;
    CAPTURE(file.path);
    for (const std::string_view line : {"// Source: ", "// Checked against: ", "Engines differ: "})
      CHECK(file.text.find(line) != std::string::npos);
    // A config that it names exists.
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
    if (file.text.find("KindInfo kInfo[]") == std::string::npos) continue;
    CAPTURE(file.path);
    const std::string name = fs::path(file.path).stem().string();
    CHECK(fs::exists(fs::path(KVPLAN_SOURCE_DIR) / "tests/formulas" / (name + "_test.cpp")));
  }
}

TEST_CASE("rules: headers are read once and files stay small") {
  for (const File& file : sources()) {
    CAPTURE(file.path);
    if (file.path.ends_with(".h")) CHECK(file.text.find("#pragma once\n") != std::string::npos);
    CHECK(std::count(file.text.begin(), file.text.end(), '\n') < 520);
  }
}

}  // namespace
}  // namespace kvplan
