// Chunked local attention: the sequence is cut into chunks of C tokens, and a token attends to its own chunk only.
//
//   elements(S) = min(S, C) * H_kv * (d + d_v)
//
//   C     attention_chunk_size (Llama 4: 8192); the other symbols as in full_attention.h
//
// At the start of a chunk the cache is empty again, so it needs at most C tokens. Every
// fourth layer of Llama 4 has no rotary embedding (no_rope_layers) and attends to everything.
//
// Source: Llama 4 (transformers models/llama4, attention_chunk_size); vLLM ChunkedLocalAttentionSpec.
// Checked against: testdata/configs/llama-4-scout.json: 36 chunked and 12 full layers of 2 * 8 * 128 elements.
// Engines differ: llama.cpp treats the chunk as a window and adds one ubatch; older vLLM held every token.
#pragma once

#include "formulas/heads.h"

namespace kvplan {

struct Chunked {
  Heads heads;
  Tokens chunk;

  static constexpr KindInfo kInfo[] = {{"chunked", "chunked local attention", "min(S, C)*H_kv*(d + d_v)",
                                        "attention_chunk_size, num_key_value_heads, head_dim", "tokens up to the chunk",
                                        "vLLM ChunkedLocalAttentionSpec"}};
  CacheTerms terms(Form) const { return key_value_terms(heads, {LimitKind::kChunk, chunk, Tokens(0)}); }
  std::vector<Symbol> symbols() const { return head_symbols(heads, {{"C", chunk.count(), "attention_chunk_size"}}); }
  void project(Projections& out) const { project_heads(out, heads); }
  std::uint64_t macs_per_entry() const { return head_macs(heads); }
  friend bool operator==(const Chunked&, const Chunked&) = default;
};

}  // namespace kvplan
