// Help in 80 columns: the usual options first, then a command's, an engine's, or all of them.
#include <algorithm>

#include "cli/shell.h"
#include "engines/engine.h"
#include "kvplan/strings.h"
#include "kvplan/version.h"
#include "report/report.h"

namespace kvplan {

using std::string_view;

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 32;  // where the explanations begin

// The options that most plans need, by their first names.
constexpr string_view kUsual =
    "--engine --gpu --gpu-count --max-model-len --num-seqs --weights --kv-cache-dtype --tensor-parallel-size "
    "--format --json";

static std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

// A list gives a table. Only `plan` prints tables, and `fit` for engines and GPUs.
static bool takes_lists(const Command& command, string_view option) {
  return command.name == "plan" || (command.name == "fit" && option != "--weights");
}

// "--max-model-len, --context, --context-length N". The short form has the first name and the shortest other one.
static std::string usage_of(const Option& option, const Command& command, bool is_short) {
  std::vector<string_view> names = split(option.names);
  if (is_short) {
    const string_view shortest =
        *std::min_element(names.begin(), names.end(), [](string_view a, string_view b) { return a.size() < b.size(); });
    names = shortest == names.front() ? std::vector{shortest} : std::vector{names.front(), shortest};
  }
  string_view value = option.value;
  if (!takes_lists(command, option.name())) value = value.substr(0, value.find("[,"));
  return join(names) + (value.empty() ? "" : " " + std::string(value));
}

static std::string help_of(const Option& option, const Command& command) {
  std::string out(option.help);
  if (option.name() != "--format") return out;
  return out + ": " + join(forms_of(command));
}

// `text` from `column` on. Text that exceeds the line continues on the next lines, at the same column.
static std::string folded_at(std::size_t column, string_view text) {
  std::string out;
  while (column + text.size() > kWidth) {
    const auto space = text.rfind(' ', kWidth - column);
    if (space == string_view::npos) break;
    out += std::string(text.substr(0, space)) + "\n" + std::string(column, ' ');
    text.remove_prefix(space + 1);
  }
  return out + std::string(text) + "\n";
}

static std::string option_line(const Option& option, const Command& command, bool is_short = false) {
  std::string out = "  " + usage_of(option, command, is_short);
  if (out.size() + 2 > kColumn)
    out += "\n" + std::string(kColumn, ' ');
  else
    out.resize(kColumn, ' ');
  return out + folded_at(kColumn, help_of(option, command));
}

static std::string in_full(string_view group, const std::vector<const Option*>& options, const Command& command) {
  std::string out = std::string(group) + "\n";
  for (const Option* option : options)
    if (option->group == group && !has_word(command.first, option->name())) out += option_line(*option, command);
  return out;
}

static std::vector<string_view> groups_of(const std::vector<const Option*>& options) {
  std::vector<string_view> out;
  for (const Option* option : options)
    if (std::find(out.begin(), out.end(), option->group) == out.end()) out.push_back(option->group);
  return out;
}

static std::string examples(const Command& command) {
  std::string out = command.examples.empty() ? "" : "\nExamples\n";
  for (const string_view example : split(command.examples, '\n')) out += "  " + std::string(example) + "\n";
  return out;
}

static std::string command_usage(const Command& command) {
  std::string out = "kvplan ";
  if (command.name != "plan") out += std::string(command.name) + " ";
  out += command.arguments;
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

std::vector<string_view> forms_of(const Command& command) {
  std::vector<string_view> out;
  for (const ReportForm& form : forms())
    if (!has_word(command.lacks, form.name)) out.push_back(form.name);
  return out;
}

std::string greeting() {
  return "kvplan " + std::string(kVersion) +
         ": how much memory a model takes, in the engine you run, and why\n\n"
         "  kvplan pick --gpu rtx-3060                               what runs on this GPU\n"
         "  kvplan qwen3:8b --gpu rtx-3060 -c 32k                    does this model fit\n"
         "  kvplan -- vllm serve Qwen/Qwen3-8B -tp 2                 a command you have\n\n"
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
      "input, a Hub id (org/name[@revision]), a name that `kvplan models` lists, an\n"
      "ollama tag (qwen3:8b), ollama:NAME, lmstudio:NAME or llama.cpp:NAME.\n\n"
      "Options\n";
  const Command& plan = commands().front();
  for (const string_view name : split(kUsual))
    for (const Option* option : options_of(plan))
      if (option->name() == name) out += option_line(*option, plan, true);
  return out + "More: kvplan COMMAND --help, kvplan --engine vllm --help, kvplan --help all.\n" + examples(plan);
}

// The settings of an engine that starts another engine, in its own names. It does not have the other engine's options.
static std::string own_settings(const Engine& engine, const Command& plan) {
  const EngineOptions settings(engine.command.options());
  std::string out;
  string_view last;
  for (const EngineOption& row : settings.rows()) {
    if (row.effect != OptionEffect::kPlanned || row.target.empty() || row.names.front() == last) continue;
    last = row.names.front();
    std::string names;
    for (const string_view name : row.names)
      names += (names.empty() ? "" : ", ") + std::string(name.substr(name[0] == '$'));
    for (const Option* option : options_of(plan))
      if (option->name() == row.target)
        out += (names.size() + 4 > kColumn ? "  " + names + "\n" + std::string(kColumn, ' ')
                                           : padded("  " + names, kColumn)) +
               folded_at(kColumn, usage_of(*option, plan, true) + ": " + std::string(option->help));
  }
  return out;
}

std::string engine_help(string_view engine) {
  const Command& plan = commands().front();
  const Engine& found = *engine_named(engine);
  if (found.wraps_engine)
    return "kvplan MODEL... --engine " + std::string(engine) + " [options]\n\nSettings of " + std::string(engine) +
           ", and kvplan's options for them (more: kvplan --help all)\n" + own_settings(found, plan);
  std::string out = "kvplan MODEL... --engine " + std::string(engine) + " [options]\n\nOptions of " +
                    std::string(engine) + " (kvplan --help all: every option)\n";
  const string_view own = engine_named(engine)->options;
  for (const Option* option : options_of(plan))
    if (has_word(own, option->name())) out += option_line(*option, plan);
  return out;
}

std::string command_help(const Command& command, bool is_whole) {
  std::string out = command_usage(command) + "\n" + std::string(command.help) + "\n";
  const std::vector<const Option*> taken = options_of(command);
  if (!command.first.empty()) out += "\nMost used\n";
  for (const string_view name : split(command.first))
    for (const Option* option : taken)
      if (option->name() == name) out += option_line(*option, command);
  std::vector<string_view> others;
  for (const string_view group : groups_of(taken))
    if (is_whole || !command.only.empty() || command.groups.find(group) != string_view::npos)
      out += "\n" + in_full(group, taken, command);
    else
      others.push_back(group);
  if (!others.empty())
    out += "\nMore options, with kvplan " + std::string(command.name) + " --help all:\n" + folded_at(0, join(others));
  return out + examples(command);
}

}  // namespace kvplan
