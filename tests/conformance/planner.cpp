#include "conformance/planner.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>

#include "cli/options.h"
#include "conformance/gguf_header.h"
#include "engines/known_errors.h"
#include "kvplan/error.h"

namespace kvplan::conformance {

namespace {

namespace fs = std::filesystem;

// The options as the command line reads them.
Request parsed_request(const std::string& engine, Words words) {
  words.insert(words.begin(), {"kvplan", "-", "--engine", engine, "--calibration", "none"});
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return parse_command_line(static_cast<int>(pointers.size()), pointers.data()).value().request;
}

// Names of configs outside configs.jsonl.
std::map<std::string, Json> class_defaults() {
  std::vector<std::string> files;
  for (const auto& file : fs::directory_iterator(kFolder))
    if (file.path().filename().string().starts_with("transformers-")) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  std::map<std::string, Json> out;
  for (const std::string& file : files)
    for (const Json& row : read_lines(file))
      if (row.contains("id") && row.contains("config") && row["config"].is_object())
        out[row["id"]] = {{"config", row["config"]}};
  return out;
}

// Python's json module writes Infinity, -Infinity and NaN without quotes. They are turned into words, as kvplan does
// when it reads a config.
std::string with_quoted_words(const std::string& line) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_string && line[i] == '\\') {
      out += line.substr(i++, 2);
      continue;
    }
    if (line[i] == '"') in_string = !in_string;
    std::string_view word;
    for (const std::string_view each : {"-Infinity", "Infinity", "NaN"})
      if (!in_string && word.empty() && line.compare(i, each.size(), each) == 0) word = each;
    if (word.empty()) {
      out += line[i];
      continue;
    }
    out += '"' + std::string(word) + '"';
    i += word.size() - 1;
  }
  return out;
}

bool leaves_no_verdict(const std::string& sentence) {
  return std::any_of(known_errors().begin(), known_errors().end(), [&](const KnownError& error) {
    return error.effect == Effect::kUnknown && error.tells == sentence;
  });
}

std::string text_of(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

}  // namespace

// A file may leave out the rows that its neighbour has ("beside"): {"same": [FIRST, COUNT]} (common.py).
std::vector<Json> read_lines(const std::string& path) {
  std::vector<Json> out, theirs;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    const Json row = Json::parse(with_quoted_words(line));
    if (!row.contains("same")) {
      out.push_back(row);
    } else {
      const std::size_t first = row["same"].at(0), count = row["same"].at(1);
      if (first + count > theirs.size()) throw std::runtime_error(path + ": its neighbour lacks " + line);
      for (const Json& each : std::span(theirs).subspan(first, count)) out.push_back(each);
    }
    if (!row.contains("beside")) continue;
    const std::string beside = row["engine"].get<std::string>() + "-" + row["beside"].get<std::string>();
    theirs = read_lines((std::filesystem::path(path).parent_path() / (beside + ".jsonl")).string());
    for (Json& each : theirs)
      if (each.contains("release")) each["release"] = row["release"];
  }
  return out;
}

bool Reply::is_refused() const {
  if (!report_) return refused_;
  const Json& verdict = report_->at("verdict");
  return verdict.contains("refusal") && !verdict["refusal"].is_null();
}

std::string Reply::refusal_code() const {
  if (!report_) return "";
  const Json code = report_->at("verdict").value("refusal_code", Json());
  return code.is_string() ? code.get<std::string>() : "";
}

std::optional<double> Reply::number(std::string_view place) const {
  if (!report_) return std::nullopt;
  const Json::json_pointer pointer{std::string(place)};
  if (!report_->contains(pointer) || !report_->at(pointer).is_number()) return std::nullopt;
  return report_->at(pointer).get<double>();
}

std::optional<std::vector<Json>> Reply::lines(std::size_t gpu, const Wanted& wanted) const {
  if (!report_) return std::nullopt;
  std::vector<Json> out;
  if (gpu != kHost && gpu >= report_->at("memory").size()) return std::nullopt;
  const Json& place = gpu == kHost ? report_->at("host_memory") : report_->at("memory").at(gpu);
  if (place.is_null()) return out;
  for (const Json& line : place.at("lines"))
    if (wanted(line)) out.push_back(line);
  return out;
}

std::optional<double> Reply::sum(std::size_t gpu, const Wanted& wanted) const {
  const auto picked = lines(gpu, wanted);
  if (!picked) return std::nullopt;
  return sum_of(*picked);
}

