// SGLang's pools: the bytes of a token, a page and a slot on a rank, the smallest pools for a load, and the pools that
// SGLang makes of a budget. Source: model_executor/pool_configurator.py, mem_cache/memory_pool.py, server_args.py
// (read).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/sglang/class_table.h"
#include "engines/sglang/rules.h"
#include "engines/term_sum.h"

namespace kvplan {

// A ratio as a fraction, so that whole numbers of tokens are exact.
struct SglangRatio {
  std::uint64_t part = 4;
  std::uint64_t whole = 5;
};
inline constexpr SglangRatio kSwaRatio{4, 5};
inline constexpr SglangRatio kCompressedRatio{1, 10};

// What one rank of a stage stores, in bytes.
struct SglangStage {
  Bytes full;          // of a token in the main pool
  Bytes windows;       // of a token in the second pool
  Bytes full_page;     // of a page in the main pool, beyond its tokens (DeepSeek-V4's padded entries)
  Bytes place;         // of the index from a main pool token to the second pool
  Bytes spare;         // of DeepSeek-V4's pools in addition to their tokens and a page
  Bytes page_windows;  // of sums that follow the second pool page by page (DeepSeek-V4, ratio 4)
  Bytes ring;          // of one row of the sums that every request has (DeepSeek-V4, ratio 128)
  double charge = 0;   // DeepSeek-V4: what the budget counts for a token of the main pool, without padding
  Bytes slot;          // of one state slot
  Bytes draft;         // of a token in the draft's pool
  Bytes draft_charge;  // what the budget counts for a token of the draft's pool
  Bytes source;        // of an encoder token
  std::map<std::string, std::uint64_t> full_kinds, window_kinds, state_kinds;
  std::vector<LayerCache> caches;
  TermSum logical;
};

// The number of tokens and slots in the pools.
struct SglangCounts {
  std::uint64_t full = 0, windows = 0, slots = 0;
};

class SglangPools {
 protected:
  SglangPools(const EngineInput& input, std::vector<Note>& notes);  // stages.cpp
  // Adds the bytes that a rank of the stage stores for a layer.
  void add(SglangStage& stage, const LayerCache& cache) const;

  static constexpr std::uint64_t kMost = kAnyCount;

  static bool holds(const SglangCounts& have, const SglangCounts& need) {
    return have.full >= need.full && have.windows >= need.windows && have.slots >= need.slots;
  }
  std::uint64_t draft_tokens(const SglangCounts& pools) const {
    return (draft_in_windows_ ? pools.windows : pools.full) + page_;
  }
  bool has_windows() const { return window_ > 0; }
  // Pages of the second pool as compressors count them (swa_page_size): one is a page or a window.
  std::uint64_t window_pages(std::uint64_t tokens) const { return has_windows() ? tokens / sums_page_ : 0; }
  // Pages of the main pool, including the dummy page.
  std::uint64_t full_pages(std::uint64_t tokens) const { return tokens > 0 ? tokens / page_ + 1 : 0; }
  // SGLang refuses a window pool that is not larger than a window plus a page.
  std::uint64_t least_windows() const { return round_up(window_ + page_ + 1, page_, "a window"); }

  // Rows of the sums that every request has: a ring for each request, two more rings and a row, rounded up to whole
  // strides (_get_c128_state_fixed_bytes).
  std::uint64_t ring_rows(const Load& load) const;
  bool grows() const;
  Bytes fullest_slot() const;
  std::uint64_t source_entries(const Load& load) const;
  // The size of the window pool if the main pool has `full` tokens.
  std::uint64_t windows_of(std::uint64_t full) const;
  // The smallest pools that fit the load.
  SglangCounts pools_for(const Load& load) const;
  // The first slot is padding. With drafts, each running request and the padding have `verified_` states
  // (_handle_max_mamba_cache).
  std::uint64_t slots_of(std::uint64_t share, std::uint64_t slot) const;
  // States of draft tokens, for `slots` requests and `padding` slots of padding.
  std::uint64_t states_of_drafts(std::uint64_t slots, std::uint64_t padding = 1) const;
  // The part of the budget that the state pool gets.
  Bytes state_share(Bytes budget) const;
  // The pools that SGLang makes of a budget: the smallest of all stages.
  SglangCounts pools_of(Bytes budget, const Load& load) const;
  // Tokens that would fit in a budget if one pool had all layers.
  std::uint64_t undivided(Bytes budget) const;
  // The smallest budget whose pools fit the load.
  Bytes least_budget(const Load& load) const;
  Bytes bytes(const SglangStage& stage, const SglangCounts& pools, const Load& load) const;
  // Bytes of the fullest rank.
  Bytes fullest(const Load& load) const;

  SglangRules rules_;
  SglangClass class_;
  std::uint64_t ranks_;
  CacheTypes types_;
  bool two_pools_;
  bool counts_bare_latents_ = false;
  std::optional<Term> all_index_;  // index keys that every layer has
  Template draft_label_;
  std::uint64_t page_ = 1;
  SglangRatio ratio_ = kSwaRatio;
  std::uint64_t window_ = 0;  // the widest window in the second pool; 0 without one
  std::uint64_t sums_page_ = 1;
  std::uint64_t ring_ = 0;                  // rows of a request's ring; 0 without a ring
  std::uint64_t running_ = 0;               // requests at the same time; 0: as many as fit
  std::uint64_t fixed_windows_ = 0;         // a fixed number of tokens in the second pool; 0 if a ratio decides
  std::uint64_t slots_ = 1;                 // slots of one request
  std::optional<std::uint64_t> all_slots_;  // a fixed number of slots, whatever the budget
  std::uint64_t most_tokens_ = kMost;       // --max-total-tokens
  double state_ratio_ = 0.9;                // bytes of the state pool / bytes of the token pools
  std::uint64_t verified_ = 0;              // tokens verified in one step; 0 without speculative decoding
  bool all_windows_ = true;
  bool draft_in_windows_ = false;
  bool states_ = false;
  std::vector<SglangStage> stages_;

 private:
  std::uint64_t windows_by_request(const EngineInput& input) const;
  void read_pools(const EngineInput& input);
  std::uint64_t ring_of(const Term& term) const;
  bool kept_by_request(const Term& term) const;
  Bytes padded_page(Bytes entry, std::uint64_t stride) const;
  double charged(Bytes entry, std::uint64_t stride) const;
  void add_draft(const EngineInput& input);
};

}  // namespace kvplan
