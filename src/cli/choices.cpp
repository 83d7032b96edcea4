// Which option belongs to which command, and the values it chooses from.
#include <algorithm>

#include "cli/shell.h"
#include "engines/engine.h"
#include "kvplan/gpus.h"
#include "report/report.h"
#include "weights/gguf_mixture.h"
#include "weights/types.h"

namespace kvplan {

using std::string_view;

std::vector<string_view> words(string_view list) {
  std::vector<string_view> out;
  for (string_view rest = list; !rest.empty();) {
    const auto space = rest.find(' ');
    if (space != 0) out.push_back(rest.substr(0, space));
    rest = space == string_view::npos ? string_view() : rest.substr(space + 1);
  }
  return out;
}

const Command* find_command(string_view name) {
  for (const Command& command : commands())
    if (command.name == name) return &command;
  return nullptr;
}

std::vector<const Option*> options_of(const Command& command) {
  std::vector<const Option*> out;
  const std::vector<string_view> listed = words(command.only.empty() ? command.without : command.only);
  for (const Option& option : options()) {
    const bool is_listed = std::find(listed.begin(), listed.end(), words(option.names).front()) != listed.end();
    if (is_listed != command.only.empty()) out.push_back(&option);
  }
  return out;
}

std::vector<string_view> argument_choices(const Command& command) {
  // "bash|zsh|fish": an argument whose name lists its choices.
  std::vector<string_view> out;
  if (command.arguments.find('|') == string_view::npos) return out;
  for (string_view rest = command.arguments; !rest.empty();) {
    const auto bar = rest.find('|');
    out.push_back(rest.substr(0, bar));
    rest = bar == string_view::npos ? string_view() : rest.substr(bar + 1);
  }
  return out;
}

std::vector<std::string> choices(const Option& option) {
  std::vector<std::string> out;
  const string_view first = words(option.names).front();
  if (option.value.starts_with("E["))
    for (const Engine& engine : engines()) out.emplace_back(engine.name);
  if (first == "--gpu")
    for (const Gpu& gpu : gpus()) out.emplace_back(gpu.name);
  if (option.value == "FORM")
    for (const ReportForm& form : forms()) out.emplace_back(form.name);
  if (option.value.starts_with("W[")) {
    for (const WeightType& type : weight_types()) out.emplace_back(type.name);
    for (const string_view mixture : gguf_mixture_names()) out.emplace_back(mixture);
  }
  if (option.value == "T" || option.value.starts_with("T[")) {
    out.emplace_back("auto");
    for (const DtypeInfo& type : dtypes())
      if (first.find("cache") != string_view::npos || !type.kv_only) out.emplace_back(type.name);
  }
  if (option.value.find('|') != string_view::npos && option.value.find('%') == string_view::npos)
    for (string_view rest = option.value; !rest.empty();) {
      const auto bar = rest.find('|');
      out.emplace_back(rest.substr(0, bar));
      rest = bar == string_view::npos ? string_view() : rest.substr(bar + 1);
    }
  return out;
}

bool takes_path(const Option& option) {
  return option.value == "FILE" || option.value == "MODEL";
}

}  // namespace kvplan