std::string called(const Json& line) {
  std::string out = text_of(line, "id");
  if (out.empty()) return text_of(line, "what");
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

bool is_called_like(const Json& line, std::string_view text) {
  return called(line).find(text) != std::string::npos;
}

double sum_of(const std::vector<Json>& lines, const char* key) {
  double out = 0;
  for (const Json& line : lines) out += line.at(key).get<double>();
  return out;
}

bool Reply::has_note(std::string_view code) const {
  const Json none = Json::array();
  const Json& notes = report_ ? report_->at("notes") : none;
  return std::any_of(notes.begin(), notes.end(), [&](const Json& note) { return note.at("code") == code; });
}

bool Reply::has_warning() const {
  const Json none = Json::array();
  const Json& notes = report_ ? report_->at("notes") : none;
  return std::any_of(notes.begin(), notes.end(), [](const Json& note) { return note.at("level") == "warning"; });
}

void Planner::fill_entries() {
  if (!entries_.empty()) return;
  entries_ = class_defaults();
  for (const Json& row : read_lines(kFolder + "configs.jsonl")) entries_[row.at("name")] = row;
}

std::vector<std::string> Planner::names() {
  fill_entries();
  std::vector<std::string> out;
  for (const auto& [name, ignored] : entries_) out.push_back(name);
  return out;
}

const Json& Planner::entry(const std::string& name) {
  fill_entries();
  const auto known = entries_.find(name);
  if (known != entries_.end()) return known->second;
  const std::string path = KVPLAN_SOURCE_DIR "/testdata/configs/" + name + ".json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("no config is called " + name);
  return entries_[name] = {{"config", Json::parse(file)}};
}

const Json& Planner::gguf(const std::string& name) {
  if (ggufs_.empty())
    for (const Json& row : read_lines(kFolder + "llama.cpp-models.jsonl"))
      ggufs_[row.at("model").get<std::string>() + ".gguf"] = row;
  return ggufs_.at(name);
}

Model Planner::load(const Json& config) {
  if (config.is_object()) return Model::from_config(config.dump(), "-");
  const std::string name = config;
  if (name.ends_with(".gguf")) return Model::load(write_gguf(gguf(name), folder_.path()));
  const Json& found = entry(name);
  if (!found.contains("hf_quant_config")) return Model::from_config(found.at("config").dump(), name + ".json");
  // Files next to a config are found in the same folder.
  std::string folder = name;
  std::replace(folder.begin(), folder.end(), '/', '-');
  fs::create_directory(folder_.path() + "/" + folder);
  folder_.write(folder + "/config.json", found.at("config").dump());
  folder_.write(folder + "/hf_quant_config.json", found.at("hf_quant_config").dump());
  return Model::load(folder_.path() + "/" + folder);
}

Reply Planner::ask(const Json& config, const std::string& engine, Words words) {
  try {
    const Request request = parsed_request(engine, std::move(words));
    const std::string key = config.dump();
    auto known = models_.find(key);
    if (known == models_.end()) known = models_.emplace(key, load(config)).first;
    Json report = Json::parse(known->second.report(engine, request, "json"));
    for (const Json& note : report.at("notes")) {
      if (note.at("code") != "known_error" && note.at("code") != "unknown_latents") continue;
      const std::string sentence = note.at("message");
      doubted.sentences.insert(sentence);
      doubted.is_unknown = doubted.is_unknown || note["code"] == "unknown_latents" || leaves_no_verdict(sentence);
    }
    return Reply(std::move(report));
  } catch (const Error& error) {
    return Reply(error.line(), error.code() == Exit::kBadInput || error.code() == Exit::kUnknownArchitecture);
  }
}

bool Planner::knows(const std::string& engine, const Words& words) const {
  try {
    parsed_request(engine, words);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string Planner::type_of(const Json& config) {
  if (config.is_object()) {
    for (const char* key : {"text_config", "thinker_config", "llm_config", "language_config"})
      if (config.contains(key) && config[key].is_object() && config[key].contains("model_type"))
        return text_of(config[key], "model_type");
    return text_of(config, "model_type");
  }
  const std::string name = config;
  if (name.ends_with(".gguf")) return gguf(name).at("metadata").at("general.architecture").at(1);
  return type_of(entry(name).at("config"));
}

std::string Planner::root_type_of(const Json& config) {
  if (config.is_object()) return text_of(config, "model_type");
  const std::string name = config;
  return name.ends_with(".gguf") ? type_of(config) : root_type_of(entry(name).at("config"));
}

}  // namespace kvplan::conformance
