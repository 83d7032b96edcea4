// A family's row names what it was checked against: an executed class with exactly kvplan's parameters, or a published
// total. Without evidence the row is empty and the plan says "unverified".
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/family.h"
#include "models/read.h"
#include "support/figures.h"
#include "weights/weigh.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

// The model_types of a config and of its nested configs, in the families' names.
void add_types(const Json& config, std::set<std::string>& out) {
  if (!config.is_object()) return;
  for (const auto& [key, value] : config.items()) {
    if (key == "model_type" && value.is_string()) {
      out.insert(lower(value.get<std::string>()));
      out.insert(lower(value.get<std::string>()) + "_text");
    }
    add_types(value, out);
  }
}

std::map<std::string, Json> shared_configs() {
  std::map<std::string, Json> out;
  std::istringstream lines(test_file("testdata/conformance/configs.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_discarded() && row.contains("name")) out[row["name"]] = row.value("config", Json());
  }
  return out;
}

// For the decoders of these configs: the model_type by which the family was found.
std::string type_of(const Json& config, const ModelSpec& model) {
  return find_family(model.model_type) == nullptr ? lower(config.value("model_type", "")) : lower(model.model_type);
}

// Types whose class was executed and has the same total as kvplan.
std::set<std::string> executed_types() {
  const std::map<std::string, Json> named = shared_configs();
  std::set<std::string> out;
  for (const char* release : {"5.16.1", "5.23.0", "5.24.0"}) {
    std::istringstream lines(test_file("testdata/conformance/transformers-" + std::string(release) + ".jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const Json row = Json::parse(line, nullptr, false);  // some configs have Infinity, which is not JSON
      if (row.is_discarded() || !row.contains("parameters") || !row["parameters"].is_number() ||
          row.contains("refused"))
        continue;
      Json config = row.at("config");
      if (config.is_string()) {
        const auto found = named.find(config.get<std::string>());
        if (found == named.end() || found->second.is_null()) continue;
        config = found->second;
      }
      try {
        const ModelSpec model = read_config(config.dump(), "", "test", {.assume = true});
        // Both are true: a router's biases are tensors in the checkpoint and buffers in the class.
        const double planned = static_cast<double>(count_parameters(model).total);
        const double executed = row["parameters"];
        if (planned >= executed && planned <= executed + row.value("kept_buffers", 0.0))
          out.insert(type_of(config, model));
      } catch (const Error&) {
        continue;
      }
    }
  }
  return out;
}

// Types with a published total, from recorded figures or from the tables in this folder.
std::set<std::string> published_types() {
  std::set<std::string> out;
  const Json recorded = Json::parse(test_file("testdata/observations/parameters.json"));
  for (const Json& row : recorded.at("observations")) {
    if (!row.at("figures").contains("model.parameters.total") || row.contains("reason")) continue;
    const std::string path = "testdata/configs/" + row.at("model").get<std::string>() + ".json";
    if (!std::filesystem::exists(std::string(KVPLAN_SOURCE_DIR) + "/" + path)) continue;
    add_types(Json::parse(test_file(path)), out);
  }
  const std::string by_file = test_file("tests/models/published_test.cpp");
  constexpr std::string_view kFiles = "constexpr Published kRows[] = {";
  for (auto at = by_file.find(kFiles); at < by_file.find("};", by_file.find(kFiles)); ++at) {
    if (by_file.compare(at, 2, "{\"") != 0) continue;
    const std::string name = by_file.substr(at + 2, by_file.find('"', at + 2) - at - 2);
    add_types(Json::parse(test_file("testdata/configs/" + name + ".json")), out);
  }
  for (const char* table : {"published_test.cpp", "exact_test.cpp", "inventory_test.cpp"}) {
    const std::string text = test_file(std::string("tests/models/") + table);
    constexpr std::string_view kKey = "\"model_type\":\"";
    for (auto at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
      const std::size_t begin = at + kKey.size();
      out.insert(lower(text.substr(begin, text.find('"', begin) - begin)));
    }
  }
  return out;
}

// Rows that the same code reads, with equal traits or next to each other in one file.
bool alike(const Family& a, const Family& b, bool of_one_file) {
  if (of_one_file) return a.layers == b.layers;
  Traits tensors = a.tensors;
  tensors.mtp_repeats_ends =
      b.tensors.mtp_repeats_ends;  // layers that predict more than one token are counted separately
  return a.layers == b.layers && a.extras == b.extras && a.mixer == b.mixer && tensors == b.tensors;
}

TEST_CASE("a family's row names everything that it was checked against") {
  const std::set<std::string> executed = executed_types();
  const std::set<std::string> published = published_types();
  CHECK(executed.size() > 150);
  CHECK(published.size() > 100);
  const auto has_one = [](const Family& row, const std::set<std::string>& types) {
    const auto names = split(row.is.names);
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return types.count(std::string(name)) > 0; });
  };
  const auto holds = [&](const Family& row) {
    const std::set<std::string>& types = row.is.checked == "executed class" ? executed : published;
    for (const auto& file : families())
      for (const Family& other : file)
        if (alike(row, other, &row >= file.data() && &row < file.data() + file.size()) && has_one(other, types))
          return true;
    return false;
  };
  for (const auto& file : families())
    for (const Family& row : file) {
      CAPTURE(row.is.names);
      if (!row.is.checked.empty()) {
        CHECK((row.is.checked == "executed class" || row.is.checked == "published total"));
        CHECK(holds(row));
      }
      // A row lists all evidence that exists, except for types whose blocks are known to differ.
      if (row.is.checked.empty()) CHECK_FALSE((has_one(row, executed) || has_one(row, published)));
    }
}

TEST_CASE("a plan of a family without a check says so") {
  const auto codes = [](std::string_view type) {
    const ModelSpec model = read_config(
        R"({"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":2,"intermediate_size":128,"vocab_size":100,)"
        R"("num_key_value_heads":2,"dtype":"bfloat16","max_position_embeddings":512,"model_type":")" +
            std::string(type) + "\"}",
        "", "test", {});
    std::string out;
    for (const Note& note : model.notes) out += note.code + " ";
    return out;
  };
  CHECK(codes("llama") == "");
  CHECK(codes("orion") == "unverified ");
}

}  // namespace
}  // namespace kvplan
