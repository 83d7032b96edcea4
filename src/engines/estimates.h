// Estimates that several engines share: what a forward pass holds for a moment, and what a process takes.
#ifndef KVPLAN_ENGINES_ESTIMATES_H_
#define KVPLAN_ENGINES_ESTIMATES_H_

#include <string>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// A line with a range of shares of `bytes`: {0.5, 2} for half to twice.
struct Spread {
  double low = 1;
  double high = 1;
};
LedgerLine estimate_line(Section part, Template what, Bytes bytes, Spread spread, Template formula, std::string source);
// A line with the range that was fitted for the term (kvplan/ranges.h).
LedgerLine ranged_line(std::string_view term, Section part, Template what, Bytes bytes, Template formula,
                       std::string source);
// What a loader keeps beyond the tensors: nothing that a config tells, but a range. Absent where no weights are known.
std::optional<LedgerLine> loaded_weights(std::string_view term, Bytes weights);

// The peak of one layer's MLP over `tokens` tokens on a rank: residual and input (2 x hidden) and the gate, up and
// product of an MLP (3 x intermediate, split over the ranks), 16 bit each. Attention without a score matrix needs
// less.
LedgerLine mlp_activations(const EngineInput& input, std::uint64_t tokens, std::string_view which);

// Tokens of a prefill chunk where the engine has no rule of its own: what was asked, else vLLM's 8192; never more than
// the load.
std::uint64_t prefill_chunk(const Request& request, const Load& load);

// Naive attention: a score for each head, token of the chunk and token of the context, `bytes_each` bytes in all
// copies alive at once. Without chunks that is O(S^2), with them O(C * S); flash attention holds none. Nothing for a
// model without attention.
std::optional<LedgerLine> score_matrix(const OverheadInput& in, std::uint64_t chunk, std::uint64_t bytes_each,
                                       std::string source);
std::optional<LedgerLine> general_score_matrix(const OverheadInput& in);

// Logits of `rows` rows in float32.
Bytes logits_bytes(const EngineInput& input, std::uint64_t rows);

// Whether no layer keeps anything: all tokens of all inputs pass the layers at once, and none is written after them.
bool is_encoder(const EngineInput& input);
// Whether any layer keeps a state, or stops at a window.
bool has_states(const EngineInput& input);
bool has_windows(const EngineInput& input);

// For a model whose cache in this engine nobody has checked: a note, and a line that widens the range by a tenth of
// the cache.
Note unverified_note(std::string_view engine, std::string_view what);
LedgerLine unverified_line(const OverheadInput& in);

// A type that the engine does not have: Error that names those it has.
void refuse_types(const CacheTypes& types, std::string_view engine, std::initializer_list<Dtype> known);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_ESTIMATES_H_
