// Pooled index keys (GLM-5.3-Flash, Qwen3.8-Flash-Next): an indexer that scores groups of tokens.
//
// One index key covers p tokens, so the keys take a p-th of what an indexer for every token needs (sparse_mla.h).
// A key can only be made once its group is complete. Until then every token of the open group waits as v vectors:
//
//   elements(S) = floor(S / p) * d_index  +  min(S, p) * v * d_index
//
//   p        index_kpool or indexer_compress_ratio (4)
//   d_index  index_head_dim or indexer_head_dim (128)
//   v        key and gate (2) in GLM-5.3-Flash, only the key (1) in Qwen3.8-Flash-Next
//
// Source: vLLM models/glm5next/common/attention.py, models/qwen4_exp/common/qsa_cache.py.
// Checked against: vLLM 0.33.0, executed (testdata/conformance/vllm-0.33.0.jsonl).
// Engines differ: vLLM keeps the open group in a separate block for each request, with space for draft tokens.
#pragma once

namespace kvplan {

// Adds an index key of `width` for every `pool` tokens. If a key covers several tokens, also adds the open group.
void add_index_terms(CacheTerms& out, std::uint64_t width, Storage storage, std::uint64_t pool,
                     std::uint64_t vectors_of_open_group);

}  // namespace kvplan
