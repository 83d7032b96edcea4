// Which commands and engines have an option, and which values it can have.
#include <algorithm>

#include "cli/shell.h"
#include "engines/engine.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "report/report.h"
#include "sources/catalogue.h"
#include "weights/gguf_mixture.h"
#include "weights/types.h"

namespace kvplan {

using std::string_view;

const Command* find_command(string_view name) {
  for (const Command& command : commands())
    if (command.name == name) return &command;
  return nullptr;
}

std::vector<const Option*> options_of(const Command& command) {
  std::vector<const Option*> out;
  for (const Option& option : options())
    if (command.only.empty() ? !has_word(command.without, option.name()) : has_word(command.only, option.name()))
      out.push_back(&option);
  return out;
}

std::vector<string_view> argument_choices(const Command& command) {
  return command.arguments.find('|') == string_view::npos ? std::vector<string_view>() : split(command.arguments, '|');
}

std::vector<string_view> choices(const Option& option) {
  std::vector<string_view> out;
  const auto add_names = [&out](const auto& table) {
    for (const auto& row : table) out.push_back(row.name);
  };
  if (option.value.starts_with("E[")) add_names(engines());
  if (option.name() == "--gpu") add_names(gpus());
  if (option.value == "FORM") add_names(forms());
  if (option.value.starts_with("W[")) {
    add_names(weight_types());
    for (const string_view mixture : gguf_mixture_names()) out.push_back(mixture);
  }
  if (option.value == "T" || option.value.starts_with("T[")) {
    out.emplace_back("auto");
    for (const DtypeInfo& type : dtypes())
      if (option.name().find("cache") != string_view::npos || !type.kv_only) out.push_back(type.name);
  }
  const bool lists_words = option.value.find('|') != string_view::npos && option.value.find('%') == string_view::npos;
  return lists_words ? split(option.value, '|') : out;
}

bool takes_path(const Option& option) {
  return option.value == "FILE" || option.value == "MODEL";
}

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
