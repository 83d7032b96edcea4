// SGLang: token pools that are sized once, from what the weights leave of the static share of the card.
//
// Source: SGLang 0.5 (main of October 2026), srt/model_executor/pool_configurator.py, srt/mem_cache/memory_pool.py,
// kv_cache_configurator.py, configs/mamba_utils.py, server_args.py (read); start-up logs of 0.3 to 0.5 for plain KV,
// MLA, a hybrid with sliding layers and one with states.
// - tokens = budget / cell, down to a whole page; a cell is one token of every layer of a rank. One page more is
//   allocated beside the budget: page 0 is a dummy.
// - Models of the hybrid list keep sliding and chunked layers in a second pool of 0.8 of the tokens. All other
//   models keep full-length KV in every layer.
// - States: 0.9 / 1.9 of the budget becomes slots, one of them padding; a running request takes up to three.
// - A draft (EAGLE, MTP, STANDALONE) has a pool of as many tokens as the model's; the budget counts a token as
//   1 + draft layers / layers of the model's (pool_configurator.py), whatever the draft's own width.
// - Recurrent states beside the live one: two that the radix tree keeps, and one or two to track them in with
//   --mamba-scheduler-strategy extra_buffer(_lazy); none with --disable-radix-cache. Speculative decoding keeps a state
//   for every guess of every running request.
// - DeepSeek-V4: the window pool is 0.1 of the tokens, compressor sums follow it by page, those of ratio 128 are a ring
//   for each request.
#include <algorithm>
#include <map>

#include "engines/drafts.h"
#include "engines/estimates.h"
#include "engines/parallel.h"
#include "engines/sglang_card.h"
#include "engines/sglang_models.h"
#include "engines/term_sum.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr EngineVersion kVersions[] = {
    {"0.4", "source (read) and logs: plain KV and MLA; index keys on every layer of sparse MLA"},
    {"0.5",
     "source (read) and logs: plain KV, MLA, Gemma-4's two pools, Qwen3.5's state pool. From source alone: sparse "
     "MLA, DeepSeek-V4, FP4 and MXFP8 KV, DP attention, the shares of a card, drafts, LoRA slots. Not checked: "
     "HiCache, "
     "ROCm, disaggregation"},
};
constexpr std::uint64_t kSharedIndexSince = 5;  // layers that share an indexer keep no index keys

// Shares as fractions, so that tokens are whole numbers exactly.
struct Ratio {
  std::uint64_t part = 4;
  std::uint64_t whole = 5;
};
constexpr Ratio kSwaRatio{4, 5};
constexpr Ratio kCompressedRatio{1, 10};
constexpr std::uint64_t kStatePart = 9;    // 0.9 of the KV pool, so
constexpr std::uint64_t kStateWhole = 19;  // 0.9 / 1.9 of the budget
constexpr std::uint64_t kAlignment = 576;  // bytes to which DeepSeek-V4 pads a page

// What one stage's rank stores.
struct Stage {
  Bytes full;          // a token of the main pool
  Bytes windows;       // a token of the second pool
  Bytes page_windows;  // sums that follow the second pool by page (DeepSeek-V4, ratio 4)
  Bytes ring;          // fixed for a request (DeepSeek-V4, ratio 128)
  Bytes slot;          // one state slot
  Bytes draft;         // a token of the draft's pool
  Bytes draft_charge;  // what the budget counts for it
  Bytes source;        // an encoder token
  std::map<std::string, std::uint64_t> full_kinds, window_kinds, state_kinds;
  std::vector<LayerCache> caches;
  TermSum logical;
};

// Tokens and slots of the pools.
struct Pools {
  std::uint64_t full = 0, windows = 0, slots = 0;
};

