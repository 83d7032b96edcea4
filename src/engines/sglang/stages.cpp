// SGLang: token pools that are sized once, from what the weights leave of SGLang's fraction of the GPU.
//
// Source: SGLang 0.5.8 and 0.5.23 (executed, tests/conformance): srt/model_executor/pool_configurator.py,
// srt/mem_cache/memory_pool.py, kv_cache_configurator.py, configs/mamba_utils.py, server_args.py; start-up logs of 0.3
// to 0.5 for plain KV, MLA, a hybrid with sliding layers and one with states.
// - tokens = budget / cell, rounded down to a whole page. A cell is one token in every layer of a rank. Page 0 is a
//   dummy and not part of the budget.
// - Models on the hybrid list keep sliding and chunked layers in a second pool with 0.8 of the tokens. All other models
//   keep every token of every layer.
// - States get 0.9 / 1.9 of the budget as slots. A running request takes one, and the radix tree keeps two more.
// - A draft (EAGLE, MTP, STANDALONE) has a pool of as many tokens. The budget counts them by the number of its layers,
//   whatever its width. Speculative decoding keeps a state for every guess of every request that may run.
// - DeepSeek-V4: the window pool has 0.1 of the tokens, and pages are padded. Compressor sums follow that pool, or are
//   a ring for each request. Guesses double the rings.
// What depends on the release is in rules.cpp.
#include "engines/sglang/pools.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engines/drafts.h"
#include "engines/estimates.h"
#include "engines/parallel.h"
#include "engines/sglang/sglang.h"
#include "kvplan/error.h"

namespace kvplan {

constexpr std::uint64_t kEvictionInterval = 128;  // SGLANG_SWA_EVICTION_INTERVAL
constexpr std::uint64_t kAlignment = 576;         // DeepSeek-V4 pads a page to this many bytes
constexpr std::uint64_t kSumsRatio = 4;           // the pool of sums has a multiple of this many rows
constexpr std::uint64_t kFixedSlots = 512;        // SglangRules::fixed_slots_without_tree

static const LayerCache* first_attention(const std::vector<LayerCache>& caches) {
  for (const LayerCache& cache : caches)
    for (const Term& term : cache.compact)
      if (term.growth == Growth::kToken && term.role == Role::kKey) return &cache;
  return nullptr;
}

static SglangRatio window_ratio(const ExtrasRequest& extras, bool compressed) {
  constexpr std::uint64_t kParts = 10000;
  if (!extras.swa_ratio) return compressed ? kCompressedRatio : kSwaRatio;
  const std::uint64_t part =
      std::max<std::uint64_t>(static_cast<std::uint64_t>(std::round(*extras.swa_ratio * kParts)), 1);
  const std::uint64_t common = std::gcd(part, kParts);
  return {part / common, kParts / common};
}

// A pool of compressed entries has `stride` spare pages. Other pools have one.
static Bytes spare_pages(Bytes page, std::uint64_t stride) {
  return page * (stride - 1);
}

// Gemma 3n: layers that read another layer's cache still have their own pool.
static void fill_shared(SglangStage& stage) {
  std::uint64_t writing = 0;
  for (const LayerCache& cache : stage.caches)
    if (!cache.compact.empty()) ++writing;
  if (writing > 0) stage.full = Bytes(stage.full.count() / writing * stage.caches.size());
}

// Whisper: the encoder's attention, the decoder's attention and the cross attention are all layers of one pool
// (model_config.py, num_attention_layers).
static void number_encoder(SglangStage& stage, const ModelShape& model) {
  const std::uint64_t encoder = model.encoder_layers > 0 ? model.encoder_layers : model.num_layers;
  const std::uint64_t layers = std::max<std::uint64_t>(model.num_layers, 1);
  stage.full = Bytes(stage.full.count() / layers) * (encoder + 2 * layers);
  stage.source = Bytes(0);
}

SglangPools::SglangPools(const EngineInput& input, std::vector<Note>& notes)
    : rules_(sglang_rules(input.request)),
      class_(sglang_class(input.model)),
      ranks_(sglang_attention_ranks(input.request)),
      types_(input.types),
      two_pools_(sglang_hybrid_windows(input)) {
  check_heads("SGLang", input.model, ranks_);
  slots_ = sglang_slots(input);
  verified_ = sglang_verified(input);
  running_ = sglang_running(input);
  read_pools(input);
  const bool compressed = class_.compressed;
  counts_bare_latents_ = types_.key == Dtype::kFp8DsMla && !compressed && !rules_.counts_latent_scales;
  ratio_ = window_ratio(input.request.extras, compressed);
  const Term* index = nullptr;
  bool limited = false;
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.compact) {
      if (term.storage == Storage::kFp8Scaled && index == nullptr) index = &term;
      if (term.limit.kind == LimitKind::kNone || term.role == Role::kState) continue;
      limited = true;
      if (two_pools_) window_ = std::max(window_, term.limit.total().count());
    }
  page_ = input.request.block_size.value_or(sglang_page(input, index != nullptr));
  if (compressed && page_ % 128 != 0)
    refuse("--block-size " + std::to_string(page_) + ": SGLang's pages for DeepSeek-V4 are multiples of 128",
           "use --block-size 256");
  if (limited && !two_pools_)
    notes.push_back({NoteLevel::kInfo, "windows_kept_whole",
                     "SGLang caches every token of this model's sliding layers: only models on its hybrid list have a "
                     "second pool"});
  sums_page_ = rules_.sums_by_page ? page_ : window_;
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.compact)
      if (kept_by_request(term)) ring_ = std::max(ring_, ring_of(term));
  const LayerCache* attention = sglang_runs_library_class(input) ? first_attention(input.caches) : nullptr;
  for (std::vector<LayerCache>& caches : split_stages(input, StageSplit::kLastFirst)) {
    SglangStage& stage = stages_.emplace_back();
    stage.logical = TermSum(caches, input.types, ranks_);
    if (attention != nullptr)
      for (LayerCache& cache : caches) cache = {cache.layer, attention->kind, attention->compact, attention->expanded};
    stage.caches = caches;
    if (rules_.index_in_every_layer && index != nullptr) all_index_ = *index;
    for (const LayerCache& cache : caches) add(stage, cache);
    if (class_.fills_shared_layers) fill_shared(stage);
    if (class_.numbers_encoder) number_encoder(stage, input.model);
    if (has_windows() && stage.full > Bytes(0) && rules_.places_in_pools) stage.place = Bytes(8);
    all_windows_ = all_windows_ && stage.full == Bytes(0) && stage.windows > Bytes(0);
    states_ = states_ || stage.slot > Bytes(0);
  }
  if (has_windows() && !all_windows_ && !compressed) fixed_windows_ = windows_by_request(input);
  draft_in_windows_ = all_windows_ || compressed;
  add_draft(input);
  if (all_windows_) ratio_ = {1, 1};
  if (states_ && input.request.max_num_seqs && !all_slots_ && verified_ == 0)
    notes.push_back({NoteLevel::kInfo, "state_slots",
                     "SGLang's state pool gets a fraction of the budget. --max-num-seqs only affects it with "
                     "--disable-radix-cache"});
}

