#include "measure/diagnosis.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "measure/log_reader.h"
#include "plan/calibrate.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "weights/weigh.h"

namespace kvplan {

// "Q4_K - Medium" -> "q4_k_m", "awq_marlin" -> "awq"; nothing if the table of types has no such row.
static std::optional<std::string> weight_type_of(const LogOptions& options) {
  std::string name = lower(options.file_type.empty() ? options.quantization : options.file_type);
  if (const auto at = name.find(" - "); at != std::string::npos) {
    const std::string size = name.substr(at + 3);
    name.erase(at);
    for (const std::string_view word : {"medium", "small", "large"})
      if (size == word) name += std::string("_") + word.front();
  }
  if (const auto at = name.find("_marlin"); at != std::string::npos) name.erase(at);
  if (name == "gguf" || name == "none") return std::nullopt;
  try {
    check_weight_type(name);
  } catch (const Error&) {
    return std::nullopt;
  }
  return name;
}

static void add_remarks(const LogReading& reading, LogCheck& out) {
  std::map<std::string_view, std::set<double>> values;
  for (const Observation& seen : reading.observations)
    if (seen.device.empty()) values[seen.what].insert(seen.value);
  const auto several = [&](std::string_view what) { return values.count(what) > 0 && values[what].size() > 1; };
  if (reading.starts > 1)
    out.remarks.push_back("the log has " + std::to_string(reading.starts) + " starts: the last one is checked");
  if (const auto budget = reading.smallest("kv_budget"); budget && *budget <= 0)
    out.remarks.push_back("the KV cache budget in the log is not positive: the engine had no memory left for it");
  if (several("num_blocks") || several("kv_tokens"))
    out.remarks.push_back("ranks print different capacities: the smallest one applies");
  const Request& request = out.plan.request;
  if (const auto remark = engine_of(request).log.remark;
      remark != nullptr && values.count("kv_tokens") > 0 && out.plan.kv_cache.groups.size() > 1)
    if (const std::string_view text = remark(request); !text.empty()) out.remarks.emplace_back(text);
}

double LogLine::difference() const {
  if (!predicted || *predicted == seen.value) return 0;
  if (seen.value == 0) return *predicted > 0 ? 1 : -1;  // printed 0, planned more
  return *predicted / seen.value - 1;
}

// Engines pad, repack and round: only clear differences count.
bool LogLine::is_outside() const {
  if (!predicted || exact || high <= 0) return false;
  constexpr double kPlay = 0.1, kLeast = 64 * kMiB;
  const double least = in_unit(kLeast, seen.unit);
  return seen.value < low - std::max(least, kPlay * low) || seen.value > high + std::max(least, kPlay * high);
}

Request request_of_log(const LogReading& reading, const Request& base) {
  return read_request(reading, base).request;
}

// Infers an option that the log does not name. Takes the first cache type, number of ranks or release (or type and
// release) with which all figures agree.
static LogCheck by_figures(const ModelSpec& model, const LogRequest& stated, const LogReading& reading,
                           LogCheck first) {
  struct Try {
    std::string read;
    std::function<void(Request&)> change;
  };
  const Engine& engine = engine_of(stated.request);
  std::vector<Try> types;
  std::vector<Try> ranks;
  std::vector<Try> releases;
  if (stated.assumes_types)
    for (const std::string_view type : split(engine.kv_choices))
      types.push_back({"--kv-cache-dtype " + std::string(type), [known = find_dtype(type)](Request& request) {
                         request.cache_type_k = request.cache_type_v = known;
                       }});
  if (stated.assumes_ranks)
    for (const std::uint64_t count : {2U, 4U, 8U, 16U})
      ranks.push_back({"-tp " + std::to_string(count), [count](Request& request) {
                         request.parallel.tensor = count;
                         request.parallel.given = true;
                       }});
  if (stated.assumes_release)
    for (auto version = engine.versions.rbegin(); version != engine.versions.rend(); ++version) {
      if (is_older(version->version, reading.options.since)) break;
      if (!reading.options.until.empty() && is_older(reading.options.until, version->version)) continue;
      releases.push_back({"--engine " + std::string(engine.name) + "@" + std::string(version->version),
                          [name = version->version](Request& request) { request.engine_version = name; }});
    }
  const auto fits = [&](std::initializer_list<const Try*> tries) -> std::optional<LogCheck> {
    LogRequest other = stated;
    for (const Try* const one : tries) {
      one->change(other.request);
      other.read.push_back(one->read + ", by the figures");
      const std::string option = one->read.substr(0, one->read.find(' '));
      std::erase_if(other.assumed, [&](const std::string& said) { return said.find(option) != std::string::npos; });
    }
    try {
      LogCheck check = check_against(model, other, reading);
      if (check.compared > 0 && check.disagreements == 0 && !rests_on_assumptions(check)) return check;
    } catch (const Error&) {  // an engine may refuse the variant
    }
    return std::nullopt;
  };
  for (const auto* const list : {&types, &ranks, &releases})
    for (const Try& one : *list)
      if (auto check = fits({&one})) return *check;
  for (const Try& type : types)
    for (const Try& release : releases)
      if (auto check = fits({&type, &release})) return *check;
  return first;
}

// A build between two releases may still follow the older one's rules.
static void by_neighbour(const ModelSpec& model, const LogRequest& stated, const LogReading& reading, LogCheck& out) {
  const std::string& version = reading.options.version;
  if (version.find("dev") == std::string::npos && version.find("rc") == std::string::npos) return;
  const Engine& engine = engine_of(stated.request);
  std::string_view older;
  for (const EngineVersion& known : engine.versions)
    if (is_older(known.version, stated.request.engine_version)) older = known.version;
  if (older.empty()) return;
  LogRequest other = stated;
  other.request.engine_version = older;
  other.read.push_back("--engine " + std::string(engine.name) + "@" + std::string(older) + ", by the figures");
  try {
    LogCheck check = check_against(model, other, reading);
    if (check.disagreements < out.disagreements) out = std::move(check);
  } catch (const Error&) {  // it may refuse the model
  }
}

// If figures are outside their ranges, looks for an option or a release with which they agree and which the log does
// not name.
static void explain(const ModelSpec& model, const LogRequest& stated, const LogReading& reading, LogCheck& out) {
  const Engine& engine = engine_of(stated.request);
  if (out.outside == 0 || !log_of(engine).by_device) return;
  const auto agrees_with = [&](const LogRequest& other, const std::string& what) {
    try {
      const LogCheck check = check_against(model, other, reading);
      if (check.outside + check.disagreements == 0) out.agrees_with = what;
    } catch (const Error&) {  // an engine may refuse the variant
    }
    return !out.agrees_with.empty();
  };
  LogRequest other = stated;
  if (!reading.options.n_ubatch && !stated.request.llama_cpp.n_ubatch)
    for (const std::uint64_t rows : {256U, 1024U, 2048U, 4096U}) {
      other.request.llama_cpp.n_ubatch = rows;
      if (agrees_with(other, "-ub " + std::to_string(rows))) return;
    }
  other = stated;
  if (!reading.options.version.empty()) return;
  std::set<std::string> releases;
  for (const EngineVersion& version : engine.versions) releases.emplace(version.version);
  if (engine.rules != nullptr)
    for (const RuleRow& rule : engine.rules()) releases.insert(rule.since);
  for (const std::string& release : releases) {
    other.request.engine_version = release;
    if (!release.empty() && agrees_with(other, "--engine " + std::string(engine.name) + "@" + release)) return;
  }
}

LogCheck check_log(const ModelSpec& model, const Request& base, const LogReading& reading) {
  if (reading.observations.empty())
    fail("kvplan knows no line of this log", "give the start-up log of vLLM, SGLang, llama.cpp or TensorRT-LLM");
  LogRequest stated = read_request(reading, base);
  // If the checkpoint declares no weight type, the log's type is used.
  if (!stated.request.weights && !is_declared(model.quantization) && model.stored.empty() && !model.is_gguf)
    stated.request.weights = weight_type_of(reading.options);
  // The file is from before GGUFs had keys for latents, so its cache also has values.
  ModelSpec loaded = model;
  if (log_of(engine_of(stated.request)).by_device && reading.first("v_cache").value_or(0) > 0)
    loaded.expanded_latents = true;
  LogCheck out;
  try {
    out = check_against(loaded, stated, reading);
  } catch (const Error&) {
    // The local checkpoint may lack the MTP layers.
    if (!stated.request.mtp || base.mtp) throw;
    stated.request.mtp = false;
    stated.request.num_speculative_tokens = base.num_speculative_tokens;
    stated.assumed.emplace_back("the log's drafting method is left out: the model has no layers for it");
    stated.assumes_cache = true;
    out = check_against(loaded, stated, reading);
  }
  if (rests_on_assumptions(out)) out = by_figures(loaded, stated, reading, std::move(out));
  if (out.disagreements > 0) by_neighbour(loaded, stated, reading, out);
  explain(loaded, stated, reading, out);
  out.total = log_total(reading, out.plan);
  add_remarks(reading, out);
  return out;
}

std::vector<CalibrationRecord> calibration_of_log(const ModelSpec& model, const LogCheck& check,
                                                  std::string_view date) {
  const Request& request = check.plan.request;
  CalibrationRecord of_model;
  of_model.device = request.card.name_or("");
  of_model.engine = engine_of(request).name;
  of_model.engine_version = check.plan.engine_version;
  of_model.source = "log";
  of_model.date = date;
  CalibrationRecord of_layout = of_model;
  of_model.model = calibration_subject(engine_input(model, request));
  of_layout.model = calibration_layout(request);
  for (const LogLine& line : check.lines) {
    const std::string_view what = line.seen.what;
    if (line.seen.unit != LogUnit::kGibibytes && line.seen.unit != LogUnit::kMebibytes) continue;
    const double bytes = line.seen.bytes();
    if (!(bytes >= 0 && bytes < 1e15)) continue;
    // Each rank or GPU has its own figure. llama.cpp's buffers in host memory belong to no GPU.
    if (what == "activation" || (what == "compute_buffer" && !is_host_device(line.seen.device)))
      of_model.add(kActivationFigure, bytes);
    if (what == "cuda_graphs") of_model.add(kGraphsFigure, bytes);
    if (what == "non_torch") of_layout.add(kNonTorchFigure, bytes);
  }
  std::vector<CalibrationRecord> out;
  for (const CalibrationRecord* record : {&of_model, &of_layout})
    if (!record->figures.empty()) out.push_back(*record);
  if (out.empty())
    fail("--save-calibration: the log prints no activations, no memory outside PyTorch and no CUDA graphs",
         "give a start-up log with these lines");
  return out;
}

}  // namespace kvplan
