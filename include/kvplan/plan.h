// The answer: a ledger of memory per GPU, with the formula and the source of every line.
#ifndef KVPLAN_PLAN_H_
#define KVPLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/note.h"
#include "kvplan/quantity.h"

namespace kvplan {

enum class Section { kWeights, kKvCache, kActivation, kRuntime };

// What a line stands for, where something is decided by it: its words are for people.
enum class LineKind {
  kUsual,
  kGraphs,        // captured graphs
  kContext,       // the driver's context, libraries, communication
  kOutsideTorch,  // what grows beside PyTorch's allocator
  kEncoderCache,  // an encoder's outputs, which hold tokens and are none of the cache's own pool
  kSampled,       // grows with the sequences that are sampled
  kStates,        // of recurrent layers, in a buffer of their own
};

// One line of the ledger. Exact lines have low == bytes == high.
struct LedgerLine {
  Section part = Section::kKvCache;
  std::string what;  // "experts", "full attention, 12 layers", "CUDA graphs"
  Bytes bytes, low, high;
  std::string formula;  // with the numbers put in
  std::string source;   // config keys, engine file, log
  LineKind kind = LineKind::kUsual;
};
LedgerLine of_kind(LineKind kind, LedgerLine line);
LedgerLine exact_line(Section part, std::string what, Bytes bytes, std::string formula, std::string source);

struct GpuMemory {
  std::uint64_t gpu = 0;
  std::optional<Bytes> weights, kv_cache, activation, runtime;  // absent: not known, and no part of the total
  Bytes total;
  std::vector<LedgerLine> lines;
};

// Why an engine takes more (or less) than the architecture needs, from the logical share to the reserved bytes.
struct GapLine {
  std::string reason;
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
  Bytes kv_cache_memory;  // per GPU
  std::optional<std::uint64_t> num_blocks;
  std::optional<std::uint64_t> tokens;
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

struct VerdictReport {
  Verdict status = Verdict::kUnknown;
  bool close = false;  // the limit lies inside the range
  std::string reason;
  std::optional<std::int64_t> headroom;  // bytes left (or missing) on the fullest GPU
  Bytes either_way;                      // where it is close: half the width of the range
  std::string advice;                    // where it is close: what to lower first
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
};

struct TotalReport {
  Bytes bytes, low, high;
};

}  // namespace kvplan

#endif  // KVPLAN_PLAN_H_
