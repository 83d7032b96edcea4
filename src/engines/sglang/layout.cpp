// The pools as a CacheLayout: what they reserve, and how a plan explains it.
#include "engines/sglang/sglang.h"

#include <algorithm>
#include <map>
#include <string>

#include "engines/capacity.h"
#include "engines/sglang/pools.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

class SglangLayout final : public CacheLayout, private SglangPools {
 public:
  SglangLayout(const EngineInput& input, std::vector<Note>& notes)
      : SglangPools(input, notes),
        hicache_(input.request.sglang),
        shares_(sglang_has_radix_cache(input)),
        chunk_(sglang_card_settings(input).chunk),
        kept_windows_(rules_.frees_windows_early ? window_ : std::max(window_, chunk_)) {}

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
      const auto line = [&](const Template& what, Bytes each, std::uint64_t count, std::string_view unit,
                            LineId id = LineId::kUsual) {
        if (each == Bytes(0) || count == 0) return;
        rank.reserved += each * count;
        rank.lines.push_back(
            of_kind(id, exact_line(Section::kKvCache, what, each * count,
                                   {"{count} {unit} x {each} B", {{"count", count}, {"unit", unit}, {"each", each}}},
                                   "SGLang pool_configurator.py, memory_pool.py")));
      };
      line("KV pool: " + words(stage.full_kinds), stage.full, pools.full, "tokens");
      line("KV pool: dummy page", stage.full, pools.full > 0 ? page_ : 0, "tokens");
      line("KV pool: table of places in the window pool", stage.place, pools.full, "tokens");
      line("KV pool: compressed entries", stage.full_page, full_pages(pools.full), "pages");
      line("KV pool: spare pages of compressed entries and sums", stage.spare, pools.full > 0 ? 1 : 0, "reserve");
      line("window pool: " + words(stage.window_kinds), stage.windows, pools.windows, "tokens");
      line("window pool: dummy page", stage.windows, pools.windows > 0 ? page_ : 0, "tokens");
      line("sums of compressors", stage.page_windows, window_pages(pools.windows), "pages");
      line("rings of compressors", stage.ring, ring_rows(load), "rows");
      line("state pool: " + words(stage.state_kinds), stage.slot, pools.slots, "slots", LineId::kStatePool);
      line("state pool: padding slot", stage.slot, 1, "slot", LineId::kPaddingSlot);
      line("encoder tokens", stage.source, source_entries(load), "tokens");
      line("states of guessed tokens", stage.slot, states_of_drafts(pools.slots), "slots", LineId::kDraftStates);
      line(draft_label_, stage.draft, draft_tokens(pools), "tokens", LineId::kDraftCache);
      fill_gap(stage, pools, load, rank);
      out.insert(out.end(), ranks_, rank);
    }
    return out;
  }

  // mem_cache/pool_host/base.py: each rank's pool is a multiple of the GPU's tokens, or has a fixed size.
  std::optional<HostCache> host_cache(std::optional<Bytes> budget, const Load& load) const override {
    constexpr double kRatio = 2;
    constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 50;
    const bool many_pools = has_windows() || states_;
    const std::optional<Bytes>& size = hicache_.host_cache_size;
    if (!hicache_.host_cache || (!budget && (!size || many_pools))) return std::nullopt;
    const auto pool = [&](std::uint64_t tokens, std::uint64_t page) { return (tokens / page + 1) * page; };
    const SglangCounts device = budget ? pools_of(*budget, load) : SglangCounts{};
    double ratio = hicache_.host_cache_ratio.value_or(kRatio);
    // The size is split over the pools in the same ratio as the GPU's memory (hybrid_pool_assembler.py
    // _split_hicache_size).
    Bytes pools;
    for (const SglangStage& stage : stages_)
      pools = std::max(pools, stage.full * device.full + stage.windows * device.windows + stage.slot * device.slots);
    if (size && many_pools && pools > Bytes(0))
      ratio = static_cast<double>(size->count()) / static_cast<double>(pools.count());
    const auto scaled = [&](std::uint64_t count) {
      return static_cast<std::uint64_t>(std::min(static_cast<double>(count) * ratio, static_cast<double>(kMostTokens)));
    };
    HostCache out;
    Bytes widest;
    for (const SglangStage& stage : stages_) widest = std::max(widest, stage.full);
    if (widest == Bytes(0)) return std::nullopt;
    out.tokens = pool(size && !many_pools ? size->count() / widest.count() : scaled(device.full), page_);
    Bytes all;
    for (const SglangStage& stage : stages_) {
      all += (stage.full * out.tokens) * ranks_;
      if (device.windows > 0) all += stage.windows * pool(scaled(device.windows), page_) * ranks_;
      if (device.slots > 0) all += stage.slot * scaled(device.slots) * ranks_;
    }
    out.line = of_kind(LineId::kOffloaded, exact_line(Section::kKvCache, "hierarchical cache", all,
                                                      {"{tokens} tokens on each of {ranks:rank}",
                                                       {{"tokens", out.tokens}, {"ranks", ranks_ * stages_.size()}}},
                                                      "SGLang mem_cache/pool_host/base.py"));
    const std::uint64_t length = round_up(load.max_model_len.count(), page_, "tokens");
    out.sequences = out.tokens / std::max<std::uint64_t>(length, 1);
    out.at_least = many_pools;
    return out;
  }

  // A layer's K and V are separate tensors, its latents are one tensor. The states of all layers are one tensor.
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
    if (const Bytes states = stage.slot * states_of_drafts(pools.slots); states > Bytes(0))
      out.push_back({"states of guessed tokens", "states of all layers", states});
    if (const Bytes draft = stage.draft * draft_tokens(pools); draft > Bytes(0))
      out.push_back({draft_label_, "one pool", draft});
    Bytes all;
    for (const CacheBuffer& buffer : out) all += buffer.bytes;
    const Bytes reserved = bytes(stage, pools, load);
    if (reserved > all)
      out.push_back(
          {"KV pool with its dummy page", "layers that read another's, table of token places", reserved - all});
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
    } else if (states_) {  // no bytes per token: as many tokens as the context (_zero_kv_max_tokens)
      out.tokens = std::min(load.max_model_len.count(), most_tokens_) / page_ * page_;
      out.num_blocks = *out.tokens / page_;
    }
    out.max_num_seqs = most_sequences(*this, budget, load);
    out.max_model_len = longest_sequence(*this, budget, load);
    const std::uint64_t one = round_up(load.max_model_len.count(), page_, "a sequence");
    if (grows())
      out.max_concurrency = static_cast<double>(tokens) / static_cast<double>(std::max<std::uint64_t>(one, 1));
    else
      out.max_concurrency = static_cast<double>(out.max_num_seqs);
    return out;
  }

  // PrefillAdder admits a request if the pools have space up to its last token. A prefix in the radix tree is stored
  // once. Compared with the scheduler itself: the rows "at_once" of testdata/conformance/sglang-*.jsonl.
  std::optional<std::uint64_t> runs_at_once(Bytes budget, const Load& load, const Running& running) const override {
    if (running.lengths.empty() || verified_ > 0 || load.source_tokens > Tokens(0)) return std::nullopt;
    SglangCounts free = pools_of(budget, load);
    const bool by_length = grows() && !all_windows_;
    const std::uint64_t prefix = shares_ && by_length ? running.shared_prefix.count() / page_ * page_ : 0;
    const auto need_of = [&](Tokens length) {
      SglangCounts out;
      // A request ends one token before the context does (max_req_len of managers/scheduler.py).
      const std::uint64_t most = std::max<std::uint64_t>(load.max_model_len.count(), 2) - 1;
      const std::uint64_t whole = round_up(std::min(length.count(), most), page_, "a sequence");
      if (by_length) out.full = whole - std::min(whole, prefix);
      if (has_windows()) out.windows = std::min(whole, round_up(kept_windows_, page_, "a window"));
      if (states_) out.slots = slots_;
      return out;
    };
    const auto take = [](SglangCounts& from, const SglangCounts& need, std::uint64_t times) {
      from.full -= need.full * times;
      from.windows -= need.windows * times;
      from.slots -= need.slots * times;
    };
    const std::uint64_t must_be_free =
        prefix + (by_length && !shares_ ? page_ : 0);  // without a radix tree one page stays free
    if (free.full < must_be_free) return 0;
    free.full -= must_be_free;
    SglangCounts turn;
    for (const Tokens length : running.lengths) {
      const SglangCounts need = need_of(length);
      turn.full = checked_add(turn.full, need.full, "the tokens");
      turn.windows = checked_add(turn.windows, need.windows, "the tokens");
      turn.slots = checked_add(turn.slots, need.slots, "the state slots");
    }
    std::uint64_t turns = kMost;
    if (turn.full > 0) turns = std::min(turns, free.full / turn.full);
    if (turn.windows > 0) turns = std::min(turns, free.windows / turn.windows);
    if (turn.slots > 0) turns = std::min(turns, free.slots / turn.slots);
    if (turns == kMost) return std::nullopt;  // nothing grows with the tokens, so no pool limits them
    take(free, turn, turns);
    std::uint64_t out = checked_mul(turns, running.lengths.size(), "the sequences");
    for (const Tokens length : running.lengths) {
      const SglangCounts need = need_of(length);
      if (!holds(free, need)) break;
      take(free, need, 1);
      ++out;
    }
    if (!states_ || !rules_.chunk_takes_row || chunk_ == 0) return out;
    const std::uint64_t rows = pools_of(budget, load).slots / slots_;
    const bool continues = checked_mul(rows, running.lengths.front().count(), "the tokens") > chunk_;
    return rows > 1 && continues ? std::min(out, rows - 1) : out;
  }

  // resolve_max_num_reqs: tokens / context, within limits, and at most the slots of states. Newer releases have one
  // more row for padding.
  std::uint64_t requests(std::optional<Bytes> budget, const Load& load) const {
    constexpr double kLeast = 2048, kMostRequests = 4096, kShare = 512;
    const std::uint64_t padding = rules_.pads_request_table ? 1 : 0;
    if (!budget) return (running_ > 0 ? running_ : static_cast<std::uint64_t>(kLeast)) + padding;
    const SglangCounts pools = pools_of(*budget, load);
    std::uint64_t tokens = grows() ? std::max(pools.full, all_windows_ ? pools.windows : 0)
                                   : std::min(load.max_model_len.count(), most_tokens_);
    if (rules_.requests_before_split && has_windows() && !all_windows_) tokens = undivided(*budget);
    const double share = static_cast<double>(tokens) / static_cast<double>(load.max_model_len.count()) * kShare;
    std::uint64_t out = running_ > 0 ? running_ : static_cast<std::uint64_t>(std::clamp(share, kLeast, kMostRequests));
    out = std::min(out, tokens / 2);
    if (states_) out = std::min(out, pools.slots / slots_);
    return out + padding;
  }

  // Several sequences fit if the scheduler runs them all at the same time.
  bool fits(Bytes budget, const Load& load) const override {
    if (!holds(pools_of(budget, load), pools_for(load))) return false;
    const auto running = load.num_seqs < 2 ? std::nullopt : runs_at_once(budget, load, {{load.max_model_len}, {}});
    return !running || *running >= load.num_seqs;
  }

  // Dummy pages and padding slots are outside the pools that share the budget.
  Bytes beyond_budget(const Load& load) const override {
    const Bytes budget = least_budget(load);
    const SglangCounts pools = pools_of(budget, load);
    Bytes all;
    for (const SglangStage& stage : stages_) all = std::max(all, bytes(stage, pools, load));
    return all - std::min(all, budget);
  }

  Template shortfall(Bytes budget, const Load& load) const override {
    const SglangCounts need = pools_for(load);
    const SglangCounts have = pools_of(budget, load);
    if (fits(budget, load)) return {};
    if (holds(have, need))
      return {"the scheduler runs {running:such sequence} at once",
              {{"running", runs_at_once(budget, load, {{load.max_model_len}, {}}).value_or(0)}}};
    if (all_slots_ && need.slots > *all_slots_)
      return {
          "{needed} state slots are needed, and the command sets {asked}; raise --max-mamba-cache-size, or "
          "--max-num-seqs without a radix cache",
          {{"needed", need.slots}, {"asked", *all_slots_}}};
    if (const std::uint64_t tokens = all_windows_ ? need.windows : need.full; tokens > most_tokens_ / page_ * page_)
      return {
          "{needed} tokens of the pool are needed and --max-total-tokens allows {allowed}; raise it, or request less",
          {{"needed", tokens}, {"allowed", most_tokens_}}};
    const Template remedy("; give the KV cache {least:size_up} per GPU", {{"least", least_budget(load)}});
    if (need.slots > 0 && have.slots == 0)
      return Template(
                 "no state slot fits: the state pool gets {share:size} of {budget:size}, and a slot with padding takes "
                 "{slots:size}",
                 {{"share", state_share(budget)}, {"budget", budget}, {"slots", fullest_slot() * 2}}) +
             remedy;
    if (has_windows() && have.windows < least_windows())
      return Template("a window pool of {tokens} tokens is smaller than one window and a page ({least})",
                      {{"tokens", have.windows}, {"least", least_windows()}}) +
             remedy;
    if (need.slots > have.slots)
      return Template("{needed} state slots are needed and {slots} fit",
                      {{"needed", need.slots}, {"slots", have.slots}}) +
             remedy + " or ask for fewer sequences";
    return Template("{needed} tokens of the pool are needed and {tokens} fit",
                    {{"needed", all_windows_ ? need.windows : need.full},
                     {"tokens", all_windows_ ? have.windows : have.full}}) +
           remedy + " or ask for less";
  }

 private:
  static Template words(const std::map<std::string, std::uint64_t>& kinds) {
    Template out;
    for (const auto& [kind, count] : kinds)
      out += {out.empty() ? "{num_layers} layers of {kind}" : " and {num_layers} layers of {kind}",
              {{"num_layers", count}, {"kind", kind}}};
    return out;
  }

  // The steps from the needed bytes to the pools, one reason at a time. The last reason gets the remainder.
  void fill_gap(const SglangStage& stage, const SglangCounts& pools, const Load& load, RankCache& rank) const {
    std::int64_t rest = signed_difference(rank.reserved.count(), rank.logical.count());
    const auto reason = [&](const Template& text, Bytes amount) {
      if (amount == Bytes(0)) return;
      rest -= static_cast<std::int64_t>(amount.count());
      rank.gap.push_back({text, static_cast<std::int64_t>(amount.count())});
    };
    const std::uint64_t asked = checked_mul(load.max_model_len.count(), load.num_seqs, "the tokens");
    const std::uint64_t rounded =
        checked_mul(round_up(load.max_model_len.count(), page_, "a sequence"), load.num_seqs, "the tokens");
    if (pools.full > 0) {
      if (rounded > asked) reason("page rounding", stage.full * (rounded - asked));
      if (pools.full > rounded)
        reason("KV pool required by the window pool's ratio", stage.full * (pools.full - rounded));
      reason("dummy page", (stage.full + (pools.windows > 0 ? stage.windows : Bytes(0))) * page_);
    }
    if (pools.slots > 0) {
      reason("padding slot of the state pool", stage.slot);
      reason("state slots that the radix tree keeps", stage.slot * (pools.slots - load.num_seqs));
      reason("states of guessed tokens", stage.slot * states_of_drafts(pools.slots));
    }
    reason(draft_label_, stage.draft * draft_tokens(pools));
    if (rest != 0)
      rank.gap.push_back({fixed_windows_ > 0 ? "window pool: of all requests that may run"
                          : has_windows()    ? "window pool: a fraction of all tokens, not only the windows"
                                             : "windows and compressed entries kept whole",
                          rest});
  }

  SglangOptions hicache_;
  bool shares_;
  // Tokens of the second pool that a running request uses. 0.5.8 keeps those of its last prefill chunk until the
  // request decodes.
  std::uint64_t chunk_, kept_windows_;
};

