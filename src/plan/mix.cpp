// Different sequence lengths: how much memory they take in contiguous slots, in pages, and with a shared prefix.
//
// Contiguous: every sequence reserves max_model_len tokens, as in engines without pages. Paged: the engine's own
// blocks, or 16 tokens if it has none. A shared prefix is stored once, in whole pages, in layers that keep every token.
// Windows and states are stored for each sequence.
#include "plan/steps.h"

#include <algorithm>

#include "engines/term_sum.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kUsualBlock = 16;
constexpr std::uint64_t kTableEntry = 4;  // bytes of a block number
constexpr std::uint64_t kMostSequences = std::uint64_t{1} << 20;

struct LengthCount {
  std::uint64_t tokens, sequences;
};

std::vector<LengthCount> lengths_of(const Request& request, const Load& load) {
  std::vector<LengthCount> out;
  for (const Tokens length : request.seq_lens) out.push_back({length.count(), 1});
  if (out.empty() && request.avg_len) out.push_back({request.avg_len->count(), load.num_seqs});
  if (out.empty() && request.shared_prefix) out.push_back({load.max_model_len.count(), load.num_seqs});
  return out;
}

}  // namespace

std::uint64_t longest_stated(const Request& request) {
  std::uint64_t longest =
      std::max(request.avg_len.value_or(Tokens(0)), request.shared_prefix.value_or(Tokens(0))).count();
  for (const Tokens length : request.seq_lens) longest = std::max(longest, length.count());
  return longest;
}

void check_lengths(const Request& request, const Load& load) {
  for (const auto& [tokens, sequences] : lengths_of(request, load))
    if (tokens > load.max_model_len.count())
      refuse("--seq-lens: " + std::to_string(tokens) + " tokens are more than --max-model-len " +
                 std::to_string(load.max_model_len.count()),
             "raise --max-model-len, or shorten the sequence");
}

std::optional<MixReport> mix_of(const EngineInput& input, const CacheLayout& layout, const Load& load) {
  const Request& request = input.request;
  const std::vector<LengthCount> lengths = lengths_of(request, load);
  if (lengths.empty()) return std::nullopt;
  MixReport out;
  out.block_size = layout.block_size().value_or(kUsualBlock);
  out.engine_pages = layout.block_size().has_value();
  const TermSum whole(input.caches, input.types, 1);
  std::uint64_t shortest = lengths.front().tokens;
  for (const auto& [tokens, sequences] : lengths) {
    shortest = std::min(shortest, tokens);
    out.sequences = checked_add(out.sequences, sequences, "the sequences");
    out.tokens += Tokens(tokens) * sequences;
    out.needed += whole.bytes({Tokens(tokens), sequences, load.source_tokens});
    out.pages += whole.bytes({Tokens(round_up(tokens, out.block_size, "a sequence")), sequences, load.source_tokens});
    out.page_table += Bytes(ceil_div(tokens, out.block_size) * kTableEntry) * sequences;
  }
  out.slab = whole.bytes({load.max_model_len, std::min(out.sequences, kMostSequences), load.source_tokens});
  if (out.sequences > kMostSequences)
    refuse(std::to_string(out.sequences) + " sequences: more than kvplan plans", "name fewer");
  if (request.shared_prefix) {
    out.shared_prefix = *request.shared_prefix;
    if (out.shared_prefix.count() > shortest)
      refuse("--shared-prefix " + std::to_string(out.shared_prefix.count()) + " is longer than a sequence of " +
                 std::to_string(shortest) + " tokens",
             "shorten the prefix");
    const std::uint64_t shared = out.shared_prefix.count() / out.block_size * out.block_size;
    out.shared_saving = whole.per_token() * shared * (out.sequences - 1);
  }
  return out;
}

}  // namespace kvplan
