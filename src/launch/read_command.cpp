#include "launch/read_command.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "engines/release.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

using nlohmann::json;
using std::string_view;

constexpr std::string_view kRepeatable = "--lora --override-tensor";
constexpr std::string_view kSwitchWords = "on off auto true false 0 1 enabled disabled high medium low";

// Which releases have an option. Absent ends are open.
struct Availability {
  std::string_view lacked, first, last, dropped;
};

std::optional<Availability> availability(const Engine& engine, string_view name) {
  if (engine.command.option_releases == nullptr) return std::nullopt;
  for (const string_view line : engine.command.option_releases()) {
    const std::vector<string_view> columns = split(line);
    if (columns.size() != 5 || line[0] == '#') continue;
    const std::vector<string_view> names = split(columns[0], ',');
    if (std::find(names.begin(), names.end(), name) != names.end())
      return Availability{columns[1], columns[2], columns[3], columns[4]};
  }
  return std::nullopt;
}

// "32k" is 32,000 and "32K" is 32,768, as in argparse's human_readable_int in vLLM and SGLang.
std::string plain_count(string_view text) {
  constexpr string_view kUnits = "kmgt";
  double value = 0;
  const auto [end, error] = parse_real(text, value);
  const string_view unit = error == std::errc() ? text.substr(static_cast<std::size_t>(end - text.data())) : "";
  if (unit.size() != 1 || kUnits.find(lower(unit)) == string_view::npos) return std::string(text);
  const double base = unit == lower(unit) ? 1000 : 1024;
  const double count = value * std::pow(base, static_cast<double>(kUnits.find(lower(unit)) + 1));
  return count >= 0 && count < 1e18 ? std::to_string(static_cast<std::uint64_t>(count)) : std::string(text);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string value_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  return join(value, ",", [](const json& each) { return value_text(each); });
}

class CommandReader {
 public:
  // `has_model`: the command's model is ignored.
  CommandReader(const Engine& engine, ReadCommand& out, bool has_model)
      : engine_(engine), out_(out), has_model_(has_model) {}

  // The option that the word abbreviates, by its row's name; null if the parser has none.
  struct Found {
    const EngineOption* row = nullptr;
    bool off = false;
    std::string name;                  // "--speculative-config.method"
    std::optional<std::string> value;  // after "=" or in the word itself
  };
  Found find(string_view word) const {
    const auto equals = word.find('=');
    std::string name(word.substr(0, equals));
    Found out;
    if (equals != string_view::npos) out.value = word.substr(equals + 1);
    if (engine_.command.takes_underscores && name.starts_with("--"))
      std::replace(name.begin() + 2, name.begin() + static_cast<std::ptrdiff_t>(std::min(name.find('.'), name.size())),
                   '_', '-');
    const auto dot = name.starts_with('-') ? name.find('.') : std::string::npos;
    const std::string stem = name.substr(0, dot);
    std::tie(out.row, out.off) = out_.options.find(stem);
    if (out.row == nullptr && engine_.command.takes_beginnings && stem.starts_with("--"))
      if (const auto all = out_.options.beginning_with(stem); all.size() == 1)
        std::tie(out.row, out.off) = out_.options.find(all.front());
    if (out.row == nullptr && engine_.command.takes_beginnings && stem.size() > 2 && stem[1] != '-' && !out.value) {
      std::tie(out.row, out.off) = out_.options.find(stem.substr(0, 2));  // -O3
      if (out.row != nullptr) out.value = stem.substr(2);
    }
    if (out.row == nullptr) return out;
    out.name = std::string(out.row->names.front());
    if (dot == std::string::npos) return out;
    out.name += name.substr(dot);
    out.row = out_.options.find(out.name).first;
    return out;
  }

