#include "cli/options.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/os.h"
#include "cli/arguments.h"
#include "cli/contradictions.h"
#include "cli/engine_options.h"
#include "cli/extras_options.h"
#include "cli/measuring.h"
#include "cli/shell.h"
#include "cli/sizes.h"
#include "engines/engine.h"
#include "formats/gpu_file.h"
#include "kvplan/did_you_mean.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "kvplan/version.h"
#include "measure/detect.h"
#include "report/report.h"
#include "weights/weigh.h"

namespace kvplan {

namespace {

using std::string_view;

string_view first_name(const Option& option) {
  return option.names.substr(0, option.names.find(' '));
}

bool is_given(const ParsedArguments& given, const Option& option) {
  return std::any_of(given.options.begin(), given.options.end(),
                     [&](const GivenOption& each) { return each.option == &option; });
}

// Throws Error where an option belongs to none of the chosen engines.
void check_options_of_engines(Invocation& call, const ParsedArguments& given) {
  if (given.options.empty()) return;
  std::vector<std::string> chosen;
  for (const std::string& text : call.engines) {
    Request scratch;
    chosen.emplace_back(find_engine(text, scratch).name);
  }
  if (chosen.empty()) chosen.emplace_back(engine_of(call.request).name);
  for (const Option& option : options()) {
    if (!is_given(given, option)) continue;
    std::string idle = check_engine_option(first_name(option), chosen);
    if (!idle.empty())
      call.notes.push_back({NoteLevel::kWarning, "option_of_an_engine", Template::quoted(std::move(idle))});
  }
}

// Where the names of all models imply the same engine, its options are known from the start.
void use_implied_engine(Invocation& call) {
  if (call.engine_given || call.models.empty() || call.command == "diff") return;
  const string_view implied = implied_engine(call.models.front());
  const bool is_same = std::all_of(call.models.begin(), call.models.end(), [&](const std::string& model) {
    return implied_engine(model) == implied || (call.command == "check-log" && &model == &call.models.back());
  });
  if (!implied.empty() && is_same) find_engine(implied, call.request);
}

// Options apply in the order of the table, whatever their order on the command line.
void apply(const ParsedArguments& given, Invocation& call) {
  for (const Option& option : options())
    for (const GivenOption& each : given.options)
      if (each.option == &option) option.apply(call, each.value, each.name);
}

// "kvplan exlain x.json": refuses a word that is nearly a command and no file.
void refuse_nearly_a_command(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments[0].find_first_of("./-~@:") != string_view::npos ||
      std::filesystem::exists(arguments[0]))
    return;
  std::vector<string_view> names;
  for (const Command& command : commands()) names.push_back(command.name);
  if (const std::string near = did_you_mean(arguments[0], names); !near.empty())
    fail("there is no command and no file \"" + one_line(arguments[0], 60) + "\"", near);
}

// "kvplan --engine vllm fit x.json": the first word that is no option moves to the front if it is a command and no
// file.
void put_command_first(std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") return;
    if (word.starts_with("-") && word.size() > 1) {
      const Option* option = find_option(word);
      if (option != nullptr && !option->value.empty()) ++i;  // its value
      continue;
    }
    if (find_command(word) == nullptr || std::filesystem::exists(word)) return;
    std::rotate(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return;
  }
}

// "help" and "help COMMAND" work as --help, as in other programs.
void move_help_first(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help" || std::filesystem::exists("help")) return;
  arguments.erase(arguments.begin());
  arguments.push_back("--help");
}

// The engine that help was asked for; empty where it was asked for the command.
std::string asked_engine(const ParsedArguments& given) {
  Request scratch;
  for (const GivenOption& each : given.options)
    if (first_name(*each.option) == "--engine") return std::string(find_engine(each.value, scratch).name);
  return "";
}

std::string help_text(const Command& command, const ParsedArguments& given) {
  if (!given.words.empty() && given.words.back() == "all") return full_help(command);
  if (const std::string engine = asked_engine(given); !engine.empty()) return engine_help(engine);
  return &command == &commands().front() ? main_help() : command_help(command);
}

void require_form(const Command& command, std::string_view format) {
  if (has_word(command.lacks, format))
    fail("--format: " + std::string(command.name) + " has no form \"" + std::string(format) + "\"",
         "use " + join(forms_of(command)));
}

void make_paths_plain(Invocation& call) {
  for (std::string* path : {&call.draft, &call.mmproj, &call.output, &call.measuring.save})
    *path = os::plain_path(std::move(*path));
  for (std::vector<std::string>* paths : {&call.models, &call.loras})
    for (std::string& path : *paths) path = os::plain_path(std::move(path));
}

// Returns false where help or the version was printed.
bool parse(std::vector<std::string> arguments, Invocation& call) {
  if (arguments.empty()) {
    std::fputs(greeting().c_str(), stdout);
    return false;
  }
  move_help_first(arguments);
  put_command_first(arguments);
  const Command* command = arguments.empty() ? nullptr : find_command(arguments.front());
  if (command != nullptr) {
    arguments.erase(arguments.begin());
  } else {
    refuse_nearly_a_command(arguments);
    command = &commands().front();
  }
  call.command = command->name;
  ParsedArguments given = parse_arguments(*command, std::move(arguments));
  call.models = std::move(given.words);
  const bool is_watched = std::any_of(given.options.begin(), given.options.end(),
                                      [](const GivenOption& each) { return first_name(*each.option) == "--watch"; });
  (is_watched ? call.measuring.command : call.models)
      .insert((is_watched ? call.measuring.command : call.models).end(), given.behind.begin(), given.behind.end());
  if (given.help) {
    given.words = call.models;
    std::fputs(help_text(*command, given).c_str(), stdout);
    return false;
  }
  if (given.version) {
    std::printf("kvplan %s\n", kVersion);
    return false;
  }
  if (command->arguments.empty() && !call.models.empty())
    fail(call.command + " takes no \"" + one_line(call.models.front(), 40) + "\"", "leave it out");
  for (const GivenOption& each : given.options) call.typed.emplace_back(first_name(*each.option), each.value);
  apply(given, call);
  make_paths_plain(call);
  use_implied_engine(call);
  require_form(*command, call.format);
  prepare_measuring(call);
  check_options_of_engines(call, given);
  check_contradictions(call, [&](string_view name) {
    return std::any_of(given.options.begin(), given.options.end(),
                       [&](const GivenOption& each) { return first_name(*each.option) == name; });
  });
  return true;
}

}  // namespace

std::optional<Invocation> parse_command_line(int argc, const char* const* argv) {
  Invocation call;
  try {
    if (!parse({argv + std::min(argc, 1), argv + argc}, call)) return std::nullopt;
  } catch (Error& error) {
    error.set_source("command line");
    throw;
  }
  return call;
}

}  // namespace kvplan
