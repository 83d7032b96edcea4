// Completions for bash, zsh and fish, from the tables of commands and options.
#include <algorithm>
#include <span>

#include "cli/shell.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

using std::string_view;

// Every command except `plan`, which needs no name.
static std::span<const Command> named_commands() {
  return commands().subspan(1);
}

static bool takes_model(const Command& command) {
  return command.arguments.find("MODEL") != string_view::npos || command.arguments.find(".json") != string_view::npos;
}

// Text for a shell's single quotes.
static std::string shell_quoted(string_view text) {
  return replaced(text, {{'\'', "'\\''"}});
}

static std::string names_of(const Command& command) {
  return join(options_of(command), " ", &Option::names) + " --help -h";
}

static std::string bash() {
  std::string out =
      "# bash completion of kvplan, from its table of options: source it, or put it where bash-completion looks.\n"
      "_kvplan() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=plan options='' IFS=$' \\t\\n'\n"
      "  # bash splits words at \"=\": --engine=vl arrives as three.\n"
      "  if [[ $cur == = ]]; then cur=''\n"
      "  elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  COMPREPLY=()\n"
      "  case ${COMP_WORDS[1]} in\n    " +
      join(named_commands(), "|", &Command::name) +
      ") [ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]} ;;\n  esac\n  case $prev in\n";
  for (const Option& option : options()) {
    if (option.value.empty()) continue;
    out += "    " + join(split(option.names), "|") + ") ";
    if (takes_path(option))
      out += "compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$cur\"))";
    else if (const std::vector<string_view> values = choices(option); !values.empty())
      out += "COMPREPLY=($(compgen -W '" + join(values, " ") + "' -- \"$cur\"))";
    else
      out += ":";
    out += "; return ;;\n";
  }
  out += "  esac\n  case $command in\n";
  for (const Command& command : commands())
    out += "    " + std::string(command.name) + ") options='" + names_of(command) + "' ;;\n";
  out +=
      "  esac\n"
      "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")); return; fi\n"
      "  case $command in\n";
  for (const Command& command : named_commands()) {
    if (takes_model(command)) continue;
    out += "    " + std::string(command.name) + ") COMPREPLY=($(compgen -W '" + join(argument_choices(command), " ") +
           "' -- \"$cur\")); return ;;\n";
  }
  out +=
      "  esac\n"
      "  compopt -o filenames 2>/dev/null\n"
      "  IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$cur\")); IFS=$' \\t\\n'\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY+=($(compgen -W '" +
      join(named_commands(), " ", &Command::name) +
      "' -- \"$cur\")); fi\n"
      "}\n"
      "complete -F _kvplan kvplan\n";
  return out;
}

static std::string zsh_text(string_view text) {
  return shell_quoted(replaced(text, {{'[', "\\["}, {']', "\\]"}, {':', "\\:"}, {'\\', "\\\\"}}));
}

static std::string zsh_option(const Option& option) {
  const std::vector<string_view> names = split(option.names);
  std::string value;
  if (!option.value.empty()) {
    value = ":" + zsh_text(option.value) + ":";
    if (takes_path(option))
      value += "_files";
    else if (const std::vector<string_view> list = choices(option); !list.empty())
      value += "(" + join(list, " ") + ")";
  }
  std::string out;
  for (const string_view name : names) {
    // An exclusion list keeps zsh from offering the option's other names again.
    out += "'(" + join(names, " ") + ")" + std::string(name) + "[" + zsh_text(option.help) + "]" + value + "' ";
  }
  return out;
}

static std::string zsh() {
  std::string out =
      "#compdef kvplan\n# zsh completion of kvplan, from its table of options: put it as _kvplan in $fpath.\n"
      "_kvplan() {\n  local -a commands options\n  commands=(";
  for (const Command& command : named_commands())
    out += "'" + std::string(command.name) + ":" + zsh_text(command.help) + "' ";
  out += ")\n  case ${words[2]} in\n";
  for (const Command& command : named_commands()) {
    out += "    " + std::string(command.name) + ") options=(";
    for (const Option* option : options_of(command)) out += "\n      " + zsh_option(*option);
    out += "\n      ";
    if (takes_model(command))
      out += "'*:MODEL:_files'";
    else if (const auto list = argument_choices(command); !list.empty())
      out += "'*:argument:(" + join(list, " ") + ")'";
    out += ")\n      shift words; (( CURRENT-- ))\n      _arguments $options; return ;;\n";
  }
  out += "  esac\n  options=(";
  for (const Option* option : options_of(commands().front())) out += "\n    " + zsh_option(*option);
  out +=
      "\n    '*:MODEL:_files')\n"
      "  (( CURRENT == 2 )) && [[ ${words[2]} != -* ]] && _describe command commands\n"
      "  _arguments $options\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _kvplan ]; then _kvplan \"$@\"; else compdef _kvplan kvplan; fi\n";
  return out;
}

static std::string fish() {
  std::string out = "# fish completion of kvplan, from its table of options.\n";
  const std::string all = join(named_commands(), " ", &Command::name);
  for (const Command& command : named_commands()) {
    out += "complete -c kvplan -n __fish_use_subcommand -a " + std::string(command.name) + " -d '" +
           shell_quoted(command.help) + "'\n";
    for (const string_view word : argument_choices(command))
      out += "complete -c kvplan -n '__fish_seen_subcommand_from " + std::string(command.name) + "' -f -a " +
             std::string(word) + "\n";
  }
  for (const Option& option : options()) {
    out += "complete -c kvplan";
    std::vector<string_view> takers;
    for (const Command& command : commands()) {
      const std::vector<const Option*> taken = options_of(command);
      if (std::find(taken.begin(), taken.end(), &option) != taken.end()) takers.push_back(command.name);
    }
    const bool plan = !takers.empty() && takers.front() == "plan";
    if (takers.size() < commands().size()) {
      if (plan) takers.erase(takers.begin());
      out += " -n '" + (plan ? "not __fish_seen_subcommand_from " + all : "") +
             (plan && !takers.empty() ? "; or " : "") +
             (takers.empty() ? "" : "__fish_seen_subcommand_from " + join(takers, " ")) + "'";
    }
    for (const string_view name : split(option.names))
      out += (name.starts_with("--") ? " -l " + std::string(name.substr(2))
                                     : (name.size() == 2 ? " -s " : " -o ") + std::string(name.substr(1)));
    if (takes_path(option))
      out += " -rF";
    else if (!option.value.empty())
      out += " -x";
    if (const std::vector<string_view> list = choices(option); !list.empty()) out += " -a '" + join(list, " ") + "'";
    out += " -d '" + shell_quoted(option.help) + "'\n";
  }
  return out;
}

std::string completions(string_view shell) {
  if (shell == "bash") return bash();
  if (shell == "zsh") return zsh();
  if (shell == "fish") return fish();
  fail("completions: unknown shell \"" + one_line(shell, 40) + "\"", nearest_remedy(shell, "bash zsh fish"));
}

}  // namespace kvplan
