// What an engine's start-up log contains: figures with their line numbers, and the options with which the engine was
// started.
#pragma once

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
  std::optional<std::uint64_t> rank;  // the rank, if the line names one
  double step = 0;                    // the value of the last digit that the line prints

  double bytes() const;  // of a figure in GiB, MiB or bytes
};

// How the engine was started, as far as the log shows.
struct LogOptions {
  std::string engine;          // "" if no line names it
  std::string version;         // "0.8.3", "b4277"
  std::string since, until;    // if no line names the release: the releases with the wording of the lines
  bool has_arguments = false;  // the log lists options, so an option that is missing has the engine's default
  std::string model;           // as the log spells it
  std::string card;            // "NVIDIA GeForce RTX 4090"
  std::optional<std::uint64_t> tensor_parallel, max_model_len, num_seqs, n_batch, n_ubatch, block_size;
  std::optional<double> memory_utilization;
  std::string dtype, kv_cache_dtype, quantization;
  bool old_llama = false;              // llama.cpp before March 2025, by the names of its functions
  std::string file_type;               // llama.cpp: "Q4_K - Medium"
  std::uint64_t worker_processes = 0;  // vLLM: processes other than the driver that print lines
  std::string cache_type_k, cache_type_v;
  std::optional<bool> flash_attention, enforce_eager, chunked_prefill;
  std::optional<std::uint64_t> max_num_seqs, max_num_batched_tokens;
  std::optional<std::uint64_t> ranks;  // one more than the highest rank in a line's prefix
  std::optional<std::uint64_t> pipeline_parallel, data_parallel, context_parallel, expert_ranks;
  std::optional<bool> expert_parallel, dp_attention, prefix_caching, kv_unified, swa_full;
  std::optional<std::uint64_t> num_speculative_tokens, n_rs_seq, kv_cache_memory_bytes;
  std::optional<std::uint64_t> largest_graph;  // batch size of the largest graph captured for decoding
  std::string speculative_method, mamba_cache_mode, state_dtype;
};

// What a line reports besides figures: why an engine did not start, what it did instead, and its load.
enum class LogEventId : std::uint8_t {
  // Not enough memory.
  kCacheTooSmall,    // one sequence of the requested length needs more than what is left for the cache
  kNoCacheMemory,    // nothing is left for the cache
  kFreeMemoryShort,  // other processes use memory that the engine needs
  kOutOfMemory,      // an allocation on the GPU failed
  kGraphsFailed,     // while graphs were captured
  kBufferFailed,     // llama.cpp: a buffer could not be allocated; the next three say which
  kComputeFailed,
  kCacheFailed,
  kWeightsFailed,
  kBufferLimit,        // larger than the driver allows for one allocation
  kWeightsLimit,       // as kBufferLimit, for a tensor of the weights
  kFitFailed,          // llama.cpp could not make it fit by itself
  kDoesNotFitDevices,  // mistral.rs
  kComponentFailed,    // TensorRT-LLM: one of its components
  kMemoryUnbalanced,   // another process uses one of the GPUs
  kHostOutOfMemory,    // in RAM
  kExited,             // a process ended with an exit code
  kLeak,               // SGLang's check of its pools found a leak
  // Refusals that have nothing to do with memory.
  kNoBfloat16,
  kQuantizationNeedsCard,  // it needs a GPU of some compute capability
  kNoAttentionBackend,
  kBlockDoesNotDivide,  // blocks of quantized weights do not divide by the ranks
  kHeadsDoNotDivide,
  kLengthBeyondModel,
  kBatchBelowLength,  // max_num_batched_tokens is below max_model_len, and chunked prefill is off
  kTooFewCards,
  kCacheTypeNeedsFlash,
  kNoKernel,      // the build has no kernel for this GPU
  kSharedMemory,  // on-chip memory of a kernel
  kUnknownArchitecture,
  kTooManySequences,  // more sequences than slots for states
  kRefused,           // another refusal, in the engine's words
  kDied,              // an engine process died; other lines give the cause
  // The engine keeps running, or the line does not show whether it does.
  kRaised,      // the line of an exception
  kRetried,     // retried with less memory, which is normal
  kFitReduced,  // llama.cpp shortened the context by itself
  kBreakdown,   // llama.cpp's breakdown of a device's memory
  kDeviceFree,
  kProjected,       // what it is going to use
  kFlashForcedOff,  // the model switched flash attention off
  kSpilled,         // some layers are on the CPU
  kNoGpu,           // all layers are on the CPU
  kGraphsDone,
  kStarted,
  kRequestTooLong,  // refused, or truncated
  kPreempted,
  kProjectorFailed,  // llama.cpp: it serves until the first image arrives
  kTraffic,          // running and waiting sequences
  kMemoryHint,       // not a failure, but a reason for a later lack of memory
  kRoomLeft,         // memory that the cache could have used
  kPhase,            // a frame of a traceback, which shows the phase of the start
  kCompiled,         // torch.compile ran and left less for this start's cache
  kMark              // a line that tells which engine wrote the log
};
inline constexpr std::string_view kLogEventWords =
    "cache_too_small no_cache_memory free_memory_short out_of_memory graphs_failed buffer_failed "
    "compute_failed cache_failed weights_failed buffer_limit weights_limit fit_failed does_not_fit_devices "
    "component_failed memory_unbalanced host_out_of_memory exited leak no_bfloat16 "
    "quantization_needs_card no_attention_backend block_does_not_divide heads_do_not_divide "
    "length_beyond_model batch_below_length too_few_cards cache_type_needs_flash no_kernel shared_memory "
    "unknown_architecture too_many_sequences refused died raised retried fit_reduced breakdown "
    "device_free projected flash_forced_off spilled no_gpu graphs_done started request_too_long preempted "
    "projector_failed traffic memory_hint room_left phase compiled mark";