  // Reads the option at words[at]; returns the index after its values.
  std::size_t read(const Found& found, std::size_t at) {
    const std::vector<ShellWord>& words = out_.command.words;
    const std::size_t from = at++;
    std::vector<std::string> values;
    if (found.value) values.push_back(*found.value);
    const auto takes = [&](bool any) {
      return at < words.size() && (any || !words[at].text.starts_with('-') || is_number(words[at].text));
    };
    const auto take = [&] { values.push_back(words[at++].text); };
    switch (found.off || found.value ? OptionValue::kNone : found.row->value) {
      case OptionValue::kNone: break;
      case OptionValue::kPerhaps:
        if (takes(false) && (has_word(kSwitchWords, words[at].text) || found.row->effect == OptionEffect::kSecret))
          take();
        break;
      case OptionValue::kList:
        while (takes(false)) take();
        break;
      case OptionValue::kTwo:
        if (takes(true)) take();
        [[fallthrough]];
      default:
        if (!takes(true)) fail(found.name + " needs a value", "write it after the option");
        take();
    }
    const bool names_model = has_word("@model @hub --revision", found.row->target);
    for (std::size_t i = from; i < at; ++i) {
      if (words[i].unset.empty() || found.row->effect != OptionEffect::kPlanned || (names_model && has_model_))
        continue;
      const std::string& open = words[i].unset.front();
      fail(found.name + ": the text does not assign " + (open.starts_with('$') ? "" : "$") + one_line(open, 40),
           names_model ? "name the model with --model-source MODEL" : "write its value");
    }
    if (values.empty() && found.row->value == OptionValue::kPerhaps) values.emplace_back("on");
    out_.placed.push_back({found.row, found.name, from, at - from});
    // "--enable-prefix-caching=False", as vLLM took it until 0.8.
    const bool is_switch = found.row->value == OptionValue::kNone && found.value.has_value();
    const bool is_false = is_switch && (lower(*found.value) == "false" || *found.value == "0");
    apply(*found.row, found.name, join(values, ","), found.off != is_false);
    return at;
  }

  void apply(const EngineOption& general, const std::string& name, const std::string& given, bool off) {
    std::string value = general.value == OptionValue::kCount ? plain_count(given) : given;
    if (!value.empty() && is_digit(value[0]) && value.find_first_not_of("0123456789_") == std::string::npos)
      std::erase(value, '_');  // Python's 131_072
    const EngineOption& row = out_.options.of_value(general, value);
    check_release(general.names.front().starts_with('-') ? std::string(general.names.front()) : "");
    if (row.value == OptionValue::kJson && !given.empty() && row.target.empty() && has_members(name))
      return members(name, given);
    if (row.effect != OptionEffect::kPlanned) return unplanned(row, name, value);
    if (row.target.empty()) return;
    if (off) return switched_off(row);
    if (row.target[0] == '@') return special(row.target, value);
    if (row.target == "--speculative-method" && row.constant.empty() && !find_draft_method(value)) {
      out_.request.unmodelled.push_back(one_line(name + " " + value, 60));
      return warn(
          out_.notes, "option_not_modelled",
          {"{option}: the method {method} is not modelled", {{"option", name}, {"method", one_line(value, 40)}}});
    }
    if (has_word(kRepeatable, row.target))
      out_.settings.settings.push_back({std::string(row.target), value});
    else
      out_.settings.set(row.target, row.passes_value ? value : std::string(row.constant));
  }

  void environment() {
    for (const auto& [name, value] : out_.command.environment) {
      const EngineOption* row = out_.options.find("$" + name).first;
      if (row != nullptr)
        apply(*row, row->names.front().starts_with('$') ? name : std::string(row->names.front()), value, false);
      if (name == "CUDA_VISIBLE_DEVICES" || name == "HIP_VISIBLE_DEVICES") visible(value);
    }
  }

  void special(string_view target, const std::string& value) {
    if (target == "@model") out_.settings.model = value;
    if (target == "@hub") out_.settings.model = value;
    if (target == "@hub-file") hub_file_ = value;
    if (target == "@fit") out_.settings.set("@fit", value.empty() ? "on" : value);
    if (target == "@devices") visible(value);
    if (target == "@v0") out_.request.wants_v0 = true;
    if (target == "@longer") out_.request.allows_longer = true;
    if (target == "@nvfp4") out_.request.names_nvfp4 = true;
    if (target == "@rope-scaling") out_.settings.set("--hf-overrides", R"({"rope_scaling":)" + value + "}");
    if (target.starts_with("@host-cache")) out_.settings.set(target, value);
  }