class SglangLayout : public CacheLayout {
 public:
  SglangLayout(const EngineInput& input, std::vector<Note>& notes)
      : ranks_(sglang_attention_ranks(input.request)),
        types_(input.types),
        model_type_(input.model.model_type),
        two_pools_(sglang_hybrid_windows(model_type_)),
        slots_(sglang_slots(input.request.extras)),
        verified_(sglang_verified(input)) {
    const bool compressed = sglang_compressed(input.model.model_type);
    const bool all_index = engine_version(engine_of(input.request), input.request) < kSharedIndexSince;
    ratio_ = compressed ? kCompressedRatio : kSwaRatio;
    const Term* index = nullptr;
    bool limited = false;
    for (const LayerCache& cache : input.caches)
      for (const Term& term : cache.compact) {
        if (term.storage == Storage::kFp8Scaled && index == nullptr) index = &term;
        if (term.limit.kind == LimitKind::kNone || term.role == Role::kState) continue;
        limited = true;
        if (two_pools_) window_ = std::max(window_, term.limit.total().count());
      }
    page_ = input.request.block_size.value_or(sglang_page(input.model, index != nullptr));
    if (compressed && page_ % 128 != 0)
      fail("--block-size " + std::to_string(page_) + ": SGLang's pages for DeepSeek-V4 are multiples of 128",
           "use --block-size 256");
    if (limited && !two_pools_)
      notes.push_back({NoteLevel::kInfo, "windows_kept_whole",
                       "SGLang keeps every token of sliding layers for this model: only the models of its hybrid list "
                       "have a second pool"});
    for (const std::vector<LayerCache>& caches : split_stages(input, StageSplit::kLastFirst)) {
      Stage& stage = stages_.emplace_back();
      stage.logical = TermSum(caches, input.types, ranks_);
      stage.caches = caches;
      if (all_index && index != nullptr) all_index_ = *index;
      for (const LayerCache& cache : caches) add(stage, cache);
      all_windows_ = all_windows_ && stage.full == Bytes(0) && stage.windows > Bytes(0);
      states_ = states_ || stage.slot > Bytes(0);
    }
    add_draft(input);
    if (all_windows_) ratio_ = {1, 1};
    if (states_ && input.request.max_num_seqs)
      notes.push_back({NoteLevel::kInfo, "state_slots",
                       "SGLang sizes its state pool by a share of the budget; --max-num-seqs does not move it"});
  }

  Bytes reserved(const Load& load) const override {
    const Pools pools = pools_for(load);
    Bytes fullest;
    for (const Stage& stage : stages_) fullest = std::max(fullest, bytes(stage, pools, load));
    return fullest;
  }

  std::vector<RankCache> explain(const Load& load) const override {
    const Pools pools = pools_for(load);
    std::vector<RankCache> out;
    for (const Stage& stage : stages_) {
      RankCache rank;
      rank.logical = stage.logical.bytes(load);
      const auto line = [&](const std::string& what, Bytes each, std::uint64_t count, std::string_view unit) {
        if (each == Bytes(0) || count == 0) return;
        rank.reserved += each * count;
        rank.lines.push_back(
            exact_line(Section::kKvCache, what, each * count,
                       std::to_string(count) + " " + std::string(unit) + " x " + std::to_string(each.count()) + " B",
                       "SGLang pool_configurator.py, memory_pool.py"));
      };
      line("KV pool: " + words(stage.full_kinds), stage.full, pools.full, "tokens");
      line("KV pool: dummy page", stage.full, pools.full > 0 ? page_ : 0, "tokens");
      line("window pool: " + words(stage.window_kinds), stage.windows, pools.windows, "tokens");
      line("window pool: dummy page", stage.windows, pools.windows > 0 ? page_ : 0, "tokens");
      line("sums of compressors", stage.page_windows, pools.windows / page_, "pages");
      line("rings of compressors", stage.ring, load.num_seqs + 1, "requests");
      line("state pool: " + words(stage.state_kinds), stage.slot, pools.slots, "slots");
      line("state pool: padding slot", stage.slot, 1, "slot");
      line("encoder tokens", stage.source, source_entries(load), "tokens");
      line("states of guessed tokens", stage.slot, guessed_states(load), "slots");
      line(draft_label_, stage.draft, draft_tokens(pools), "tokens");
      fill_gap(stage, pools, load, rank);
      out.insert(out.end(), ranks_, rank);
    }
    return out;
  }

