// The sizes of heads that most kinds share, and the K and V terms that follow from them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "formulas/kind.h"
#include "kvplan/terms.h"

namespace kvplan {

struct Heads {
  std::uint64_t num_heads = 0;     // H, query heads
  std::uint64_t num_kv_heads = 0;  // H_kv
  std::uint64_t head_dim = 0;      // d, of queries and keys
  std::uint64_t v_head_dim = 0;    // d_v, of values; d in most models
  std::uint64_t meta_tokens = 0;   // M, learned tokens before every sequence, whose K and V are always kept
  friend bool operator==(const Heads&, const Heads&) = default;
};

// K has H_kv x d elements and V has H_kv x d_v, for each token that is kept and for each of a sequence's M meta tokens.
CacheTerms key_value_terms(const Heads& heads, const Limit& limit = {}, Growth growth = Growth::kToken);
std::vector<Symbol> head_symbols(const Heads& heads, std::initializer_list<Symbol> more = {});
// Multiply-adds for one cached token, for scores and weighted values: H * (d + d_v).
std::uint64_t head_macs(const Heads& heads);
// Adds Q, K, V and O, and what the family adds to them. `has_own_kv` is false if another layer's cache is read.
void project_heads(Projections& out, const Heads& heads, bool has_own_kv = true, std::string_view block = "self_attn.");

}  // namespace kvplan
