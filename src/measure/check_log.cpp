#include "measure/check_log.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "measure/log_total.h"
#include "weights/weigh.h"

namespace kvplan {

namespace {

// "0.8.3", "0.6.4.post1", "0.9.1.dev287+g89b1388d8" -> "0.8": what the table of engines knows.
std::string release_of(std::string_view version) {
  std::string out;
  int dots = 0;
  for (const char c : version) {
    if (c == '.' && ++dots == 2) break;
    if ((c < '0' || c > '9') && c != '.') break;
    out += c;
  }
  while (!out.empty() && out.back() == '.') out.pop_back();
  return out;
}

// The figure of `what` that the plan rests on: the smallest over ranks (engines take the minimum).
std::optional<double> smallest(const LogReading& reading, std::string_view what) {
  std::optional<double> out;
  for (const Observation& seen : reading.observations)
    if (seen.what == what && (!out || seen.value < *out)) out = seen.value;
  return out;
}

bool is_host(std::string_view device) {
  return device.starts_with("CPU") || device.find("Host") != std::string_view::npos || device.starts_with("AMX") ||
         device.starts_with("BLAS");
}

double sum_of(const GpuMemory& gpu, Section part, LineId kind, bool is) {
  double out = 0;
  for (const LedgerLine& line : gpu.lines)
    if (line.part == part && (line.id == kind) == is) out += static_cast<double>(line.bytes.count());
  return out;
}

struct Prediction {
  double bytes_or_count = 0;
  bool exact = false;
  std::string reason;
};

// What the plan says of a line; nothing where it says nothing.
class Predictor {
 public:
  Predictor(const LogReading& reading, const Plan& plan, const Plan& with_card)
      : plan_(plan),
        card_(with_card),
        gpu_(plan.memory.front()),
        counts_all_(smallest(reading, "initial_usage").has_value()) {}

