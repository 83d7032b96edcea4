#include "cli/engine_options.h"

#include <algorithm>

#include "engines/engine.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "sources/catalogue.h"

namespace kvplan {

std::string check_engine_option(std::string_view option, std::span<const std::string> chosen) {
  std::string names;
  bool logical = false;
  bool logical_has = false;
  for (const Engine& engine : engines()) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), engine.name) != chosen.end();
    logical = logical || (engine.is_logical && is_chosen);
    if (!has_word(engine.options, option)) continue;
    if (!engine.is_logical) names += (names.empty() ? "" : ", ") + std::string(engine.name);
    logical_has = logical_has || engine.is_logical;
    if (!engine.is_logical && is_chosen) return {};
  }
  if (names.empty()) return {};  // an option of every engine
  if (logical && (logical_has || chosen.size() > 1)) return {};
  if (logical)
    return std::string(option) + " belongs to " + names + " and changes nothing here: name the engine with --engine";
  fail(std::string(option) + ": " + chosen.front() + " has no such option", "it belongs to " + names);
}

bool is_option_of(std::string_view option, const Engine& engine) {
  bool others = false;
  for (const Engine& each : engines())
    if (each.name != engine.name) others = others || has_word(each.options, option);
  return !others || has_word(engine.options, option);
}

std::string_view implied_engine(std::string_view name) {
  const CatalogueName known = exists(std::string(name)) ? CatalogueName() : find_published(name);
  const std::string model = (known.is_tag ? "ollama:" : "") + std::string(name) + (known.is_gguf ? ".gguf" : "");
  for (const Engine& engine : engines()) {
    const bool begins = !engine.model_prefix.empty() && model.starts_with(engine.model_prefix);
    const bool ends = !engine.model_suffix.empty() && model.ends_with(engine.model_suffix);
    if (begins || ends) return engine.name;
  }
  return "";
}

}  // namespace kvplan
