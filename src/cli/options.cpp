#include "cli/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/contradictions.h"
#include "cli/engine_options.h"
#include "cli/extras_options.h"
#include "cli/measuring.h"
#include "cli/shell.h"
#include "cli/sizes.h"
#include "engines/engine.h"
#include "input/gpu_file.h"
#include "kvplan/error.h"
#include "kvplan/version.h"
#include "measure/detect.h"
#include "plan/gpus.h"
#include "report/report.h"
#include "weights/weigh.h"

namespace kvplan {

namespace {

using std::string_view;

bool is_short_word(string_view name) {
  return name.size() > 2 && name[0] == '-' && name[1] != '-';
}

// CLI11 2.1 refuses "-tp": spell it as the option's first name before it parses. "-tp=2" likewise.
std::string long_spelling(string_view argument) {
  if (!is_short_word(argument)) return std::string(argument);
  const auto equals = argument.find('=');
  for (const Option& option : options())
    for (const string_view name : words(option.names))
      if (is_short_word(name) && name == argument.substr(0, equals))
        return std::string(words(option.names).front()) +
               (equals == string_view::npos ? "" : std::string(argument.substr(equals)));
  return std::string(argument);
}

std::string declared_names(const Option& option) {
  std::string out;
  for (const string_view name : words(option.names))
    if (!is_short_word(name)) out += (out.empty() ? "" : ",") + std::string(name);
  return out;
}

// Whether the option stands among the arguments. CLI11 compares every new option with all before it, which costs more
// than a whole plan; so only those that are asked for are declared, and the rest are unknown to it.
bool is_used(const Option& option, const std::vector<std::string>& arguments) {
  for (const string_view name : words(option.names)) {
    if (is_short_word(name)) continue;
    for (const std::string& argument : arguments) {
      const bool letter = name.size() == 2 && argument.size() >= 2 && argument[1] != '-';
      if (letter ? argument.starts_with(name) : string_view(argument).substr(0, argument.find('=')) == name)
        return true;
    }
  }
  return false;
}

// The name under which the option was asked for: errors tell what was typed.
string_view typed_name(const Option& option, int argc, const char* const* argv) {
  const std::vector<string_view> names = words(option.names);
  for (int i = 1; i < argc; ++i) {
    const string_view argument(argv[i]);
    for (const string_view name : names) {
      const bool letter = name.size() == 2 && argument.size() > 2 && argument[1] != '-';
      if (letter ? argument.starts_with(name) && long_spelling(argument) == argument
                 : argument.substr(0, argument.find('=')) == name)
        return name;
    }
  }
  return names.front();
}

// Every option that was given must belong to an engine that was chosen.
template <class Given>
void check_options_of_engines(Invocation& call, const Given& given) {
  std::vector<std::string> chosen;
  for (const std::string& text : call.engines) {
    Request scratch;
    chosen.emplace_back(find_engine(text, scratch).name);
  }
  if (chosen.empty()) chosen.push_back(call.request.engine);
  for (std::size_t i = 0; i < options().size(); ++i) {
    if (!given(i)) continue;
    std::string idle = check_engine_option(words(options()[i].names).front(), chosen);
    if (!idle.empty()) call.notes.push_back({NoteLevel::kWarning, "option_of_an_engine", std::move(idle)});
  }
}

}  // namespace

std::optional<Invocation> parse_command_line(int argc, const char* const* argv) {
  Invocation call;
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.push_back(long_spelling(argv[i]));
  if (!arguments.empty()) {
    for (const Command& command : commands()) {
      if (command.name != arguments.front() || command.name == "plan") continue;
      call.command = arguments.front();
      arguments.erase(arguments.begin());
      break;
    }
  }

  refuse_mistakes(arguments);

  CLI::App app("", "kvplan");
  app.set_help_flag();
  bool help = false;
  bool version = false;
  app.add_flag("-h,--help", help);
  app.add_flag("-V,--version", version);
  app.add_option("MODEL", call.models);
  std::vector<std::vector<std::string>> values(options().size());
  std::vector<CLI::Option*> declared(options().size());
  for (std::size_t i = 0; i < options().size(); ++i) {
    const Option& option = options()[i];
    if (!is_used(option, arguments)) continue;
    declared[i] =
        option.value.empty()
            ? app.add_flag(declared_names(option))
            : app.add_option(declared_names(option), values[i])->expected(1)->take_all()->allow_extra_args(false);
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    Error out(Exit::kBadInput, one_line(error.what()), "see kvplan --help");
    out.set_source("command line");
    throw out;
  }
  if (help) {
    const Command& command = *find_command(call.command);
    const bool all = !call.models.empty() && call.models.back() == "all";
    const std::string text = all ? full_help(command) : call.command == "plan" ? main_help() : command_help(command);
    std::fputs(text.c_str(), stdout);
    return std::nullopt;
  }
  if (version) {
    std::printf("kvplan %s\n", kVersion);
    return std::nullopt;
  }
  if (find_command(call.command)->arguments.empty() && !call.models.empty()) {
    Error error(Exit::kBadInput, call.command + " takes no \"" + one_line(call.models.front(), 40) + "\"",
                "leave it out");
    error.set_source("command line");
    throw error;
  }
  try {
    for (std::size_t i = 0; i < options().size(); ++i) {
      if (declared[i] == nullptr || declared[i]->count() == 0) continue;
      const Option& option = options()[i];
      const string_view name = typed_name(option, argc, argv);
      if (option.value.empty())
        option.apply(call, "", name);
      else
        for (const std::string& value : values[i]) option.apply(call, value, name);
    }
    prepare_measuring(call);
    const auto is_given = [&](std::size_t i) { return declared[i] != nullptr && declared[i]->count() > 0; };
    check_options_of_engines(call, is_given);
    check_contradictions(call, [&](string_view name) {
      for (std::size_t i = 0; i < options().size(); ++i)
        if (words(options()[i].names).front() == name) return is_given(i);
      return false;
    });
  } catch (Error& error) {
    error.set_source("command line");
    throw;
  }
  return call;
}

}  // namespace kvplan