// Per request: a window, the tokens that are evicted late, and two pages. In addition two chunks and a page
// (SWAChunkCapPoolConfigurator). Returns 0 if a ratio sizes the pool. With drafts it always does, because they need
// more.
std::uint64_t SglangPools::windows_by_request(const EngineInput& input) const {
  const Request& request = input.request;
  if (!request.extras.disable_radix_cache || !request.max_num_seqs || verified_ > 0 || !rules_.windows_by_request)
    return 0;
  const std::uint64_t each = checked_add(window_ - 1 + kEvictionInterval, 2 * page_, "a window");
  const std::uint64_t chunks = checked_mul(2, sglang_card_settings(input).chunk, "the chunks");
  return round_up(checked_add(checked_mul(each, running_, "the windows"), chunks + page_, "the windows"), page_,
                  "the windows");
}

// Reads the options of the pools.
void SglangPools::read_pools(const EngineInput& input) {
  const Request& request = input.request;
  const ExtrasRequest& extras = request.extras;
  const std::uint64_t ranks = request.parallel.dp_attention ? request.parallel.data : 1;
  if (extras.state_slots)
    all_slots_ = *extras.state_slots / ranks;
  else if (!sglang_has_radix_cache(input) && request.max_num_seqs)
    all_slots_ = running_;
  else if (!sglang_has_radix_cache(input) && rules_.fixed_slots_without_tree)
    all_slots_ = kFixedSlots / ranks;
  most_tokens_ = extras.max_total_tokens.value_or(kMost);
  state_ratio_ = extras.state_ratio.value_or(state_ratio_);
}

// Entries in a ring of compressor sums: twice as many with speculative decoding (get_compress_state_ring_size).
std::uint64_t SglangPools::ring_of(const Term& term) const {
  return checked_mul(term.limit.total().count(), verified_ > 0 ? 2 : 1, "a ring");
}
bool SglangPools::kept_by_request(const Term& term) const {
  return rules_.sums_by_request && term.role == Role::kState && term.growth == Growth::kToken &&
         term.limit.total().count() >= window_;
}

