// What an engine's start-up log says: figures with their line numbers, and the options it was started with.
#ifndef KVPLAN_OBSERVATION_H_
#define KVPLAN_OBSERVATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

enum class LogUnit { kGibibytes, kMebibytes, kTokens, kBlocks, kLayers, kSequences, kTimes, kShare };

struct Observation {
  std::size_t line_number = 0;  // from 1
  std::string_view what;        // "weights", "kv_budget" ...: a name of the table of patterns
  double value = 0;
  LogUnit unit = LogUnit::kGibibytes;
  std::string device;                 // llama.cpp: "CUDA0", "CPU"
  std::optional<std::uint64_t> rank;  // where the line names one

  double bytes() const;  // of a GiB or MiB figure
};

// What the log itself says of how the engine was started.
struct LogOptions {
  std::string engine;   // "" where no line told
  std::string version;  // "0.8.3", "b4277"
  std::optional<std::uint64_t> tensor_parallel, max_model_len, num_seqs, n_batch, n_ubatch, block_size;
  std::optional<double> memory_utilization;
  std::string dtype, kv_cache_dtype, quantization;
  bool old_llama = false;              // llama.cpp before March 2025, by the names of its functions
  std::string file_type;               // llama.cpp: "Q4_K - Medium"
  std::uint64_t worker_processes = 0;  // vLLM: processes beside the driver that print lines of their own
  std::string cache_type_k, cache_type_v;
  std::optional<bool> flash_attention, enforce_eager, chunked_prefill;
  std::optional<std::uint64_t> max_num_seqs, max_num_batched_tokens;
};

struct LogReading {
  LogOptions options;
  std::vector<Observation> observations;
  std::size_t lines = 0;
};

// "GiB", "tokens" ...; "" for a share.
std::string_view unit_name(LogUnit unit);

}  // namespace kvplan

#endif  // KVPLAN_OBSERVATION_H_
