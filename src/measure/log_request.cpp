#include "measure/diagnosis.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "measure/log_reader.h"

namespace kvplan {

namespace {

class Reader {
 public:
  Reader(const LogReading& reading, const Request& base) : log_(reading), options_(reading.options), base_(base) {
    out_.request = base;
  }

  LogRequest read() {
    read_engine();
    if (log().read_request != nullptr)
      log().read_request(log_, out_);
    else
      read_server();
    read_types();
    read_common();
    return std::move(out_);
  }

 private:
  Request& request() { return out_.request; }
  const Engine& engine() const { return engine_of(out_.request); }
  const EngineLog& log() const { return log_of(engine()); }

  void read_engine() {
    if (engine_of(base_).is_logical) {
      if (options_.engine.empty()) fail("no line of the log shows which engine wrote it", "name it with --engine");
      find_engine(options_.engine, request());
    }
    if (!request().engine_version.empty()) return;
    if (!log().old_build.empty()) return read_build();
    const bool is_own = engine().name == options_.engine;
    std::string release = is_own ? release_of(options_.version) : "";
    const std::string patched(log().patched_release);
    if (!patched.empty() && (!release.starts_with(patched + ".") || release == patched + ".0"))
      if (const std::size_t dot = release.rfind('.'); dot != release.find('.')) release.erase(dot);
    if (!release.empty()) return use_release(release);
    // The wording allows only a few releases: V0 or V1, the old or the new form of a line.
    if (is_own) request().engine_version = options_.until;
    const std::string planned =
        request().engine_version.empty() ? std::string(engine().versions.back().version) : request().engine_version;
    std::string says = "release " + planned + ": the log names none";
    if (is_own && !options_.since.empty() && !options_.until.empty())
      says += ", and its wording is from " + options_.since + " to " + options_.until;
    else if (is_own && !options_.since.empty())
      says += ", and its wording is from " + options_.since + " or later";
    else if (is_own && !options_.until.empty())
      says += ", and its wording is from " + options_.until + " or earlier";
    out_.assumed.push_back(says + "; set it with --engine " + std::string(engine().name) + "@RELEASE");
    out_.assumes_release = out_.assumes_batch = true;
  }

  // "4277", "b4277" -> "b4277"; if only the wording shows the build, a build of that time.
  void read_build() {
    std::string digits = options_.version;
    if (digits.starts_with('b')) digits.erase(0, 1);
    const bool is_number = !digits.empty() && digits.size() < 8 &&
                           std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) {
      use_release("b" + digits);
    } else if (options_.old_llama) {
      request().engine_version = log().old_build;
    }
  }
  void use_release(const std::string& release) {
    request().engine_version = release;
    out_.note("--engine", std::string(engine().name) + "@" + release);
  }

  // If the log is an excerpt with lines of some ranks, the number of ranks is unknown.
  bool is_split_known(const std::optional<std::uint64_t>& tensor) const {
    if (!tensor) return false;
    if (tensor != options_.ranks) return true;
    return *tensor > 1 && (*tensor & (*tensor - 1)) == 0;
  }

  void read_layout() {
    Parallel& layout = request().parallel;
    if (options_.dp_attention.value_or(false)) layout.dp_attention = true;
    if (options_.expert_parallel.value_or(false) || options_.expert_ranks.value_or(1) > 1) layout.expert = true;
    if (base_.parallel.given) return;
    std::optional<std::uint64_t> tensor = options_.tensor_parallel;
    if (!tensor && options_.worker_processes > 1) tensor = options_.worker_processes;
    const bool known = options_.has_arguments || is_split_known(tensor);
    // A rank TP10 means at least 16 ranks.
    if (tensor && !known) tensor = std::bit_ceil(*tensor);
    const auto read = [&](const std::optional<std::uint64_t>& said, std::uint64_t& field, const char* option) {
      if (!said || *said < 2 || *said > 4096) return;
      field = *said;
      layout.given = true;
      out_.note(option, *said);
    };
    read(tensor, layout.tensor, "-tp");
    read(options_.pipeline_parallel, layout.pipeline, "-pp");
    read(options_.data_parallel, layout.data, "-dp");
    read(options_.context_parallel, layout.decode_context, "-dcp");
    if (known) return;
    out_.assume("tensor parallel ranks " + std::to_string(tensor.value_or(1)) +
                    ": the log does not give their number; set it with -tp",
                true);
    out_.assumes_ranks = true;
  }

