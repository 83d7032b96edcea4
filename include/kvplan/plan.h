// The answer: a ledger of memory per GPU, with the formula and the source of every line.
#ifndef KVPLAN_PLAN_H_
#define KVPLAN_PLAN_H_

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

// What a line stands for: rules and programs go by it, its words are for people.
enum class LineId : std::uint8_t {
  kUsual,  // its part, and nothing more: "kv_cache"
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
  kRotary,        // tables of angles
  kLoading,       // what the allocator's pieces leave over while it loads
  kDraftWeights,  // of a draft model, or of heads that guess
  kLora,
  kImageProjector,  // of llama.cpp, in a file of its own
  // What holds tokens or states.
  kEncoderCache,  // an encoder's outputs, which are none of the cache's own pool
  kStates,        // of recurrent layers, in a buffer of their own
  kStatePool,
  kPaddingSlot,
  kDraftCache,
  kGuessStates,  // states of tokens that are guessed
  kRollBack,     // rows to roll states back to
  kOffloaded,    // in host memory
  // Activations.
  kSampled,  // logits and what grows with the sequences that are sampled
  kScores,   // a matrix of attention scores
  kComputeBuffer,
  kDraftBuffer,   // the draft's compute buffer
  kImageEncoder,  // its compute buffer
  // Runtime.
  kGraphs,        // captured graphs
  kContext,       // the driver's context, libraries, communication
  kOutsideTorch,  // what grows beside PyTorch's allocator
  kRequestTable,
};

// What a figure rests on.
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
// "cuda_graphs", "experts"; its part's name where it is nothing more.
std::string_view id_of(const LedgerLine& line);
// What a deployment adds to a model: drafts, adapters, encoders.
bool is_extra(LineId id);

struct GpuMemory {
  std::uint64_t gpu = 0;
  std::optional<Bytes> weights, kv_cache, activation, runtime;  // absent: not known, and no part of the total
  Bytes total;
  std::vector<LedgerLine> lines;
};

// Why an engine takes more (or less) than the architecture needs, from the logical share to the reserved bytes.
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
  Bytes bytes_per_token;            // one more token of one sequence, beyond every window
  Bytes bytes_per_token_in_window;  // while every window still grows
  Bytes bytes_per_sequence;         // fixed state
  Bytes logical;                    // whole model, for the request
  Bytes logical_per_gpu;            // the fullest GPU's share
  Bytes reserved;                   // what the engine takes on the fullest GPU
  Bytes reserved_total;
  std::vector<GapLine> gap;
  std::optional<std::uint64_t> block_size;  // of the largest group
  std::vector<CacheGroup> groups;
};

// Where a search for the largest ends: from here on, anything fits.
inline constexpr std::uint64_t kAnyCount = std::uint64_t{1} << 40;

struct Capacity {
  Bytes kv_cache_memory;                                           // per GPU
  std::optional<Bytes> kv_cache_memory_low, kv_cache_memory_high;  // where it is taken from a card by estimates
  std::optional<std::uint64_t> num_blocks;
  std::optional<std::uint64_t> tokens, tokens_low, tokens_high;
  double max_concurrency = 0;
  std::uint64_t max_model_len = 0;  // the largest at the requested sequences; kAnyCount: any
  std::uint64_t max_num_seqs = 0;   // the most at the requested length; likewise
};

// A mix of sequence lengths, on all GPUs together (one copy of what tensor parallelism repeats).
struct MixReport {
  std::uint64_t sequences = 0;
  Tokens tokens;  // of all sequences
  std::uint64_t block_size = 0;
  bool engine_pages = false;  // the engine's own block size; else the usual 16
  Bytes needed;               // exactly the tokens that there are
  Bytes slab;                 // max_model_len for every sequence
  Bytes pages;                // whole pages
  Bytes page_table;           // the numbers of the pages
  Tokens shared_prefix;
  Bytes shared_saving;  // of the pages, where the prefix is stored once
};

enum class Verdict { kFits, kDoesNotFit, kUnknown };

// Why an engine does not start, where that is not memory.
struct Refusal {
  std::string_view id;  // "attention_heads"
  Template words;       // the engine's own, with this request's values
  Template cure;        // "use a size that divides them"
};

