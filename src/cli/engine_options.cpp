#include "cli/engine_options.h"

#include <algorithm>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

std::string check_engine_option(std::string_view option, std::span<const std::string> chosen) {
  std::string names;
  bool logical_has = false;
  for (const Engine& engine : engines()) {
    if (!has_word(engine.options, option)) continue;
    if (!engine.is_logical) names += (names.empty() ? "" : ", ") + std::string(engine.name);
    logical_has = logical_has || engine.is_logical;
    if (!engine.is_logical && std::find(chosen.begin(), chosen.end(), engine.name) != chosen.end()) return {};
  }
  if (names.empty()) return {};  // an option of every engine
  const bool logical = std::find(chosen.begin(), chosen.end(), "logical") != chosen.end();
  if (logical && (logical_has || chosen.size() > 1)) return {};
  if (logical)
    return std::string(option) + " belongs to " + names + " and changes nothing here: name the engine with --engine";
  fail(std::string(option) + ": " + chosen.front() + " has no such option", "it belongs to " + names);
}

std::string_view implied_engine(std::string_view model) {
  if (model.starts_with("ollama:")) return "ollama";
  return model.ends_with(".gguf") || model.starts_with("llama.cpp:") ? "llama.cpp" : "";
}

}  // namespace kvplan
