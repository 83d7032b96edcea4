// The layout of engines with a separate buffer for each layer and sequence: a list of buffers, each with the bytes of
// an entry and a rule for the number of entries. All that kvplan needs of such an engine is how each term is stored.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "engines/engine.h"
#include "engines/parallel.h"
#include "engines/term_sum.h"

namespace kvplan {

// How one term of a layer is stored.
struct LayerBuffer {
  Bytes entry;  // of one entry
  Growth growth = Growth::kToken;
  std::uint64_t stride = 1;       // tokens per entry
  std::uint64_t limit = 0;        // tokens at which it stops growing; 0: it always grows
  std::uint64_t step = 1;         // it grows in steps of this many tokens
  std::uint64_t spare = 0;        // space for this many more tokens, up to the limit
  bool limit_after_step = false;  // the limit cuts the last step short; otherwise it is rounded up to whole steps
  bool wraps = false;             // a full buffer is emptied by the next token
  std::string_view reason;        // why this differs from what the architecture needs; static text, "" if it does not

  std::uint64_t entries(Tokens tokens, Tokens source_tokens) const;  // of one sequence
  Bytes bytes(const Load& load) const;                               // of all sequences
};

// A buffer with the term's own growth, stride and limit, whose entries take `entry` bytes.
LayerBuffer plain_buffer(const Term& term, Bytes entry);
// As plain_buffer, in a pool of blocks, where windows keep every token.
LayerBuffer block_buffer(const Term& term, const CacheTypes& types, std::uint64_t units, std::uint64_t block);

struct LayerBufferRules {
  // The form of a layer's terms that the engine stores.
  std::function<const CacheTerms&(const LayerCache& cache)> form = [](const LayerCache& cache) -> const CacheTerms& {
    return cache.compact;
  };
  // How the engine stores one of the terms; `units` are the term's units on one rank.
  std::function<LayerBuffer(const LayerCache& cache, const Term& term, std::uint64_t units)> hold;
  // How many bytes of a term the engine stores in host memory; null: none.
  std::function<LayerBuffer(const LayerCache& cache, const Term& term, std::uint64_t units)> host = nullptr;
  // Tokens of a block in the engine's log, if it counts its capacity in whole blocks. 0: it has no blocks.
  std::uint64_t block_size = 0;
  // The tokens that fit in a budget are rounded up to whole blocks.
  bool last_block_up = false;
  // All layers of a kind share one allocation. Otherwise each term of a layer has its own.
  bool one_pool = false;
  StageSplit split = StageSplit::kSpareLast;
  std::string_view source;  // the engine's source file, printed in the ledger
};

std::unique_ptr<CacheLayout> layer_buffers_layout(const EngineInput& input, const LayerBufferRules& rules);

}  // namespace kvplan
