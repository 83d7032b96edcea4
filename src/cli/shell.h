// What is printed from the table of options: help, completions, the man page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace kvplan {

// The options that a command takes, in the table's order.
std::vector<const Option*> options_of(const Command& command);
const Command* find_command(std::string_view name);

// The values that an option chooses from; empty if it takes a number, a size or a path.
std::vector<std::string_view> choices(const Option& option);
bool takes_path(const Option& option);
// The words that a command chooses its argument from ("bash", "zsh", "fish").
std::vector<std::string_view> argument_choices(const Command& command);

// The forms that a command has.
std::vector<std::string_view> forms_of(const Command& command);

std::string greeting();                            // for `kvplan` without arguments
std::string main_help();                           // fits a screen
std::string engine_help(std::string_view engine);  // the options of one engine
// The options of a command: the most important ones, or all that it takes.
std::string command_help(const Command& command, bool is_whole);

// Throws Error for an unknown shell.
std::string completions(std::string_view shell);
std::string man_page();

}  // namespace kvplan
