// The arguments of a command, told apart by CLI11: words, and options of the table with their values.
#ifndef KVPLAN_CLI_ARGUMENTS_H_
#define KVPLAN_CLI_ARGUMENTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace kvplan {

struct GivenOption {
  const Option* option;
  std::string name;   // as it was spelled
  std::string value;  // "" for a flag
};

struct ParsedArguments {
  bool help = false;
  bool version = false;
  std::vector<std::string> words;
  std::vector<std::string> behind;   // "--"
  std::vector<GivenOption> options;  // as they stand on the command line
};

// By any of its names; null for a word that is none.
const Option* find_option(std::string_view name);

// `arguments` are those behind the command's name: "--name value", "--name=value", "-n value", "-nvalue"; what stands
// after "--" is kept apart. Throws Error, with what was probably meant, where an argument is no option of the command,
// or where an option lacks its value.
ParsedArguments parse_arguments(const Command& command, std::vector<std::string> arguments);

}  // namespace kvplan

#endif  // KVPLAN_CLI_ARGUMENTS_H_
