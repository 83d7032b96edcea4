// Estimates that several engines share: the peak of a forward pass, and the memory of a process.
#pragma once

#include <string>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// The range of a ledger line as factors of `bytes`: {0.5, 2} is half to twice.
struct Spread {
  double low = 1;
  double high = 1;
};
LedgerLine estimate_line(Section part, Template what, Bytes bytes, Spread spread, Template formula, std::string source);
// A line with the range that was fitted to starts (kvplan/ranges.h).
LedgerLine ranged_line(std::string_view term, Section part, Template what, Bytes bytes, Template formula,
                       std::string source);
// What a loader keeps in addition to the tensors: an estimate of 0 with a range, because no config determines it.
// Absent if the weights are not known.
std::optional<LedgerLine> loaded_weights(std::string_view term, Bytes weights);

// The peak of one layer's MLP over `tokens` tokens on a rank: residual and input (2 x hidden), and the gate, up and
// product of an MLP (3 x intermediate, split over the ranks), 16 bit each. Attention without a score matrix needs less.
LedgerLine mlp_activations(const EngineInput& input, std::uint64_t tokens, std::string_view which);

// DeepEP's buffers: 1 GiB for NVLink, and another 1 GiB between nodes. In low-latency mode (`tokens` above 0) it is
// instead a message for every token of a batch and every expert, sent and received, each twice (LowLatencyLayout in
// DeepEP's config.hpp).
LedgerLine deepep_buffers(const EngineInput& input, std::uint64_t tokens, std::string source);

// Tokens of a prefill chunk for an engine without its own rule: as requested, or vLLM's 8192; at most the load's.
std::uint64_t prefill_chunk(const Request& request, const Load& load);

// The score matrix of naive attention: a score for each head, token of the chunk and token of the context.
// `bytes_each`: bytes of a score in all copies that exist at once. It is O(S^2) without chunks and O(C * S) with
// chunks; flash attention has none. Nothing for a model without attention.
std::optional<LedgerLine> score_matrix(const OverheadInput& in, std::uint64_t chunk, std::uint64_t bytes_each,
                                       std::string source);
std::optional<LedgerLine> general_score_matrix(const OverheadInput& in);

// Logits of `rows` rows in float32, and the ledger line of the rows that are sampled.
Bytes logits_bytes(const EngineInput& input, std::uint64_t rows);
LedgerLine logits_line(const EngineInput& input, std::uint64_t rows, Spread spread,
                       std::string source = "estimate: the last token of each sequence");

// Whether no layer has a cache. Then all tokens of all inputs pass through the layers in one step, and none is
// generated.
bool is_encoder(const EngineInput& input);
// Whether any layer has a state or a window.
bool has_states(const EngineInput& input);
bool has_windows(const EngineInput& input);

// For a model whose cache was not checked in this engine: a note, and a line that widens the range by a tenth of the
// cache.
Note unverified_note(std::string_view engine, std::string_view what);
LedgerLine unverified_line(const OverheadInput& in);

// Throws Error for a type that the engine lacks; the message lists the engine's types.
void refuse_types(const CacheTypes& types, std::string_view engine, std::initializer_list<Dtype> known);

}  // namespace kvplan
