#include "engines/transformers/stored.h"

#include <algorithm>

namespace kvplan {

namespace {

constexpr std::uint64_t kLatentSince = 5000;        // 5.0: MLA's modules cache the latent from here on
constexpr std::uint64_t kSparseLatentSince = 5018;  // 5.18, cache_utils.py: "indexed_attention", DynamicIndexedLayer
constexpr std::uint64_t kMimoWindowSince = 5020;    // 5.20, configuration_mimo_v2_flash.py: sliding_window_size + 1
constexpr std::uint64_t kMimoWindow = 128;          // as files give it; the class's own default is already 129
constexpr std::string_view kOffset = "seqlen_offset";

bool is_scaled(const Term& term) {
  return term.storage == Storage::kFp8Scaled;
}

bool is_sparse_latent(const EngineInput& input) {
  return std::any_of(input.caches.begin(), input.caches.end(), [](const LayerCache& cache) {
    return std::any_of(cache.compact.begin(), cache.compact.end(), is_scaled);
  });
}

std::uint64_t release(const EngineInput& input) {
  return engine_version(engine_of(input.request), input.request);
}

bool is_inkling(Arch arch) {
  return is_one_of(arch, {Arch::kInkling, Arch::kInkling2});
}

// Tokens before each prompt: prompt_length of configuration_cpmant.py, the same in its one checkpoint.
constexpr std::uint64_t kCpmantPrompt = 32;

CacheTerms with_prompt(const CacheTerms& terms) {
  CacheTerms out = terms;
  for (Term term : terms) {
    term.growth = Growth::kSequence;
    term.shape.vectors *= kCpmantPrompt;
    out.push_back(term);
  }
  return out;
}

// modeling_deepseek_v4.py. A layer with only a window stores keys and values separately, others in one tensor. The
// compressor keeps the tokens of an unfinished window and, where windows overlap, the first half of the last whole one.
CacheTerms compressed_terms(const CacheTerms& terms) {
  std::uint64_t ratio = 1;
  for (const Term& term : terms) ratio = std::max(ratio, term.stride);
  CacheTerms out;
  for (Term term : terms) {
    if (ratio == 1) term.shape.vectors *= 2;
    if (term.role != Role::kState) {
      out.push_back(term);
      continue;
    }
    const bool overlaps = term.limit.tokens > Tokens(ratio);
    term.storage = Storage::kModel;
    term.name = kRest;
    term.limit.tokens = Tokens(ratio);
    out.push_back(term);
    if (!overlaps) continue;
    term.name = "compressor overlap";
    term.stride = ratio;
    term.shape.vectors = 2 * ratio;
    out.push_back(term);
  }
  return out;
}

CacheTerms stored_terms(const EngineInput& input, const CacheTerms& terms) {
  const ModelShape& model = input.model;
  if (model.arch == Arch::kOpenaiGpt) return {};  // its class has no cache
  if (model.arch == Arch::kCpmant) return with_prompt(terms);
  if (model.arch == Arch::kDeepseekV4) return compressed_terms(terms);
  CacheTerms out = terms;
  for (Term& term : out) {
    // modeling_dots3_note.py passes float32 embeddings to its indexers.
    if (is_scaled(term)) term.storage = model.arch == Arch::kDots3Note ? Storage::kFloat32 : Storage::kModel;
    if (model.arch == Arch::kGptNeo) term.limit = {};  // its config gives the cache no window
    // modeling_inkling.py computes its convolutions in float32, whatever the model's type.
    if (is_inkling(model.arch) && term.shape.columns > 0) term.storage = Storage::kFloat32;
    if (model.arch == Arch::kXlstm) term.storage = Storage::kModel;  // xLSTMCache copies into tensors of that type
    if (model.arch == Arch::kMimoV2 && release(input) >= kMimoWindowSince && term.limit.tokens == Tokens(kMimoWindow))
      term.limit.tokens = Tokens(kMimoWindow + 1);
  }
  return out;
}

}  // namespace

bool expands_latents(const EngineInput& input) {
  return release(input) < (is_sparse_latent(input) ? kSparseLatentSince : kLatentSince);
}

bool keeps_all_columns(Arch arch) {
  return !is_one_of(arch, {Arch::kRecurrentGemma, Arch::kZaya});
}

std::vector<LayerCache> stored_caches(const EngineInput& input, std::vector<LayerCache> caches) {
  const bool expands = expands_latents(input);
  SharedTerms compact, form, stored;
  for (LayerCache& cache : caches) {
    const SharedTerms source = expands ? cache.expanded : cache.compact;
    if (!cache.compact.is(compact) || !source.is(form)) {
      compact = cache.compact;
      form = source;
      stored = stored_terms(input, source);
    }
    cache.expanded = stored;
  }
  if (input.model.arch == Arch::kXlstm && !caches.empty()) {
    Term offset{.name = kOffset, .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kFloat32};
    offset.shape.width = 2;  // one int64
    caches.front().expanded.own().push_back(offset);
  }
  return caches;
}

std::string_view stored_reason(const EngineInput& input, const LayerCache& cache, const Term& term) {
  const auto needs = [&](bool (*holds)(const Term&)) {
    return std::any_of(cache.compact.begin(), cache.compact.end(), holds);
  };
  switch (input.model.arch) {
    case Arch::kCpmant: return term.growth == Growth::kSequence ? "a learned prompt before every text" : "";
    case Arch::kGptNeo: return "windows keep every token";
    case Arch::kXlstm: return term.name == kOffset ? "the length" : "states in the model's type";
    case Arch::kDeepseekV4:
      if (term.role == Role::kState) return "the compressor keeps what fills no window yet, in the model's type";
      return term.shape.vectors > 1 ? "keys and values apart" : "";
    case Arch::kMimoV2:
      return term.limit.tokens == Tokens(kMimoWindow + 1) ? "a window of sliding_window_size and one token" : "";
    default: break;
  }
  if (term.shape.columns > 0) {
    if (is_inkling(input.model.arch)) return "convolution states keep every kernel column, in float32";
    return keeps_all_columns(input.model.arch) ? "convolution states keep every kernel column" : "";
  }
  if (term.role == Role::kIndex && needs(is_scaled))
    return term.storage == Storage::kFloat32 ? "index keys in float32" : "index keys in the model's type";
  const bool needed = std::find(cache.compact.begin(), cache.compact.end(), term) != cache.compact.end();
  return !needed && expands_latents(input) ? "K and V expanded" : "";
}

}  // namespace kvplan
