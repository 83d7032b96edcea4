#include "formats/own_files.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "formats/file.h"
#include "formats/json_bounds.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

using Json = nlohmann::json;

constexpr std::size_t kMaxCardsBytes = kMiB;
constexpr std::size_t kMaxCards = 1000;
constexpr std::size_t kMaxCardName = 80;
constexpr std::uint64_t kLeastMemory = 64 * kMiB;
constexpr std::uint64_t kMostMemory = 64 * kTiB;
constexpr double kMostBandwidth = 1e6;

[[noreturn]] static void refuse_cards(const std::string& why) {
  fail("not a list of GPUs: " + why, R"(write [{"name": "my-card", "memory": "24GiB", "bandwidth": 900}])");
}

// A name is one word of letters, digits and dashes, because users type it after --gpu and tables print it.
static std::string word(const Json& value, const std::string& where) {
  if (!value.is_string()) refuse_cards(where + " is not text");
  std::string text = value.get<std::string>();
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  const bool named =
      std::any_of(text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  if (!named || text.size() > kMaxCardName || !std::all_of(text.begin(), text.end(), plain))
    refuse_cards(where + " \"" + one_line(text, 40) + "\" is not a word of letters, digits and dashes");
  if (text == "auto") refuse_cards(where + " is \"auto\", which means the GPUs of this machine");
  return text;
}

static std::string line(const Json& card, const char* key) {
  const Json* found = member(card, key);
  return found != nullptr && found->is_string() ? one_line(found->get<std::string>(), kMaxCardName) : std::string();
}

// "24GiB", "24G", "24576MiB", "80GB" (10^9), or a whole number of bytes.
static std::optional<double> bytes_of(const std::string& text) {
  double value = 0;
  const auto [after, error] = parse_real(text, value, std::chars_format::fixed);
  if (error != std::errc() || value < 0) return std::nullopt;
  std::string unit = lower(std::string_view(after, static_cast<std::size_t>(text.data() + text.size() - after)));
  std::erase(unit, ' ');
  struct Unit {
    const char* name;
    double bytes;
  };
  for (const Unit& known : {Unit{"", 1}, Unit{"mib", kMiB}, Unit{"m", kMiB}, Unit{"gib", kGiB}, Unit{"g", kGiB},
                            Unit{"tib", kTiB}, Unit{"mb", 1e6}, Unit{"gb", 1e9}, Unit{"tb", 1e12}})
    if (unit == known.name) return value * known.bytes;
  return std::nullopt;
}

static std::uint64_t size(const Json& value, const std::string& where) {
  std::optional<double> bytes;
  if (value.is_number()) bytes = value.get<double>();
  if (value.is_string()) bytes = bytes_of(value.get<std::string>());
  if (!bytes || !std::isfinite(*bytes)) refuse_cards(where + " is not a size (\"24GiB\", or a number of bytes)");
  if (*bytes < static_cast<double>(kLeastMemory) || *bytes > static_cast<double>(kMostMemory))
    refuse_cards(where + " is not between 64 MiB and 64 TiB");
  return static_cast<std::uint64_t>(*bytes);
}

static const Json* either(const Json& card, const char* key, const char* other) {
  const Json* found = member(card, key);
  return found != nullptr ? found : member(card, other);
}

static GpuRecord record(const Json& card, std::size_t index) {
  const std::string which = "GPU " + std::to_string(index + 1);
  if (!card.is_object()) refuse_cards(which + " is not an object");
  GpuRecord out;
  const Json* name = member(card, "name");
  if (name == nullptr) refuse_cards(which + " has no name");
  out.name = word(*name, "the name of " + which);
  const Json* memory = either(card, "memory", "memory_bytes");
  if (memory == nullptr) refuse_cards(out.name + " has no memory");
  out.memory = size(*memory, "the memory of " + out.name);
  if (const Json* usable = either(card, "usable", "usable_bytes")) {
    out.usable = size(*usable, "the usable memory of " + out.name);
    if (out.usable > out.memory) refuse_cards(out.name + " has more usable memory than memory");
  }
  if (const Json* bandwidth = either(card, "bandwidth", "bandwidth_gb_s")) {
    out.bandwidth_gb_s = bandwidth->is_number() ? bandwidth->get<double>() : -1;
    if (!(out.bandwidth_gb_s > 0 && out.bandwidth_gb_s <= kMostBandwidth))
      refuse_cards("the bandwidth of " + out.name + " is not a number of GB/s");
  }
  if (const Json* aliases = member(card, "aliases")) {
    if (!aliases->is_array() || aliases->size() > 20)
      refuse_cards("the aliases of " + out.name + " are not a list of at most 20");
    for (const Json& alias : *aliases) out.aliases.push_back(word(alias, "an alias of " + out.name));
  }
  const Json* reported = member(card, "memory_reported");
  out.reported = reported == nullptr || !reported->is_boolean() || reported->get<bool>();
  out.unified = line(card, "kind") == "unified";
  out.vendor = line(card, "vendor");
  out.source = line(card, "source");
  return out;
}

std::vector<GpuRecord> parse_gpu_file(std::string_view text) {
  const Json json = parse_own_json<Json>(text, {8}, refuse_cards);
  const Json* list = &json;
  if (json.is_object()) {
    list = member(json, "gpus");
    if (list == nullptr) refuse_cards("it has no \"gpus\"");
  }
  if (!list->is_array() || list->empty()) refuse_cards("it has no GPUs");
  if (list->size() > kMaxCards) refuse_cards("it has more than " + std::to_string(kMaxCards) + " GPUs");
  std::vector<GpuRecord> out;
  for (std::size_t i = 0; i < list->size(); ++i) out.push_back(record((*list)[i], i));
  return out;
}

std::vector<GpuRecord> read_gpu_file(const std::string& path) {
  return with_source(path, [&] { return parse_gpu_file(read_file(path, kMaxCardsBytes)); });
}

}  // namespace kvplan
