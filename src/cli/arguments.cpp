// The only file that includes CLI11.
#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "cli/shell.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "kvplan/version.h"

namespace kvplan {

using std::string_view;

const Option* find_option(string_view name) {
  for (const Option& option : options())
    if (has_word(option.names, name)) return &option;
  return nullptr;
}

bool has_option(const std::vector<GivenOption>& given, string_view name) {
  return std::any_of(given.begin(), given.end(), [&](const GivenOption& each) { return each.option->name() == name; });
}

// CLI11 2.1 does not support short options with several letters, so it gets "-tp" as "--tp".
static std::string declared(string_view name) {
  return (name.size() > 2 && name[1] != '-' ? "-" : "") + std::string(name);
}

// The option that an argument names, by the name that was typed: "--gpu=l4", "-tp", "-c4096".
static GivenOption named_option(const std::string& argument) {
  for (const std::string& name : {argument.substr(0, argument.find('=')), argument.substr(0, 2)})
    if (const Option* option = find_option(name)) return {option, name, ""};
  return {};
}

using OptionRows = std::map<const CLI::Option*, const Option*>;

static OptionRows declare_options(CLI::App& app) {
  OptionRows out;
  for (const Option& option : options()) {
    std::vector<std::string> names;
    for (const string_view name : split(option.names))
      if (std::find(names.begin(), names.end(), declared(name)) == names.end()) names.push_back(declared(name));
    const std::string help(option.help);
    CLI::Option* const each =
        option.value.empty() ? app.add_flag(join(names, ","), help) : app.add_option(join(names, ","), help);
    if (option.value.empty()) each->disable_flag_override();
    each->group(std::string(option.group))->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    out[each] = &option;
  }
  return out;
}

// A file may have the name of a command if it follows options or other files.
static void declare_commands(CLI::App& app, string_view first) {
  app.require_subcommand(0, 1);
  for (const Command& command : commands())
    if (command.name == first || !exists(std::string(command.name)))
      app.add_subcommand(std::string(command.name), std::string(command.help))->fallthrough();
}

// Options that people type for training.
constexpr string_view kTraining =
    "--training --train --finetune --fine-tune --finetuning --sft --rlhf --grpo --ppo --dpo --qlora --optimizer "
    "--optim --gradient-checkpointing --gradient-accumulation-steps --deepspeed --fsdp --zero-stage";

[[noreturn]] static void refuse_training(string_view word) {
  fail("\"" + std::string(word) + "\" is about training, and kvplan plans inference only",
       "for training use accelerate estimate-memory or DeepSpeed's estimators; to serve an adapter use --lora");
}

// "kvplan exlain x.json": refuses a word that is nearly a command and no file.
static void refuse_nearly_a_command(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || find_command(arguments[0]) != nullptr || exists(arguments[0]) ||
      arguments[0].find_first_of("./-~@:") != string_view::npos)
    return;
  if (has_word("train training finetune fine-tune sft qlora", arguments[0])) refuse_training(arguments[0]);
  std::vector<string_view> names;
  for (const Command& command : commands()) names.push_back(command.name);
  if (const std::string near = did_you_mean(arguments[0], names); !near.empty())
    fail("no such command or file: \"" + one_line(arguments[0], 60) + "\"", near);
}

// Options of other tools that people type, with kvplan's option for each.
constexpr std::pair<string_view, string_view> kOtherWords[] = {
    {"--vram", "--gpu-memory SIZE, or --max-vram SIZE for a limit"},
    {"--gpus", "--gpu NAME and --gpu-count N"},
    {"--num-gpus", "--gpu-count N"},
    {"--model", "no option for the model: kvplan MODEL"},
    {"--model-id", "no option for the model: kvplan MODEL"},
    {"--ctx", "-c N"},
    {"--batch-users", "--num-seqs N"},
    {"--kv-dtype", "--kv-cache-dtype TYPE"},
    {"--kv-type", "--kv-cache-dtype TYPE"},
    {"--kv-cache-type", "--kv-cache-dtype TYPE"},
    {"--cache-dtype", "--kv-cache-dtype TYPE"},
    {"--kv-quant", "--kv-cache-dtype TYPE"},
};

