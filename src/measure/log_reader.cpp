// The lines that engines print of their memory, by release. Source: recorded start-up logs of public issue threads.
//
// Units are the true ones: vLLM's older "GB" and SGLang's "GB" are 2^30 bytes. "Loading weights took 2.75 seconds" is
// no size, and no pattern of this table matches it.
#include "measure/log_reader.h"

#include <array>
#include <set>

#include "kvplan/numbers.h"
#include "measure/line_template.h"
#include "measure/log_events.h"

namespace kvplan {

namespace {

enum class DeviceRule { kNone, kWordBefore, kOllama };

// A figure stands behind `anchor`, in a line that also holds `context`.
struct Pattern {
  std::string_view engine, context, anchor, what;
  LogUnit unit;
  DeviceRule device = DeviceRule::kNone;
};

using enum LogUnit;

constexpr Pattern kPatterns[] = {
    // vLLM, V0 and early V1
    Pattern{"vllm", "", "Loading model weights took ", "weights", kGibibytes},
    Pattern{"vllm", "", "Model loading took ", "weights", kGibibytes},
    Pattern{"vllm", "", "total_gpu_memory=", "gpu_memory", kGibibytes},
    Pattern{"vllm", "", "initial_memory_usage=", "initial_usage", kGibibytes},
    Pattern{"vllm", "", "peak_torch_memory=", "peak_torch", kGibibytes},
    Pattern{"vllm", "", "memory_usage_post_profile=", "usage_after_profile", kGibibytes},
    Pattern{"vllm", "peak_torch_memory=", "non_torch_memory=", "non_torch", kGibibytes},
    Pattern{"vllm", "peak_torch_memory=", "kv_cache_size=", "kv_budget", kGibibytes},
    Pattern{"vllm", "peak_torch_memory=", "gpu_memory_utilization=", "gpu_memory_utilization", kShare},
    Pattern{"vllm", "", "total_gpu_memory (", "gpu_memory", kGibibytes},
    Pattern{"vllm", "total_gpu_memory (", "gpu_memory_utilization (", "gpu_memory_utilization", kShare},
    Pattern{"vllm", "total_gpu_memory (", ") = ", "requested_memory", kGibibytes},
    Pattern{"vllm", "", "model weights take ", "weights", kGibibytes},
    Pattern{"vllm", "", "non_torch_memory takes ", "non_torch", kGibibytes},
    Pattern{"vllm", "", "PyTorch activation peak memory takes ", "activation", kGibibytes},
    Pattern{"vllm", "", "reserved for KV Cache is ", "kv_budget", kGibibytes},
    Pattern{"vllm", "", "# GPU blocks: ", "num_blocks", kBlocks},
    Pattern{"vllm", "", "# cuda blocks: ", "num_blocks", kBlocks},
    Pattern{"vllm", "", "# rocm blocks: ", "num_blocks", kBlocks},
    Pattern{"vllm", "", "# CPU blocks: ", "cpu_blocks", kBlocks},
    Pattern{"vllm", "", "Maximum concurrency for ", "max_model_len", kTokens},
    Pattern{"vllm", "Maximum concurrency for ", " per request: ", "max_concurrency", kTimes},
    Pattern{"vllm", "", "Graph capturing finished in ", "", kGibibytes},  // the seconds
    Pattern{"vllm", "Graph capturing finished in ", " took ", "cuda_graphs", kGibibytes},
    Pattern{"vllm", "", "Estimated CUDA graph memory: ", "cuda_graphs_estimated", kGibibytes},
    // vLLM, V1
    Pattern{"vllm", "", "GPU KV cache size: ", "kv_tokens", kTokens},
    Pattern{"vllm", "", "Available KV cache memory: ", "kv_budget", kGibibytes},
    Pattern{"vllm", "", "Free memory on device (", "free_memory", kGibibytes},
    Pattern{"vllm", "on startup. Desired", "/", "gpu_memory", kGibibytes},
    Pattern{"vllm", "Free memory on device (", "GPU memory utilization is (", "gpu_memory_utilization", kShare},
    Pattern{"vllm", " for weight, ", "Actual usage is ", "weights", kGibibytes},
    // since 0.26: weights and what is outside PyTorch are one figure
    Pattern{"vllm", " for consumed memory (weights + non-torch), ", "Actual usage is ", "consumed", kGibibytes},
    Pattern{"vllm", "Free memory on device (", " for consumed memory (weights + non-torch), ", "activation",
            kGibibytes},
    Pattern{"vllm", "Free memory on device (", " for peak activation, and ", "cuda_graphs", kGibibytes},
    Pattern{"vllm", "Free memory on device (", " for weight, ", "activation", kGibibytes},
    Pattern{"vllm", "Free memory on device (", " for peak activation, ", "non_torch", kGibibytes},
    Pattern{"vllm", "Free memory on device (", " for non-torch memory, and ", "cuda_graphs", kGibibytes},
    Pattern{"vllm", "", "Setting attention block size to ", "block_size", kTokens},
    Pattern{"vllm", "", "estimated maximum model length is ", "max_model_len_estimated", kTokens},
    Pattern{"vllm", "KV cache is needed", "max seq len (", "max_model_len", kTokens},

    // SGLang
    Pattern{"sglang", "Load weight begin", "avail mem=", "available_before_weights", kGibibytes},
    Pattern{"sglang", "Load weight end", "avail mem=", "available_after_weights", kGibibytes},
    Pattern{"sglang", "Load weight end", "mem usage=", "weights", kGibibytes},
    Pattern{"sglang", "Memory pool end", "avail mem=", "available_after_pool", kGibibytes},
    Pattern{"sglang", "Capture cuda graph begin", "avail mem=", "available_before_graphs", kGibibytes},
    Pattern{"sglang", "Capture cuda graph end", "avail mem=", "available_after_graphs", kGibibytes},
    Pattern{"sglang", "Capture cuda graph end", "mem usage=", "cuda_graphs", kGibibytes},
    Pattern{"sglang", "Init torch distributed end", "mem usage=", "distributed_init", kGibibytes},
    Pattern{"sglang", "KV Cache is allocated", "#tokens: ", "kv_tokens", kTokens},
    Pattern{"sglang", "KV Cache is allocated", "K size: ", "k_bytes", kGibibytes},
    Pattern{"sglang", "KV Cache is allocated", ", V size: ", "v_bytes", kGibibytes},
    Pattern{"sglang", "KV Cache is allocated", "KV size: ", "kv_bytes", kGibibytes},
    Pattern{"sglang", "Mamba Cache is allocated", "conv_state size: ", "conv_bytes", kGibibytes},
    Pattern{"sglang", "Mamba Cache is allocated", "ssm_state size: ", "state_bytes", kGibibytes},
    Pattern{"sglang", "", "max_total_num_tokens=", "kv_tokens", kTokens},

    // TensorRT-LLM
    Pattern{"tensorrt-llm", "", "Number of tokens per block: ", "block_size", kTokens},
    Pattern{"tensorrt-llm", "for max tokens in paged KV cache", "Allocated ", "kv_bytes", kGibibytes},
    Pattern{"tensorrt-llm", "", "max tokens in paged KV cache (", "kv_tokens", kTokens},
    Pattern{"tensorrt-llm", "for execution context memory", "Allocated ", "activation", kMebibytes},
    Pattern{"tensorrt-llm", "", "Loaded engine size: ", "weights", kMebibytes},
    Pattern{"tensorrt-llm", "", "Number of blocks in KV cache primary pool: ", "num_blocks", kBlocks},

    // ollama's own lines
    Pattern{"ollama", "msg=\"model weights\"", "size=\"", "weights", kGibibytes, DeviceRule::kOllama},
    Pattern{"ollama", "msg=\"kv cache\"", "size=\"", "kv_buffer", kGibibytes, DeviceRule::kOllama},
    Pattern{"ollama", "msg=\"compute graph\"", "size=\"", "compute_buffer", kGibibytes, DeviceRule::kOllama},
    Pattern{"ollama", "msg=\"total memory\"", "size=\"", "total", kGibibytes},

    // llama.cpp, oldest to newest spellings
    Pattern{"llama.cpp", "model size", "model size       = ", "file_size", kGibibytes},
    Pattern{"llama.cpp", "", "file size   = ", "file_size", kGibibytes},
    Pattern{"llama.cpp", "layers to GPU", "offloaded ", "layers_on_gpu", kLayers},
    Pattern{"llama.cpp", "layers to GPU", "/", "layers_total", kLayers},
    Pattern{"llama.cpp", "", " KV buffer size =", "kv_buffer", kMebibytes, DeviceRule::kWordBefore},
    Pattern{"llama.cpp", "", " RS buffer size =", "state_buffer", kMebibytes, DeviceRule::kWordBefore},
    Pattern{"llama.cpp", "", " compute buffer size =", "compute_buffer", kMebibytes, DeviceRule::kWordBefore},
    Pattern{"llama.cpp", "", " compute buffer size is ", "compute_buffer", kMebibytes, DeviceRule::kWordBefore},
    Pattern{"llama.cpp", "", " output buffer size =", "output_buffer", kMebibytes, DeviceRule::kWordBefore},
    Pattern{"llama.cpp", "load_tensors:", " model buffer size =", "weights", kMebibytes, DeviceRule::kWordBefore},
    Pattern{"llama.cpp", "load_tensors:", " buffer size =", "weights", kMebibytes, DeviceRule::kWordBefore},
    Pattern{"llama.cpp", "KV self size", "KV self size  = ", "kv_total", kMebibytes},
    Pattern{"llama.cpp", "llama_kv_cache", ": size = ", "kv_total", kMebibytes},
    Pattern{"llama.cpp", "projected to use ", "projected to use ", "total", kMebibytes},
    Pattern{"llama.cpp", "projected to use ", "device memory vs. ", "free_memory", kMebibytes},
    Pattern{"llama.cpp", "", " n_seq_max     = ", "n_seq_max", kSequences},
};

// llama.cpp aligns "n_ctx         = 2048" differently from release to release: the name, blanks, '='.
struct Setting {
  std::string_view name, what;
  LogUnit unit;
};
constexpr std::array kSettings{
    Setting{"n_ctx", "n_ctx", kTokens},         Setting{"n_ctx_per_seq", "n_ctx_seq", kTokens},
    Setting{"n_ctx_seq", "n_ctx_seq", kTokens}, Setting{"n_batch", "n_batch", kTokens},
    Setting{"n_ubatch", "n_ubatch", kTokens},
};
constexpr std::array kSettingFrames{
    std::string_view("llama_new_context_with_model: "),
    std::string_view("llama_init_from_model: "),
    std::string_view("llama_context: "),
};

// ANSI colour and other escapes out of the way.
std::string without_escapes(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && !(line[i] >= '@' && line[i] <= '~')) ++i;
    }
  }
  return out;
}

