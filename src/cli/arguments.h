// The arguments, told apart: words, and options of the table with their values.
#ifndef KVPLAN_CLI_ARGUMENTS_H_
#define KVPLAN_CLI_ARGUMENTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace kvplan {

struct GivenOption {
  const Option* option;
  std::string_view name;   // as it was spelled
  std::string_view value;  // "" for a flag
};

struct Arguments {
  bool help = false;
  bool version = false;
  std::vector<std::string> words;
  std::vector<GivenOption> options;  // as they stand on the command line
};

// "--name value", "--name=value", "-n value", "-nvalue"; after "--" all are words. Throws Error, with what was probably
// meant, where an argument is no option, or where an option lacks its value. The result refers to `arguments`.
Arguments tell_apart(const std::vector<std::string_view>& arguments);

}  // namespace kvplan

#endif  // KVPLAN_CLI_ARGUMENTS_H_
