// Help in 80 columns: the usual options first, then those of a command, of an engine, and all of them.
#include <algorithm>

#include "cli/engine_options.h"
#include "cli/shell.h"
#include "engines/engine.h"
#include "kvplan/strings.h"
#include "kvplan/version.h"
#include "report/report.h"

namespace kvplan {

namespace {

using std::string_view;

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 32;  // where the explanations begin

// What most plans need, by the options' first names.
constexpr string_view kUsual =
    "--engine --gpu --gpu-count --max-model-len --num-seqs --weights --kv-cache-dtype --tensor-parallel-size "
    "--max-vram "
    "--format --json --output";

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

// Lists yield tables: only `plan` prints them, and `fit` for engines and cards.
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

std::string help_of(const Option& option, const Command& command) {
  std::string out(option.help);
  if (words(option.names).front() != "--format") return out;
  return out + ": " + join(forms_of(command));
}

// `text` from `column` on; what exceeds the line continues below, at the same column.
std::string folded_at(std::size_t column, string_view text) {
  std::string out;
  while (column + text.size() > kWidth) {
    const auto space = text.rfind(' ', kWidth - column);
    if (space == string_view::npos) break;
    out += std::string(text.substr(0, space)) + "\n" + std::string(column, ' ');
    text.remove_prefix(space + 1);
  }
  return out + std::string(text) + "\n";
}

// The first name and the shortest other one: "--max-model-len, -c N".
std::string short_usage(const Option& option, const Command& command) {
  const std::vector<string_view> names = words(option.names);
  const string_view shortest =
      *std::min_element(names.begin(), names.end(), [](string_view a, string_view b) { return a.size() < b.size(); });
  std::string value(option.value);
  if (!takes_lists(command, names.front())) value = value.substr(0, value.find("[,"));
  return std::string(names.front()) + (shortest == names.front() ? "" : ", " + std::string(shortest)) +
         (value.empty() ? "" : " " + value);
}

std::string option_line(const Option& option, const Command& command, bool is_short = false) {
  std::string out = "  " + (is_short ? short_usage(option, command) : long_usage(option, command));
  if (out.size() + 2 > kColumn)
    out += "\n" + std::string(kColumn, ' ');
  else
    out.resize(kColumn, ' ');
  return out + folded_at(kColumn, help_of(option, command));
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

std::string command_usage(const Command& command) {
  std::string out = "kvplan ";
  if (command.name != "plan") out += std::string(command.name) + " ";
  out += command.arguments;
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

}  // namespace

std::vector<string_view> forms_of(const Command& command) {
  std::vector<string_view> out;
  for (const ReportForm& form : forms())
    if (!has_word(command.lacks, form.name)) out.push_back(form.name);
  return out;
}

std::string greeting() {
  return "kvplan " + std::string(kVersion) +
         ": how much memory a model takes, in the engine you run, and why\n\n"
         "  kvplan testdata/configs/llama-3.1-8b.json --engine vllm --gpu rtx-4090\n"
         "  kvplan fit testdata/configs/gemma-4-26b.json --engine vllm --gpu h100-80gb\n"
         "  kvplan Qwen/Qwen3-32B --engine llama.cpp --weights q4_k_m --gpu rtx-4090 -c 32k\n\n"
         "kvplan --help has the commands and the options that most plans need.\n";
}

std::string main_help() {
  std::string out =
      "kvplan " + std::string(kVersion) + ": how much memory a model takes, in the engine you run, and why\n";
  for (const bool reference : {false, true}) {
    out += reference ? "\nReference\n" : "\nAnswers\n";
    for (const Command& command : commands())
      if (command.is_reference == reference)
        out += padded("  " + command_usage(command), 36) + std::string(command.help) + "\n";
  }
  out +=
      "\nMODEL is a config.json, a directory with one, a *.gguf file, - for standard\n"
      "input, a Hub id (org/name[@revision]), ollama:NAME, lmstudio:NAME or\n"
      "llama.cpp:NAME.\n\n"
      "Options\n";
  const Command& plan = commands().front();
  for (const string_view name : split(kUsual))
    for (const Option* option : options_of(plan))
      if (words(option->names).front() == name) out += option_line(*option, plan, true);
  return out +
         "More: kvplan COMMAND --help, kvplan --engine vllm --help for an engine's own,\n"
         "kvplan --help all for every option.\n" +
         examples(plan);
}

std::string engine_help(string_view engine) {
  const Command& plan = commands().front();
  std::string out = "kvplan MODEL... --engine " + std::string(engine) + " [options]\n\nOptions of " +
                    std::string(engine) + " (kvplan --help all: every option)\n";
  const string_view own = engine_named(engine)->options;
  for (const Option* option : options_of(plan))
    if (has_word(own, words(option->names).front())) out += option_line(*option, plan);
  return out;
}

std::string command_help(const Command& command) {
  std::string out = command_usage(command) + "\n" + std::string(command.help) + "\n";
  const std::vector<const Option*> taken = options_of(command);
  std::string rest;
  for (const string_view group : groups_of(taken)) {
    const bool all = !command.only.empty();
    if (all || command.groups.find(group) != string_view::npos)
      out += "\n" + in_full(group, taken, command);
    else
      rest += (rest.empty() ? "" : ", ") + std::string(group);
  }
  if (!rest.empty()) out += "\nMore, by kvplan " + std::string(command.name) + " --help all:\n" + folded_at(0, rest);
  return out + examples(command);
}

std::string full_help(const Command& command) {
  std::string out = command_usage(command) + "\n" + std::string(command.help) + "\n";
  const std::vector<const Option*> taken = options_of(command);
  for (const string_view group : groups_of(taken)) out += "\n" + in_full(group, taken, command);
  return out + examples(command);
}

}  // namespace kvplan
