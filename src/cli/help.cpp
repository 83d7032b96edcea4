// Help that fits a screen: a command's own options in full, the rest by name.
#include <algorithm>

#include "cli/shell.h"
#include "kvplan/version.h"

namespace kvplan {

namespace {

using std::string_view;

constexpr std::size_t kWidth = 100;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

std::string long_usage(const Option& option) {
  std::string out;
  for (const string_view name : words(option.names)) out += (out.empty() ? "" : ", ") + std::string(name);
  if (!option.value.empty()) out += " " + std::string(option.value);
  return out;
}

// First names only, wrapped: "  Types            --weights  --dtype".
std::string condensed(string_view group, const std::vector<const Option*>& options) {
  std::string out;
  std::string line = padded("  " + std::string(group), 19);
  for (const Option* option : options) {
    if (option->group != group) continue;
    const std::string usage(words(option->names).front());
    if (line.size() + usage.size() > kWidth) {
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(19, ' ');
    }
    line += usage + " ";
  }
  return out + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string option_line(const Option& option) {
  const std::string usage = padded("  " + long_usage(option), 34);
  if (usage.size() + option.help.size() <= 100) return usage + std::string(option.help) + "\n";
  return usage.substr(0, usage.find_last_not_of(' ') + 1) + "\n" + std::string(34, ' ') + std::string(option.help) +
         "\n";
}

std::string in_full(string_view group, const std::vector<const Option*>& options) {
  std::string out = std::string(group) + "\n";
  for (const Option* option : options)
    if (option->group == group) out += option_line(*option);
  return out;
}

std::vector<string_view> groups_of(const std::vector<const Option*>& options) {
  std::vector<string_view> out;
  for (const Option* option : options)
    if (std::find(out.begin(), out.end(), option->group) == out.end()) out.push_back(option->group);
  return out;
}

std::string examples(const Command& command) {
  if (command.examples.empty()) return "";
  std::string out = "\nExamples\n";
  for (string_view rest = command.examples; !rest.empty();) {
    const auto end = rest.find('\n');
    out += "  " + std::string(rest.substr(0, end)) + "\n";
    rest = end == string_view::npos ? string_view() : rest.substr(end + 1);
  }
  return out;
}

std::string usage_of(const Command& command) {
  std::string out = "kvplan ";
  if (command.name != "plan") out += std::string(command.name) + " ";
  out += command.arguments;
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

}  // namespace

std::string main_help() {
  std::string out =
      "kvplan " + std::string(kVersion) + ": how much memory a model takes, in the engine you run, and why\n\n";
  for (const Command& command : commands())
    out += padded("  " + usage_of(command), 36) + std::string(command.help) + "\n";
  out +=
      "\nMODEL is a config.json, a directory with one, a *.gguf file, - for standard input, or a Hub id\n"
      "(org/name[@revision]), ollama:NAME, lmstudio:NAME or llama.cpp:NAME.\n\n"
      "Options (kvplan COMMAND --help explains a command's own, kvplan --help all each of them)\n";
  const Command& plan = commands().front();
  const std::vector<const Option*> taken = options_of(plan);
  for (const string_view group : groups_of(taken)) out += condensed(group, taken);
  return out + examples(plan);
}

std::string command_help(const Command& command) {
  std::string out = usage_of(command) + "\n" + std::string(command.help) + "\n";
  const std::vector<const Option*> taken = options_of(command);
  std::string rest;
  for (const string_view group : groups_of(taken)) {
    const bool all = !command.only.empty();
    if (all || command.groups.find(group) != string_view::npos)
      out += "\n" + in_full(group, taken);
    else
      rest += condensed(group, taken);
  }
  if (!rest.empty()) out += "\nAnd (each explained by kvplan " + std::string(command.name) + " --help all)\n" + rest;
  return out + examples(command);
}

std::string full_help(const Command& command) {
  std::string out = usage_of(command) + "\n" + std::string(command.help) + "\n";
  const std::vector<const Option*> taken = options_of(command);
  for (const string_view group : groups_of(taken)) out += "\n" + in_full(group, taken);
  return out + examples(command);
}

}  // namespace kvplan