struct Number {
  double value = 0;
  std::string_view rest;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Three digits and no more stand behind a comma of "1,234,567".
bool separates_thousands(std::string_view behind) {
  return behind.size() >= 3 && is_digit(behind[0]) && is_digit(behind[1]) && is_digit(behind[2]) &&
         (behind.size() == 3 || !is_digit(behind[3]));
}

constexpr std::size_t kMostDigits = 24;

// A number with thousands separators, behind blanks. Nothing where it has more digits than any log prints.
std::optional<Number> leading_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::string digits;
  std::size_t used = 0;
  for (; used < text.size() && digits.size() < kMostDigits; ++used) {
    const char c = text[used];
    const bool next_is_digit = used + 1 < text.size() && is_digit(text[used + 1]);
    if (is_digit(c))
      digits += c;
    else if (c == '.' && next_is_digit && digits.find('.') == std::string::npos)
      digits += c;
    else if (c == '-' && used == 0 && next_is_digit)
      digits += c;
    else if (c != ',' || digits.empty() || !separates_thousands(text.substr(used + 1)))
      break;
  }
  if (digits.empty() || digits.size() >= kMostDigits) return std::nullopt;
  Number out;
  const auto [after, error] = parse_real(digits, out.value);
  if (error != std::errc()) return std::nullopt;
  out.rest = text.substr(used);
  return out;
}