  // K and V of a layer apart, latents in one; a tensor of states holds all layers.
  std::vector<CacheBuffer> buffers(const Load& load, std::size_t rank) const override {
    const Stage& stage = stages_[rank / ranks_];
    const Pools pools = pools_for(load);
    std::vector<CacheBuffer> out;
    const auto allocate = [&](const Stage& part, const std::string& name) {
      const auto line = [&](const char* pool, Bytes each, std::uint64_t count) {
        if (each * count > Bytes(0)) out.push_back({pool, name, each * count});
      };
      line("KV pool with its dummy page", part.full, pools.full > 0 ? pools.full + page_ : 0);
      line("window pool with its dummy page", part.windows, pools.windows > 0 ? pools.windows + page_ : 0);
      line("sums of compressors", part.page_windows, pools.windows / page_);
      line("rings of compressors", part.ring, load.num_seqs + 1);
      line("encoder tokens", part.source, source_entries(load));
    };
    for (const LayerCache& cache : stage.caches) {
      Stage whole, keys, values;
      LayerCache with_keys = cache;
      LayerCache with_values = cache;
      std::erase_if(with_keys.compact, [](const Term& term) { return term.role == Role::kValue; });
      std::erase_if(with_values.compact, [](const Term& term) { return term.role != Role::kValue; });
      add(whole, cache);
      add(keys, with_keys);
      add(values, with_values);
      const bool apart = keys.full + values.full == whole.full && keys.windows + values.windows == whole.windows;
      allocate(apart ? keys : whole, buffer_name(cache.layer, apart && !with_values.compact.empty() ? "K" : "cache"));
      if (apart) allocate(values, buffer_name(cache.layer, "V"));
    }
    if (pools.slots > 0 && stage.slot > Bytes(0))
      out.push_back({"state pool with its padding slot", "states of all layers", stage.slot * (pools.slots + 1)});
    if (const Bytes guessed = stage.slot * guessed_states(load); guessed > Bytes(0))
      out.push_back({"states of guessed tokens", "states of all layers", guessed});
    if (const Bytes draft = stage.draft * draft_tokens(pools); draft > Bytes(0))
      out.push_back({draft_label_, "one pool", draft});
    return out;
  }

