// The answer: a ledger of memory per GPU, with the formula and the source of every line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvplan/note.h"
#include "kvplan/quantity.h"
#include "kvplan/template.h"

namespace kvplan {

enum class Section { kWeights, kKvCache, kActivation, kRuntime };

// The identity of a line. Rules and programs use the id; the words are for people.
enum class LineId : std::uint8_t {
  kUsual,  // the part as a whole: "kv_cache"
  // Weights, in the order of Component.
  kEmbedding,
  kAttention,
  kMlp,
  kExperts,
  kSharedExperts,
  kRouter,
  kStateMixer,
  kNorms,
  kLmHead,
  kEncoder,
  kVision,
  kAudio,
  kProjector,
  kMtp,
  kOther,
  kRotary,        // tables of cosines and sines
  kLoading,       // memory that the allocator keeps unused after loading
  kDraftWeights,  // of a draft model, or of draft heads
  kLora,
  kImageProjector,  // llama.cpp's, in a separate file
  // Caches and states.
  kEncoderCache,  // the encoder's outputs, outside of the cache's pool
  kStates,        // of recurrent layers, in a separate buffer
  kStatePool,
  kPaddingSlot,
  kDraftCache,
  kDraftStates,  // states of draft tokens
  kRollBack,     // copies of states to return to
  kOffloaded,    // in host memory
  // Activations.
  kSampled,  // logits, and what else grows with the number of sampled sequences
  kScores,   // a matrix of attention scores
  kComputeBuffer,
  kDraftBuffer,   // the draft's compute buffer
  kImageEncoder,  // the image encoder's compute buffer
  // Runtime.
  kGraphs,        // captured graphs
  kContext,       // the driver's context, libraries, communication
  kOutsideTorch,  // memory outside of PyTorch's allocator
  kRequestTable,
  kPromptCache,  // states of earlier prompts in host memory
};

// What kind of evidence a figure is based on.
enum class Basis : std::uint8_t { kExact, kEstimate, kLog, kCalibrated };
std::string_view name(Basis basis);

// One line of the ledger. Exact lines have low == bytes == high.
struct LedgerLine {
  Section part = Section::kKvCache;
  Template what;  // "experts", "full attention, 12 layers", "CUDA graphs"
  Bytes bytes, low, high;
  Template formula;
  std::string source;  // config keys, engine file, log
  LineId id = LineId::kUsual;
  Basis basis = Basis::kExact;
};
LedgerLine of_kind(LineId id, LedgerLine line);
LedgerLine exact_line(Section part, Template what, Bytes bytes, Template formula, std::string source);
std::string_view name(Section section);
// "cuda_graphs", "experts"; the part's name for kUsual.
std::string_view id_of(const LedgerLine& line);
// What a deployment adds to a model: drafts, adapters, encoders.
bool is_extra(LineId id);

struct GpuMemory {
  std::uint64_t gpu = 0;
  std::optional<Bytes> weights, kv_cache, activation, runtime;  // absent: not known, and left out of the total
  Bytes total;
  std::vector<LedgerLine> lines;
};

// Why an engine takes more (or less) memory than the architecture needs: the steps from logical to reserved bytes.
struct GapLine {
  Template reason;
  std::int64_t bytes = 0;
};

// Layers that an engine keeps in one pool.
struct CacheGroup {
  std::string kind;
  std::uint64_t layers = 0;
  std::optional<std::uint64_t> block_size;  // tokens
  Bytes page_bytes;                         // of one layer and block
};

struct KvCachePlan {
  Bytes bytes_per_token;            // one more token of one sequence, once every window is full
  Bytes bytes_per_token_in_window;  // while the windows still grow
  Bytes bytes_per_sequence;         // fixed state
  Bytes logical;                    // whole model, for the request
  Bytes logical_per_gpu;            // the fullest GPU's part
  Bytes reserved;                   // what the engine takes on the fullest GPU
  Bytes reserved_total;
  std::vector<GapLine> gap;
  std::optional<std::uint64_t> block_size;  // of the largest group
  std::vector<CacheGroup> groups;
};

// The largest count that a search tries. If it fits, any larger one does too.
inline constexpr std::uint64_t kAnyCount = std::uint64_t{1} << 40;

struct Capacity {
  Bytes kv_cache_memory;  // per GPU
  std::optional<Bytes> kv_cache_memory_low,
      kv_cache_memory_high;  // the range, if estimates decide how much of a GPU is left
  std::optional<std::uint64_t> num_blocks;
  std::optional<std::uint64_t> tokens, tokens_low, tokens_high;
  double max_concurrency = 0;
  // At the requested number of sequences; kAnyCount: any length. In a plan it is at most the model's own maximum.
  std::uint64_t max_model_len = 0;
  std::uint64_t max_model_len_by_memory = 0;  // in a plan: without that maximum
  std::uint64_t max_num_seqs = 0;             // the most at the requested length; kAnyCount: any number
};

// Sequences of different lengths, over all GPUs. What tensor parallelism replicates counts once.
struct MixReport {
  std::uint64_t sequences = 0;
  Tokens tokens;  // of all sequences
  std::uint64_t block_size = 0;
  bool engine_pages = false;  // the engine's own block size; else the usual 16
  Bytes needed;               // exactly the tokens there are
  Bytes slab;                 // contiguous: max_model_len for every sequence
  Bytes pages;                // paged: whole pages
  Bytes page_table;           // the table of page numbers
  Tokens shared_prefix;
  Bytes shared_saving;  // bytes of pages that are saved because the shared prefix is stored once
};

// kPartlyOnCpu: a part that could be on a GPU is in main memory.
enum class Verdict { kFits, kPartlyOnCpu, kDoesNotFit, kUnknown };

// Why an engine would not start for reasons other than memory.
struct Refusal {
  std::string_view id;  // "attention_heads"
  Template words;       // the engine's own message, with this request's values
  Template cure;        // "use a size that divides them"
};

// The limit that a verdict was compared with.
enum class VerdictLimit {
  kNone,
  kCard,          // the whole GPU, for an engine that sizes its own budget
  kUsable,        // the fraction of the GPU that the engine may use
  kCacheBudget,   // what is left for the cache, or --kv-cache-memory-bytes
  kSharedMemory,  // memory shared by CPU and GPU
  kHostMemory,    // --host-memory
  kNoOffload,     // --no-offload
  kMaxVram,       // --max-vram
  kMinContext,    // --min-context
  kMinSeqs,       // --min-seqs
};

// A change that makes a request fit, as options to add, and the plan that results.
struct Remedy {
  std::vector<std::pair<std::string, std::string>> changes;  // option and value; "" for a flag's value
  std::uint64_t gpus = 1;                                    // in the resulting layout
  Bytes total;                                               // on the fullest GPU
  std::optional<std::int64_t> headroom;
  Bytes host;                              // bytes in host memory, in all
  std::string command = {};                // of a plan of an engine's command: that command, with the changes
  Template cost = {};                      // what the change costs; empty if it is obvious
  std::optional<std::int64_t> frees = {};  // bytes by which the headroom grows
};

struct VerdictReport {
  Verdict status = Verdict::kUnknown;
  bool close = false;  // the limit lies within the estimate's range
  VerdictLimit limit = VerdictLimit::kNone;
  Bytes needed, budget;          // where the limit is in bytes
  Bytes low, high;               // the range of `needed`
  Bytes spared;                  // bytes of the fullest GPU's cache that given lengths and a shared prefix save
  std::optional<Bytes> reserve;  // kept free on the GPU, out of `budget`, for --reserve
  std::optional<bool> starts;    // whether the engine starts, even if not all sequences run at once; absent: not known
  std::optional<Refusal> refusal;             // set if it does not start; the status is then kDoesNotFit
  std::optional<std::uint64_t> runs_at_once;  // sequences like these that the engine's scheduler runs at once
  std::string_view spelling;                  // the engine's names of kvplan's options: "--max-model-len=-c ..."
  std::vector<Remedy> suggestions;            // for a plan that does not fit; smallest change first
  bool has_sought = false;                    // suggestions were searched for
  std::uint64_t asked_gpus = 1;               // requested GPUs; a suggestion may need more
  Template on_cpu;                            // "the experts of 31 of 48 layers are in main memory"; empty: nothing is
  Bytes host_needed;                          // host memory for this, including all else that the engine keeps there
  Template shortfall;                         // what the cache lacks, in the engine's own words
  std::uint64_t count = 0, least = 0;         // tokens or sequences, against --min-context or --min-seqs
  bool counts_room = false;                   // `count` is what fits; otherwise it is what was requested
  std::optional<std::int64_t> headroom;       // bytes left (or missing) on the fullest GPU
  Bytes over;                                 // bytes by which the range's high end exceeds the limit
  Bytes either_way;                           // if it is too close to call: half the width of the range
  Template advice;                            // if it is too close to call: what to lower first
  Template no_verdict;                        // why there is no verdict although there is a limit; empty: there is one
  // The largest cap on sequences that the engine starts with, if it checks its cap after it has sized the cache; and
  // whether a lower cap is all that is needed.
  std::optional<std::uint64_t> largest_seqs_cap;
  bool needs_fewer_seqs = false;

