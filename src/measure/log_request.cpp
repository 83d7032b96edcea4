#include "measure/log_request.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/format_bytes.h"
#include "kvplan/numbers.h"
#include "measure/log_options.h"

namespace kvplan {

namespace {

std::optional<std::uint64_t> count(const LogReading& reading, std::string_view what) {
  const auto value = first_figure(reading, what);
  if (!value || !(*value >= 1 && *value < 1e15)) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

class Reader {
 public:
  Reader(const LogReading& reading, const Request& base) : log_(reading), options_(reading.options), base_(base) {
    out_.request = base;
  }

  LogRequest read() {
    read_engine();
    if (is_llama(out_.request))
      read_llama();
    else
      read_server();
    read_types();
    read_common();
    return std::move(out_);
  }

 private:
  Request& request() { return out_.request; }
  template <class Value>
  void note(std::string_view option, const Value& value) {
    if constexpr (std::is_arithmetic_v<Value>)
      out_.read.push_back(std::string(option) + " " + std::to_string(value));
    else
      out_.read.push_back(std::string(option) + " " + std::string(value));
  }
  void assume(std::string what, bool cache) {
    out_.assumed.push_back(std::move(what));
    (cache ? out_.assumes_cache : out_.assumes_batch) = true;
  }
  bool is_engine(std::string_view name) const { return engine_of(out_.request).name == name; }

  void read_engine() {
    if (engine_of(base_).is_logical) {
      if (options_.engine.empty()) fail("no line of the log tells which engine wrote it", "name it with --engine");
      find_engine(options_.engine, request());
    }
    if (!request().engine_version.empty()) return;
    if (is_engine("llama.cpp")) return read_build();
    const bool is_own = engine_of(request()).name == options_.engine;
    std::string release = is_own ? release_of(options_.version) : "";
    // vLLM's rules distinguish patch releases only for 0.20.
    if (is_engine("vllm") && (!release.starts_with("0.20.") || release == "0.20.0"))
      if (const std::size_t dot = release.rfind('.'); dot != release.find('.')) release.erase(dot);
    if (!release.empty()) {
      request().engine_version = release;
      note("--engine", std::string(engine_of(request()).name) + "@" + release);
      return;
    }
    // V0 or V1, the old or the new form of a line: the wording leaves a few releases.
    if (is_own) request().engine_version = options_.until;
    const std::string planned = request().engine_version.empty()
                                    ? std::string(engine_of(request()).versions.back().version)
                                    : request().engine_version;
    std::string says = "the log names no release";
    if (is_own && !options_.since.empty() && !options_.until.empty())
      says += ", its wording is of " + options_.since + " to " + options_.until;
    else if (is_own && !options_.since.empty())
      says += ", its wording is of " + options_.since + " or later";
    else if (is_own && !options_.until.empty())
      says += ", its wording is of " + options_.until + " or before";
    // Only vLLM's rules for the contents of a budget change by release.
    out_.assumed.push_back(says + ": " + planned + " assumed, name it with --engine " +
                           std::string(engine_of(request()).name) + "@RELEASE");
    out_.assumes_release = out_.assumes_batch = true;
  }

  // "4277", "b4277" -> "b4277"; a build of that time where only its lines tell.
  void read_build() {
    std::string digits = options_.version;
    if (digits.starts_with('b')) digits.erase(0, 1);
    const bool is_number = !digits.empty() && digits.size() < 8 &&
                           std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) {
      request().engine_version = "b" + digits;
      note("--engine", "llama.cpp@b" + digits);
    } else if (options_.old_llama) {
      request().engine_version = "b4000";
    }
  }

  // The GPUs in a llama.cpp log, and the layers on them.
  void place() {
    std::set<std::string> gpus;
    bool on_host = false;
    bool caches_on_gpu = false;
    bool caches = false;
    for (const Observation& seen : log_.observations) {
      if (seen.device.empty()) continue;
      const bool host = is_host_device(seen.device);
      if (seen.what == "kv_buffer") {
        caches = true;
        caches_on_gpu = caches_on_gpu || !host;
      }
      if (seen.what != "weights" && seen.what != "kv_buffer") continue;
      on_host = on_host || (host && seen.what == "weights");
      // "CUDA0_Split" and "Metal_Mapped" are ways of storing weights on one device.
      if (!host) gpus.insert(seen.device.substr(0, seen.device.find('_')));
    }
    if (!base_.parallel.given && gpus.size() > 1) {
      request().parallel.pipeline = gpus.size();
      request().parallel.given = true;
      note("-pp", gpus.size());
    }
    const auto on_gpu = first_figure(log_, "layers_on_gpu");
    const auto all = first_figure(log_, "layers_total");
    if (!base_.llama_cpp.gpu_layers && on_gpu && all && *on_gpu < *all && *on_gpu >= 0)
      request().llama_cpp.gpu_layers = static_cast<std::uint64_t>(*on_gpu);
    else if (!base_.llama_cpp.gpu_layers && gpus.empty() && on_host)
      request().llama_cpp.gpu_layers = 0;
    else if (caches && !caches_on_gpu && !gpus.empty() && !request().llama_cpp.gpu_layers)
      request().llama_cpp.no_kv_offload = true;
    if (request().llama_cpp.gpu_layers && !base_.llama_cpp.gpu_layers) note("-ngl", *request().llama_cpp.gpu_layers);
    if (request().llama_cpp.no_kv_offload && !base_.llama_cpp.no_kv_offload) out_.read.emplace_back("--no-kv-offload");
  }

  // llama.cpp's contexts, by the settings that it prints or the cells of its caches.
  void read_llama() {
    place();
    const std::uint64_t most_cells = static_cast<std::uint64_t>(largest("kv_cells"));
    const auto kv_size = count(log_, "kv_size");
    const auto per_seq = count(log_, "n_ctx_seq") ? count(log_, "n_ctx_seq") : count(log_, "n_ctx_slot");
    std::optional<std::uint64_t> seqs;
    for (const std::string_view what : {"n_seq_max", "kv_seqs", "n_slots", "state_cells"})
      if (!seqs) seqs = count(log_, what);
    if (!seqs && kv_size && per_seq && *per_seq < *kv_size) seqs = *kv_size / *per_seq;
    if (base_.num_seqs == 1 && seqs) {
      request().num_seqs = std::min<std::uint64_t>(*seqs, 1U << 16);
      if (*seqs > 1) note("-np", *seqs);
    }
    const std::uint64_t slots = request().num_seqs;
    const std::uint64_t streams = count(log_, "kv_streams").value_or(1);
    auto total = count(log_, "n_ctx");
    if (!total) total = kv_size;
    if (!total && most_cells > 0) total = most_cells * streams;
    const bool unified = options_.kv_unified.value_or(count(log_, "kv_streams") && streams == 1 && slots > 1) ||
                         (total && per_seq && *total == *per_seq && slots > 1);
    if (unified && slots > 1 && !base_.llama_cpp.kv_unified) {
      request().llama_cpp.kv_unified = true;
      out_.read.emplace_back("--kv-unified");
    }
    if (!base_.max_model_len && !base_.llama_cpp.ctx_size) {
      if (!total && per_seq) total = unified ? *per_seq : *per_seq * slots;
      if (total && *total < (std::uint64_t{1} << 40)) {
        if (is_engine("llama.cpp"))
          request().llama_cpp.ctx_size = Tokens(*total);
        else
          request().max_model_len =
              Tokens(std::max<std::uint64_t>(1, request().llama_cpp.kv_unified ? *total : *total / slots));
        note("-c", *total);
      } else if (is_engine("ollama") && count(log_, "ollama_context")) {
        request().max_model_len = Tokens(*count(log_, "ollama_context"));
        note("-c", *count(log_, "ollama_context"));
      } else {
        assume("the log names no context: the " + std::string(is_engine("ollama") ? "default" : "model's longest") +
                   " assumed, name it with -c",
               true);
      }
    }
    if (!base_.llama_cpp.n_batch && options_.n_batch) request().llama_cpp.n_batch = options_.n_batch;
    if (!base_.llama_cpp.n_ubatch) read_micro_batch(slots);
    if (options_.swa_full.value_or(false) && !base_.llama_cpp.swa_full) {
      request().llama_cpp.swa_full = true;
      out_.read.emplace_back("--swa-full");
    }
    if (options_.n_rs_seq.value_or(0) > 0 && !request().mtp && request().num_speculative_tokens == 0) {
      request().num_speculative_tokens = *options_.n_rs_seq;
      request().mtp = true;
      assume("the log tells of " + std::to_string(*options_.n_rs_seq) +
                 " guessed tokens and not how: MTP assumed, name it with --speculative-method",
             true);
    }
  }

  // A window has cells for its sequences and one micro-batch.
  void read_micro_batch(std::uint64_t slots) {
    if (options_.n_ubatch) {
      request().llama_cpp.n_ubatch = options_.n_ubatch;
      return;
    }
    const auto cells = count(log_, "window_cells");
    const auto window = count(log_, "window");
    const std::uint64_t held = window ? *window * (request().llama_cpp.kv_unified ? slots : 1) : 0;
    constexpr std::uint64_t kStep = 256;  // cells are padded to a multiple of this
    if (cells && window && *cells > held && *cells % kStep == 0 && (*cells - held) % kStep == 0 &&
        *cells < static_cast<std::uint64_t>(first_figure(log_, "n_ctx").value_or(0))) {
      request().llama_cpp.n_ubatch = *cells - held;
      if (!request().llama_cpp.n_batch)
        request().llama_cpp.n_batch = std::max<std::uint64_t>(2048, *request().llama_cpp.n_ubatch);
      note("-ub", *request().llama_cpp.n_ubatch);
      return;
    }
    assume("the log names no micro-batch: the default assumed, name it with -ub", false);
  }

  double largest(std::string_view what) const {
    double out = 0;
    for (const Observation& seen : log_.observations)
      if (seen.what == what && seen.value < 1e12) out = std::max(out, seen.value);
    return out;
  }

  // An excerpt with lines of a few ranks does not tell how many there are.
  bool is_split_known(const std::optional<std::uint64_t>& tensor) const {
    if (!tensor) return false;
    if (tensor != options_.ranks) return true;
    return *tensor > 1 && (*tensor & (*tensor - 1)) == 0;
  }

  // Reads vLLM, SGLang, TensorRT-LLM, mistral.rs.
  void read_server() {
    if (!base_.parallel.given) {
      const auto take = [&](const std::optional<std::uint64_t>& said, std::uint64_t& field, const char* option) {
        if (!said || *said < 2 || *said > 4096) return;
        field = *said;
        request().parallel.given = true;
        note(option, *said);
      };
      std::optional<std::uint64_t> tensor = options_.tensor_parallel;
      if (!tensor && is_engine("vllm") && options_.worker_processes > 1) tensor = options_.worker_processes;
      const bool known = options_.has_arguments || is_split_known(tensor);
      // Rank TP10 is one of 16.
      if (tensor && !known) tensor = std::bit_ceil(*tensor);
      take(tensor, request().parallel.tensor, "-tp");
      take(options_.pipeline_parallel, request().parallel.pipeline, "-pp");
      take(options_.data_parallel, request().parallel.data, "-dp");
      take(options_.context_parallel, request().parallel.decode_context, "-dcp");
      if (!known) {
        assume("the log names no number of ranks: " + std::to_string(tensor.value_or(1)) + " assumed, name it with -tp",
               true);
        out_.assumes_ranks = true;
      }
    }
    if (options_.dp_attention.value_or(false)) request().parallel.dp_attention = true;
    if (options_.expert_parallel.value_or(false) || options_.expert_ranks.value_or(1) > 1)
      request().parallel.expert = true;
    if (!base_.max_model_len && !base_.llama_cpp.ctx_size) {
      if (options_.max_model_len) {
        request().max_model_len = Tokens(*options_.max_model_len);
        note("--max-model-len", *options_.max_model_len);
      } else {
        out_.assumed.emplace_back(
            "the log names no context length: the model's longest assumed, name it with "
            "--max-model-len");
        out_.assumes_batch = true;
      }
    }
    if (base_.num_seqs == 1 && options_.num_seqs) request().num_seqs = *options_.num_seqs;
    if (!base_.max_num_seqs && options_.max_num_seqs) {
      request().max_num_seqs = options_.max_num_seqs;
      note("--max-num-seqs", *options_.max_num_seqs);
    }
    // The largest graph for decoding has the largest number of sequences, or the largest that is captured.
    constexpr std::uint64_t kLargest = 512;
    if (!request().max_num_seqs && is_engine("vllm") && options_.largest_graph && *options_.largest_graph < kLargest &&
        options_.num_speculative_tokens.value_or(0) == 0) {
      request().max_num_seqs = options_.largest_graph;
      note("--max-num-seqs", *options_.largest_graph);
    }
    if (!base_.max_num_batched_tokens && options_.max_num_batched_tokens) {
      request().max_num_batched_tokens = Tokens(*options_.max_num_batched_tokens);
      note("--max-num-batched-tokens", *options_.max_num_batched_tokens);
    }
    // Without chunked prefill vLLM profiles one prompt of the full length.
    constexpr std::uint64_t kLeast = 2048;
    if (!request().max_num_batched_tokens && is_engine("vllm") && !options_.chunked_prefill.value_or(true) &&
        request().max_model_len)
      request().max_num_batched_tokens = Tokens(std::max(kLeast, request().max_model_len->count()));
    if ((!request().max_num_seqs || !request().max_num_batched_tokens) && !options_.has_arguments)
      out_.assumes_batch = true;
    if (!base_.prefix_caching && options_.prefix_caching) request().prefix_caching = options_.prefix_caching;
    if (!base_.vllm.mamba_cache_mode && !options_.mamba_cache_mode.empty())
      request().vllm.mamba_cache_mode = options_.mamba_cache_mode;
    if (!base_.state_dtype && !options_.state_dtype.empty()) request().state_dtype = find_dtype(options_.state_dtype);
    if (options_.enforce_eager.value_or(false)) request().enforce_eager = true;
    if (is_engine("tensorrt-llm") && !base_.block_size && options_.block_size &&
        (*options_.block_size & (*options_.block_size - 1)) == 0) {
      request().block_size = options_.block_size;
      note("--block-size", *options_.block_size);
    }
    read_drafts();
  }

  void read_drafts() {
    const std::string& method = options_.speculative_method;
    if (method.empty() || base_.mtp || base_.num_speculative_tokens > 0) return;
    const std::string_view name = method;
    if (name.ends_with("mtp") && engine_of(request()).extras.draft_methods.find("mtp") != std::string_view::npos) {
      request().mtp = true;
      request().num_speculative_tokens = options_.num_speculative_tokens.value_or(1);
      note("--mtp --num-speculative-tokens", request().num_speculative_tokens);
      return;
    }
    assume("the log names a way to guess tokens (" + method + ") that is left out here", true);
  }

  void read_types() {
    if (!base_.cache_type_k && !options_.cache_type_k.empty())
      request().cache_type_k = find_dtype(options_.cache_type_k);
    if (!base_.cache_type_v && !options_.cache_type_v.empty())
      request().cache_type_v = find_dtype(options_.cache_type_v);
    std::string type = options_.kv_cache_dtype;
    if (type.starts_with("torch.")) type.erase(0, 6);
    if (type == "fp8_ds_mla") type.clear();  // the engine's own packing of latents
    if (!request().cache_type_k && !type.empty() && type != "auto") {
      if (const auto known = find_dtype(type)) {
        request().cache_type_k = request().cache_type_v = known;
        note("--kv-cache-dtype", type);
      }
    } else if (request().cache_type_k && !base_.cache_type_k) {
      note("--cache-type-k", options_.cache_type_k);
      note("--cache-type-v", options_.cache_type_v);
    }
    if (!request().cache_type_k && !options_.has_arguments && options_.kv_cache_dtype.empty()) {
      out_.assumes_types = true;
      assume("the log names no type of the cache: the engine's default assumed, name it with --kv-cache-dtype", true);
    }
    if (!base_.dtype && !options_.dtype.empty())
      if (const auto known = find_dtype(options_.dtype); known && plain_bytes(*known) >= 2) request().dtype = known;
  }

  void read_common() {
    if (!options_.card.empty()) out_.read.push_back("card: " + one_line(options_.card, 60));
    if (!base_.memory_utilization && options_.memory_utilization) {
      request().memory_utilization = options_.memory_utilization;
      std::string share = std::to_string(std::round(*options_.memory_utilization * 1e4) / 1e4);
      while (share.size() > 3 && share.back() == '0') share.pop_back();
      note("--gpu-memory-utilization", share);
    }
    if (options_.flash_attention && base_.llama_cpp.flash_attention == FlashAttention::kAuto)
      request().llama_cpp.flash_attention = *options_.flash_attention ? FlashAttention::kOn : FlashAttention::kOff;
  }

  const LogReading& log_;
  const LogOptions& options_;
  const Request& base_;
  LogRequest out_;
};

}  // namespace

bool is_llama(const Request& request) {
  return engine_of(request).name == "llama.cpp" || engine_of(request).name == "ollama";
}

bool is_host_device(std::string_view device) {
  return device.starts_with("CPU") || device.find("Host") != std::string_view::npos || device.starts_with("AMX") ||
         device.starts_with("BLAS");
}

std::optional<double> first_figure(const LogReading& reading, std::string_view what) {
  for (const Observation& seen : reading.observations)
    if (seen.what == what) return seen.value;
  return std::nullopt;
}

std::optional<double> smallest_figure(const LogReading& reading, std::string_view what) {
  std::optional<double> out;
  for (const Observation& seen : reading.observations)
    if (seen.what == what && (!out || seen.value < *out)) out = seen.value;
  return out;
}

LogRequest read_request(const LogReading& reading, const Request& base) {
  return Reader(reading, base).read();
}

}  // namespace kvplan
