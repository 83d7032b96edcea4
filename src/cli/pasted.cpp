#include "cli/arguments.h"

#include <algorithm>

#include "cli/shell.h"
#include "engines/engine.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "plan/plan.h"

namespace kvplan {

using std::string_view;

constexpr std::size_t kMostOfLine = 4096;

static bool starts_command(const std::vector<std::string>& words, std::size_t at) {
  const string_view name = program_name(words[at]);
  const auto next = [&](std::size_t ahead) { return at + ahead < words.size() ? string_view(words[at + ahead]) : ""; };
  if ((name == "docker" || name == "podman") && next(1) == "run") return true;
  if (name.starts_with("python") && next(1) == "-m") return true;
  for (const Engine& engine : engines())
    for (const string_view program : engine.command.programs) {
      const std::vector<string_view> parts = split(program);
      if (parts[0] == name && (parts.size() == 1 || next(1) == parts[1]) && parts[0] != "-m") return true;
    }
  return false;
}

void mark_command(std::vector<std::string>& arguments) {
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    if (arguments[at] == "--") return;
    const bool is_value = at > 0 && is_own_option(arguments[at - 1]);
    if (is_value || arguments[at].starts_with('-') || exists(arguments[at]) || !starts_command(arguments, at)) continue;
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(at), "--");
    return;
  }
}

ReadCommand take_options_of_engine(std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::string name;
  for (auto each = arguments.begin(); each != dashes; ++each) {
    if (*each == "--engine" && each + 1 != dashes) name = *(each + 1);
    if (each->starts_with("--engine=")) name = each->substr(std::string_view("--engine=").size());
  }
  if (name.empty() || name.find(',') != std::string::npos) return {};
  Request scratch;
  const Engine* engine = unless_misfit([&] { return &find_engine(name, scratch); });
  if (engine == nullptr || engine->command.options == nullptr) return {};
  std::vector<std::string> own(arguments.begin(), dashes);
  // An option that kvplan has only for other engines belongs to this engine. So does --task, except for `pick`.
  const bool picks = std::find(arguments.begin(), dashes, "pick") != dashes;
  // If the engine has an option "-cb", the word is not -c with a value.
  const auto own_option = [&](std::string_view word) -> std::optional<std::string_view> {
    const Option* option = find_option(word.substr(0, word.find('=')));
    if (has_word("--help -h --version -V", word)) return word;
    if (option == nullptr || (option->name() == "--task" && !picks) || !is_option_of(option->name(), *engine))
      return std::nullopt;
    return option->name();
  };
  ReadCommand out = take_engine_options(*engine, own, own_option);
  arguments.erase(arguments.begin(), dashes);
  arguments.insert(arguments.begin(), own.begin(), own.end());
  return out;
}

// Of "rtx-4090+rtx-3060" those that the command uses.
static std::string visible_gpus(string_view cards, const std::vector<std::size_t>& devices) {
  std::vector<string_view> all, out;
  for (string_view part : split(cards, '+')) {
    const std::uint64_t count = std::clamp<std::uint64_t>(take_count(part), 1, kMostGpusOfPlan);
    all.insert(all.end(), count, part);
  }
  for (const std::size_t device : devices)
    if (device < all.size()) out.push_back(all[device]);
  return out.empty() ? std::string(cards) : join(out, "+");
}

void add_settings(const ReadCommand& read, ParsedArguments& given) {
  constexpr string_view kTensor = "--tensor-parallel-size";
  std::vector<GivenOption> added;
  for (const CommandSetting& each : read.settings.settings) {
    const Option* option = find_option(each.option);
    if (option == nullptr)
      fail("a table of options names " + each.option + ", which kvplan does not have", "report it");
    if (!has_option(given.options, option->name()))
      added.push_back({option, each.option, option->value.empty() ? "" : each.value});
  }
  const auto has = [&](string_view name) { return has_option(given.options, name) || has_option(added, name); };
  const bool is_command = !read.command.words.empty() && !read.engine.empty();
  const bool lays_out = is_command && !read.command.engine->command.uses_visible_gpus;
  if (lays_out && !has(kTensor) && !has("--pipeline-parallel-size"))
    added.push_back({find_option(kTensor), std::string(kTensor), "1"});
  const auto cards = std::find_if(given.options.begin(), given.options.end(),
                                  [](const GivenOption& each) { return each.option == find_option("--gpu"); });
  const bool has_cards = cards != given.options.end();
  if (has_cards && cards->value.find('+') != std::string::npos)
    cards->value = visible_gpus(cards->value, read.devices);
  else if (is_command && !lays_out && read.command.gpus && has_cards && !has_option(given.options, "--gpu-count"))
    added.push_back({find_option("--gpu-count"), "--gpu-count", std::to_string(*read.command.gpus)});
  given.options.insert(given.options.end(), added.begin(), added.end());
}

std::vector<LaunchCommand> pasted_commands(const std::string& file, const std::vector<std::string>& words) {
  if (!file.empty()) {
    constexpr std::size_t kMost = kMiB;
    return with_source(file == "-" ? "standard input" : file,
                       [&] { return find_commands(file == "-" ? read_stdin(kMost) : read_file(file, kMost)); });
  }
  if (words.empty() || (words.size() == 1 && words.front().find(' ') == std::string::npos)) return {};
  std::vector<LaunchCommand> out = find_commands(words);
  if (out.empty() && !exists(words.front()))
    fail("no engine command after --", "write one such as vllm serve MODEL, or a MODEL before --");
  return out;
}

std::optional<LaunchCommand> command_of_log(std::string_view head) {
  std::string text;  // lines that begin with an engine's program, and their continuation lines
  bool goes_on = false;
  while (!head.empty()) {
    const string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    string_view rest = line;
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("+$#> ")));
    const std::vector<std::string> words = [&] {
      const std::vector<string_view> parts = split(rest.substr(0, kMostOfLine));
      return std::vector<std::string>(parts.begin(), parts.end());
    }();
    std::size_t first = 0;
    while (first < words.size() && words[first].find('=') != std::string::npos) ++first;
    if (!goes_on && (first == words.size() || !starts_command(words, first))) continue;
    text.append(rest).push_back('\n');
    goes_on = line.ends_with('\\');
  }
  if (text.empty()) return std::nullopt;
  try {
    std::vector<LaunchCommand> found = find_commands(text);
    return found.size() == 1 ? std::optional(std::move(found.front())) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Invocation> without_refused(const Invocation& call, const Error& error) {
  if (!call.without || error.kind() != ErrorKind::kRefused || !call.request.command.refusal.empty())
    return std::nullopt;
  const std::string_view what = error.what();
  const Option* option = find_option(what.substr(0, what.find_first_of(" :")));
  if (option == nullptr || call.pasted->settings.find(option->name()) == nullptr) return std::nullopt;
  Invocation out = call.without(option->name());
  const auto remedy = what.rfind("; ");
  out.request.command.refusal = what.substr(0, remedy);
  out.request.command.cure = remedy == std::string_view::npos ? "leave it out" : what.substr(remedy + 2);
  return out;
}

void add_commands(const Invocation& call, Plan& plan) {
  if (call.pasted == nullptr) return;
  for (Remedy& remedy : plan.verdict.suggestions) {
    std::vector<std::pair<std::string, std::string>> changes;
    for (const auto& [option, value] : remedy.changes) {
      const Option* row = find_option(option);
      changes.emplace_back(row != nullptr ? std::string(row->name()) : option, value);
    }
    remedy.command = edited_command(*call.pasted, changes);
  }
}

}  // namespace kvplan
