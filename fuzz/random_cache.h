// Random caches from a fuzzer's bytes, and the same cache counted the slow way: token by token, element by element.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "formulas/kinds.h"
#include "fuzz/source.h"
#include "kvplan/storage.h"

namespace kvplan::fuzz {

inline Heads make_heads(Source& source) {
  const std::uint64_t kv = source.from(1, 6);
  return {kv * source.from(1, 4), kv, 32 * source.from(1, 4), 32 * source.from(1, 4)};
}

inline Latent make_latent(Source& source) {
  return {source.from(1, 8), 32 * source.from(1, 16), 32 * source.from(1, 3), 32, 32, 0};
}

inline Mixer make_mixer(Source& source) {
  switch (source.below(std::variant_size_v<Mixer>)) {
    case 0: return FullAttention{make_heads(source)};
    case 1: return SlidingWindow{make_heads(source), Tokens(source.from(1, 300))};
    case 2: return Chunked{make_heads(source), Tokens(source.from(1, 300))};
    case 3: return AttentionSink{make_heads(source), Tokens(source.below(8)), Tokens(source.from(1, 300))};
    case 4: return Mla{make_latent(source)};
    case 5: return SparseMla{make_latent(source), 32 * source.below(5), 4, 16};
    case 6: return SparseGqa{make_heads(source), 32 * source.from(1, 4), 4};
    case 7: {
      constexpr std::uint64_t kRatios[] = {0, 1, 4, 128};
      const std::uint64_t ratio = kRatios[source.below(4)];
      Compressed kind{
          8, 32 * source.from(2, 16), 32, ratio, ratio == 4 ? std::uint64_t{64} : 0, 4, false, false, Tokens(128)};
      return kind;
    }
    case 8: {
      Ssm kind;
      kind.version = source.below(2) == 0 ? Ssm::Version::kMamba1 : Ssm::Version::kMamba2;
      kind.num_heads = source.from(1, 8);
      kind.head_dim = 8 * source.from(1, 8);
      kind.d_inner = kind.num_heads * kind.head_dim;
      kind.d_state = 16 * source.from(1, 8);
      kind.conv_kernel = source.from(1, 4);
      kind.n_groups = source.from(1, 4);
      kind.conv_over_groups = source.below(2) == 0;
      return kind;
    }
    case 9: {
      constexpr Linear::Rule kRules[] = {Linear::Rule::kGatedDeltaNet, Linear::Rule::kKda, Linear::Rule::kLightning,
                                         Linear::Rule::kMlstm};
      return Linear{kRules[source.below(4)], source.from(1, 4), 32, source.from(1, 8), 32, source.below(5)};
    }
    case 10: return ShortConv{source.from(1, 64), source.from(1, 4)};
    case 11: {
      const std::uint64_t dim = 8 * source.from(1, 8);
      return Rwkv{source.from(4, 7), dim * source.from(1, 4), dim, source.from(1, 2)};
    }
    case 12: return RgLru{source.from(1, 128), source.from(1, 4), 1};
    case 13: return Cross{make_heads(source)};
    case 14: return Shared{0, make_heads(source), Tokens(0)};
    default: return None{};
  }
}

// The most entries that the term has at any time while `tokens` tokens arrive one by one.
inline std::uint64_t grown(const Term& term, std::uint64_t tokens, std::uint64_t source_tokens) {
  if (term.growth == Growth::kSequence) return 1;
  const std::uint64_t arrivals = term.growth == Growth::kSourceToken ? source_tokens : tokens;
  std::vector<std::uint64_t> pinned;  // the sink
  std::deque<std::uint64_t> kept;
  std::uint64_t pending = 0;  // tokens of the unfinished stride
  std::uint64_t most = 0;
  for (std::uint64_t token = 0; token < arrivals; ++token) {
    if (++pending < term.stride) continue;
    pending = 0;
    switch (term.limit.kind) {
      case LimitKind::kNone: kept.push_back(token); break;
      case LimitKind::kWindow:
        kept.push_back(token);
        while (kept.size() > term.limit.tokens.count()) kept.pop_front();
        break;
      case LimitKind::kChunk:
        if (token % term.limit.tokens.count() == 0) kept.clear();
        kept.push_back(token);
        break;
      case LimitKind::kSink:
        if (pinned.size() < term.limit.sink.count()) {
          pinned.push_back(token);
        } else {
          kept.push_back(token);
          while (kept.size() > term.limit.tokens.count()) kept.pop_front();
        }
        break;
    }
    most = std::max<std::uint64_t>(most, pinned.size() + kept.size());
  }
  return most;
}

// What one element costs, written a second time: bits, bytes for each started block, and bytes for each vector.
struct Cost {
  Dtype type;
  std::uint64_t bits, block, block_extra, vector_extra;
  bool over_row;
};
inline constexpr Cost kCosts[] = {
    {Dtype::kFloat32, 32, 0, 0, 0, false},  {Dtype::kFloat16, 16, 0, 0, 0, false},
    {Dtype::kBfloat16, 16, 0, 0, 0, false}, {Dtype::kFp8E4m3, 8, 0, 0, 0, false},
    {Dtype::kFp8E5m2, 8, 0, 0, 0, false},   {Dtype::kFp8PerTokenHead, 8, 0, 0, 4, false},
    {Dtype::kInt8, 8, 0, 0, 4, false},      {Dtype::kInt4, 4, 0, 0, 4, false},
    {Dtype::kNvfp4, 4, 16, 1, 0, false},    {Dtype::kQ8_0, 8, 32, 2, 0, true},
    {Dtype::kQ5_1, 5, 32, 4, 0, true},      {Dtype::kQ5_0, 5, 32, 2, 0, true},
    {Dtype::kQ4_1, 4, 32, 4, 0, true},      {Dtype::kQ4_0, 4, 32, 2, 0, true},
    {Dtype::kIq4Nl, 4, 32, 2, 0, true},
};

// Bytes of one entry, element by element.
inline std::uint64_t packed(const Term& term, const Cost& cost) {
  const std::uint64_t columns = term.shape.columns > 0 ? term.shape.columns - 1 : 1;
  std::uint64_t bits = 0;
  std::uint64_t bytes = 0;
  std::uint64_t in_block = 0;
  const auto end_vector = [&] {
    bytes += (bits + 7) / 8 + cost.vector_extra;
    bits = 0;
    in_block = 0;
  };
  for (std::uint64_t unit = 0; unit < term.shape.units; ++unit)
    for (std::uint64_t vector = 0; vector < term.shape.vectors; ++vector)
      for (std::uint64_t column = 0; column < columns; ++column) {
        for (std::uint64_t element = 0; element < term.shape.width; ++element) {
          if (cost.block > 0 && in_block == 0) bytes += cost.block_extra;
          in_block = cost.block > 0 ? (in_block + 1) % cost.block : 0;
          bits += cost.bits;
        }
        if (!cost.over_row) end_vector();
      }
  if (cost.over_row) end_vector();
  return bytes;
}

inline const Cost& cost_of(Dtype type) {
  for (const Cost& cost : kCosts)
    if (cost.type == type) return cost;
  return kCosts[2];
}

// Bytes of an entry of the term, computed from what it stores.
inline std::uint64_t packed(const Term& term, const Cost& kv, const Cost& state) {
  switch (term.storage) {
    case Storage::kKv: return packed(term, kv);
    case Storage::kState: return packed(term, state);
    case Storage::kModel: break;
    case Storage::kFloat32: return packed(term, kCosts[0]);
    case Storage::kFp8Scaled: return packed(term, {Dtype::kFp8E4m3, 8, 128, 4, 0, false});
  }
  return packed(term, kCosts[2]);
}

}  // namespace kvplan::fuzz
