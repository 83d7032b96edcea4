// Groups of layers that share a block table, and what a block of the pool costs (v1/core/kv_cache_utils.py).
#ifndef KVPLAN_ENGINES_VLLM_GROUPS_H_
#define KVPLAN_ENGINES_VLLM_GROUPS_H_

#include <optional>
#include <vector>

#include "engines/vllm/rules.h"
#include "engines/vllm/specs.h"

namespace kvplan {

enum class Pool {
  kNone,     // no layer caches
  kUniform,  // one group; a block holds a page of every layer
  kPaged,    // several groups; a block holds as many pages of one size as the longest group has layers
  kPacked,   // DeepSeek-V4: several groups of several page sizes, packed into one block
};

struct VllmGroup {
  std::vector<std::size_t> members;  // indices into the list of specs
};

struct VllmGroups {
  Pool pool = Pool::kNone;
  PackedBlock packed_block = PackedBlock::kWidestGroup;
  std::vector<VllmGroup> groups;
  std::optional<std::size_t> crossed;  // V0: a spec whose source tokens take blocks of the one group too
};

// Groups `specs`; page sizes and block sizes of the specs are made equal where that is vLLM's rule.
// Error(kBadInput) where vLLM cannot.
VllmGroups group_specs(std::vector<VllmSpec>& specs, const VllmRules& rules);

// What one pipeline stage holds of the groups.
struct StagePool {
  Bytes block;               // bytes of a block of the pool
  Bytes gate;                // bytes that a block of a request counts for in "KV cache needed"
  std::vector<Bytes> slots;  // the pages that `gate` is made of: a tensor of the pool each
};
StagePool stage_pool(const std::vector<VllmSpec>& specs, const VllmGroups& groups, std::uint64_t first_layer,
                     std::uint64_t last_layer);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_GROUPS_H_