// The figure in the unit that the line prints, where it prints one; GB is 2^30 here.
void take_figure(const Number& figure, LogUnit expected, Observation& out) {
  out.value = figure.value;
  out.unit = expected;
  if (expected != kGibibytes && expected != kMebibytes) return;
  std::string_view rest = figure.rest;
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const auto is = [&](std::string_view binary, std::string_view plain) {
    return rest.starts_with(binary) || rest.starts_with(plain);
  };
  if (is("GiB", "GB") || is("TiB", "TB")) out.unit = kGibibytes;
  if (is("MiB", "MB") || is("KiB", "KB")) out.unit = kMebibytes;
  if (is("TiB", "TB")) out.value *= 1024;
  if (is("KiB", "KB")) out.value /= 1024;
}

std::string word_before(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto space = text.find_last_of(" \t");
  return std::string(space == std::string_view::npos ? text : text.substr(space + 1));
}

std::string ollama_device(std::string_view line) {
  const auto at = line.find("device=");
  if (at == std::string_view::npos) return "";
  std::string_view rest = line.substr(at + 7);
  return std::string(rest.substr(0, rest.find(' ')));
}

// "TP3]" of SGLang, "Worker_TP1 " of vLLM.
std::optional<std::uint64_t> rank_of(std::string_view line) {
  for (const std::string_view mark : {std::string_view("Worker_TP"), std::string_view(" TP")}) {
    const auto at = line.find(mark);
    if (at == std::string_view::npos) continue;
    if (const auto rank = whole_number(line.substr(at + mark.size())); rank && *rank < 4096) return rank;
  }
  return std::nullopt;
}

