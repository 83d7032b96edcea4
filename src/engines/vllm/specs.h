// A model's caches as vLLM's KVCacheSpecs: what one layer's block contains, and how many blocks a request is charged
// for.
#pragma once

#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/vllm/rules.h"

namespace kvplan {

// The classes of v1/kv_cache_interface.py that matter for memory.
enum class SpecType {
  kFull,        // FullAttentionSpec, TQFullAttentionSpec, SinkFullAttentionSpec
  kMla,         // MLAAttentionSpec: latents, index keys, DeepSeek-V4's compressed entries
  kSliding,     // SlidingWindowSpec
  kSlidingMla,  // SlidingWindowMLASpec: DeepSeek-V4's windows and compressor states
  kChunked,     // ChunkedLocalAttentionSpec
  kCross,       // CrossAttentionSpec
  kState,       // MambaSpec
  kRing,        // CircularBufferSpec: one block for each request, whatever its length
};

struct VllmSpec {
  SpecType type = SpecType::kFull;
  std::string_view label;        // for reports
  std::uint64_t layer = 0;       // index in the decoder; MTP layers follow the last one
  bool draft = false;            // a layer of the draft
  bool replicated = false;       // a state that is whole on every rank
  bool promoted = false;         // a window that is kept at full length
  std::uint64_t block_size = 0;  // in tokens; 0 for a state that does not depend on tokens
  std::uint64_t window = 0;      // tokens of a window or a chunk
  std::uint64_t stride = 1;      // tokens per entry
  Bytes entry;                   // bytes of an entry (one token, or `stride` tokens), or of a state
  std::uint64_t heads = 0, width = 0, value_width = 0;  // attention specs that agree in these are equal
  Bytes page;                                           // bytes that a block needs
  Bytes padded;                                         // bytes that a block takes, including padding
  Bytes alignment{1};                                   // alignment of blocks that store all layers

  bool is_state() const { return type == SpecType::kState; }
  bool is_full_family() const { return type == SpecType::kFull || type == SpecType::kMla; }
  bool is_sliding() const { return type == SpecType::kSliding || type == SpecType::kSlidingMla; }
  // Whether vLLM treats both as equal, and keeps them in one group.
  bool same_as(const VllmSpec& other) const;
};

enum class MambaMode { kNone, kAlign, kAll };

// How a request is charged: the settings that max_memory_usage_bytes reads.
struct ChargeRules {
  std::uint64_t in_flight_tokens = 8192;  // tokens charged in addition to a window
  std::uint64_t batch_tokens = 8192;      // of one step
  std::uint64_t source_tokens = 0;        // charged for every source, whatever its length; 0 if its own length counts
  std::uint64_t context_ranks = 1;        // decode context parallel: ranks that share a sequence's tokens
  MambaMode mamba_mode = MambaMode::kNone;
  std::uint64_t state_slots = 1;  // blocks of one request, in modes none and align
  std::uint64_t drafts = 0;       // draft tokens; each has a state
  std::uint64_t extra_slots = 0;  // blocks in mode all, in addition to one state in every block
};

// The label of index keys. They have specs apart from those of their layer.
inline constexpr std::string_view kIndexLabel = "index keys";

// Blocks that vLLM charges for one request of `load` under `spec` (max_memory_usage_bytes / page_size_bytes).
std::uint64_t charged_blocks(const VllmSpec& spec, const ChargeRules& charge, const Load& load);
// Blocks that the tokens fill, without the reserve for batches in flight.
std::uint64_t filled_blocks(const VllmSpec& spec, const ChargeRules& charge, const Load& load);
// Bytes of the tokens, not rounded to blocks.
Bytes filled_bytes(const VllmSpec& spec, const ChargeRules& charge, const Load& load);

struct SpecList {
  std::vector<VllmSpec> specs;  // in layer order
  ChargeRules charge;
  std::string draft_label = "draft layers";
};

// All specs of one rank of the model. Adds notes. Throws Error(kBadInput) with vLLM's rule if vLLM refuses it.
SpecList vllm_specs(const EngineInput& input, const VllmRules& rules, std::vector<Note>& notes);

}  // namespace kvplan
