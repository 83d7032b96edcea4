// SGLang: token pools that are sized once, from what the weights leave of the static share of the card.
//
// Source: SGLang 0.5 (main of October 2026), srt/model_executor/pool_configurator.py, srt/mem_cache/memory_pool.py,
// kv_cache_configurator.py, configs/mamba_utils.py, server_args.py (read); start-up logs of 0.3 to 0.5 for plain KV,
// MLA, a hybrid with sliding layers and one with states.
// - tokens = budget / cell, down to a whole page; a cell is one token of every layer of a rank. One page more is
//   allocated beside the budget: page 0 is a dummy.
// - Models of the hybrid list keep sliding and chunked layers in a second pool of 0.8 of the tokens. All other
//   models keep full-length KV in every layer. --disable-radix-cache with --max-running-requests makes the second pool
//   as large as those requests want it.
// - States: 0.9 / 1.9 of the budget becomes slots, one of them padding (beside it until 0.5.16); a running request
//   takes up to three. --max-mamba-cache-size names their number, and so does --max-running-requests without a radix
//   cache.
// - A draft (EAGLE, MTP, STANDALONE) has a pool of as many tokens as the model's; the budget counts a token as
//   1 + draft layers / layers of the model's (pool_configurator.py), whatever the draft's own width.
// - Recurrent states beside the live one: two that the radix tree keeps, and one or two to track them in with
//   --mamba-scheduler-strategy extra_buffer(_lazy); none with --disable-radix-cache. Speculative decoding keeps a state
//   for every guess of every request that may run: 48 of them unless --max-running-requests says otherwise.
// - DeepSeek-V4: the window pool is 0.1 of the tokens, compressor sums follow it window by window (swa_page_size, 128
//   tokens), those of ratio 128 are a ring for each request that may run, since 0.5.15. Pages are padded, which the
//   budget does not count. Guesses double the rings.
#include "engines/sglang/layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "engines/drafts.h"
#include "engines/estimates.h"
#include "engines/lora_slots.h"
#include "engines/parallel.h"
#include "engines/sglang/models.h"
#include "engines/sglang/pools.h"
#include "engines/sglang/share.h"
#include "engines/term_sum.h"
#include "kvplan/error.h"
#include "kvplan/spoken.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kSharedIndexSince = 5;  // layers that share an indexer keep no index keys

// Sums of ratio 128 are kept for each request (sglang#28612); before, for each token of the window pool. A log of
// 0.5.13 prints 32781.44 bytes a token for DeepSeek-V4-Pro at a ratio of 0.15, one of 0.5.15 13735.04.
constexpr std::uint64_t kRequestSumsSince = 15;

// The padding slots come out of the state pool's share (sglang#32184, of 23 July 2026: 0.5.17 is the first release that
// was cut from what holds it).
constexpr std::uint64_t kBudgetsPaddingSince = 17;

// Without a radix cache --max-running-requests sizes the window pool (sglang#28755, of June 2026).
constexpr std::uint64_t kWindowsByRequestSince = 15;
constexpr std::uint64_t kEvictionInterval = 128;  // SGLANG_SWA_EVICTION_INTERVAL

constexpr std::uint64_t kAlignment = 576;  // bytes to which DeepSeek-V4 pads a page

// DeepSeek-V4: sums of ratio 4 follow the window pool page by page, and the budget counts what pads a page. 0.5.23
// prints 7086.75 bytes a token for Flash at a ratio of 0.1, 0.5.20 has 7705.45 by its formula.
constexpr std::uint64_t kSumsByPageSince = 21;
constexpr std::uint64_t kSumsRatio = 4;  // rows of their pool are rounded up to it

// Without a radix cache, and always for Kimi Linear, so many state slots (model_runner.py of 0.5.8).
constexpr std::uint64_t kOldSlots = 512;
constexpr std::uint64_t kOldSlotsUntil = 14;

