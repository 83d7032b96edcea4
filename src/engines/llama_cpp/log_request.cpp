// The request behind a log of llama.cpp: GPUs and their layers from the device lines, and contexts from printed
// settings or from the cells of the caches.
#include <algorithm>
#include <set>

#include "engines/engine.h"
#include "engines/log_request.h"

namespace kvplan {

namespace {

class LlamaCppLog {
 public:
  LlamaCppLog(const LogReading& log, LogRequest& out) : log_(log), options_(log.options), out_(out) {}

  void read() {
    place();
    read_contexts();
  }

 private:
  // The GPUs in the log, and the layers on them.
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
    if (!request_.parallel.given && gpus.size() > 1) {
      request_.parallel.pipeline = gpus.size();
      request_.parallel.given = true;
      out_.note("-pp", gpus.size());
    }
    const auto on_gpu = log_.first("layers_on_gpu");
    const auto all = log_.first("layers_total");
    if (!own_.gpu_layers && on_gpu && all && *on_gpu < *all && *on_gpu >= 0)
      out_.take(own_.gpu_layers, static_cast<std::uint64_t>(*on_gpu), "-ngl");
    else if (!own_.gpu_layers && gpus.empty() && on_host)
      out_.take(own_.gpu_layers, 0, "-ngl");
    else if (!own_.gpu_layers)
      out_.take(own_.no_kv_offload, caches && !caches_on_gpu && !gpus.empty(), "--no-kv-offload");
  }

  // Contexts of llama.cpp, by the settings that it prints or the cells of its caches.
  void read_contexts() {
    const std::uint64_t most_cells = static_cast<std::uint64_t>(largest("kv_cells"));
    const auto kv_size = log_.count("kv_size");
    const auto per_seq = log_.count("n_ctx_seq") ? log_.count("n_ctx_seq") : log_.count("n_ctx_slot");
    std::optional<std::uint64_t> seqs;
    for (const std::string_view what : {"n_seq_max", "kv_seqs", "n_slots", "state_cells"})
      if (!seqs) seqs = log_.count(what);
    if (!seqs && kv_size && per_seq && *per_seq < *kv_size) seqs = *kv_size / *per_seq;
    if (request_.num_seqs == 1 && seqs) {
      request_.num_seqs = std::min<std::uint64_t>(*seqs, 1U << 16);
      if (*seqs > 1) out_.note("-np", *seqs);
    }
    const std::uint64_t slots = request_.num_seqs;
    const std::uint64_t streams = log_.count("kv_streams").value_or(1);
    auto total = log_.count("n_ctx");
    if (!total) total = kv_size;
    if (!total && most_cells > 0) total = most_cells * streams;
    const bool unified = options_.kv_unified.value_or(log_.count("kv_streams") && streams == 1 && slots > 1) ||
                         (total && per_seq && *total == *per_seq && slots > 1);
    out_.take(own_.kv_unified, unified && slots > 1, "--kv-unified");
    if (!total && per_seq) total = unified ? *per_seq : *per_seq * slots;
    if (!request_.max_model_len && !own_.ctx_size) read_context(total, slots);
    if (!own_.n_batch) own_.n_batch = options_.n_batch;
    if (!own_.n_ubatch) read_micro_batch(slots);
    out_.take(own_.swa_full, options_.swa_full.value_or(false), "--swa-full");
    if (options_.n_rs_seq.value_or(0) > 0 && !request_.mtp && request_.num_speculative_tokens == 0) {
      request_.num_speculative_tokens = *options_.n_rs_seq;
      request_.mtp = true;
      out_.assume("MTP: the log has " + std::to_string(*options_.n_rs_seq) +
                      " drafted tokens, but not the method; set it with --speculative-method",
                  true);
    }
  }

  // `total`: cells of all slots together.
  void read_context(const std::optional<std::uint64_t>& total, std::uint64_t slots) {
    const bool is_known = total && *total < (std::uint64_t{1} << 40);
    const std::optional<std::uint64_t> given = is_known ? total : log_.count("ollama_context");
    if (!given)
      return out_.assume(std::string(engine_.default_context != nullptr ? "the default" : "the model's maximum") +
                             " context: the log does not give the length; set it with -c",
                         true);
    out_.note("-c", *given);
    if (is_known && engine_.slot_tokens != nullptr)
      own_.ctx_size = Tokens(*given);
    else
      request_.max_model_len =
          Tokens(std::max<std::uint64_t>(1, is_known && !own_.kv_unified ? *given / slots : *given));
  }

  // A window has cells for all its sequences and one micro-batch.
  void read_micro_batch(std::uint64_t slots) {
    if ((own_.n_ubatch = options_.n_ubatch)) return;
    const auto cells = log_.count("window_cells");
    const auto window = log_.count("window");
    const std::uint64_t held = window ? *window * (own_.kv_unified ? slots : 1) : 0;
    constexpr std::uint64_t kStep = 256;  // cells are padded to a multiple of this
    if (cells && window && *cells > held && *cells % kStep == 0 && (*cells - held) % kStep == 0 &&
        *cells < static_cast<std::uint64_t>(log_.first("n_ctx").value_or(0))) {
      out_.take(own_.n_ubatch, *cells - held, "-ub");
      if (!own_.n_batch) own_.n_batch = std::max<std::uint64_t>(2048, *own_.n_ubatch);
      return;
    }
    out_.assume("the default micro-batch: the log does not give it; set it with -ub", false);
  }

  double largest(std::string_view what) const {
    double out = 0;
    for (const Observation& seen : log_.observations)
      if (seen.what == what && seen.value < 1e12) out = std::max(out, seen.value);
    return out;
  }

  const LogReading& log_;
  const LogOptions& options_;
  LogRequest& out_;
  Request& request_ = out_.request;
  LlamaCppOptions& own_ = request_.llama_cpp;
  const Engine& engine_ = engine_of(request_);
};

}  // namespace

void llama_cpp_read_request(const LogReading& log, LogRequest& out) {
  LlamaCppLog(log, out).read();
}

bool is_host_device(std::string_view device) {
  return device.starts_with("CPU") || device.find("Host") != std::string_view::npos || device.starts_with("AMX") ||
         device.starts_with("BLAS");
}

}  // namespace kvplan