  void finish() {
    out_.request.is_rocm = out_.command.is_rocm;
    std::string& model = out_.settings.model;
    if (!has_model_ && !hub_file_.empty() && model.find(':') == std::string::npos) model += ":" + hub_file_;
    const std::vector<ShellWord>& words = out_.command.words;
    if (!words.empty()) out_.settings.program = program_name(words.front().text);
    out_.settings.release = out_.command.release;
    if (engine_.command.complete != nullptr) engine_.command.complete(out_.settings);
    std::string release = out_.command.release;
    if (release.empty() && !newest_.empty()) {
      release = newest_;
      inform(out_.notes, "release_of_options",
             {"{option} was dropped after {engine} {release}, so that release is planned",
              {{"option", dropped_}, {"engine", std::string(engine_.name)}, {"release", release}}});
    } else if (release.empty()) {
      inform(out_.notes, "release_not_named",
             {"the command names no release: {engine} {release} is planned",
              {{"engine", std::string(engine_.name)}, {"release", std::string(engine_.versions.back().version)}}});
    }
    out_.engine = std::string(engine_.name) + (release.empty() ? "" : "@" + release);
  }

  [[noreturn]] void unknown(string_view word) const {
    const std::string name(word.substr(0, word.find('=')));
    std::vector<string_view> known;
    for (const EngineOption& row : out_.options.rows())
      for (const string_view each : row.names)
        if (each.starts_with("--")) known.push_back(each);
    const std::string near = did_you_mean(name, known);
    fail(one_line(name, 60) + ": " + std::string(engine_.name) + " " + std::string(engine_.versions.back().version) +
             " and the older releases that kvplan knows have no such option",
         near.empty() ? "leave it out" : near);
  }

  // argparse refuses a word that belongs to no option: "--enforce-eager true".
  void extra(string_view word) {
    if (word.starts_with('.') || word.starts_with('<') || word.starts_with('[') || !out_.request.refusal.empty())
      return;
    out_.request.refusal = "unrecognized arguments: " + one_line(word, 40);
    out_.request.cure = "leave it out: it belongs to no option";
  }

 private:
  static bool is_number(string_view text) {
    return text.size() > 1 && text[0] == '-' && text.find_first_not_of("0123456789.", 1) == string_view::npos;
  }

  bool has_members(const std::string& name) const {
    const std::string stem = name + ".";
    return std::any_of(out_.options.rows().begin(), out_.options.rows().end(),
                       [&](const EngineOption& row) { return row.names.front().starts_with(stem); });
  }

  void members(const std::string& name, const std::string& text) {
    const json value = json::parse(text, nullptr, false);
    if (value.is_discarded() && text.find('$') != std::string::npos)
      return unplanned(*out_.options.find(name).first, name, text);
    if (value.is_discarded() || !value.is_object()) fail(name + ": not a JSON object", "fix the value");
    for (const auto& [key, member] : value.items()) {
      const std::string path = name + "." + key;
      const EngineOption* row = out_.options.find(path).first;
      if (row == nullptr || member.is_null()) continue;
      const bool is_off = member.is_boolean() && !member.get<bool>();
      if (row->effect == OptionEffect::kPlanned || !is_off) apply(*row, path, value_text(member), false);
    }
  }

  void switched_off(const EngineOption& row) {
    if (row.target == "--enable-prefix-caching")
      out_.settings.set("--no-enable-prefix-caching", "");
    else
      out_.settings.remove(row.target);
  }

  void unplanned(const EngineOption& row, const std::string& name, const std::string& value) {
    constexpr std::pair<OptionEffect, string_view> kWords[] = {
        {OptionEffect::kSmall, "it changes less memory than the plan's range"},
        {OptionEffect::kLess, "the GPU may need less than the plan says"},
        {OptionEffect::kHost, "it only changes main memory"},
        {OptionEffect::kMore, "it can raise the memory of a GPU"},
    };
    if (row.effect == OptionEffect::kFile) {
      fail(name + " " + one_line(value, 60) + ": kvplan does not read option files",
           "write its options into the command; yq -o json shows them");
    }
    for (const auto& [effect, words] : kWords) {
      if (row.effect != effect) continue;
      warn(out_.notes, "option_not_modelled",
           {"{option} is not modelled: {effect}", {{"option", one_line(name, 60)}, {"effect", words}}});
      if (effect == OptionEffect::kMore) out_.request.unmodelled.push_back(one_line(name, 60));
    }
  }