  // Reads vLLM, SGLang, TensorRT-LLM, mistral.rs.
  void read_server() {
    read_layout();
    Request& out = request();
    if (!base_.llama_cpp.ctx_size) out_.take(out.max_model_len, options_.max_model_len, "--max-model-len");
    if (!out.max_model_len && !base_.llama_cpp.ctx_size) {
      out_.assumed.emplace_back(
          "the model's maximum context: the log does not give the length; set it with --max-model-len");
      out_.assumes_batch = true;
    }
    if (base_.num_seqs == 1 && options_.num_seqs) out.num_seqs = *options_.num_seqs;
    out_.take(out.max_num_seqs, options_.max_num_seqs, "--max-num-seqs");
    // The largest graph for decoding has as many sequences as the engine allows, or as it captures at most.
    constexpr std::uint64_t kLargest = 512;
    if (options_.largest_graph.value_or(kLargest) < kLargest && options_.num_speculative_tokens.value_or(0) == 0)
      out_.take(out.max_num_seqs, options_.largest_graph, "--max-num-seqs");
    out_.take(out.max_num_batched_tokens, options_.max_num_batched_tokens, "--max-num-batched-tokens");
    constexpr std::uint64_t kLeast = 2048;
    if (log().profiles_prompt && !out.max_num_batched_tokens && !options_.chunked_prefill.value_or(true) &&
        out.max_model_len)
      out.max_num_batched_tokens = Tokens(std::max(kLeast, out.max_model_len->count()));
    if ((!out.max_num_seqs || !out.max_num_batched_tokens) && !options_.has_arguments) out_.assumes_batch = true;
    if (!out.prefix_caching) out.prefix_caching = options_.prefix_caching;
    if (!out.vllm.mamba_cache_mode && !options_.mamba_cache_mode.empty())
      out.vllm.mamba_cache_mode = options_.mamba_cache_mode;
    if (!out.state_dtype) out.state_dtype = find_dtype(options_.state_dtype);
    if (options_.enforce_eager.value_or(false)) out.enforce_eager = true;
    if (log().block_option && std::has_single_bit(options_.block_size.value_or(0)))
      out_.take(out.block_size, options_.block_size, "--block-size");
    read_drafts();
  }

  void read_drafts() {
    const std::string& method = options_.speculative_method;
    if (method.empty() || base_.mtp || base_.num_speculative_tokens > 0) return;
    const std::string_view name = method;
    if (name.ends_with("mtp") && engine().extras.draft_methods.find("mtp") != std::string_view::npos) {
      request().mtp = true;
      request().num_speculative_tokens = options_.num_speculative_tokens.value_or(1);
      out_.note("--mtp --num-speculative-tokens", request().num_speculative_tokens);
      return;
    }
    out_.assume("no drafts: kvplan does not plan the log's drafting method (" + method + ")", true);
  }

  void read_types() {
    Request& out = request();
    if (!out.cache_type_k) out.cache_type_k = find_dtype(options_.cache_type_k);
    if (!out.cache_type_v) out.cache_type_v = find_dtype(options_.cache_type_v);
    std::string type = options_.kv_cache_dtype;
    if (type.starts_with("torch.")) type.erase(0, 6);
    if (out.cache_type_k && !base_.cache_type_k) {
      out_.note("--cache-type-k", options_.cache_type_k);
      out_.note("--cache-type-v", options_.cache_type_v);
    } else if (const auto known = find_dtype(type); known && !out.cache_type_k && known != Dtype::kFp8DsMla) {
      out.cache_type_k = out.cache_type_v = known;  // except the engine's own packing of latents
      out_.note("--kv-cache-dtype", type);
    }
    if (!out.cache_type_k && !options_.has_arguments && options_.kv_cache_dtype.empty()) {
      out_.assumes_types = true;
      out_.assume("the engine's default KV cache type: the log does not give it; set it with --kv-cache-dtype", true);
    }
    if (const auto known = find_dtype(options_.dtype); known && !out.dtype && plain_bytes(*known) >= 2)
      out.dtype = known;
  }

  void read_common() {
    // The log shows which layers are on the GPU.
    if (base_.llama_cpp.placement == Placement::kUsual) request().llama_cpp.placement = Placement::kNone;
    if (!options_.card.empty()) out_.read.push_back("GPU: " + one_line(options_.card, 60));
    if (!base_.memory_utilization && options_.memory_utilization) {
      request().memory_utilization = options_.memory_utilization;
      std::string share = std::to_string(std::round(*options_.memory_utilization * 1e4) / 1e4);
      while (share.size() > 3 && share.back() == '0') share.pop_back();
      out_.note("--gpu-memory-utilization", share);
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

LogRequest read_request(const LogReading& reading, const Request& base) {
  return Reader(reading, base).read();
}

}  // namespace kvplan