  std::vector<CacheGroup> groups() const override {
    std::vector<CacheGroup> out;
    const auto add_groups = [&](const std::map<std::string, std::uint64_t>& kinds, bool pages, Bytes all) {
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
        if (pages) group.page_bytes = Bytes(all.count() / layers) * page_;
        out.push_back(std::move(group));
      }
    };
    for (const Stage& stage : stages_) {
      add_groups(stage.full_kinds, true, stage.full);
      add_groups(stage.window_kinds, true, stage.windows);
      add_groups(stage.state_kinds, false, stage.slot);
    }
    return out;
  }

  std::optional<std::uint64_t> block_size() const override { return page_; }

  Capacity capacity(Bytes budget, const Load& load) const override {
    Capacity out;
    out.kv_cache_memory = budget;
    const Pools pools = pools_of(budget, load);
    const std::uint64_t tokens = all_windows_ ? pools.windows : pools.full;
    if (grows()) {
      out.tokens = tokens;
      out.num_blocks = tokens / page_;
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

  std::string shortfall(Bytes budget, const Load& load) const override {
    const Pools need = pools_for(load);
    const Pools have = pools_of(budget, load);
    if (holds(have, need)) return {};
    const std::string remedy = "; give the cache " + number(least_budget(load).count()) + " bytes a GPU";
    if (need.slots > 0 && have.slots == 0)
      return "no state slot fits: the state pool gets 0.9 / 1.9 of " + number(budget.count()) +
             " bytes, a slot and its padding take " + number(2 * fullest_slot().count()) + remedy;
    if (has_windows() && have.windows < least_windows())
      return "a window pool of " + number(have.windows) + " tokens does not hold one window and a page (" +
             number(least_windows()) + ")" + remedy;
    if (need.slots > have.slots)
      return number(need.slots) + " state slots are needed and " + number(have.slots) + " fit" + remedy +
             " or ask for fewer sequences";
    return number(all_windows_ ? need.windows : need.full) + " tokens of the pool are needed and " +
           number(all_windows_ ? have.windows : have.full) + " fit" + remedy + " or ask for less";
  }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 40;

  template <class Fits>
  static std::uint64_t largest(const Fits& fits) {
    const auto good = [&](std::uint64_t n) {
      try {
        return fits(n);
      } catch (const Error&) {
        return false;  // an overflow is more than any pool
      }
    };
    if (!good(1)) return 0;
    std::uint64_t low = 1;
    while (low < kMost && good(low * 2)) low *= 2;
    if (low >= kMost) return kMost;
    std::uint64_t high = low * 2;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (good(middle) ? low : high) = middle;
    }
    return low;
  }

  static std::string number(std::uint64_t value) { return std::to_string(value); }
  static bool holds(const Pools& have, const Pools& need) {
    return have.full >= need.full && have.windows >= need.windows && have.slots >= need.slots;
  }

  static std::string words(const std::map<std::string, std::uint64_t>& kinds) {
    std::string out;
    for (const auto& [kind, count] : kinds)
      out += (out.empty() ? "" : " and ") + std::to_string(count) + " layers of " + kind;
    return out;
  }

  // A page of DeepSeek-V4 is padded; the mean of a token, rounded up.
  Bytes padded_share(Bytes entry, std::uint64_t stride) const {
    const std::uint64_t page = checked_mul(entry.count(), page_ / stride, "a page");
    return Bytes(ceil_div(round_up(page, kAlignment, "a page"), page_));
  }

  void add(Stage& stage, const LayerCache& cache) const {
    const bool compressed = sglang_compressed(model_type_);
    bool in_full = false;
    bool in_windows = false;
    bool in_states = false;
    bool latent = false;
    bool has_index = false;
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
      } else if (term.growth == Growth::kSourceToken) {
        stage.source += entry;
        in_full = true;
      } else if (term.role == Role::kState) {
        // Compressor sums: a ring of the limit's entries, for each window page or for each request.
        const bool by_page = term.limit.total().count() < window_;
        (by_page ? stage.page_windows : stage.ring) += entry * term.limit.total().count();
      } else if (limited && two_pools_) {
        window_entry += entry;
        in_windows = true;
      } else if (term.stride > 1) {
        if (term.role == Role::kIndex)
          stage.full += Bytes(ceil_div(entry.count(), term.stride));
        else
          strided[term.stride] += entry;
        in_full = true;
      } else {
        stage.full += entry;
        in_full = true;
      }
    }
    if (window_entry > Bytes(0)) stage.windows += compressed ? padded_share(window_entry, 1) : window_entry;
    for (const auto& [stride, entry] : strided) stage.full += padded_share(entry, stride);
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
    Stage& stage = stages_.back();
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
    draft_label_ = drafts.line();
  }

  std::uint64_t draft_tokens(const Pools& pools) const { return (all_windows_ ? pools.windows : pools.full) + page_; }

  bool grows() const {
    return std::any_of(stages_.begin(), stages_.end(),
                       [](const Stage& stage) { return stage.full > Bytes(0) || stage.windows > Bytes(0); });
  }
  bool has_windows() const { return window_ > 0; }
  // SGLang refuses a window pool that does not hold more than a window and a page.
  std::uint64_t least_windows() const { return round_up(window_ + page_ + 1, page_, "a window"); }
  Bytes fullest_slot() const {
    Bytes out;
    for (const Stage& stage : stages_) out = std::max(out, stage.slot);
    return out;
  }
  std::uint64_t source_entries(const Load& load) const {
    return checked_mul(load.source_tokens.count(), load.num_seqs, "the encoder tokens");
  }

  // The window pool that goes with `full` tokens.
  std::uint64_t windows_of(std::uint64_t full) const {
    return checked_mul(full, ratio_.part, "the window pool") / ratio_.whole / page_ * page_;
  }

  // The smallest pools that hold the load.
  Pools pools_for(const Load& load) const {
    Pools out;
    const std::uint64_t one = round_up(load.max_model_len.count(), page_, "a sequence");
    if (grows()) out.full = checked_mul(one, load.num_seqs, "the tokens of the pool");
    if (has_windows()) {
      const std::uint64_t live = std::min(one, round_up(checked_add(window_, page_, "a window"), page_, "a window"));
      const std::uint64_t need = std::max(least_windows(), checked_mul(live, load.num_seqs, "the window pool"));
      if (all_windows_) {
        out.full = 0;
        out.windows = need;
      } else {
        out.full = std::max(
            out.full,
            round_up(ceil_div(checked_mul(need, ratio_.whole, "the window pool"), ratio_.part), page_, "the pool"));
        out.windows = windows_of(out.full);
      }
    }
    if (states_) out.slots = checked_mul(load.num_seqs, slots_, "the state slots");
    return out;
  }

  // A slot of padding first; guesses take `verified_` states of each request that the slots allow, and of the padding
  // (_handle_max_mamba_cache).
  std::uint64_t slots_of(std::uint64_t share, std::uint64_t slot) const {
    if (verified_ == 0) {
      const std::uint64_t all = share / slot;
      return all > 0 ? all - 1 : 0;
    }
    const std::uint64_t padding = checked_mul(slot, 1 + verified_, "the states");
    if (share <= padding) return 0;
    const double each = static_cast<double>(slot) * (1 + static_cast<double>(verified_) / static_cast<double>(slots_));
    return static_cast<std::uint64_t>(static_cast<double>(share - padding) / each);
  }
  std::uint64_t guessed_states(const Load& load) const {
    if (!states_ || verified_ == 0) return 0;
    return checked_mul(checked_add(load.num_seqs, 1, "the states"), verified_, "the states");
  }

  // The pools that SGLang makes of a budget: the least of all stages.
  Pools pools_of(Bytes budget, const Load& load) const {
    Pools out;
    const std::uint64_t total = budget.count();
    if (states_) {
      std::uint64_t slots = kMost;
      for (const Stage& stage : stages_) {
        if (stage.slot == Bytes(0)) continue;
        const auto share =
            static_cast<std::uint64_t>(static_cast<double>(total) * (static_cast<double>(kStatePart) / kStateWhole));
        slots = std::min(slots, slots_of(share, stage.slot.count()));
      }
      out.slots = slots;
    }
    std::optional<std::uint64_t> tokens;
    for (const Stage& stage : stages_) {
      Bytes taken = stage.ring * (load.num_seqs + 1) + stage.source * source_entries(load);
      if (stage.slot > Bytes(0))
        taken += stage.slot *
                 (out.slots + 1 + (verified_ > 0 ? checked_mul(out.slots / slots_ + 1, verified_, "the states") : 0));
      const std::uint64_t left = total > taken.count() ? total - taken.count() : 0;
      // left >= tokens * (full + ratio * windows)
      Bytes windows = stage.windows + Bytes(ceil_div(stage.page_windows.count(), page_));
      const std::uint64_t cell =
          all_windows_ ? (windows + stage.draft_charge).count()
                       : ((stage.full + stage.draft_charge) * ratio_.whole + windows * ratio_.part).count();
      if (cell == 0) continue;
      const std::uint64_t scaled = all_windows_ ? left : checked_mul(left, ratio_.whole, "the budget");
      tokens = std::min(tokens.value_or(kMost), scaled / cell / page_ * page_);
    }
    if (!tokens) return out;
    if (all_windows_)
      out.windows = *tokens;
    else
      out.full = *tokens;
    if (has_windows() && !all_windows_) out.windows = windows_of(out.full);
    return out;
  }

  // The smallest budget whose pools hold the load.
  Bytes least_budget(const Load& load) const {
    const Pools need = pools_for(load);
    const auto enough = [&](std::uint64_t budget) { return holds(pools_of(Bytes(budget), load), need); };
    std::uint64_t high = std::max<std::uint64_t>(reserved(load).count(), 1);
    while (high < (std::uint64_t{1} << 56) && !enough(high)) high *= 2;
    std::uint64_t low = 0;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (enough(middle) ? high : low) = middle;
    }
    return Bytes(high);
  }

  Bytes bytes(const Stage& stage, const Pools& pools, const Load& load) const {
    Bytes out;
    if (pools.full > 0) out += stage.full * checked_add(pools.full, page_, "the pool");
    if (pools.windows > 0)
      out +=
          stage.windows * checked_add(pools.windows, page_, "the pool") + stage.page_windows * (pools.windows / page_);
    if (stage.ring > Bytes(0)) out += stage.ring * checked_add(load.num_seqs, 1, "the rings");
    if (pools.slots > 0) out += stage.slot * checked_add(pools.slots + guessed_states(load), 1, "the slots");
    out += stage.draft * checked_add(pools.full + (all_windows_ ? pools.windows : 0), page_, "the pool");
    return out + stage.source * source_entries(load);
  }

  // From the logical share to the pools, reason by reason; the last one takes what is left.
  void fill_gap(const Stage& stage, const Pools& pools, const Load& load, RankCache& rank) const {
    auto rest = static_cast<std::int64_t>(rank.reserved.count()) - static_cast<std::int64_t>(rank.logical.count());
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
      reason("states of guessed tokens", stage.slot * guessed_states(load));
    }
    reason(draft_label_, stage.draft * (pools.full + (all_windows_ ? pools.windows : 0) + page_));
    if (rest != 0)
      rank.gap.push_back({has_windows() ? "window pool: a share of the tokens, not the windows"
                                        : "windows and compressed entries kept whole",
                          rest});
  }

  std::uint64_t ranks_;
  std::uint64_t page_ = 1;
  CacheTypes types_;
  std::string model_type_;
  bool two_pools_;
  std::optional<Term> all_index_;  // index keys on every layer
  Ratio ratio_ = kSwaRatio;
  std::uint64_t window_ = 0;  // the widest window of the second pool; 0 where there is none
  std::uint64_t slots_;       // of a request
  std::uint64_t verified_;    // tokens verified at once; 0: nothing guesses
  std::string draft_label_;
  bool all_windows_ = true;
  bool states_ = false;
  std::vector<Stage> stages_;
};

std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>& notes) {
  return std::make_unique<SglangLayout>(input, notes);
}

}  // namespace

Engine sglang_engine() {
  Engine out{"sglang", "", "token pools sized at start", kVersions, 0.88, sglang_types, layout, sglang_overhead};
  out.cache_budget = sglang_cache_budget;
  out.stages = [](std::uint64_t num_layers, const Request& request) {
    return stage_shares(num_layers, request.pipeline_parallel, StageSplit::kLastFirst);
  };
  out.kv_choices = "bfloat16 fp8_e4m3 nvfp4";
  out.expert_parallel = true;
  // Its platform pages: CUDA from compute capability 7.5, ROCm on Instinct, XPU.
  out.makers = "NVIDIA AMD Intel";
  out.unsupported_cards = "gtx- p40- p100- v100- rx- radeon- w7 r9700 mi50- mi100- gaudi";
  out.draft_methods = "draft_model eagle eagle3 mtp ngram";
  out.lora = LoraHolding::kSlots;
  return out;
}

}  // namespace kvplan