  // A named release is checked against its parser; without one, the newest release that has all options is planned.
  void check_release(const std::string& name) {
    const auto has = name.empty() ? std::nullopt : availability(engine_, name);
    if (!has) return;
    if (out_.command.release.empty()) {
      if (has->dropped == "-" || (!newest_.empty() && parse_release(newest_) <= parse_release(has->last))) return;
      newest_ = has->last;
      dropped_ = name;
      return;
    }
    const Release asked = parse_release(out_.command.release);
    const bool is_early = has->lacked != "-" && asked <= parse_release(has->lacked);
    const bool is_late =
        has->dropped != "-" && asked >= parse_release(has->dropped) && asked > parse_release(has->last);
    if ((!is_early && !is_late) || !out_.request.refusal.empty()) return;
    out_.request.refusal = "unrecognized arguments: " + name;
    out_.request.cure = name + " is not an option of this release: " +
                        (is_early ? "it came with " + std::string(has->first)
                                  : "the last release with it is " + std::string(has->last));
  }

  void visible(const std::string& list) {
    const std::vector<string_view> devices = split(list, ',');
    if (!engine_.command.uses_visible_gpus || devices.empty()) return;
    out_.command.gpus = devices.size();
    for (const string_view device : devices) {  // "1", "CUDA1"
      std::size_t index = 0;
      const string_view digits = device.substr(device.find_last_not_of("0123456789") + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), index);
      out_.devices.push_back(index);
    }
  }

  const Engine& engine_;
  ReadCommand& out_;
  bool has_model_ = false;
  std::string hub_file_, newest_, dropped_;
};

void use_options(const Engine& engine, ReadCommand& out) {
  if (engine.command.options == nullptr)
    fail(std::string(engine.name) + ": kvplan does not read its command line", "name the model and --engine");
  out.options = EngineOptions(engine.command.options());
}

// For a shell: plain words stay as they are.
std::string shell_quoted(const std::string& word) {
  constexpr string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=,@+%~";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return "'" + replaced(word, {{'\'', "'\\''"}}) + "'";
}

bool is_secret(string_view name) {
  const std::string all = lower(name);
  for (const string_view part : {"token", "key", "secret", "passw"})
    if (all.find(part) != std::string::npos) return true;
  return false;
}

// Words in front of an engine's program without their secrets: "-e HF_TOKEN=...", "--token ...".
std::string without_secrets(const std::vector<ShellWord>& words) {
  std::string out;
  bool is_value = false;
  for (const ShellWord& word : words) {
    std::string text = std::exchange(is_value, false) ? "..." : word.text;
    auto equals = text.find('=');
    while (equals != std::string::npos && !is_secret(string_view(text).substr(0, equals)))
      equals = text.find('=', equals + 1);
    if (equals != std::string::npos)
      text = text.substr(0, equals + 1) + "...";
    else
      is_value = text.starts_with('-') && is_secret(text);
    out += shell_quoted(text) + " ";
  }
  return out;
}

}  // namespace

