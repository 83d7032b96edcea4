// Groups of layers that share a block table, and the bytes of a block of the pool (v1/core/kv_cache_utils.py).
#pragma once

#include <optional>
#include <vector>

#include "engines/vllm/rules.h"
#include "engines/vllm/specs.h"

namespace kvplan {

enum class Pool {
  kNone,     // no layer has a cache
  kUniform,  // one group; a block has a page of every layer
  kPaged,    // several groups; a block has as many pages of one size as the longest group has layers
  kPacked,   // DeepSeek-V4: several groups of several page sizes, packed into one block
};

struct VllmGroup {
  std::vector<std::size_t> members;  // indices into the list of specs
};

struct VllmGroups {
  Pool pool = Pool::kNone;
  // How a packed block is counted: VllmRules::packs_by_slots, packs_widest_group, checks_whole_blocks.
  bool by_slots = false, by_widest_group = false, is_checked_whole = false;
  std::vector<VllmGroup> groups;
  std::optional<std::size_t> crossed;  // V0: a spec whose source tokens also take blocks of the one group
};

// Groups `specs`, and makes their page sizes and block sizes equal if vLLM does. Throws Error(kBadInput) if vLLM cannot
// group them.
VllmGroups group_specs(std::vector<VllmSpec>& specs, const VllmRules& rules);

// One pipeline stage's part of the groups.
struct StagePool {
  Bytes block;               // bytes of one block of the pool
  Bytes gate;                // bytes of one block in the check that prints "KV cache needed"
  std::vector<Bytes> slots;  // the pages that make up `gate`: one tensor of the pool each
};
StagePool stage_pool(const std::vector<VllmSpec>& specs, const VllmGroups& groups, std::uint64_t first_layer,
                     std::uint64_t last_layer);

}  // namespace kvplan
