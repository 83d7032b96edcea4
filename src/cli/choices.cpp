// Which option belongs to which command, and the values it chooses from.
#include <algorithm>

#include "cli/shell.h"
#include "engines/engine.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "report/report.h"
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

}  // namespace kvplan
