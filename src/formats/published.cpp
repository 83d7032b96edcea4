#include "formats/own_files.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "kvplan/strings.h"

namespace kvplan {

using nlohmann::json;

static void merge(json& into, const json& difference) {
  if (!difference.is_object() || !into.is_object() || difference.contains("*") || into.contains("*")) {
    into = difference;
    return;
  }
  for (const auto& [key, value] : difference.items())
    if (value == "-")
      into.erase(key);
    else
      merge(into[key], value);
}

// "layers.#.mlp@0-2,5" names the modules of four layers.
static std::vector<std::string> modules_of(const std::string& name) {
  const auto place = name.find('#');
  const auto at = name.rfind('@');
  if (place == std::string::npos || at == std::string::npos || at < place) return {name};
  std::vector<std::string> out;
  for (const std::string_view range : split(std::string_view(name).substr(at + 1), ',')) {
    const auto dash = range.find('-');
    const std::uint64_t first = whole_number(range.substr(0, dash)).value_or(0);
    const std::uint64_t last =
        dash == std::string_view::npos ? first : whole_number(range.substr(dash + 1)).value_or(0);
    for (std::uint64_t layer = first; layer <= last; ++layer)
      out.push_back(name.substr(0, place) + std::to_string(layer) + name.substr(place + 1, at - place - 1));
  }
  return out;
}

using Keys = std::span<const std::string_view>;

static std::string key_of(const std::string& key, Keys keys) {
  if (!key.starts_with('$')) return key;
  const auto number = whole_number(std::string_view(key).substr(1));
  return number && *number < keys.size() ? std::string(keys[*number]) : key;
}

static json spelled_out(const json& value, Keys keys) {
  if (value.is_object() && value.contains("*")) {
    json out = json::array();
    const json period = spelled_out(value["of"], keys);
    for (std::size_t i = 0; i < value["*"].get<std::size_t>(); ++i) out.push_back(period[i % period.size()]);
    return out;
  }
  if (value.is_object()) {
    json out = json::object();
    for (const auto& [key, each] : value.items())
      for (const std::string& name : modules_of(key_of(key, keys))) out[name] = spelled_out(each, keys);
    return out;
  }
  if (!value.is_array()) return value;
  json out = json::array();
  for (const json& each : value)
    if (each.is_string())
      for (std::string& name : modules_of(each.get_ref<const std::string&>())) out.push_back(std::move(name));
    else
      out.push_back(spelled_out(each, keys));
  return out;
}

PublishedFiles merged_files(std::span<const std::string_view> differences, Keys keys) {
  json merged = json::object();
  for (const std::string_view difference : differences) merge(merged, json::parse(difference));
  const json files = spelled_out(merged, keys);
  PublishedFiles out{files.at("config").dump(), ""};
  if (const auto quant = files.find("hf_quant_config"); quant != files.end()) out.hf_quant_config = quant->dump();
  return out;
}

}  // namespace kvplan
