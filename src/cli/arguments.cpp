#include "cli/arguments.h"

#include "cli/shell.h"
#include "kvplan/error.h"
#include "kvplan/mistake.h"
#include "kvplan/words.h"

namespace kvplan {

namespace {

using std::string_view;

bool is_letter(string_view name) {
  return name.size() == 2 && name[1] != '-';
}

const Option* find_option(string_view name) {
  for (const Option& option : options())
    if (has_word(option.names, name)) return &option;
  return nullptr;
}

[[noreturn]] void refuse_option(string_view name) {
  std::vector<string_view> known{"--help", "--version"};
  for (const Option& option : options())
    for (const string_view each : words(option.names))
      if (each.starts_with("--")) known.push_back(each);
  const std::string near = did_you_mean(name, known);
  fail("there is no option \"" + one_line(name, 60) + "\"",
       near.empty() ? "see kvplan --help all" : near + " See kvplan --help all");
}

}  // namespace

Arguments tell_apart(const std::vector<string_view>& arguments) {
  Arguments out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const string_view argument = arguments[i];
    if (argument == "--") {
      out.words.insert(out.words.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      out.words.emplace_back(argument);
      continue;
    }
    const auto equals = argument.find('=');
    string_view name = argument.substr(0, equals);
    if (name == "--help" || name == "-h") {
      out.help = true;
      continue;
    }
    if (name == "--version" || name == "-V") {
      out.version = true;
      continue;
    }
    const Option* option = is_letter(name) ? nullptr : find_option(name);
    bool attached = option != nullptr && equals != string_view::npos;
    string_view value = attached ? argument.substr(equals + 1) : string_view();
    if (option == nullptr && argument[1] != '-') {  // a letter: "-c4096" and "-c 4096"
      option = find_option(argument.substr(0, 2));
      value = argument.substr(2);
      attached = !value.empty();
      if (option != nullptr) name = argument.substr(0, 2);
    }
    if (option == nullptr) refuse_option(name);
    if (option->value.empty()) {
      if (attached) fail(std::string(name) + " takes no value", "leave \"" + one_line(value, 40) + "\" out");
    } else if (!attached) {
      if (i + 1 == arguments.size()) fail(std::string(name) + " needs a value", "see kvplan --help");
      value = arguments[++i];
    } else if (value.empty()) {
      fail(std::string(name) + " needs a value", "see kvplan --help");
    }
    out.options.push_back({option, name, value});
  }
  return out;
}

}  // namespace kvplan