[[noreturn]] static void refuse_option(const Command& command, string_view argument) {
  const string_view name = argument.substr(0, argument.find('='));
  if (has_word(kTraining, name)) refuse_training(name);
  for (const auto& [word, ours] : kOtherWords)
    if (name == word) fail("unknown option \"" + std::string(name) + "\"", "use " + std::string(ours));
  std::vector<string_view> known{"--help", "--version"};
  for (const Option* option : options_of(command))
    for (const string_view each : split(option->names))
      if (each.starts_with("--")) known.push_back(each);
  const std::string near = did_you_mean(name, known);
  fail("unknown option \"" + one_line(name, 60) + "\"",
       near.empty() ? "see kvplan --help all" : near + " See kvplan --help all");
}

static void refuse_options_of_others(const ParsedArguments& given) {
  const Command& command = *given.command;
  const std::vector<const Option*> own = options_of(command);
  for (const GivenOption& each : given.options)
    if (std::find(own.begin(), own.end(), each.option) == own.end())
      fail(std::string(command.name) + " has no option " + each.name,
           "see kvplan " + (command.name == "plan" ? "" : std::string(command.name) + " ") + "--help");
}

// CLI11 refuses a last option without its value, and a flag with one. This also refuses "--gpu=", which would take the
// next argument.
static void refuse_values(const std::vector<std::string>& arguments, bool is_refused) {
  for (const std::string& argument : arguments) {
    const auto equals = argument.find('=');
    const GivenOption given = named_option(argument);
    if (given.option == nullptr || equals == std::string::npos) continue;
    if (given.option->value.empty() && is_refused)
      fail(given.name + " takes no value", "leave \"" + one_line(argument.substr(equals + 1), 40) + "\" out");
    if (!given.option->value.empty() && argument.starts_with("--") && equals + 1 == argument.size())
      fail(given.name + " needs a value", "see kvplan --help");
  }
  if (is_refused) fail(arguments.back() + " needs a value", "see kvplan --help");
}

static void parse(CLI::App& app, const std::vector<std::string>& arguments, ParsedArguments& out) {
  std::vector<std::string> words{"kvplan"};
  for (const std::string& argument : arguments) {
    const std::string name = named_option(argument).name;
    words.push_back(argument == "++" ? "./++" : declared(name) + argument.substr(name.size()));  // "++" ends a command
  }
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::CallForHelp&) {
    out.help = true;
  } catch (const CLI::CallForVersion&) {
    out.version = true;
  } catch (const CLI::ExtrasError&) {  // see app.remaining()
  } catch (const CLI::ParseError&) {
    refuse_values(arguments, true);
  }
}

bool is_own_option(string_view argument) {
  return named_option(std::string(argument)).option != nullptr || argument == "--help" || argument == "-h" ||
         argument == "--version" || argument == "-V";
}

ParsedArguments parse_arguments(std::vector<std::string> arguments) {
  ParsedArguments out;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  out.behind.assign(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  refuse_nearly_a_command(arguments);
  refuse_values(arguments, false);

  CLI::App app;
  app.allow_windows_style_options(false);
  app.set_help_flag("-h,--help", "explain the command");
  app.set_version_flag("-V,--version", kVersion);
  app.add_option("MODEL", out.words);
  const OptionRows rows = declare_options(app);
  declare_commands(app, arguments.empty() ? "" : arguments.front());
  parse(app, arguments, out);

  const std::vector<CLI::App*> chosen = app.get_subcommands();
  out.command = chosen.empty() ? &commands().front() : find_command(chosen.front()->get_name());
  std::vector<std::string> left = app.remaining(true);
  left.insert(left.end(), out.words.begin(), out.words.end());  // CLI11 treats "-5" as a word
  for (const std::string& word : left)
    if (word.size() > 1 && word[0] == '-') refuse_option(*out.command, word);

  std::map<const CLI::Option*, std::size_t> seen;
  auto from = arguments.begin();
  for (const CLI::Option* each : app.parse_order()) {  // the arguments' order
    if (!rows.contains(each)) continue;
    const Option* option = rows.at(each);
    const auto typed = std::find_if(from, arguments.end(),
                                    [&](const auto& argument) { return named_option(argument).option == option; });
    if (typed == arguments.end()) continue;
    from = typed + 1;
    out.options.push_back(
        {option, named_option(*typed).name, option->value.empty() ? "" : each->results().at(seen[each]++)});
  }
  refuse_options_of_others(out);
  return out;
}

}  // namespace kvplan
