// What follows from the table of options: the options of commands and engines, help, completions, the man page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace kvplan {

struct Engine;

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

// Throws Error, with the engines that have `option`, if none of `chosen` has it. The logical engine accepts all
// options; if it is the only engine and the option changes nothing, a note says so, else "".
std::string check_engine_option(std::string_view option, std::span<const std::string> chosen);

// Whether the engine has the option; false if only others list it.
bool is_option_of(std::string_view option, const Engine& engine);

// The engine that a model's name implies if there is no --engine: "ollama" for ollama:NAME, "llama.cpp" for a GGUF;
// empty if it implies none.
std::string_view implied_engine(std::string_view model);

}  // namespace kvplan
