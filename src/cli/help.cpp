// Help that fits a screen: a command's own options in full, the rest by name.
#include <algorithm>

#include "cli/shell.h"
#include "kvplan/version.h"
#include "report/report.h"

namespace kvplan {

namespace {

using std::string_view;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 34;  // where the explanations begin

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

// Lists make tables: only the plan prints them, and fit for engines and cards.
bool takes_lists(const Command& command, string_view option) {
  return command.name == "plan" || (command.name == "fit" && option != "--weights");
}

std::string long_usage(const Option& option, const Command& command) {
  std::string out;
  for (const string_view name : words(option.names)) out += (out.empty() ? "" : ", ") + std::string(name);
  std::string value(option.value);
  if (!takes_lists(command, words(option.names).front())) value = value.substr(0, value.find("[,"));
  if (!value.empty()) out += " " + value;
  return out;
}

// The forms that a command has.
std::string forms_of(const Command& command) {
  std::string out;
  const auto add = [&](std::string_view form) { out += (out.empty() ? "" : ", ") + std::string(form); };
  const auto only = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view form : names) add(form);
    return out;
  };
  if (command.name == "diff") return only({"table", "json", "markdown", "github"});
  if (command.name == "formulas") return only({"table", "markdown"});
  if (command.name == "explain" || command.name == "gpus" || command.name == "check-log")
    return only({"table", "json"});
  for (const ReportForm& form : forms())
    if (command.name == "plan" || (command.name == "fit" ? form.fit : form.compare) != nullptr) add(form.name);
  return out;
}

std::string help_of(const Option& option, const Command& command) {
  std::string out(option.help);
  if (words(option.names).front() != "--format") return out;
  return out + ": " + forms_of(command);
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

std::string option_line(const Option& option, const Command& command) {
  const std::string usage = padded("  " + long_usage(option, command), kColumn);
  const std::string help = help_of(option, command);
  if (usage.size() + help.size() <= kWidth) return usage + help + "\n";
  std::string out = usage.substr(0, usage.find_last_not_of(' ') + 1) + "\n";
  // What is longer than a line goes on below.
  string_view rest = help;
  while (kColumn + rest.size() > kWidth) {
    const auto space = rest.rfind(' ', kWidth - kColumn);
    if (space == string_view::npos) break;
    out += std::string(kColumn, ' ') + std::string(rest.substr(0, space)) + "\n";
    rest.remove_prefix(space + 1);
  }
  return out + std::string(kColumn, ' ') + std::string(rest) + "\n";
}

std::string in_full(string_view group, const std::vector<const Option*>& options, const Command& command) {
  std::string out = std::string(group) + "\n";
  for (const Option* option : options)
    if (option->group == group) out += option_line(*option, command);
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
      out += "\n" + in_full(group, taken, command);
    else
      rest += condensed(group, taken);
  }
  if (!rest.empty()) out += "\nAnd (each explained by kvplan " + std::string(command.name) + " --help all)\n" + rest;
  return out + examples(command);
}

std::string full_help(const Command& command) {
  std::string out = usage_of(command) + "\n" + std::string(command.help) + "\n";
  const std::vector<const Option*> taken = options_of(command);
  for (const string_view group : groups_of(taken)) out += "\n" + in_full(group, taken, command);
  return out + examples(command);
}

}  // namespace kvplan