struct SglangMemo : EngineMemo {
  SglangMemo(const EngineInput& input, std::vector<Note>& notes)
      : request(input.request),
        method(input.draft_method),
        class_name(input.model.architecture),
        layout(input, notes) {}
  bool is_of(const EngineInput& input) const {
    return request == input.request && method == input.draft_method && class_name == input.model.architecture;
  }
  Request request;
  std::optional<DraftMethod> method;
  std::string class_name;
  SglangLayout layout;
};

}  // namespace

std::unique_ptr<CacheLayout> sglang_layout(const EngineInput& input, std::vector<Note>& notes) {
  note_unasked_kernels(sglang_kernel_rows(), input, notes);
  if (input.request.card.is_unified())
    notes.push_back(
        {NoteLevel::kInfo, "unified_memory",
         "CPU and GPU share this memory. SGLang uses what is free when it starts. On GB10 that is 7.2 to 20.4 "
         "GiB less than the total; kvplan assumes 10 GiB less. If memory is short, drop the page cache "
         "before the start"});
  return std::make_unique<SglangLayout>(input, notes);
}

std::uint64_t sglang_requests(const EngineInput& input, std::optional<Bytes> budget, const Load& load) {
  auto known = std::dynamic_pointer_cast<const SglangMemo>(input.memo);
  if (known == nullptr || !known->is_of(input)) {
    std::vector<Note> notes;
    known = std::make_shared<const SglangMemo>(input, notes);
    input.memo = known;
  }
  return known->layout.requests(budget, load);
}

}  // namespace kvplan