// What a verdict was held against.
enum class VerdictLimit {
  kNone,
  kCard,          // the whole card, by an engine that budgets for itself
  kUsable,        // the share of the card that the engine may use
  kCacheBudget,   // what is left for the cache, or --kv-cache-memory-bytes
  kSharedMemory,  // of processor and GPU
  kHostMemory,    // --host-memory
  kMaxVram,       // --max-vram
  kMinContext,    // --min-context
  kMinSeqs,       // --min-seqs
};

// One change that makes a request fit, as options to add, and what the plan is then.
struct Remedy {
  std::vector<std::pair<std::string, std::string>> changes;  // option and value; "" for a flag's value
  std::uint64_t gpus = 1;                                    // of the layout
  Bytes total;                                               // of the fullest GPU
  std::optional<std::int64_t> headroom;
  Bytes host;  // what then lies in host memory, in all
};

struct VerdictReport {
  Verdict status = Verdict::kUnknown;
  bool close = false;  // the limit lies inside the range
  VerdictLimit limit = VerdictLimit::kNone;
  Bytes needed, budget;          // of the limit, where it is of bytes
  Bytes low, high;               // the range of `needed`
  Bytes spared;                  // of the fullest GPU's cache at full lengths, where lengths were stated that need less
  std::optional<Bytes> reserve;  // of the card, kept free of `budget`, where one was asked for
  std::optional<bool> starts;    // the engine starts, whether or not all sequences run at once; absent: not known
  std::optional<Refusal> refusal;             // then it does not start, and the status is kDoesNotFit
  std::optional<std::uint64_t> runs_at_once;  // sequences like these, by the engine's own scheduler
  std::vector<Remedy> suggestions;            // where it does not fit, least loss first
  bool has_sought = false;                    // they were sought
  std::uint64_t asked_gpus = 1;               // beside which a suggestion's are more, or the same
  Template shortfall;                         // what the cache lacks, as the engine's own rule has it
  std::uint64_t count = 0, least = 0;         // tokens or sequences, against --min-context or --min-seqs
  bool counts_room = false;                   // `count` is what fits; else what was asked for
  std::optional<std::int64_t> headroom;       // bytes left (or missing) on the fullest GPU
  Bytes over;                                 // what the high end of the range has too much
  Bytes either_way;                           // where it is close: half the width of the range
  Template advice;                            // where it is close: what to lower first
};

// Bounds of speed from the card's bandwidth: a step of decoding reads the weights that its tokens pass through and the
// caches of its sequences at their full length, and can be no faster. Engines reach a half to nine tenths of it.
struct Roofline {
  double bandwidth_gb_s = 0;  // 10^9 bytes a second, of one GPU
  std::uint64_t num_seqs = 1;
  Bytes weights_read;                               // of a step with one sequence, on the GPU that reads most
  Bytes weights_read_batch;                         // with all sequences: more experts are met
  Bytes cache_read;                                 // of one sequence at full length; states are read and written
  double tokens_per_s_empty = 0;                    // one sequence, nothing cached yet
  double tokens_per_s = 0;                          // one sequence at full length
  double tokens_per_s_batch = 0;                    // all sequences together, each at full length
  std::optional<std::uint64_t> cache_outweighs_at;  // sequences; absent: never (or without a cache)
  double prefill_flops = 0;                         // of one prompt of the full length
  std::optional<double> tflops;                     // 10^12 a second, of one GPU
  std::optional<double> first_token_s;              // no sooner than this after such a prompt; needs tflops
  Bytes host_read;                                  // of a step with one sequence at full length, from host memory
  double host_gb_s = 0;                             // of which it is read; 0 where nothing lies there
  bool host_assumed = false;                        // nobody named host_gb_s
};

// What the engine is planned with, asked for or its own default; absent where it has no such thing.
struct EngineSettings {
  std::optional<std::uint64_t> max_num_batched_tokens;  // of a step: a prefill chunk, llama.cpp's n_batch
  std::optional<std::uint64_t> max_num_seqs;            // the scheduler's cap; absent: as many as fit
  std::optional<double> memory_fraction;                // of the card, or of what is free
  std::optional<std::uint64_t> cuda_graph_sizes;        // batch sizes that are captured
  std::optional<std::uint64_t> cuda_graphs;             // graphs of all of them
  std::optional<std::uint64_t> state_slots_per_sequence;
  std::optional<bool> prefix_caching;
  std::string_view attention_backend;
  std::optional<std::uint64_t> n_ubatch;  // tokens that pass the layers at once
};

struct TotalReport {
  Bytes bytes, low, high;
};

}  // namespace kvplan

#endif  // KVPLAN_PLAN_H_