ReadCommand read_command(LaunchCommand command, string_view model) {
  ReadCommand out;
  out.command = std::move(command);
  const Engine& engine = *out.command.engine;
  use_options(engine, out);
  CommandReader reader(engine, out, !model.empty());
  const std::vector<ShellWord>& words = out.command.words;
  out.request.allows_longer = false;
  reader.environment();
  bool has_model = false;
  for (std::size_t at = out.command.arguments; at < words.size();) {
    const auto found = reader.find(words[at].text);
    if (found.row != nullptr && found.row->names.front()[0] != '$') {
      at = reader.read(found, at);
      continue;
    }
    if (words[at].text.size() > 1 && words[at].text[0] == '-') reader.unknown(words[at].text);
    if (engine.command.takes_model && !std::exchange(has_model, true)) {
      out.settings.model = words[at].text;
      if (!words[at].unset.empty() && model.empty())
        fail("the model is $" + one_line(words[at].unset.front(), 40) + ", which the text does not assign",
             "name it with --model-source MODEL");
    } else if (engine.command.takes_model && engine.command.takes_beginnings && words[at].unset.empty()) {
      reader.extra(words[at].text);
    }
    ++at;
  }
  if (!model.empty()) out.settings.model = std::string(model);
  reader.finish();
  if (out.settings.model.empty()) fail("the command names no model", "name it with --model-source MODEL");
  return out;
}

ReadCommand take_engine_options(const Engine& engine, std::vector<std::string>& words,
                                const std::function<std::optional<string_view>(string_view)>& own_option) {
  ReadCommand out;
  out.command.engine = &engine;
  out.command.release = "";
  if (engine.command.options == nullptr) return out;
  use_options(engine, out);
  for (const std::string& word : words) out.command.words.push_back({word, {}});
  CommandReader reader(engine, out, true);
  std::vector<std::string> left;
  for (std::size_t at = 0; at < words.size();) {
    const bool is_option = words[at].size() > 1 && words[at][0] == '-';
    const auto found = is_option ? reader.find(words[at]) : CommandReader::Found{};
    const auto ours = found.row != nullptr ? own_option(words[at]) : std::nullopt;
    // The engine's parser knows more values of an option that both have, and takes a list of words.
    const std::string value = found.value.value_or(at + 1 < words.size() ? words[at + 1] : "");
    const bool reads_more =
        found.row != nullptr && ours == found.row->target &&
        (found.row->value == OptionValue::kList || &out.options.of_value(*found.row, value) != found.row);
    if (found.row == nullptr || (ours && !reads_more))
      left.push_back(words[at++]);
    else
      at = reader.read(found, at);
  }
  words = std::move(left);
  if (engine.command.complete != nullptr) engine.command.complete(out.settings);
  return out;
}

std::string edited_command(const ReadCommand& read, const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> words;
  for (const ShellWord& word : read.command.words) words.push_back(word.text);
  std::vector<std::string> added;
  for (const auto& [option, value] : changes) {
    const EngineOption* row = nullptr;
    const PlacedOption* placed = nullptr;
    for (const PlacedOption& each : read.placed)
      if (each.row->target == option && each.row->names.front().starts_with('-')) placed = &each;
    row = placed != nullptr ? placed->row : read.options.for_target(option, value);
    if (row == nullptr || !row->names.front().starts_with('-') || row->names.front().find('.') != string_view::npos)
      return "";
    if (placed == nullptr) {
      added.emplace_back(row->names.front());
      if (!value.empty()) added.push_back(row->values.empty() ? value : std::string(row->values.front()));
      continue;
    }
    if (value.empty()) continue;
    std::string& first = words[placed->word];
    const auto equals = first.find('=');
    if (equals != std::string::npos)
      first = first.substr(0, equals + 1) + value;
    else if (placed->words > 1)
      words[placed->word + 1] = value;
    for (std::size_t i = 2; i < placed->words; ++i) words[placed->word + i].clear();
  }
  for (const PlacedOption& each : read.placed) {
    if (each.row->effect != OptionEffect::kSecret) continue;
    std::string& first = words[each.word];
    if (const auto equals = first.find('='); equals != std::string::npos) first = first.substr(0, equals + 1) + "...";
    for (std::size_t i = 1; i < each.words; ++i) words[each.word + i] = i == 1 ? "..." : "";
  }
  const std::string before = without_secrets(read.command.before);
  std::string out;
  for (const auto& [name, value] : read.command.environment)
    if (!is_secret(name) && before.find(name + "=") == std::string::npos) out += name + "=" + shell_quoted(value) + " ";
  out += before;
  words.insert(words.end(), added.begin(), added.end());
  std::erase(words, "");
  return out + join(words, " ", shell_quoted);
}

}  // namespace kvplan
