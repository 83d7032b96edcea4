// Compares every engine with a slow allocator, and with itself. 16-bit caches of full attention are handed out page by
// page as tokens arrive one by one, and the engine must reserve exactly these pages. Caches of any kind must add up,
// must not shrink as the load grows, and must fit the load that their inverse returns.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engines/capacity.h"
#include "engines/engine.h"
#include "fuzz/random_cache.h"
#include "kvplan/error.h"

namespace {

using namespace kvplan;
using namespace kvplan::fuzz;

[[noreturn]] void differ(const Engine& engine, const char* what, std::uint64_t closed, std::uint64_t loop) {
  std::fprintf(stderr, "%s: %s: closed form %llu, loop %llu\n", std::string(engine.name).c_str(), what,
               static_cast<unsigned long long>(closed), static_cast<unsigned long long>(loop));
  std::abort();
}

// The number of tokens in an engine's allocation, from its source, if all layers have full attention.
struct Granule {
  std::string_view engine;
  std::uint64_t tokens;
  std::uint64_t spare = 0;  // granules in addition to those of the sequences
};
constexpr Granule kGranules[] = {{"logical", 1},     {"transformers", 1}, {"mlx", 256},
                                 {"llama.cpp", 256}, {"ollama", 256},     {"vllm", 16},
                                 {"mistralrs", 32},  {"sglang", 1, 1},    {"tensorrt-llm", 32}};

const Granule& granule_of(const Engine& engine) {
  for (const Granule& row : kGranules)
    if (row.engine == engine.name) return row;
  std::fprintf(stderr, "%s has no granule\n", std::string(engine.name).c_str());
  std::abort();
}

LayerCache layer_of(std::uint64_t index, const Mixer& mixer) {
  return {index, kind_variant(mixer), cache_terms(mixer, Form::kCompact), cache_terms(mixer, Form::kExpanded)};
}

// Sequences grow by one token in turn. A sequence whose granule is full takes another one.
std::uint64_t handed_out(const std::vector<LayerCache>& caches, const Granule& granule, const Load& load) {
  std::uint64_t granules = granule.spare;
  std::vector<std::uint64_t> room(load.num_seqs, 0);
  for (std::uint64_t token = 0; token < load.max_model_len.count(); ++token) {
    for (std::uint64_t& left : room) {
      if (left == 0) {
        ++granules;
        left = granule.tokens;
      }
      --left;
    }
  }
  std::uint64_t bytes = 0;
  for (const LayerCache& cache : caches)
    for (const Term& term : cache.compact) bytes += granules * granule.tokens * packed(term, kCosts[2], kCosts[2]);
  return bytes;
}

void check_sums(const Engine& engine, const CacheLayout& layout, const Load& load) {
  Bytes fullest;
  const std::vector<RankCache> ranks = layout.explain(load);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankCache& rank = ranks[i];
    auto sum = static_cast<std::int64_t>(rank.logical.count());
    for (const GapLine& line : rank.gap) sum += line.bytes;
    if (sum != static_cast<std::int64_t>(rank.reserved.count()))
      differ(engine, "logical and gap", rank.reserved.count(), static_cast<std::uint64_t>(sum));
    Bytes lines;
    for (const LedgerLine& line : rank.lines) lines += line.bytes;
    if (lines != rank.reserved) differ(engine, "lines", rank.reserved.count(), lines.count());
    Bytes buffers;
    for (const CacheBuffer& buffer : layout.buffers(load, i)) buffers += buffer.bytes;
    if (buffers != rank.reserved) differ(engine, "buffers", rank.reserved.count(), buffers.count());
    fullest = std::max(fullest, rank.reserved);
  }
  const Bytes reserved = layout.reserved(load);
  if (reserved != fullest) differ(engine, "fullest rank", reserved.count(), fullest.count());
}

void check_growth(const Engine& engine, const CacheLayout& layout, Load load) {
  const Bytes reserved = layout.reserved(load);
  Load more = load;
  more.max_model_len = load.max_model_len + Tokens(1);
  if (layout.reserved(more) < reserved) differ(engine, "a token more", layout.reserved(more).count(), reserved.count());
  more = load;
  ++more.num_seqs;
  if (layout.reserved(more) < reserved)
    differ(engine, "a sequence more", layout.reserved(more).count(), reserved.count());
  // Some engines keep a block or a fraction of the budget for themselves.
  Bytes budget = reserved;
  for (int i = 0; i < 200 && !layout.fits(budget, load); ++i) budget += Bytes(budget.count() / 8 + kMiB);
  if (!layout.fits(budget, load)) return;
  const std::uint64_t longest = longest_sequence(layout, budget, load);
  if (longest < load.max_model_len.count()) differ(engine, "longest", longest, load.max_model_len.count());
  const std::uint64_t most = most_sequences(layout, budget, load);
  if (most < load.num_seqs) differ(engine, "most sequences", most, load.num_seqs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Source source(data, size);
  const Engine& engine = engines()[source.below(engines().size())];
  const bool plain = source.below(2) == 0;  // only full attention, for the allocator
  EngineInput input;
  input.model.model_type = "llama";
  input.model.num_layers = source.from(1, 6);
  input.model.hidden_size = 256;
  input.model.vocab_size = 1024;
  input.model.intermediate_size = 512;
  input.model.max_model_len = Tokens(1U << 20);
  const Heads heads = make_heads(source);
  input.model.num_heads = 24;
  const Heads even{heads.num_heads, heads.num_kv_heads, heads.head_dim, heads.head_dim};
  for (std::uint64_t i = 0; i < input.model.num_layers; ++i)
    input.caches.push_back(layer_of(i, plain ? Mixer(FullAttention{even}) : make_mixer(source)));

  Request& request = input.request;
  request.engine = &engine;
  request.max_model_len = Tokens(source.from(1, 1500));
  request.num_seqs = source.from(1, 5);
  if (!plain) {
    request.parallel.tensor = std::uint64_t{1} << source.below(3);
    request.parallel.pipeline = source.from(1, 2);
    request.prefix_caching = source.below(2) != 0;
    request.llama_cpp.kv_unified = source.below(2) != 0;
    request.llama_cpp.swa_full = source.below(2) != 0;
    request.vllm.hybrid_manager = source.below(4) != 0;
  }
  try {
    input.types = engine.resolve_types(input.model, request);
    std::vector<Note> notes;
    const std::unique_ptr<CacheLayout> layout = engine.layout(input, notes);
    Load load;
    load.max_model_len = *request.max_model_len;
    load.num_seqs = request.num_seqs;
    load.source_tokens = Tokens(source.below(300));
    check_sums(engine, *layout, load);
    check_growth(engine, *layout, load);
    if (!plain) return 0;
    const std::uint64_t loop = handed_out(input.caches, granule_of(engine), load);
    const std::uint64_t closed = layout->reserved(load).count();
    if (closed != loop) differ(engine, "pages of full attention", closed, loop);
  } catch (const Error& error) {
    if (error.line().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
