#include "formulas/chunked.h"

namespace kvplan {

namespace {
constexpr KindInfo kChunkedInfo{"chunked",
                                "chunked local attention",
                                "min(S, C)*H_kv*(d + d_v)",
                                "attention_chunk_size, num_key_value_heads, head_dim",
                                "tokens up to the chunk",
                                "vLLM ChunkedLocalAttentionSpec"};
}  // namespace

std::span<const KindInfo> Chunked::infos() {
  return {&kChunkedInfo, 1};
}

std::vector<Symbol> Chunked::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"C", chunk.count(), "attention_chunk_size"});
  return out;
}

}  // namespace kvplan