std::optional<std::string> word_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + key.size());
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\'' || rest.front() == '"' || rest.front() == '='))
    rest.remove_prefix(1);
  return std::string(rest.substr(0, rest.find_first_of(" ,)'\"\n")));
}

void set_count(std::optional<std::uint64_t>& field, std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return;
  const auto number = leading_number(line.substr(at + key.size()));
  if (number && number->value >= 1 && number->value < 1e15) field = static_cast<std::uint64_t>(number->value);
}

void set_word(std::string& field, std::string_view line, std::string_view key) {
  if (!field.empty()) return;
  if (auto word = word_after(line, key); word && !word->empty() && *word != "None") field = *word;
}

std::string without_torch(std::string word) {
  if (word.starts_with("torch.")) word.erase(0, 6);
  return word;
}

void read_options(std::string_view line, LogOptions& options) {
  // vLLM's engine line, SGLang's ServerArgs.
  if (line.find("LLM engine (v") != std::string_view::npos) set_word(options.version, line, "LLM engine (v");
  set_word(options.version, line, "vLLM API server version ");
  set_word(options.version, line, "vLLM version ");
  for (const std::string_view key : {"tensor_parallel_size=", "tp_size="})
    set_count(options.tensor_parallel, line, key);
  for (const std::string_view key : {"max_seq_len=", "max_model_len=", "context_len="})
    if (!options.max_model_len) set_count(options.max_model_len, line, key);
  set_word(options.kv_cache_dtype, line, "kv_cache_dtype=");
  set_word(options.quantization, line, "quantization=");
  if (options.dtype.empty()) {
    set_word(options.dtype, line, " dtype=");
    options.dtype = without_torch(options.dtype);
  }
  for (const std::string_view key : {"mem_fraction_static=", "gpu_memory_utilization="}) {
    const auto at = line.find(key);
    if (at == std::string_view::npos) continue;
    if (const auto number = leading_number(line.substr(at + key.size()));
        number && number->value > 0 && number->value <= 1)
      options.memory_utilization = number->value;
  }
  if (const auto word = word_after(line, "enforce_eager=")) options.enforce_eager = *word == "True";
  if (const auto word = word_after(line, "chunked_prefill_enabled=")) options.chunked_prefill = *word == "True";
  if (!options.max_num_seqs) set_count(options.max_num_seqs, line, "max_num_seqs=");
  // SGLang's chunk and vLLM's batch are one thing to a plan.
  for (const std::string_view key : {"max_num_batched_tokens=", "chunked_prefill_size="})
    if (!options.max_num_batched_tokens) set_count(options.max_num_batched_tokens, line, key);
  // llama.cpp
  for (const std::string_view key : {"model ftype      = ", "file type   = "})
    if (const auto at = line.find(key); at != std::string_view::npos && options.file_type.empty()) {
      options.file_type = std::string(line.substr(at + key.size()));
      while (!options.file_type.empty() && static_cast<unsigned char>(options.file_type.back()) <= ' ')
        options.file_type.pop_back();
    }
  if (line.find("llama_new_context_with_model") != std::string_view::npos) options.old_llama = true;
  set_word(options.version, line, "build: ");
  if (const auto word = word_after(line, "flash_attn")) {
    if (*word == "1" || *word == "enabled" || *word == "on") options.flash_attention = true;
    if (*word == "0" || *word == "disabled" || *word == "off") options.flash_attention = false;
  }
  for (const auto& [key, field] : {std::pair(std::string_view(" K ("), &options.cache_type_k),
                                   std::pair(std::string_view(" V ("), &options.cache_type_v)})
    if (line.find("llama_") != std::string_view::npos) set_word(*field, line, key);
}

void read_settings(std::string_view line, std::size_t number, LogReading& out) {
  for (const std::string_view frame : kSettingFrames) {
    const auto at = line.find(frame);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + frame.size());
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    for (const Setting& setting : kSettings) {
      if (!rest.starts_with(setting.name)) continue;
      std::string_view value = rest.substr(setting.name.size());
      while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
      if (value.empty() || value.front() != '=') continue;
      if (const auto figure = leading_number(value.substr(1)))
        out.observations.push_back({number, setting.what, figure->value, setting.unit, "", std::nullopt});
    }
  }
}