  std::optional<Prediction> of(const Observation& seen) const {
    const std::string_view what = seen.what;
    const GpuMemory* gpu = gpu_of(seen.device);
    const auto bytes = [](double value, bool exact, std::string reason = "") {
      return Prediction{value, exact, std::move(reason)};
    };
    if (what == "weights" && gpu_.weights && seen.device.empty())
      return bytes(static_cast<double>(gpu_.weights->count()), false, "as loaded: engines repack some types");
    if (what == "consumed" && gpu_.weights)
      return bytes(static_cast<double>(gpu_.weights->count()) + sum_of(gpu_, Section::kRuntime, LineId::kGraphs, false),
                   false, "weights, context and libraries: an estimate");
    if (what == "activation" && gpu_.activation)
      return bytes(static_cast<double>(gpu_.activation->count()), false, "the peak of the profiling run: an estimate");
    if (what == "weights" && !seen.device.empty() && gpu != nullptr && gpu->weights && *gpu->weights > Bytes(kSmall) &&
        seen.bytes() > static_cast<double>(kSmall))
      return bytes(static_cast<double>(gpu->weights->count()), false, "by the order of the layers");
    if (what == "compute_buffer" && gpu != nullptr && gpu->activation)
      return bytes(static_cast<double>(gpu->activation->count()), false, "an estimate");
    // Until 0.6.4 it was all that the driver counted, the context and other processes included.
    if (what == "non_torch" && !counts_all_)
      return bytes(sum_of(gpu_, Section::kRuntime, LineId::kGraphs, false), false,
                   "context and libraries: an estimate");
    if (what == "cuda_graphs" || what == "cuda_graphs_estimated")
      return bytes(sum_of(gpu_, Section::kRuntime, LineId::kGraphs, true), false, "by captured sizes: an estimate");
    if (what == "kv_budget" && card_.capacity && !card_.request.kv_cache_memory_bytes)
      return bytes(static_cast<double>(card_.capacity->kv_cache_memory.count()), false,
                   "what utilization leaves after the estimates above");
    if (what == "num_blocks" && plan_.capacity && plan_.capacity->num_blocks)
      return Prediction{static_cast<double>(*plan_.capacity->num_blocks), true, "of the printed KV budget"};
    if (what == "kv_tokens" && plan_.capacity && plan_.capacity->tokens)
      return Prediction{static_cast<double>(*plan_.capacity->tokens), true, "of the printed KV budget"};
    if (what == "max_concurrency" && plan_.capacity)
      return Prediction{plan_.capacity->max_concurrency, true, "at the printed length"};
    if (what == "block_size" && plan_.kv_cache.block_size)
      return Prediction{static_cast<double>(*plan_.kv_cache.block_size), true, ""};
    if (what == "max_model_len")
      return Prediction{static_cast<double>(plan_.load.max_model_len.count()), true, "read from the log"};
    if (what == "kv_total") return bytes(sum_of_all(LineId::kStates, false), true);
    if (what == "state_buffer" && gpu != nullptr)
      return bytes(sum_of(*gpu, Section::kKvCache, LineId::kStates, true), true);
    if (what == "kv_buffer" && gpu != nullptr)  // builds differ in which layers a part of them is
      return bytes(sum_of(*gpu, Section::kKvCache, LineId::kStates, false), !plan_.request.gpu_layers);
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kSmall = 16 * kMiB;  // norms beside the split matrices

  // Of llama.cpp's names ("CUDA1", "CUDA1_Split", "Metal"); null for host memory.
  const GpuMemory* gpu_of(std::string_view device) const {
    if (device.empty()) return &gpu_;
    if (is_host(device)) return nullptr;
    std::string_view name = device.substr(0, device.find("_Split"));
    std::size_t at = name.size();
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
    std::size_t index = 0;
    for (const char c : name.substr(at).substr(0, 3)) index = index * 10 + static_cast<std::size_t>(c - '0');
    return index < plan_.memory.size() ? &plan_.memory[index] : nullptr;
  }

  double sum_of_all(LineId kind, bool is) const {
    double out = 0;
    for (const GpuMemory& gpu : plan_.memory) out += sum_of(gpu, Section::kKvCache, kind, is);
    if (plan_.request.engine == "llama.cpp" || plan_.request.engine == "ollama")
      for (const LedgerLine& line : plan_.host)
        if (line.part == Section::kKvCache && (line.id == kind) == is) out += static_cast<double>(line.bytes.count());
    return out;
  }

  const Plan& plan_;
  const Plan& card_;
  const GpuMemory& gpu_;
  bool counts_all_;
};

double in_unit(double value, LogUnit unit) {
  if (unit == LogUnit::kGibibytes) return value / kGiB;
  if (unit == LogUnit::kMebibytes) return value / kMiB;
  return value;
}

// The last digit that the line prints.
double last_digit(const Observation& seen) {
  return seen.unit == LogUnit::kGibibytes || seen.unit == LogUnit::kMebibytes || seen.unit == LogUnit::kTimes ? 0.01
                                                                                                              : 1;
}

void add_remarks(const LogReading& reading, LogCheck& out) {
  std::map<std::string_view, std::set<double>> values;
  for (const Observation& seen : reading.observations)
    if (seen.device.empty()) values[seen.what].insert(seen.value);
  const auto several = [&](std::string_view what) { return values.count(what) > 0 && values[what].size() > 1; };
  if (const auto budget = smallest(reading, "kv_budget"); budget && *budget <= 0)
    out.remarks.push_back("the log's budget for the cache is not positive: the engine had nothing left for it");
  if (several("num_blocks") || several("kv_tokens"))
    out.remarks.push_back("ranks (or two runs in one log) print different capacities: the smallest is what serves");
  if (out.options.engine == "vllm" && values.count("kv_tokens") > 0 && out.plan.kv_cache.groups.size() > 1)
    out.remarks.push_back(
        "\"GPU KV cache size\" of a model with several kinds of layers is no capacity before vLLM 0.21: it is blocks / "
        "groups * block size; from 0.21 on it is concurrency * length");
}

bool is_llama(const Request& request) {
  return request.engine == "llama.cpp" || request.engine == "ollama";
}

// Where no line names the release: V0 alone counts CPU blocks, and what the start-up says of graphs came with releases.
std::string vllm_release_by_form(const LogReading& reading) {
  const auto has = [&](std::string_view what) { return smallest(reading, what).has_value(); };
  if (has("cpu_blocks") || has("peak_torch")) return "0.8";
  if (has("cuda_graphs_estimated")) return "";
  if (has("kv_tokens") && !has("kv_budget")) return "0.9";  // the budget has been printed since
  return has("free_memory") ? "0.11" : "";
}

// "4277", "b4277" -> "b4277"; a build of the time where only its lines tell.
std::string llama_build_of(const LogOptions& options) {
  std::string digits = options.version.starts_with('b') ? options.version.substr(1) : options.version;
  const bool is_number = !digits.empty() && digits.size() < 8 &&
                         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) return "b" + digits;
  return options.old_llama ? "b4000" : "";
}

// The GPUs of a llama.cpp log, and the layers on them.
void place_by_log(const LogReading& reading, Request& out) {
  std::set<std::string> devices;
  for (const Observation& seen : reading.observations)
    if (seen.what == "weights" && !seen.device.empty() && !is_host(seen.device))
      devices.insert(seen.device.substr(0, seen.device.find("_Split")));
  if (!out.layout_given && devices.size() > 1) {
    out.pipeline_parallel = devices.size();
    out.layout_given = true;
  }
  const auto on_gpu = smallest(reading, "layers_on_gpu");
  const auto all = smallest(reading, "layers_total");
  if (!out.gpu_layers && on_gpu && all && *on_gpu < *all && *on_gpu >= 0)
    out.gpu_layers = static_cast<std::uint64_t>(*on_gpu);
}

// "Q4_K - Medium" -> "q4_k_m", "awq_marlin" -> "awq"; nothing where the table of types has no such name.
std::optional<std::string> weight_type_of(const LogOptions& options) {
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

}  // namespace

double LogLine::difference() const {
  if (!predicted || *predicted == seen.value) return 0;
  if (seen.value == 0) return *predicted > 0 ? 1 : -1;  // as good as all of it
  return *predicted / seen.value - 1;
}

Request request_of_log(const LogReading& reading, const Request& base) {
  Request out = base;
  const LogOptions& options = reading.options;
  if (out.engine == "logical") {
    if (options.engine.empty()) fail("no line of the log tells which engine wrote it", "name it with --engine");
    const std::string release = release_of(options.version);
    find_engine(options.engine, out);
    if (options.engine == "vllm" && !release.empty()) out.engine_version = release;
  }
  if (out.engine == "vllm" && out.engine_version.empty() && options.version.empty())
    out.engine_version = vllm_release_by_form(reading);
  if (!out.layout_given && !options.tensor_parallel && options.worker_processes > 1 && out.engine == "vllm") {
    out.tensor_parallel = options.worker_processes;
    out.layout_given = true;
  }
  if (is_llama(out)) place_by_log(reading, out);
  if (out.engine == "llama.cpp" && out.engine_version.empty()) out.engine_version = llama_build_of(options);
  if (!out.layout_given && options.tensor_parallel && *options.tensor_parallel <= 4096) {
    out.tensor_parallel = *options.tensor_parallel;
    out.layout_given = true;
  }
  if (!out.max_model_len && !out.ctx_size && options.max_model_len) out.max_model_len = Tokens(*options.max_model_len);
  if (base.num_seqs == 1 && options.num_seqs) out.num_seqs = *options.num_seqs;
  if (!out.batch && options.n_batch) out.batch = options.n_batch;
  if (!out.ubatch && options.n_ubatch) out.ubatch = options.n_ubatch;
  if (!out.memory_utilization && options.memory_utilization) out.memory_utilization = options.memory_utilization;
  if (!out.cache_type_k && !options.cache_type_k.empty()) out.cache_type_k = find_dtype(options.cache_type_k);
  if (!out.cache_type_v && !options.cache_type_v.empty()) out.cache_type_v = find_dtype(options.cache_type_v);
  if (!out.cache_type_k && !options.kv_cache_dtype.empty() && options.kv_cache_dtype != "auto")
    out.cache_type_k = out.cache_type_v = find_dtype(options.kv_cache_dtype);
  if (!out.dtype && !options.dtype.empty())
    if (const auto type = find_dtype(options.dtype); type && plain_bytes(*type) >= 2) out.dtype = type;
  if (options.enforce_eager.value_or(false)) out.enforce_eager = true;
  if (!out.max_num_seqs && options.max_num_seqs) out.max_num_seqs = options.max_num_seqs;
  if (!out.max_num_batched_tokens && options.max_num_batched_tokens)
    out.max_num_batched_tokens = Tokens(*options.max_num_batched_tokens);
  // Without chunks vLLM profiles one prompt of the full length.
  constexpr std::uint64_t kLeast = 2048;
  if (!out.max_num_batched_tokens && out.engine == "vllm" && !options.chunked_prefill.value_or(true) &&
      out.max_model_len)
    out.max_num_batched_tokens = Tokens(std::max(kLeast, out.max_model_len->count()));
  if (options.flash_attention && out.flash_attention == FlashAttention::kAuto)
    out.flash_attention = *options.flash_attention ? FlashAttention::kOn : FlashAttention::kOff;
  return out;
}

LogCheck check_log(const ModelSpec& model, const Request& base, const LogReading& reading) {
  if (reading.observations.empty())
    fail("no line of the log is one that kvplan knows",
         "give the start-up log of vLLM, SGLang, llama.cpp or TensorRT-LLM");
  Request request = request_of_log(reading, base);
  // What the log says of the weights, where the checkpoint at hand says nothing.
  if (!request.weights && !is_declared(model.quantization) && model.stored.empty() && !model.is_gguf)
    request.weights = weight_type_of(reading.options);
  LogCheck out;
  out.options = reading.options;
  // One plan with the card, for what utilization leaves; one with the printed budget, for what it holds.
  Request with_card = request;
  if (!with_card.gpu && !with_card.gpu_memory)
    if (const auto memory = smallest(reading, "gpu_memory"); memory && *memory > 0 && *memory < 1e6)
      with_card.gpu_memory = Bytes(static_cast<std::uint64_t>(*memory * kGiB));
  const Plan card = make_plan(model, with_card);
  Request with_budget = request;
  if (!with_budget.kv_cache_memory_bytes)
    if (const auto budget = smallest(reading, "kv_budget"); budget && *budget > 0 && *budget < 1e6)
      with_budget.kv_cache_memory_bytes = Bytes(static_cast<std::uint64_t>(*budget * kGiB));
  out.plan = with_budget.kv_cache_memory_bytes ? make_plan(model, with_budget) : card;

  const Predictor predictor(reading, out.plan, card);
  // A budget printed with two decimals leaves that much play in what it holds.
  double budget_play = 0;
  if (const auto budget = smallest(reading, "kv_budget"); budget && *budget > 0) budget_play = 0.005 / *budget;
  for (const Observation& seen : reading.observations) {
    LogLine line{seen, std::nullopt, false, ""};
    if (const auto prediction = predictor.of(seen)) {
      line.predicted = in_unit(prediction->bytes_or_count, seen.unit);
      line.exact = prediction->exact;
      line.reason = prediction->reason;
      const double play = (0.01 + budget_play) * std::fabs(seen.value) + last_digit(seen);
      const bool agrees = std::fabs(*line.predicted - seen.value) <= play;
      if (line.exact) ++out.compared;
      if (line.exact && !agrees) ++out.disagreements;
    }
    out.lines.push_back(std::move(line));
  }
  out.total = log_total(reading, out.plan);
  add_remarks(reading, out);
  return out;
}

std::vector<CalibrationRecord> calibration_of_log(const ModelSpec& model, const LogCheck& check,
                                                  std::string_view date) {
  const Request& request = check.plan.request;
  CalibrationRecord of_model;
  of_model.device = request.gpu.value_or("");
  of_model.engine = request.engine;
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
    // A figure for each rank or card; llama.cpp's buffers in host memory are none of a card's.
    if (what == "activation" || (what == "compute_buffer" && !is_host(line.seen.device)))
      of_model.add(kActivationFigure, bytes);
    if (what == "cuda_graphs") of_model.add(kGraphsFigure, bytes);
    if (what == "non_torch") of_layout.add(kNonTorchFigure, bytes);
  }
  std::vector<CalibrationRecord> out;
  for (const CalibrationRecord* record : {&of_model, &of_layout})
    if (!record->figures.empty()) out.push_back(*record);
  if (out.empty())
    fail("--save-calibration: the log prints no activation, no memory outside of PyTorch and no graphs",
         "give a start-up log with these lines");
  return out;
}

}  // namespace kvplan
