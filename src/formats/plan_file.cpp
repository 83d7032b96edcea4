#include "formats/own_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/file.h"
#include "formats/json_bounds.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"

namespace kvplan {

namespace {

// An object's members in the order of the file. Members are appended without searching for their names, so large
// objects are read in linear time.
template <class Key, class T, class Less, class Allocator>
struct FileOrder : nlohmann::ordered_map<Key, T, Less, Allocator> {
  using nlohmann::ordered_map<Key, T, Less, Allocator>::ordered_map;
  T& operator[](const Key& key) { return this->emplace_back(key, T{}).second; }
};
using PlanJson = nlohmann::basic_json<FileOrder>;

constexpr std::size_t kMaxPlanBytes = 64 * kMiB;
constexpr std::size_t kMaxPlanValues = 500'000;  // a plan of 2048 GPUs with all their lines has two thirds of this
constexpr std::size_t kMaxFacts = 10'000;        // of a config or a request; real ones have some hundred
constexpr std::uint64_t kSchemaVersion = 1;

[[noreturn]] void no_plan(std::string_view why) {
  fail("not a kvplan plan (" + std::string(why) + ")", "give two files that kvplan MODEL --json wrote");
}

std::uint64_t number(const PlanJson& object, const char* key) {
  const PlanJson* found = member(object, key);
  if (found == nullptr) return 0;
  if (!found->is_number_unsigned()) no_plan(std::string(key) + " is not a whole number");
  return found->get<std::uint64_t>();
}

std::string value_text(const PlanJson& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, PlanJson::error_handler_t::replace);
}

// Each member of an object is a separate fact ("quantization_config.bits"), so that a diff names the member. An object
// with too many members stays whole.
void add_fact(const std::string& key, const PlanJson& value, std::vector<std::pair<std::string, std::string>>& out) {
  if (!value.is_object() || value.empty() || out.size() + value.size() > kMaxFacts) {
    out.emplace_back(one_line(key, 100), value_text(value));
    return;
  }
  for (const auto& [name, member] : value.items()) add_fact(one_line(key, 100) + "." + name, member, out);
}

// The model's source, if it is a file in the project where the plan was written: an annotation goes there. A plan may
// be untrusted, so the path is never opened or looked up.
std::string file_of(const std::string& source) {
  const bool is_file = source.ends_with(".json") || source.ends_with(".gguf");
  const bool is_inside =
      !source.starts_with('/') && !source.starts_with('~') && ("/" + source).find("/../") == std::string::npos;
  return is_file && is_inside ? one_line(source, 4096) : "";
}

}  // namespace

PlanDigest parse_plan(std::string_view text, std::string_view source) {
  const PlanJson json = parse_own_json<PlanJson>(text, {32, kMaxPlanValues}, no_plan);
  if (!json.is_object() || !json.contains("schema_version")) no_plan("it has no schema_version");
  if (const std::uint64_t version = number(json, "schema_version"); version != kSchemaVersion)
    fail("schema_version " + std::to_string(version) + ", and this kvplan reads " + std::to_string(kSchemaVersion),
         "write both plans with one release");
  if (json.contains("plans")) no_plan("it has several plans; diff compares single plans");
  if (json.contains("answers")) no_plan("it is an answer of compare or fit; diff compares single plans");
  for (const char* key : {"model", "request", "kv_cache", "total"})
    if (!json.contains(key) || !json[key].is_object()) no_plan(std::string("it has no ") + key);
  if (!json.contains("memory") || !json["memory"].is_array()) no_plan("it has no memory");

  PlanDigest out;
  out.source = source;
  const auto check_count = [](const PlanJson& facts, std::string_view what) {
    if (facts.size() > kMaxFacts)
      no_plan("its " + std::string(what) + " has more than " + std::to_string(kMaxFacts) + " entries");
  };
  check_count(json["request"], "request");
  if (const PlanJson* config = member(json["model"], "config"); config != nullptr && config->is_array()) {
    check_count(*config, "config");
    for (const PlanJson& fact : *config)
      if (fact.is_object() && fact.contains("key") && fact["key"].is_string() && fact.contains("value"))
        add_fact(fact["key"].get<std::string>(), fact["value"], out.config);
  }
  for (const auto& [key, value] : json["request"].items())
    if (!value.is_object() && !value.is_array()) out.request.emplace_back(one_line(key, 100), value_text(value));
  for (const char* part : {"weights", "kv_cache", "activation", "runtime"}) {
    std::uint64_t sum = 0;
    for (const PlanJson& gpu : json["memory"]) {
      if (!gpu.is_object()) no_plan("its memory is not a list of GPUs");
      sum = checked_add(sum, number(gpu, (std::string(part) + "_bytes").c_str()), "the memory of a plan");
    }
    out.memory.emplace_back(part, sum);
  }
  for (const PlanJson& gpu : json["memory"]) out.fullest = std::max(out.fullest, number(gpu, "total_bytes"));
  out.total = number(json["total"], "bytes");
  out.bytes_per_token = number(json["kv_cache"], "bytes_per_token");
  if (const PlanJson* verdict = member(json, "verdict"); verdict != nullptr && verdict->is_object())
    if (const PlanJson* status = member(*verdict, "status"); status != nullptr && status->is_string())
      out.verdict = one_line(status->get<std::string>(), 30);
  if (const PlanJson* capacity = member(json, "capacity"); capacity != nullptr && capacity->is_object())
    for (const char* key : {"tokens", "max_model_len", "max_num_seqs"})
      if (member(*capacity, key) != nullptr) out.capacity.emplace_back(key, number(*capacity, key));
  if (const PlanJson* source_of = member(json["model"], "source"); source_of != nullptr && source_of->is_string())
    out.model_file = file_of(source_of->get<std::string>());
  return out;
}

bool is_report(const std::string& path) {
  std::error_code ignored;
  if (!path.ends_with(".json") || !std::filesystem::is_regular_file(path, ignored)) return false;
  constexpr std::size_t kBeginning = 4096;
  return with_source(path, [&] { return read_file(path, kMaxPlanBytes); })
             .substr(0, kBeginning)
             .find("\"schema_version\"") != std::string::npos;
}

PlanDigest load_plan(const std::string& path) {
  return with_source(path, [&] { return parse_plan(read_file(path, kMaxPlanBytes), path); });
}

}  // namespace kvplan
