// The only file that includes CLI11.
#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "cli/shell.h"
#include "kvplan/did_you_mean.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

using std::string_view;

bool has_name(const Option& option, string_view name) {
  const std::vector<string_view> names = words(option.names);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const Option* find_option(string_view name) {
  for (const Option& option : options())
    if (has_name(option, name)) return &option;
  return nullptr;
}

namespace {

// "-tp", "-ctk": short options of several letters, which CLI11 does not declare.
bool is_short_word(string_view name) {
  return name.size() > 2 && name[0] == '-' && name[1] != '-';
}

// The name that CLI11 knows it by: "-tp" becomes "--tp".
std::string declared(string_view name) {
  return (is_short_word(name) ? "-" : "") + std::string(name);
}

// Options of other tools that people type, and ours.
constexpr std::pair<string_view, string_view> kOtherWords[] = {
    {"--vram", "--gpu-memory SIZE, or --max-vram SIZE for a limit"},
    {"--gpus", "--gpu NAME and --gpu-count N"},
    {"--num-gpus", "--gpu-count N"},
    {"--model", "the model alone: kvplan MODEL"},
    {"--model-id", "the model alone: kvplan MODEL"},
    {"--ctx", "-c N"},
    {"--batch-users", "--num-seqs N"},
};

[[noreturn]] void refuse_option(const Command& command, string_view argument) {
  const string_view name = argument.substr(0, argument.find('='));
  const std::string see = "see kvplan " + (command.name == "plan" ? "" : std::string(command.name) + " ") + "--help";
  if (find_option(name) != nullptr) fail(std::string(command.name) + " has no option " + std::string(name), see);
  std::vector<string_view> known{"--help", "--version"};
  for (const Option* option : options_of(command))
    for (const string_view each : words(option->names))
      if (each.starts_with("--")) known.push_back(each);
  for (const auto& [word, ours] : kOtherWords)
    if (name == word) fail("there is no option \"" + std::string(name) + "\"", "use " + std::string(ours));
  const std::string near = did_you_mean(name, known);
  fail("there is no option \"" + one_line(name, 60) + "\"",
       near.empty() ? "see kvplan --help all" : near + " See kvplan --help all");
}

// "--gpu=": CLI11 would take the next argument as the value.
void refuse_empty_value(string_view argument) {
  if (!argument.starts_with("--") || !argument.ends_with('=')) return;
  const Option* option = find_option(argument.substr(0, argument.size() - 1));
  if (option != nullptr && !option->value.empty())
    fail(std::string(argument.substr(0, argument.size() - 1)) + " needs a value", "see kvplan --help");
}

// What CLI11 refuses: a last option without its value, or a flag with one.
[[noreturn]] void refuse_mismatch(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const auto equals = argument.find('=');
    const Option* option = find_option(argument.substr(0, equals));
    if (option != nullptr && option->value.empty() && equals != std::string::npos)
      fail(argument.substr(0, equals) + " takes no value",
           "leave \"" + one_line(argument.substr(equals + 1), 40) + "\" out");
  }
  fail(arguments.back() + " needs a value", "see kvplan --help");
}

using Spellings = std::map<const CLI::Option*, GivenOption>;

// `arguments` and `name` as CLI11 gets them.
bool is_typed(const std::vector<std::string>& arguments, string_view name) {
  return std::any_of(arguments.begin(), arguments.end(), [&](string_view argument) {
    return argument.starts_with(name) && (argument.size() == name.size() || argument[name.size()] == '=');
  });
}

// Every spelling is declared separately, so that messages name the one that was typed. Long ones that were not are left
// out: CLI11 compares each with all others, which takes longer than a plan.
Spellings declare_options(const Command& command, const std::vector<std::string>& arguments, CLI::App& parser) {
  Spellings out;
  for (const Option* option : options_of(command))
    for (const string_view name : words(option->names)) {
      if (is_short_word(name) && has_name(*option, declared(name))) continue;
      const bool is_letter = name.size() == 2;  // "-c4096" and "-hV" are words of their own
      if (!is_letter && !is_typed(arguments, declared(name))) continue;
      const bool flag = option->value.empty();
      CLI::Option* const each = flag ? parser.add_flag(declared(name)) : parser.add_option(declared(name));
      if (flag) each->disable_flag_override();
      each->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      out[each] = {option, std::string(name), ""};
    }
  return out;
}

// As CLI11 gets them: reversed, with short words as they are declared.
std::vector<std::string> for_parser(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    out.push_back((is_short_word(name) && find_option(name) != nullptr ? "-" : "") + argument);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

ParsedArguments parse_arguments(const Command& command, std::vector<std::string> arguments) {
  ParsedArguments out;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  out.behind.assign(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  for (const std::string& argument : arguments) refuse_empty_value(argument);

  // A separate parser for the command: as a subcommand CLI11 would take "++" for the end of its arguments.
  CLI::App parser;
  parser.allow_extras();  // models and the like, and unknown options
  parser.allow_windows_style_options(false);
  parser.set_help_flag();
  const CLI::Option* const help = parser.add_flag("-h,--help")->disable_flag_override();
  const CLI::Option* const version = parser.add_flag("-V,--version")->disable_flag_override();
  std::vector<std::string> taken = for_parser(arguments);
  const Spellings spellings = declare_options(command, taken, parser);
  try {
    parser.parse(taken);
  } catch (const CLI::ParseError&) {
    refuse_mismatch(arguments);
  }

  for (const std::string& word : parser.remaining()) {
    if (word.size() > 1 && word[0] == '-') {
      const bool as_typed = std::find(arguments.begin(), arguments.end(), word) != arguments.end();
      refuse_option(command, as_typed ? word : word.substr(1));
    }
    out.words.push_back(word);
  }
  out.help = help->count() > 0;
  out.version = version->count() > 0;
  std::map<const CLI::Option*, std::size_t> seen;
  for (const CLI::Option* each : parser.parse_order()) {
    const auto found = spellings.find(each);
    if (found == spellings.end()) continue;
    GivenOption given = found->second;
    if (!given.option->value.empty()) given.value = each->results().at(seen[each]++);
    out.options.push_back(std::move(given));
  }
  return out;
}

}  // namespace kvplan
