#include "support/observations.h"
#include "kvplan/quantity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "support/gguf_writer.h"
#include "support/program.h"

namespace kvplan {

namespace {

using Json = nlohmann::ordered_json;
const std::string kFolder = KVPLAN_SOURCE_DIR "/testdata/observations/";

Json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("no such file: " + path);
  return Json::parse(file);
}

// Only the metadata, which is all that a cache needs.
std::string gguf_file(const Json& metadata) {
  GgufWriter file(metadata.at("general.architecture").get<std::string>());
  for (const auto& [key, value] : metadata.items()) {
    if (key == "general.architecture") continue;
    if (value.is_string()) {
      file.text(key, value.get<std::string>());
    } else if (value.is_array() && value.at(0).is_boolean()) {
      file.bools(key, value.get<std::vector<bool>>());
    } else if (value.is_array()) {
      file.array(key, value.get<std::vector<std::int32_t>>());
    } else {
      file.u32(key, value.get<std::uint32_t>());
    }
  }
  return file.file();
}

Json plan(const std::string& model, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{model, "--json"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Run run = run_program(words);
  if (run.out.empty()) throw std::runtime_error(model + ": " + run.err);
  return Json::parse(run.out);
}

// llama.cpp prints states separately, and its CPU backend does not pad rows like CUDA.
double cache_bytes(const Json& plan, bool states) {
  double sum = 0;
  for (const Json& line : plan["memory"][0]["lines"]) {
    const bool of_states = line["what"].get<std::string>().find("state") != std::string::npos;
    if (line["part"] == "kv_cache" && of_states == states) sum += line["bytes"].get<double>();
  }
  if (states) return sum;
  for (const Json& gap : plan["kv_cache"]["gap"])
    if (gap["reason"].get<std::string>().find("CUDA") != std::string::npos) sum -= gap["bytes"].get<double>();
  return sum;
}

double figure_of(const Json& plan, std::string path) {
  if (path == "cache" || path == "states") return cache_bytes(plan, path == "states");
  std::replace(path.begin(), path.end(), '.', '/');
  return plan.at(Json::json_pointer("/" + path)).get<double>();
}

std::string attention_of(const Json& plan) {
  std::set<std::string> kinds;
  for (const Json& layer : plan["model"]["layers"]) {
    const std::string kind = layer["kind"];
    if (kind != "none" && kind != "shared") kinds.insert(kind);
  }
  std::string out;
  for (const std::string& kind : kinds) out += (out.empty() ? "" : " + ") + kind;
  return out;
}

std::string engine_of(const std::vector<std::string>& arguments) {
  const auto option = std::find(arguments.begin(), arguments.end(), "--engine");
  return option == arguments.end() ? "" : (option + 1)->substr(0, (option + 1)->find('@'));
}

Printed read_entry(const Json& entry) {
  if (entry.is_string()) return read_printed(entry);
  Printed out = read_printed(entry.at("printed"), entry.value("lines", 1));
  if (entry.contains("low")) out.low = entry.at("low");
  if (entry.contains("high")) out.high = entry.at("high");
  return out;
}

// The two ends of a budget that was printed with a few digits; nothing if the arguments determine it.
std::vector<double> budgets(const Json& observation) {
  if (!observation.contains("budget")) return {};
  const Json& budget = observation["budget"];
  if (budget.is_array()) return {read_printed(budget.at(0)).value, read_printed(budget.at(1)).value};
  const Printed printed = read_entry(budget);
  return {printed.low, printed.high};
}

std::vector<Json> plans_of(const std::string& model, const Json& observation) {
  const std::vector<std::string> arguments = observation.at("args");
  const std::vector<double> ends = budgets(observation);
  if (ends.empty()) return {plan(model, arguments)};
  std::vector<Json> out;
  for (const double end : ends) {
    std::vector<std::string> with = arguments;
    with.insert(with.end(), {"--kv-cache-memory-bytes", std::to_string(static_cast<std::uint64_t>(end))});
    out.push_back(plan(model, with));
  }
  return out;
}

// A path that the program can read: an existing config, or a GGUF that is written for it.
std::string model_path(const Json& file, const Json& observation, const TemporaryFolder& folder) {
  if (observation.contains("gguf")) return folder.write("model.gguf", gguf_file(observation["gguf"]));
  const std::string name = observation.at("model");
  if (file.contains("models")) return folder.write("model.gguf", gguf_file(file["models"].at(name).at("gguf")));
  return kFolder + "models/" + name + ".json";
}

}  // namespace

Printed read_printed(const std::string& text, int lines) {
  std::size_t end = 0;
  const double number = std::stod(text, &end);
  const std::string unit = text.substr(end);
  const auto scale = static_cast<double>(unit == " GiB" ? kGiB : unit == " MiB" ? kMiB : 1);
  const std::size_t dot = text.find('.');
  double half = dot == std::string::npos ? 0 : 0.5 * std::pow(10.0, -static_cast<double>(end - dot - 1));
  half *= lines * (1 + 1e-6);  // a value exactly between two digits may have been rounded either way
  return {number * scale, (number - half) * scale, (number + half) * scale};
}

Closeness judge(const Printed& printed, std::pair<double, double> planned) {
  if (planned.first <= printed.high && planned.second >= printed.low) return Closeness::kExact;
  const double off = std::abs((planned.first + planned.second) / 2 / printed.value - 1);
  if (off <= 0.01) return Closeness::kWithin1;
  return off <= 0.05 ? Closeness::kWithin5 : Closeness::kWrong;
}

std::vector<RecordedFigure> plan_figures(const std::string& group) {
  const Json file = read_json(kFolder + group + ".json");
  std::vector<RecordedFigure> out;
  for (const Json& observation : file.at("observations")) {
    const TemporaryFolder folder;
    const std::vector<Json> plans = plans_of(model_path(file, observation, folder), observation);
    for (const auto& [path, entry] : observation.at("figures").items()) {
      RecordedFigure figure;
      figure.group = group;
      figure.engine = engine_of(observation["args"]);
      figure.attention = attention_of(plans[0]);
      figure.observation = observation["name"];
      figure.source = observation.contains("source") ? observation["source"] : file.at("source");
      figure.path = path;
      figure.text = entry.is_string() ? entry : entry["printed"];
      figure.reason = observation.value("reason", "");
      figure.printed = read_entry(entry);
      figure.low = figure_of(plans.front(), path);
      figure.high = figure_of(plans.back(), path);
      figure.verdict = judge(figure.printed, {figure.low, figure.high});
      out.push_back(figure);
    }
  }
  return out;
}

double reserved_bytes(const std::string& model, const std::vector<std::string>& arguments) {
  return figure_of(plan(kFolder + "models/" + model + ".json", arguments), "kv_cache.reserved_bytes");
}

}  // namespace kvplan
