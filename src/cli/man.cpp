// The man page, as roff.
#include "cli/shell.h"
#include "kvplan/strings.h"
#include "kvplan/version.h"

namespace kvplan {

using std::string_view;

// In roff a dash is a minus sign, a backslash starts an escape, and a dot or a quote at a line's start a request.
static std::string roff(string_view text) {
  return (text.starts_with('.') || text.starts_with('\'') ? "\\&" : "") + replaced(text, {{'\\', "\\e"}, {'-', "\\-"}});
}

static std::string option_entry(const Option& option) {
  std::string out = ".TP\n\\fB" + join(split(option.names), "\\fR, \\fB", roff) + "\\fR";
  if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
  out += "\n" + roff(option.help) + ".\n";
  if (!option.value.starts_with("E[") && option.value != "FORM") return out;
  return out + "One of " + roff(join(choices(option))) + ".\n";
}

std::string man_page() {
  std::string out = ".TH KVPLAN 1 \"\" \"kvplan " + std::string(kVersion) + "\" \"User Commands\"\n";
  out += ".SH NAME\nkvplan \\- how much memory a model takes, in the engine you run, and why\n.SH SYNOPSIS\n";
  for (const Command& command : commands()) {
    out += "\\fBkvplan";
    if (command.name != "plan") out += " " + roff(command.name);
    out += "\\fR " + roff(command.arguments) + "\n.br\n";
  }
  out +=
      ".SH DESCRIPTION\n"
      "kvplan reads a model's metadata (a config.json, a GGUF header) and prints a number for every\npart of the "
      "memory, with its formula and the config fields it comes from. It needs no GPU, and a network only for models on "
      "the Hub.\n"
      ".PP\nMODEL is a config.json, a directory with one, a *.gguf file, \\- for standard input, or a name: a\n"
      "Hub id (org/name[@revision], or the address of its page), ollama:NAME, lmstudio:NAME or llama.cpp:NAME.\n"
      ".SH COMMANDS\n";
  for (const Command& command : commands()) {
    out += ".TP\n\\fB" + (command.name == "plan" ? "(none)" : roff(command.name)) + "\\fR\n";
    out += roff(command.help) + ".\n";
  }
  out +=
      ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nHelp that fits a screen; \\fB\\-\\-help all\\fR explains "
      "each option.\n"
      ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nThe version.\n";
  string_view group;
  for (const Option& option : options()) {
    if (option.group != group) {
      group = option.group;
      out += ".SS " + roff(group) + "\n";
    }
    out += option_entry(option);
  }
  out +=
      ".SH \"EXIT STATUS\"\n"
      ".TP\n0\nSuccess. If a GPU or a limit was given, it fits.\n"
      ".TP\n1\nIt does not fit, or breaks a limit.\n"
      ".TP\n2\nBad usage, or an input that cannot be read or is not valid.\n"
      ".TP\n3\nThe architecture is not known; \\fB\\-\\-assume\\fR plans it anyway.\n"
      ".TP\n4\nThe Hub could not be reached, or refused.\n"
      ".TP\n5\nNo device to measure on, or no installed engine for verify.\n"
      ".SH EXAMPLES\n";
  for (const Command& command : commands())
    for (const string_view example : split(command.examples, '\n')) out += ".PP\n.RS\n" + roff(example) + "\n.RE\n";
  return out;
}

}  // namespace kvplan