// The bytes of `entry` in each page of DeepSeek-V4's pools, with padding.
Bytes SglangPools::padded_page(Bytes entry, std::uint64_t stride) const {
  const std::uint64_t page = checked_mul(entry.count(), page_ / stride, "a page");
  return Bytes(round_up(page, kAlignment, "a page"));
}
// The bytes of `entry` that the budget counts for one token.
double SglangPools::charged(Bytes entry, std::uint64_t stride) const {
  return rules_.sums_by_page ? static_cast<double>(padded_page(entry, stride).count()) / static_cast<double>(page_)
                             : static_cast<double>(entry.count()) / static_cast<double>(stride);
}

void SglangPools::add(SglangStage& stage, const LayerCache& cache) const {
  const bool compressed = class_.compressed;
  bool in_full = false, in_windows = false, in_states = false;
  bool latent = false, has_index = false;
  double charge = 0;
  const double window_share = static_cast<double>(ratio_.part) / static_cast<double>(ratio_.whole);
  const auto plain = [](Bytes bytes) { return static_cast<double>(bytes.count()); };
  CacheTypes bare = types_;
  bare.key = bare.value = Dtype::kFp8E4m3;
  Bytes window_entry;
  std::map<std::uint64_t, Bytes> strided;  // compressed entries by stride: content and rope part together
  for (const Term& term : cache.compact) {
    const Bytes entry = rank_entry(term, types_, ranks_);
    const bool limited = term.limit.kind != LimitKind::kNone;
    latent = latent || term.part == Part::kLatent;
    if (counts_bare_latents_) charge += plain(rank_entry(term, bare, ranks_));
    has_index = has_index || term.storage == Storage::kFp8Scaled;
    if (term.growth == Growth::kSequence) {
      stage.slot += entry;
      in_states = true;
    } else if (term.growth == Growth::kSourceToken && !class_.images_among_tokens) {
      stage.source += entry;
      in_full = true;
    } else if (term.role == Role::kState) {
      // Compressor sums: a ring for each window page, or for each request.
      if (kept_by_request(term)) {
        stage.ring += entry;
      } else {
        const Bytes ring = entry * ring_of(term);
        stage.page_windows += ring;
        if (rules_.sums_by_page) stage.spare += entry * round_up(ring_of(term) + 1, kSumsRatio, "sums");
        if (has_windows()) charge += window_share * plain(ring) / static_cast<double>(sums_page_);
      }
    } else if (limited && two_pools_) {
      window_entry += entry;
      in_windows = true;
    } else if (term.stride > 1) {
      if (term.role == Role::kIndex) {
        charge += plain(entry) / static_cast<double>(term.stride);
        if (rules_.index_pages_as_latents) stage.spare += spare_pages(entry * (page_ / term.stride), term.stride);
        stage.full += Bytes(ceil_div(entry.count(), term.stride));
      } else {
        strided[term.stride] += entry;
      }
      in_full = true;
    } else {
      stage.full += entry;
      in_full = true;
    }
  }
  if (window_entry > Bytes(0)) {
    charge += window_share * charged(window_entry, 1);
    stage.windows += compressed ? Bytes(ceil_div(padded_page(window_entry, 1).count(), page_)) : window_entry;
  }
  for (const auto& [stride, entry] : strided) {
    charge += charged(entry, stride);
    stage.full_page += padded_page(entry, stride);
    if (rules_.sums_by_page) stage.spare += spare_pages(padded_page(entry, stride), stride);
  }
  if (compressed || counts_bare_latents_) stage.charge += charge;
  if (all_index_ && latent && !has_index) stage.full += entry_bytes(*all_index_, types_);
  const std::string kind(cache.kind);
  if (in_full) ++stage.full_kinds[kind];
  if (in_windows && !in_full) ++stage.window_kinds[kind];
  if (in_states) ++stage.state_kinds[kind];
}

// The draft is on the last pipeline stage.
void SglangPools::add_draft(const EngineInput& input) {
  const DraftLayers drafts = draft_layers(input);
  if (drafts.caches.empty() || stages_.empty()) return;
  SglangStage& stage = stages_.back();
  std::uint64_t layers = 0;
  for (const auto& [kind, count] : stage.full_kinds) layers += count;
  for (const LayerCache& cache : drafts.caches)
    for (const Term& term : cache.compact)
      if (term.growth == Growth::kToken && term.role != Role::kState)
        stage.draft += Bytes(ceil_div(rank_entry(term, drafts.types, ranks_).count(), term.stride));
  stage.draft_charge =
      layers > 0 ? Bytes(checked_mul(stage.full.count(), drafts.caches.size(), "a draft") / layers) : stage.draft;
  // DSV4PoolConfigurator counts one layer for every draft.
  const std::size_t counted = counts_bare_latents_ ? drafts.caches.size() : 1;
  stage.charge +=
      stage.charge * static_cast<double>(counted) / static_cast<double>(std::max<std::size_t>(stage.caches.size(), 1));
  draft_label_ = drafts.line();
}

}  // namespace kvplan