constexpr std::uint64_t kPaddingRowSince = 15;  // of the table of requests

class SglangLayout final : public CacheLayout, private SglangPools {
 public:
  SglangLayout(const EngineInput& input, std::vector<Note>& notes)
      : ranks_(sglang_attention_ranks(input.request)),
        types_(input.types),
        arch_(input.model.arch),
        two_pools_(sglang_hybrid_windows(input)) {
    check_heads("SGLang", input.model, ranks_);
    slots_ = sglang_slots(input);
    verified_ = sglang_verified(input);
    running_ = sglang_running(input);
    request_sums_ = sglang_since(input.request, kRequestSumsSince);
    budgets_padding_ = sglang_since(input.request, kBudgetsPaddingSince);
    read_pools(input);
    sums_by_page_ = sglang_since(input.request, kSumsByPageSince);
    const bool compressed = sglang_compressed(input.model.arch);
    const bool all_index = engine_version(engine_of(input.request), input.request) < kSharedIndexSince;
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
                       "SGLang keeps every token of sliding layers for this model: only the models of its hybrid list "
                       "have a second pool"});
    sums_page_ = sums_by_page_ ? page_ : window_;
    for (const LayerCache& cache : input.caches)
      for (const Term& term : cache.compact)
        if (kept_by_request(term)) ring_ = std::max(ring_, ring_of(term));
    for (const std::vector<LayerCache>& caches : split_stages(input, StageSplit::kLastFirst)) {
      SglangStage& stage = stages_.emplace_back();
      stage.logical = TermSum(caches, input.types, ranks_);
      stage.caches = caches;
      if (all_index && index != nullptr) all_index_ = *index;
      for (const LayerCache& cache : caches) add(stage, cache);
      all_windows_ = all_windows_ && stage.full == Bytes(0) && stage.windows > Bytes(0);
      states_ = states_ || stage.slot > Bytes(0);
    }
    if (has_windows() && !all_windows_ && !compressed) fixed_windows_ = windows_by_request(input);
    draft_in_windows_ = all_windows_ || compressed;
    add_draft(input);
    if (all_windows_) ratio_ = {1, 1};
    if (states_ && input.request.max_num_seqs && !all_slots_ && verified_ == 0)
      notes.push_back({NoteLevel::kInfo, "state_slots",
                       "SGLang sizes its state pool by a share of the budget; --max-num-seqs moves it with "
                       "--disable-radix-cache alone"});
  }

  Bytes reserved(const Load& load) const override { return fullest(load); }

  std::vector<Bytes> reserved_by_stage(const Load& load, std::uint64_t) const override {
    const SglangCounts pools = pools_for(load);
    std::vector<Bytes> out;
    for (const SglangStage& stage : stages_) out.push_back(bytes(stage, pools, load));
    return out;
  }

  std::vector<RankCache> explain(const Load& load) const override {
    const SglangCounts pools = pools_for(load);
    std::vector<RankCache> out;
    for (const SglangStage& stage : stages_) {
      RankCache rank;
      rank.logical = stage.logical.bytes(load);
      const auto line = [&](const std::string& what, Bytes each, std::uint64_t count, std::string_view unit,
                            LineId id = LineId::kUsual) {
        if (each == Bytes(0) || count == 0) return;
        rank.reserved += each * count;
        rank.lines.push_back(of_kind(id, exact_line(Section::kKvCache, what, each * count,
                                                    std::to_string(count) + " " + std::string(unit) + " x " +
                                                        std::to_string(each.count()) + " B",
                                                    "SGLang pool_configurator.py, memory_pool.py")));
      };
      line("KV pool: " + words(stage.full_kinds), stage.full, pools.full, "tokens");
      line("KV pool: dummy page", stage.full, pools.full > 0 ? page_ : 0, "tokens");
      line("KV pool: compressed entries", stage.full_page, full_pages(pools.full), "pages");
      line("KV pool: spare pages of compressed entries and sums", stage.spare, pools.full > 0 ? 1 : 0, "reserve");
      line("window pool: " + words(stage.window_kinds), stage.windows, pools.windows, "tokens");
      line("window pool: dummy page", stage.windows, pools.windows > 0 ? page_ : 0, "tokens");
      line("sums of compressors", stage.page_windows, window_pages(pools.windows), "pages");
      line("rings of compressors", stage.ring, ring_rows(load), "rows");
      line("state pool: " + words(stage.state_kinds), stage.slot, pools.slots, "slots", LineId::kStatePool);
      line("state pool: padding slot", stage.slot, 1, "slot", LineId::kPaddingSlot);
      line("encoder tokens", stage.source, source_entries(load), "tokens");
      line("states of guessed tokens", stage.slot, guessed_states(pools.slots), "slots", LineId::kGuessStates);
      line(draft_label_, stage.draft, draft_tokens(pools), "tokens", LineId::kDraftCache);
      fill_gap(stage, pools, load, rank);
      out.insert(out.end(), ranks_, rank);
    }
    return out;
  }

  // K and V of a layer apart, latents in one; a tensor of states holds all layers.
  std::vector<CacheBuffer> buffers(const Load& load, std::size_t rank) const override {
    const SglangStage& stage = stages_[rank / ranks_];
    const SglangCounts pools = pools_for(load);
    std::vector<CacheBuffer> out;
    const auto allocate = [&](const SglangStage& part, const std::string& name) {
      const auto line = [&](const char* pool, Bytes each, std::uint64_t count) {
        if (each * count > Bytes(0)) out.push_back({pool, name, each * count});
      };
      line("KV pool with its dummy page", part.full, pools.full > 0 ? pools.full + page_ : 0);
      line("KV pool: compressed entries", part.full_page, full_pages(pools.full));
      line("KV pool: spare pages of compressed entries and sums", part.spare, pools.full > 0 ? 1 : 0);
      line("window pool with its dummy page", part.windows, pools.windows > 0 ? pools.windows + page_ : 0);
      line("sums of compressors", part.page_windows, window_pages(pools.windows));
      line("rings of compressors", part.ring, ring_rows(load));
      line("encoder tokens", part.source, source_entries(load));
    };
    for (const LayerCache& cache : stage.caches) {
      SglangStage whole, keys, values;
      LayerCache with_keys = cache;
      LayerCache with_values = cache;
      std::erase_if(with_keys.compact.own(), [](const Term& term) { return term.role == Role::kValue; });
      std::erase_if(with_values.compact.own(), [](const Term& term) { return term.role != Role::kValue; });
      add(whole, cache);
      add(keys, with_keys);
      add(values, with_values);
      const bool apart = whole.full_page == Bytes(0) && keys.full + values.full == whole.full &&
                         keys.windows + values.windows == whole.windows;
      allocate(apart ? keys : whole, buffer_name(cache.layer, apart && !with_values.compact.empty() ? "K" : "cache"));
      if (apart) allocate(values, buffer_name(cache.layer, "V"));
    }
    if (pools.slots > 0 && stage.slot > Bytes(0))
      out.push_back({"state pool with its padding slot", "states of all layers", stage.slot * (pools.slots + 1)});
    if (const Bytes guessed = stage.slot * guessed_states(pools.slots); guessed > Bytes(0))
      out.push_back({"states of guessed tokens", "states of all layers", guessed});
    if (const Bytes draft = stage.draft * draft_tokens(pools); draft > Bytes(0))
      out.push_back({draft_label_, "one pool", draft});
    return out;
  }

  std::vector<CacheGroup> groups() const override {
    std::vector<CacheGroup> out;
    const auto add_groups = [&](const std::map<std::string, std::uint64_t>& kinds, bool pages, Bytes all,
                                Bytes of_page = {}) {
      std::uint64_t layers = 0;
      for (const auto& [kind, count] : kinds) layers += count;
      for (const auto& [kind, count] : kinds) {
        const auto same =
            std::find_if(out.begin(), out.end(), [&wanted = kind](const CacheGroup& g) { return g.kind == wanted; });
        if (same != out.end()) {
          same->layers += count;
          continue;
        }
        CacheGroup group;
        group.kind = kind;
        group.layers = count;
        if (pages) group.block_size = page_;
        if (pages) group.page_bytes = Bytes(all.count() / layers) * page_ + Bytes(of_page.count() / layers);
        out.push_back(std::move(group));
      }
    };
    for (const SglangStage& stage : stages_) {
      add_groups(stage.full_kinds, true, stage.full, stage.full_page);
      add_groups(stage.window_kinds, true, stage.windows);
      add_groups(stage.state_kinds, false, stage.slot);
    }
    return out;
  }

  std::optional<std::uint64_t> block_size() const override { return page_; }

  Capacity capacity(Bytes budget, const Load& load) const override {
    Capacity out;
    out.kv_cache_memory = budget;
    const SglangCounts pools = pools_of(budget, load);
    const std::uint64_t tokens = all_windows_ ? pools.windows : pools.full;
    if (grows()) {
      out.tokens = tokens;
      out.num_blocks = tokens / page_;
    } else if (states_) {  // a token costs nothing: as many as the context has (_zero_kv_max_tokens)
      out.tokens = std::min(load.max_model_len.count(), most_tokens_) / page_ * page_;
      out.num_blocks = *out.tokens / page_;
    }
    const auto fits = [&](const Load& wanted) { return holds(pools_of(budget, wanted), pools_for(wanted)); };
    out.max_num_seqs = largest([&](std::uint64_t n) { return fits({load.max_model_len, n, load.source_tokens}); });
    out.max_model_len = largest([&](std::uint64_t n) { return fits({Tokens(n), load.num_seqs, load.source_tokens}); });
    const std::uint64_t one = round_up(load.max_model_len.count(), page_, "a sequence");
    if (grows())
      out.max_concurrency = static_cast<double>(tokens) / static_cast<double>(std::max<std::uint64_t>(one, 1));
    else
      out.max_concurrency = static_cast<double>(out.max_num_seqs);
    return out;
  }

  // resolve_max_num_reqs: by tokens for the context, within bounds, and by the slots of states. The table of requests
  // has a row more since a row is kept for padding.
  std::uint64_t requests(std::optional<Bytes> budget, const Load& load) const {
    constexpr double kLeast = 2048, kMost = 4096, kShare = 512;
    if (!budget) return (running_ > 0 ? running_ : static_cast<std::uint64_t>(kLeast)) + padding_rows_;
    const SglangCounts pools = pools_of(*budget, load);
    const std::uint64_t tokens = grows() ? std::max(pools.full, all_windows_ ? pools.windows : 0)
                                         : std::min(load.max_model_len.count(), most_tokens_);
    const double share = static_cast<double>(tokens) / static_cast<double>(load.max_model_len.count()) * kShare;
    std::uint64_t out = running_ > 0 ? running_ : static_cast<std::uint64_t>(std::clamp(share, kLeast, kMost));
    out = std::min(out, tokens / 2);
    if (states_) out = std::min(out, pools.slots / slots_);
    return out + padding_rows_;
  }

  std::string shortfall(Bytes budget, const Load& load) const override {
    const SglangCounts need = pools_for(load);
    const SglangCounts have = pools_of(budget, load);
    if (holds(have, need)) return {};
    if (all_slots_ && need.slots > *all_slots_)
      return std::to_string(need.slots) + " state slots are needed and " + std::to_string(*all_slots_) +
             " were asked for; raise --max-mamba-cache-size, or --max-num-seqs without a radix cache";
    if (const std::uint64_t tokens = all_windows_ ? need.windows : need.full; tokens > most_tokens_ / page_ * page_)
      return std::to_string(tokens) + " tokens of the pool are needed and --max-total-tokens allows " +
             std::to_string(most_tokens_) + "; raise it, or ask for less";
    const std::string remedy = "; give the cache " + spoken_up(least_budget(load)) + " a GPU";
    if (need.slots > 0 && have.slots == 0)
      return "no state slot fits: the state pool gets " + spoken(state_share(budget)) + " of " + spoken(budget) +
             ", a slot and its padding take " + spoken(fullest_slot() * 2) + remedy;
    if (has_windows() && have.windows < least_windows())
      return "a window pool of " + std::to_string(have.windows) + " tokens does not hold one window and a page (" +
             std::to_string(least_windows()) + ")" + remedy;
    if (need.slots > have.slots)
      return std::to_string(need.slots) + " state slots are needed and " + std::to_string(have.slots) + " fit" +
             remedy + " or ask for fewer sequences";
    return std::to_string(all_windows_ ? need.windows : need.full) + " tokens of the pool are needed and " +
           std::to_string(all_windows_ ? have.windows : have.full) + " fit" + remedy + " or ask for less";
  }

 private:
  static SglangRatio window_ratio(const ExtrasRequest& extras, bool compressed) {
    constexpr std::uint64_t kParts = 10000;
    if (!extras.swa_ratio) return compressed ? kCompressedRatio : kSwaRatio;
    const std::uint64_t part =
        std::max<std::uint64_t>(static_cast<std::uint64_t>(std::round(*extras.swa_ratio * kParts)), 1);
    const std::uint64_t common = std::gcd(part, kParts);
    return {part / common, kParts / common};
  }
  // A window, what is evicted late and two pages for each request, two chunks and a page beside them
  // (SWAChunkCapPoolConfigurator); 0 where a ratio sizes the pool. With guesses, which need more, the ratio stands in.
  std::uint64_t windows_by_request(const EngineInput& input) const {
    const Request& request = input.request;
    if (!request.extras.disable_radix_cache || !request.max_num_seqs || verified_ > 0 ||
        !sglang_since(request, kWindowsByRequestSince))
      return 0;
    const std::uint64_t each = checked_add(window_ - 1 + kEvictionInterval, 2 * page_, "a window");
    const std::uint64_t chunks = checked_mul(2, sglang_card_settings(input).chunk, "the chunks");
    return round_up(checked_add(checked_mul(each, running_, "the windows"), chunks + page_, "the windows"), page_,
                    "the windows");
  }

  // What options say of the pools.
  void read_pools(const EngineInput& input) {
    const Request& request = input.request;
    const ExtrasRequest& extras = request.extras;
    const std::uint64_t ranks = request.dp_attention ? request.data_parallel : 1;
    if (extras.state_slots)
      all_slots_ = *extras.state_slots / ranks;
    else if (!sglang_has_radix_cache(input) && request.max_num_seqs)
      all_slots_ = running_;
    else if (!sglang_has_radix_cache(input) && !sglang_since(request, kOldSlotsUntil))
      all_slots_ = kOldSlots / ranks;
    padding_rows_ = sglang_since(request, kPaddingRowSince) ? 1 : 0;
    most_tokens_ = extras.max_total_tokens.value_or(kMost);
    state_ratio_ = extras.state_ratio.value_or(state_ratio_);
  }

  static std::string words(const std::map<std::string, std::uint64_t>& kinds) {
    std::string out;
    for (const auto& [kind, count] : kinds)
      out += (out.empty() ? "" : " and ") + std::to_string(count) + " layers of " + kind;
    return out;
  }

  // Entries of a ring of compressor sums: twice as many where tokens are guessed (get_compress_state_ring_size).
  std::uint64_t ring_of(const Term& term) const {
    return checked_mul(term.limit.total().count(), verified_ > 0 ? 2 : 1, "a ring");
  }
  bool kept_by_request(const Term& term) const {
    return request_sums_ && term.role == Role::kState && term.growth == Growth::kToken &&
           term.limit.total().count() >= window_;
  }

  // What `entry` takes of each page of DeepSeek-V4's, which is padded.
  Bytes padded_page(Bytes entry, std::uint64_t stride) const {
    const std::uint64_t page = checked_mul(entry.count(), page_ / stride, "a page");
    return Bytes(round_up(page, kAlignment, "a page"));
  }
  // A pool of compressed entries has as many of them to spare as the others have in a page: `stride` pages in place of
  // one.
  static Bytes spare_pages(Bytes page, std::uint64_t stride) { return page * (stride - 1); }
  // What the budget counts of it for a token.
  double charged(Bytes entry, std::uint64_t stride) const {
    return sums_by_page_ ? static_cast<double>(padded_page(entry, stride).count()) / static_cast<double>(page_)
                         : static_cast<double>(entry.count()) / static_cast<double>(stride);
  }

  void add(SglangStage& stage, const LayerCache& cache) const {
    const bool compressed = sglang_compressed(arch_);
    bool in_full = false;
    bool in_windows = false;
    bool in_states = false;
    bool latent = false;
    bool has_index = false;
    double charge = 0;
    const double window_share = static_cast<double>(ratio_.part) / static_cast<double>(ratio_.whole);
    const auto plain = [](Bytes bytes) { return static_cast<double>(bytes.count()); };
    Bytes window_entry;
    std::map<std::uint64_t, Bytes> strided;  // compressed entries by stride, content and rope together
    for (const Term& term : cache.compact) {
      const std::uint64_t columns = term.shape.columns > 0 ? term.shape.columns - 1 : 0;
      const Bytes entry = entry_bytes(term, types_, local_units(term, ranks_), columns);
      const bool limited = term.limit.kind != LimitKind::kNone;
      latent = latent || term.part == Part::kLatent;
      has_index = has_index || term.storage == Storage::kFp8Scaled;
      if (term.growth == Growth::kSequence) {
        stage.slot += entry;
        in_states = true;
      } else if (term.growth == Growth::kSourceToken && arch_ != Arch::kMllama) {  // Mllama's lie among the tokens
        stage.source += entry;
        in_full = true;
      } else if (term.role == Role::kState) {
        // Compressor sums: a ring for each window page, or for each request.
        if (kept_by_request(term)) {
          stage.ring += entry;
        } else {
          const Bytes ring = entry * ring_of(term);
          stage.page_windows += ring;
          if (sums_by_page_) stage.spare += entry * round_up(ring_of(term) + 1, kSumsRatio, "sums");
          if (has_windows()) charge += window_share * plain(ring) / static_cast<double>(sums_page_);
        }
      } else if (limited && two_pools_) {
        window_entry += entry;
        in_windows = true;
      } else if (term.stride > 1) {
        if (term.role == Role::kIndex) {
          charge += plain(entry) / static_cast<double>(term.stride);
          if (sums_by_page_) stage.spare += spare_pages(entry * (page_ / term.stride), term.stride);
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
      if (sums_by_page_) stage.spare += spare_pages(padded_page(entry, stride), stride);
    }
    if (compressed) stage.charge += charge;
    if (all_index_ && latent && !has_index) stage.full += entry_bytes(*all_index_, types_);
    const std::string kind(cache.kind);
    if (in_full) ++stage.full_kinds[kind];
    if (in_windows && !in_full) ++stage.window_kinds[kind];
    if (in_states) ++stage.state_kinds[kind];
  }

  // The draft stands on the last stage.
  void add_draft(const EngineInput& input) {
    const DraftLayers drafts = draft_layers(input);
    if (drafts.caches.empty() || stages_.empty()) return;
    SglangStage& stage = stages_.back();
    std::uint64_t layers = 0;
    for (const auto& [kind, count] : stage.full_kinds) layers += count;
    for (const LayerCache& cache : drafts.caches)
      for (const Term& term : cache.compact)
        if (term.growth == Growth::kToken && term.role != Role::kState)
          stage.draft +=
              Bytes(ceil_div(entry_bytes(term, drafts.types, local_units(term, ranks_), 0).count(), term.stride));
    stage.draft_charge = layers > 0
                             ? Bytes(ceil_div(checked_mul(stage.full.count(), drafts.caches.size(), "a draft"), layers))
                             : stage.draft;
    // DSV4PoolConfigurator counts one layer, whatever the draft.
    stage.charge += stage.charge / static_cast<double>(std::max<std::size_t>(stage.caches.size(), 1));
    draft_label_ = drafts.line();
  }

  // From the logical share to the pools, reason by reason; the last one takes what is left.
  void fill_gap(const SglangStage& stage, const SglangCounts& pools, const Load& load, RankCache& rank) const {
    std::int64_t rest = signed_difference(rank.reserved.count(), rank.logical.count());
    const auto reason = [&](std::string text, Bytes amount) {
      if (amount == Bytes(0)) return;
      rest -= static_cast<std::int64_t>(amount.count());
      rank.gap.push_back({std::move(text), static_cast<std::int64_t>(amount.count())});
    };
    const std::uint64_t asked = checked_mul(load.max_model_len.count(), load.num_seqs, "the tokens");
    const std::uint64_t rounded =
        checked_mul(round_up(load.max_model_len.count(), page_, "a sequence"), load.num_seqs, "the tokens");
    if (pools.full > 0) {
      if (rounded > asked) reason("page rounding", stage.full * (rounded - asked));
      if (pools.full > rounded)
        reason("KV pool that the window pool's ratio asks for", stage.full * (pools.full - rounded));
      reason("dummy page", (stage.full + (pools.windows > 0 ? stage.windows : Bytes(0))) * page_);
    }
    if (pools.slots > 0) {
      reason("padding slot of the state pool", stage.slot);
      reason("state slots that the radix tree keeps", stage.slot * (pools.slots - load.num_seqs));
      reason("states of guessed tokens", stage.slot * guessed_states(pools.slots));
    }
    reason(draft_label_, stage.draft * draft_tokens(pools));
    if (rest != 0)
      rank.gap.push_back({fixed_windows_ > 0 ? "window pool: of all requests that may run"
                          : has_windows()    ? "window pool: a share of the tokens, not the windows"
                                             : "windows and compressed entries kept whole",
                          rest});
  }

  std::uint64_t ranks_;
  CacheTypes types_;
  Arch arch_;
  bool two_pools_;
  bool request_sums_ = true;  // DeepSeek-V4: those of ratio 128
  bool sums_by_page_ = true;  // DeepSeek-V4: those of ratio 4
  std::uint64_t padding_rows_ = 1;
  std::optional<Term> all_index_;  // index keys on every layer
  std::string draft_label_;
};

struct SglangMemo : EngineMemo {
  SglangMemo(const EngineInput& input, std::vector<Note>& notes) : layout(input, notes) {}
  SglangLayout layout;
};

}  // namespace

std::unique_ptr<CacheLayout> sglang_layout(const EngineInput& input, std::vector<Note>& notes) {
  return std::make_unique<SglangLayout>(input, notes);
}

std::uint64_t sglang_requests(const EngineInput& input, std::optional<Bytes> budget, const Load& load) {
  auto known = std::dynamic_pointer_cast<const SglangMemo>(input.memo);
  if (known == nullptr) {
    std::vector<Note> notes;
    known = std::make_shared<const SglangMemo>(input, notes);
    input.memo = known;
  }
  return known->layout.requests(budget, load);
}

}  // namespace kvplan