// What a remedy changes.
enum class LogCure : std::uint8_t {
  kNothing,
  kShorterLength,
  kLargerShare,
  kSmallerShare,
  kSmallerCacheType,
  kPlainCacheType,
  kMoreRanks,
  kRanksThatDivide,
  kPipelineInstead,
  kWholeExperts,
  kSmallerBatch,
  kLargerBatch,
  kChunkedPrefill,
  kFewerSequences,
  kFewerImages,
  kFlashAttention,
  kNoGraphs,
  kFreeTheCard,
  kFixedCache,
  kSmallerWeights,
  kOtherWeights,
  kAcrossNodes,
  kRanksForBlocks,
  kFewerLayersOnGpu,
  kOtherSplit,
  kFitByItself,
  kFloat16,
  kLongerByOverride,
  kLongerContext,
  kShorterInput,
  kOtherKernels,
  kOtherBuild,
  kNewerRelease,
  kOtherCard,
  kMoreHostMemory,
  kAsTheLogSays,  // the failing line's own advice
  kOther          // in the words of a table's row
};
std::string_view name(LogCure cure);

// A value of an event, as the line prints it.
struct LogValue {
  std::string_view name;  // a named hole of the engine's template
  std::string text;
  double value = 0;  // 0 for a word
  LogUnit unit = LogUnit::kCount;
};

struct LogEvent {
  LogEventId id = LogEventId::kRefused;
  std::size_t line_number = 0;
  std::string_view engine;  // that prints the line; "" for PyTorch, a driver or the system
  std::string words;        // of the log, from the place that the template matches; truncated
  std::vector<LogValue> values;
  std::string_view meaning = {}, remedies = {};  // of the table's row (engines/log_lines.h)
  std::string frames = {};                       // of an exception: the stack frames

  const LogValue* value(std::string_view name) const;
  double number(std::string_view name) const;                // 0 if it has none
  std::optional<double> bytes(std::string_view name) const;  // of a value in GiB, MiB or bytes
  bool says(std::string_view name, std::string_view part) const;
};

struct LogReading {
  LogOptions options;
  std::vector<Observation> observations;
  std::vector<LogEvent> events;  // in the log's order, without duplicates, and only the newest traffic line
  std::size_t lines = 0;
  std::size_t starts = 0;  // starts that the log contains; everything else here is from the last one

  // The first figure with that name, and the smallest one.
  std::optional<double> first(std::string_view what) const;
  std::optional<double> smallest(std::string_view what) const;
  std::optional<std::uint64_t> count(std::string_view what) const;  // the first, if it is a count
  const LogEvent* first(LogEventId id) const;                       // null if there is none
};

// "GiB", "tokens" ...; "" for a fraction.
std::string_view unit_name(LogUnit unit);

}  // namespace kvplan