void read_line(std::string_view line, std::size_t number, LogReading& out) {
  const std::optional<std::uint64_t> rank = rank_of(line);
  std::size_t weights_at = std::string_view::npos;  // "model buffer size" also ends in "buffer size"
  for (const Pattern& pattern : kPatterns) {
    const std::string_view context = pattern.context, anchor = pattern.anchor, what = pattern.what;
    if (!context.empty() && line.find(context) == std::string_view::npos) continue;
    std::size_t from = 0;
    // A second figure of the same line stands behind the first.
    if (anchor == "/" || anchor == " took ") {
      const std::string_view first = anchor == " took "         ? "Graph capturing finished in "
                                     : pattern.engine == "vllm" ? "Free memory on device ("
                                                                : "offloaded ";
      from = line.find(first);
      if (from == std::string_view::npos) continue;
    }
    const std::size_t at = line.find(anchor, from);
    if (at == std::string_view::npos || what.empty()) continue;
    const auto figure = leading_number(line.substr(at + anchor.size()));
    if (!figure) continue;
    if (what == "weights" && pattern.device == DeviceRule::kWordBefore) {
      if (weights_at != std::string_view::npos) continue;
      weights_at = at;
    }
    Observation seen{number, what, 0, pattern.unit, "", rank};
    take_figure(*figure, pattern.unit, seen);
    if (pattern.device == DeviceRule::kWordBefore) seen.device = word_before(line.substr(0, at));
    if (pattern.device == DeviceRule::kOllama) seen.device = ollama_device(line);
    // The older spelling of the budget has two figures in one pair of brackets: (0.9, 125.83 GiB).
    if (anchor == "GPU memory utilization is (") {
      out.observations.push_back(seen);
      if (figure->rest.starts_with(","))
        if (const auto second = leading_number(figure->rest.substr(1)))
          out.observations.push_back({number, "requested_memory", second->value, kGibibytes, "", rank});
      if (out.options.engine.empty()) out.options.engine = pattern.engine;
      continue;
    }
    if (out.options.engine.empty()) out.options.engine = pattern.engine;
    out.observations.push_back(std::move(seen));
  }
  read_settings(line, number, out);
}

void fill_options(LogReading& out) {
  LogOptions& options = out.options;
  for (const Observation& seen : out.observations) {
    const auto count = static_cast<std::uint64_t>(seen.value > 0 && seen.value < 1e15 ? seen.value : 0);
    if (seen.what == "max_model_len" && count > 0 && !options.max_model_len) options.max_model_len = count;
    if (seen.what == "n_ctx_seq" && count > 0) options.max_model_len = count;
    if (seen.what == "n_ctx" && count > 0 && !options.max_model_len) options.max_model_len = count;
    if (seen.what == "n_seq_max" && count > 0) options.num_seqs = count;
    if (seen.what == "n_batch" && count > 0) options.n_batch = count;
    if (seen.what == "n_ubatch" && count > 0) options.n_ubatch = count;
    if (seen.what == "block_size" && count > 0) options.block_size = count;
    if (seen.what == "gpu_memory_utilization" && seen.value > 0 && seen.value <= 1)
      options.memory_utilization = seen.value;
    if (seen.rank && (!options.tensor_parallel || *options.tensor_parallel <= *seen.rank))
      options.tensor_parallel = *seen.rank + 1;
  }
}

}  // namespace

namespace {

// The process of a worker: V0 has one for each rank but the driver's, Ray under V1 one for each rank.
void read_worker(std::string_view line, bool& is_v0, std::set<std::uint64_t>& workers) {
  for (const std::string_view key : {"(VllmWorkerProcess pid=", "(RayWorkerVllm pid=", "(RayWorkerWrapper pid="}) {
    const auto at = line.find(key);
    if (at == std::string_view::npos) continue;
    const auto pid = leading_number(line.substr(at + key.size()));
    if (!pid || pid->value < 1 || pid->value > 1e9 || workers.size() >= 4096) continue;
    workers.insert(static_cast<std::uint64_t>(pid->value));
  }
  if (line.find("CPU blocks:") != std::string_view::npos) is_v0 = true;
}

}  // namespace

LogReading read_log(std::string_view text) {
  LogReading out;
  bool is_v0 = false;
  std::set<std::uint64_t> workers;
  EventReader events;
  // A line of a log is short; a longer one is looked at in its first part only.
  constexpr std::size_t kLongest = 16384;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string line = without_escapes(text.substr(0, std::min(end, kLongest)));
    ++out.lines;
    events.line(plain_line(line), out.lines);
    read_options(line, out.options);
    read_line(line, out.lines, out);
    read_worker(line, is_v0, workers);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  if (!workers.empty()) out.options.worker_processes = workers.size() + (is_v0 ? 1 : 0);
  fill_options(out);
  out.events = events.finish();
  return out;
}

}  // namespace kvplan
