// The layout of engines that keep a separate buffer for each layer and sequence: a list of buffers, each a number of
// bytes an entry and a rule for the entries that a load takes. Such an engine says only how a term is held.
#ifndef KVPLAN_ENGINES_LAYER_BUFFERS_H_
#define KVPLAN_ENGINES_LAYER_BUFFERS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/parallel.h"
#include "engines/term_sum.h"

namespace kvplan {

// How one term of a layer is held.
struct LayerBuffer {
  Bytes entry;  // of one entry
  Growth growth = Growth::kToken;
  std::uint64_t stride = 1;       // tokens of an entry
  std::uint64_t limit = 0;        // tokens beyond which nothing more is held; 0: none
  std::uint64_t step = 1;         // tokens are taken in steps of this many
  std::uint64_t spare = 0;        // tokens of room beyond those that are held, up to the limit
  bool limit_after_step = false;  // the limit cuts the last step (else a limit is rounded up to whole steps)
  bool wraps = false;             // what fills the limit is given up: the rest of a division is held
  std::string_view reason;        // why this is not what the architecture needs; static text, "" where it is

  std::uint64_t entries(Tokens tokens, Tokens source_tokens) const;
};

// A buffer with the term's own growth, stride and limit, and `entry` bytes an entry.
LayerBuffer plain_buffer(const Term& term, Bytes entry);

struct LayerBufferRules {
  // The terms that the engine stores of a layer (CacheTerms of one of its forms).
  std::function<const CacheTerms&(const LayerCache& cache)> form;
  // How it holds one of them; `units` are the term's units on one rank.
  std::function<LayerBuffer(const LayerCache& cache, const Term& term, std::uint64_t units)> hold;
  // What it keeps in host memory of a term; null: nothing.
  std::function<LayerBuffer(const LayerCache& cache, const Term& term, std::uint64_t units)> host = nullptr;
  // Tokens of a block in the engine's log: capacity counts whole blocks. 0: the engine has no blocks.
  std::uint64_t block_size = 0;
  // The tokens that the budget holds are rounded up to whole blocks.
  bool last_block_up = false;
  // All layers of a kind lie in one allocation; else each term of a layer has its own.
  bool one_pool = false;
  StageSplit split = StageSplit::kSpareLast;
  std::string_view source;  // the engine's file, for the ledger
};

std::unique_ptr<CacheLayout> layer_buffers_layout(const EngineInput& input, const LayerBufferRules& rules);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LAYER_BUFFERS_H_