  // Everything fits, on the GPUs or partly in main memory.
  bool holds() const { return status == Verdict::kFits || status == Verdict::kPartlyOnCpu; }
  // A limit was given, and the plan exceeds it or may exceed it.
  bool fails() const { return status == Verdict::kDoesNotFit || !no_verdict.empty(); }
};

// Bounds of speed from the GPU's bandwidth. A decoding step reads the weights that its tokens pass through, and the
// caches of its sequences at their full (or given mean) length. It cannot be faster than that. Engines reach a half to
// nine tenths of it.
struct Roofline {
  double bandwidth_gb_s = 0;  // 10^9 bytes per second, of one GPU
  std::uint64_t num_seqs = 1;
  Bytes weights_read;             // by a decoding step of one sequence, on the GPU that reads most
  Bytes weights_read_batch;       // by a step of all sequences, which uses more distinct experts
  Bytes cache_read;               // of one sequence at full length; states are read and written
  double tokens_per_s_empty = 0;  // one sequence, empty context
  double tokens_per_s = 0;        // one sequence at full length
  double tokens_per_s_batch = 0;  // all sequences together, each at full length
  // Sequences from which a step reads more cache than weights; absent if it never does.
  std::optional<std::uint64_t> cache_outweighs_at;
  double prefill_flops = 0;             // of one prompt of the full length
  std::optional<double> tflops;         // 10^12 per second, of one GPU
  std::optional<double> first_token_s;  // lower bound of the time to first token for such a prompt; needs tflops
  Bytes host_read;                      // from host memory, by a step of one sequence at full length
  double host_gb_s = 0;                 // bandwidth of that memory; 0 if nothing is stored there
  bool host_assumed = false;            // host_gb_s is an assumption of kvplan
};

// The engine's settings in this plan, as requested or by default. Absent if it has no such setting.
struct EngineSettings {
  std::optional<std::uint64_t> max_num_batched_tokens;  // in one step: a prefill chunk, llama.cpp's n_batch
  std::optional<std::uint64_t> max_num_seqs;            // the scheduler's cap; absent: as many as fit
  std::optional<double> memory_fraction;                // of the GPU, or of what is free
  std::optional<std::uint64_t> cuda_graph_sizes;        // batch sizes that graphs are captured for
  std::optional<std::uint64_t> cuda_graphs;             // captured graphs in all
  std::optional<std::uint64_t> state_slots_per_sequence;
  std::optional<bool> prefix_caching;
  std::string_view attention_backend;
  std::optional<std::uint64_t> n_ubatch;  // tokens that pass the layers at once
};

struct TotalReport {
  Bytes bytes, low, high;
};

}  // namespace kvplan
