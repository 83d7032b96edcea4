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

enum class LogUnit {
  kGibibytes,
  kMebibytes,
  kTokens,
  kBlocks,
  kLayers,
  kSequences,
  kTimes,
  kShare,
  kBytes,
  kPercent,
  kSeconds,
  kCount
};

struct Observation {
  std::size_t line_number = 0;  // from 1
  std::string_view what;        // "weights", "kv_budget" ...: a name of the table of patterns
  double value = 0;
  LogUnit unit = LogUnit::kGibibytes;
  std::string device;                 // llama.cpp: "CUDA0", "CPU"
  std::optional<std::uint64_t> rank;  // where the line names one
  double step = 0;                    // of the last digit that the line prints

  double bytes() const;  // of a figure in GiB, MiB or bytes
};

// What the log itself says of how the engine was started.
struct LogOptions {
  std::string engine;          // "" where no line told
  std::string version;         // "0.8.3", "b4277"
  std::string since, until;    // releases that the lines' wording leaves, where no line names one
  bool has_arguments = false;  // it lists them: what is not there is as the engine chooses
  std::string model;           // as the log names it
  std::string card;            // "NVIDIA GeForce RTX 4090"
  std::optional<std::uint64_t> tensor_parallel, max_model_len, num_seqs, n_batch, n_ubatch, block_size;
  std::optional<double> memory_utilization;
  std::string dtype, kv_cache_dtype, quantization;
  bool old_llama = false;              // llama.cpp before March 2025, by the names of its functions
  std::string file_type;               // llama.cpp: "Q4_K - Medium"
  std::uint64_t worker_processes = 0;  // vLLM: processes beside the driver that print lines of their own
  std::string cache_type_k, cache_type_v;
  std::optional<bool> flash_attention, enforce_eager, chunked_prefill;
  std::optional<std::uint64_t> max_num_seqs, max_num_batched_tokens;
  std::optional<std::uint64_t> ranks;  // by the highest rank that a line's prefix names
  std::optional<std::uint64_t> pipeline_parallel, data_parallel, context_parallel, expert_ranks;
  std::optional<bool> expert_parallel, dp_attention, prefix_caching, kv_unified, swa_full;
  std::optional<std::uint64_t> num_speculative_tokens, n_rs_seq, kv_cache_memory_bytes;
  std::optional<std::uint64_t> largest_graph;  // sequences of the largest graph that decodes
  std::string speculative_method, mamba_cache_mode, state_dtype;
};

// What a line tells beside its figures: why an engine did not start, what it did instead, how its traffic goes.
enum class LogEventId : std::uint8_t {
  // Memory that is not there.
  kCacheTooSmall,    // one sequence of the length asked for needs more than the cache that is left
  kNoCacheMemory,    // nothing is left for the cache
  kFreeMemoryShort,  // others hold what the engine was told to take
  kOutOfMemory,      // an allocation on the card failed
  kGraphsFailed,     // while graphs were captured
  kBufferFailed,     // llama.cpp: a buffer could not be had; what for is told by the next three
  kComputeFailed,
  kCacheFailed,
  kWeightsFailed,
  kBufferLimit,        // more than the driver gives in one piece
  kFitFailed,          // llama.cpp could not make it fit by itself
  kDoesNotFitDevices,  // mistral.rs
  kComponentFailed,    // TensorRT-LLM: one of its parts
  kMemoryUnbalanced,   // another process on one of the cards
  kHostOutOfMemory,    // in RAM
  kExited,             // with a code
  kLeak,               // SGLang's check of its pools
  // Refusals that are not memory.
  kNoBfloat16,
  kQuantizationNeedsCard,  // a compute capability
  kNoAttentionBackend,
  kBlockDoesNotDivide,  // blocks of quantized weights, by ranks
  kHeadsDoNotDivide,
  kLengthBeyondModel,
  kBatchBelowLength,  // chunked prefill is off
  kTooFewCards,
  kCacheTypeNeedsFlash,
  kNoKernel,      // the build has none for the card
  kSharedMemory,  // of a kernel, on the chip
  kUnknownArchitecture,
  kTooManySequences,  // for the slots of states
  kRefused,           // in the engine's words alone
  kDied,              // the same, of a cause that other lines tell
  // It goes on, or it cannot be told from the line alone.
  kRaised,      // an exception's line
  kRetried,     // with less: no fault
  kFitReduced,  // llama.cpp shortened the context by itself
  kBreakdown,   // llama.cpp's plan of a device's memory
  kDeviceFree,
  kProjected,       // what it is going to use
  kFlashForcedOff,  // by the model
  kSpilled,         // layers on the CPU
  kNoGpu,           // all of them
  kGraphsDone,
  kStarted,
  kRequestTooLong,  // refused, or cut
  kPreempted,
  kTraffic,  // sequences that run and wait
  kPhase,    // a frame of a traceback
  kMark      // of an engine: whose log it is
};

// A figure of an event as the line prints it.
struct LogValue {
  std::string_view name;  // a hole of the engine's template
  std::string text;
  double value = 0;  // 0 for a word
  LogUnit unit = LogUnit::kCount;
};

struct LogEvent {
  LogEventId id = LogEventId::kRefused;
  std::size_t line_number = 0;
  std::string_view engine;  // whose line it is; "" of PyTorch, a driver or the system
  std::string words;        // of the log, from where the template begins; cut
  std::vector<LogValue> values;

  const LogValue* value(std::string_view name) const;
};

struct LogReading {
  LogOptions options;
  std::vector<Observation> observations;
  std::vector<LogEvent> events;  // in the log's order; equal ones once, traffic as its newest line alone
  std::size_t lines = 0;
  std::size_t starts = 0;  // that the log tells of; everything else here is of the last one
};

// "GiB", "tokens" ...; "" for a share.
std::string_view unit_name(LogUnit unit);

}  // namespace kvplan

#endif  // KVPLAN_OBSERVATION_H_
