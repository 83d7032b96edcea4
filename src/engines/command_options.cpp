#include "engines/command_options.h"

#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

using std::string_view;

constexpr std::pair<string_view, OptionEffect> kEffects[] = {
    {"plan", OptionEffect::kPlanned}, {"none", OptionEffect::kNone}, {"secret", OptionEffect::kSecret},
    {"small", OptionEffect::kSmall},  {"less", OptionEffect::kLess}, {"host", OptionEffect::kHost},
    {"more", OptionEffect::kMore},    {"file", OptionEffect::kFile},
};

constexpr std::pair<string_view, OptionValue> kValues[] = {
    {"-", OptionValue::kNone}, {"0", OptionValue::kNone},  {"0n", OptionValue::kNone},
    {"1", OptionValue::kOne},  {"2", OptionValue::kTwo},   {"?", OptionValue::kPerhaps},
    {"+", OptionValue::kList}, {"k", OptionValue::kCount}, {"j", OptionValue::kJson},
};

template <class Table>
static auto row_of(const Table& table, string_view word, string_view line) {
  for (const auto& [name, value] : table)
    if (name == word) return value;
  fail("a row of options has no \"" + std::string(word) + "\": " + std::string(line), "fix the table");
}

static EngineOption parse_row(string_view line) {
  const std::vector<string_view> columns = split(line);
  if (columns.size() < 3) fail("a row of options is too short: " + std::string(line), "fix the table");
  EngineOption out;
  for (string_view name : split(columns[0], ',')) {
    const auto equals = name.find('=');
    if (equals != string_view::npos) out.values = split(name.substr(equals + 1), '|');
    if (name.starts_with('!'))
      out.negative.push_back(name.substr(1));
    else
      out.names.push_back(name.substr(0, equals));
  }
  out.value = row_of(kValues, columns[1], line);
  out.negatable = columns[1] == "0n";
  out.effect = row_of(kEffects, columns[2], line);
  if (columns.size() > 3 && columns[3] != "-") {
    const auto equals = columns[3].find('=');
    out.target = columns[3].substr(0, equals);
    if (equals != string_view::npos) out.constant = columns[3].substr(equals + 1);
    out.passes_value = equals == string_view::npos && out.values.empty() && out.value != OptionValue::kNone;
  }
  return out;
}

static bool has(const std::vector<string_view>& names, string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

EngineOptions::EngineOptions(std::span<const string_view> lines) {
  for (const string_view line : lines)
    if (!line.empty() && line[0] != '#') rows_.push_back(parse_row(line));
}

std::pair<const EngineOption*, bool> EngineOptions::find(string_view name) const {
  for (const bool negative : {false, true})
    for (const EngineOption& row : rows_)
      if (row.values.empty() && has(negative ? row.negative : row.names, name)) return {&row, negative};
  // argparse's negative name of a switch: "--no-enforce-eager", or "--disable-lora" for "--enable-lora". A member of a
  // JSON object is negated through its object.
  constexpr std::pair<string_view, string_view> kOpposites[] = {
      {"--no-", "--"}, {"--disable-", "--enable-"}, {"--enable-", "--disable-"}};
  for (const auto& [other, own] : kOpposites) {
    const std::string opposite = std::string(own) + std::string(name.substr(std::min(other.size(), name.size())));
    if (name.starts_with(other))
      for (const EngineOption& row : rows_)
        if (row.negatable && has(row.names, opposite)) return {&row, true};
  }
  const auto dot = name.rfind('.');
  if (dot == string_view::npos) return {nullptr, false};
  const std::string object(name.substr(0, dot));
  if (!name.ends_with(".*"))
    if (const auto any = find(object + ".*"); any.first != nullptr) return any;
  return find(object);
}

const EngineOption& EngineOptions::of_value(const EngineOption& row, string_view value) const {
  for (const EngineOption& each : rows_)
    if (has(each.values, value) && has(row.names, each.names.front())) return each;
  return row;
}

std::vector<string_view> EngineOptions::beginning_with(string_view text) const {
  std::vector<string_view> out;
  for (const EngineOption& row : rows_)
    for (const string_view name : row.names)
      if (row.values.empty() && name.starts_with(text) && name.find('.') == string_view::npos) {
        out.push_back(name);
        break;  // two names of the same option are not ambiguous
      }
  return out;
}

const EngineOption* EngineOptions::for_target(string_view option, string_view value) const {
  for (const EngineOption& row : rows_) {
    if (row.target != option || !row.names.front().starts_with('-')) continue;
    const bool is_switch = row.value == OptionValue::kNone && row.values.empty() && row.constant.empty();
    if (row.passes_value || is_switch || (!row.values.empty() && row.constant == value)) return &row;
  }
  return nullptr;
}

const std::string* CommandSettings::find(string_view option) const {
  for (const CommandSetting& each : settings)
    if (each.option == option) return &each.value;
  return nullptr;
}

void CommandSettings::set(string_view option, string_view value) {
  remove(option);
  settings.push_back({std::string(option), std::string(value)});
}

void CommandSettings::remove(string_view option) {
  std::erase_if(settings, [&](const CommandSetting& each) { return each.option == option; });
}

}  // namespace kvplan
