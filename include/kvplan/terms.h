// Terms connect formulas and engines. A formula turns a layer into a short list of terms, and an engine turns terms
// into bytes. Formulas know no engine and no type's size. Engines know no attention kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// A term's role in the layer. Engines store keys, values, states and index keys in different pools and types.
enum class Role { kKey, kValue, kState, kIndex };

// Parts that a packed storage type stores differently (fp8_ds_mla: the latent in FP8 with scales, the rope part in 16
// bit), and the state of a selective scan, which has its own kernels.
enum class Part { kPlain, kLatent, kRope, kScan };

// units x vectors x width elements per entry.
//   units    heads or groups: what tensor parallelism splits, or repeats if there are fewer units than ranks
//   vectors  rows of one unit (head_dim rows of an SSM state; 1 for keys and values)
//   width    elements of one row
//   columns  0, or the kernel size of a convolution: the maths needs columns - 1 past inputs of the row, engines
//            keep columns - 1, columns, or columns - 1 plus the speculative tokens
struct Shape {
  std::uint64_t units = 1;
  std::uint64_t vectors = 1;
  std::uint64_t width = 1;
  std::uint64_t columns = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// What an entry is for.
enum class Growth {
  kToken,        // one entry for every `stride` tokens of the sequence
  kSourceToken,  // one entry for every encoder or image token (cross attention)
  kSequence,     // one entry for the sequence, whatever its length
};

// How a growing term is limited.
enum class LimitKind {
  kNone,
  kWindow,  // the last `tokens` tokens
  kChunk,   // the tokens of the current chunk of `tokens`
  kSink,    // `sink` first tokens and the last `tokens` ones
};

struct Limit {
  LimitKind kind = LimitKind::kNone;
  Tokens tokens{};
  Tokens sink{};
  // The number of tokens at which the term stops growing; 0 for kNone.
  Tokens total() const { return tokens + sink; }
  friend bool operator==(const Limit&, const Limit&) = default;
};

// Which type the elements are stored in. Only storage.h knows both terms and types.
enum class Storage {
  kKv,         // the KV cache type (K and V may differ)
  kState,      // the type that the config names for recurrent state, else the model's own
  kModel,      // the model's own type (convolution state, token shift)
  kFloat32,    // float32 whatever the model's type (KDA state, compressor state)
  kFp8Scaled,  // one byte an element and a float32 scale for every 128 (index keys of DeepSeek-V3.2)
};

struct Term {
  std::string_view name;  // static text: "key", "latent", "ssm state"
  Role role = Role::kKey;
  Part part = Part::kPlain;
  Shape shape{};
  Growth growth = Growth::kToken;
  std::uint64_t stride = 1;  // tokens per entry (compressed caches); only whole strides count
  Limit limit{};
  Storage storage = Storage::kKv;
  friend bool operator==(const Term&, const Term&) = default;

  // Elements of one entry. A convolution counts columns - 1 past inputs.
  Elements elements() const {
    const Elements out = Elements(shape.units) * shape.vectors * shape.width;
    return shape.columns > 0 ? out * (shape.columns - 1) : out;
  }
  // Entries that one sequence of `tokens` tokens with `source_tokens` encoder tokens keeps.
  std::uint64_t entries(Tokens tokens, Tokens source_tokens) const {
    if (growth == Growth::kSequence) return 1;
    const Tokens all = growth == Growth::kSourceToken ? source_tokens : tokens;
    return (limit.kind == LimitKind::kNone ? all : std::min(all, limit.total())).count() / stride;
  }
};

// The cache of one mixer of one layer. A layer without a cache has none.
using CacheTerms = std::vector<Term>;

// Engines store some kinds in one of two forms (MLA: the latent, or expanded K and V).
enum class Form { kCompact, kExpanded };

}  // namespace kvplan
