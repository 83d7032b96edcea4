// A command line as CLI11 parses it: a command, words, and options of the table with their values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace kvplan {

struct GivenOption {
  const Option* option = nullptr;
  std::string name;   // as typed
  std::string value;  // "" for a flag
};

struct ParsedArguments {
  const Command* command = nullptr;
  bool help = false;
  bool version = false;
  std::vector<std::string> words;
  std::vector<std::string> behind;   // words after "--"
  std::vector<GivenOption> options;  // in the order of the command line
};

// The option of the table with this name; null if there is none.
const Option* find_option(std::string_view name);
// Whether an argument is one of kvplan's own options: "--gpu=l4", "-tp".
bool is_own_option(std::string_view argument);

// Throws Error, with a suggestion, if an argument is not an option of the command or an option has no value.
ParsedArguments parse_arguments(std::vector<std::string> arguments);

}  // namespace kvplan
