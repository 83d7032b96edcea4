// A command line as CLI11 parses it: a command, words, and the table's options with their values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "launch/read_command.h"
#include "plan/answer.h"

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
// Whether one of them is the option with this first name.
bool has_option(const std::vector<GivenOption>& given, std::string_view name);
// Whether an argument is one of kvplan's own options: "--gpu=l4", "-tp".
bool is_own_option(std::string_view argument);

// Throws Error, with a suggestion, if an argument is not an option of the command or an option has no value.
ParsedArguments parse_arguments(std::vector<std::string> arguments);

// An engine's command instead of a MODEL: words after "--", a --command file, or options in the engine's spelling.

// Puts "--" before an engine's program that was typed without it: "kvplan --gpu l4 vllm serve MODEL".
void mark_command(std::vector<std::string>& arguments);
// Takes out the options that only the engine named by --engine has.
ReadCommand take_options_of_engine(std::vector<std::string>& arguments);
// Adds what was read from a command to the given options. The given options take precedence.
void add_settings(const ReadCommand& read, ParsedArguments& given);

// The commands in a text, or in the words after "--". Empty if those words are not an engine's command.
std::vector<LaunchCommand> pasted_commands(const std::string& file, const std::vector<std::string>& words);

// The command at the start of a log, as a script prints it with set -x or a terminal shows it. Nothing if there is
// none, or more than one.
std::optional<LaunchCommand> command_of_log(std::string_view head);

// If the engine refuses an option of the command, the same call without it. The plan still says that it does not start.
std::optional<Invocation> without_refused(const Invocation& call, const Error& error);

// The launch command of each remedy, with what it changes.
void add_commands(const Invocation& call, Plan& plan);

}  // namespace kvplan
