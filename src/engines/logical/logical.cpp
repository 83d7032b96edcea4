// The logical engine: what the architecture needs, without an allocator.
//
// A tensor parallel rank has its part of the heads, and a copy of everything that cannot be split. A pipeline stage has
// its layers, split as in vLLM. Nothing is rounded, so reserved equals logical on every GPU, except for a draft's
// cache.
#include <algorithm>
#include <map>

#include "engines/drafts.h"
#include "engines/engine.h"
#include "engines/estimates.h"
#include "engines/lora_slots.h"
#include "engines/parallel.h"
#include "engines/term_sum.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

Template sequences(const Load& load) {
  return {"{num_seqs:sequence} of {max_model_len:token}",
          {{"num_seqs", load.num_seqs}, {"max_model_len", load.max_model_len}}};
}

class LogicalLayout : public CacheLayout {
 public:
  explicit LogicalLayout(const EngineInput& input) : tensor_parallel_(input.request.parallel.tensor) {
    for (std::vector<LayerCache>& caches : split_stages(input, StageSplit::kSpareLast)) {
      stages_.emplace_back(caches, input.types, tensor_parallel_);
      Kinds& kinds = stage_kinds_.emplace_back();
      for (LayerCache& cache : caches)
        if (!cache.compact.empty()) kinds[cache.kind].push_back(std::move(cache));
    }
    types_ = input.types;
    const DraftLayers drafts = draft_layers(input);
    if (!drafts.caches.empty()) {
      draft_ = TermSum(drafts.caches, drafts.types, tensor_parallel_);
      draft_label_ = drafts.line();
    }
    std::map<std::string_view, CacheGroup> groups;
    for (const LayerCache& cache : input.caches) {
      if (cache.compact.empty()) continue;
      CacheGroup& group = groups[cache.kind];
      group.kind = cache.kind;
      ++group.layers;
    }
    for (auto& [kind, group] : groups) groups_.push_back(std::move(group));
  }

  Bytes reserved(const Load& load) const override {
    Bytes fullest;
    for (std::size_t s = 0; s < stages_.size(); ++s)
      fullest = std::max(fullest, stages_[s].bytes(load) + draft_bytes(s, load));
    return fullest;
  }

  std::vector<Bytes> reserved_by_stage(const Load& load, std::uint64_t) const override {
    std::vector<Bytes> out;
    for (std::size_t s = 0; s < stages_.size(); ++s) out.push_back(stages_[s].bytes(load) + draft_bytes(s, load));
    return out;
  }

  std::vector<RankCache> explain(const Load& load) const override {
    std::vector<RankCache> out;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      RankCache rank;
      rank.logical = rank.reserved = stages_[s].bytes(load);
      for (const auto& [name, caches] : stage_kinds_[s]) {
        const std::string kind(name);
        const Bytes bytes = TermSum(caches, types_, tensor_parallel_).bytes(load);
        rank.lines.push_back(exact_line(
            Section::kKvCache, {"{kind}, {num_layers} layers", {{"kind", kind}, {"num_layers", caches.size()}}}, bytes,
            Template("terms of {kind} x ", {{"kind", kind}}) + sequences(load), "formulas/" + kind));
      }
      if (const Bytes bytes = draft_bytes(s, load); bytes > Bytes(0)) {
        rank.reserved += bytes;
        rank.gap.push_back({draft_label_, static_cast<std::int64_t>(bytes.count())});
        rank.lines.push_back(of_kind(
            LineId::kDraftCache, exact_line(Section::kKvCache, draft_label_, bytes,
                                            sequences(load) + Template(" x {per_token} B per token of the draft",
                                                                       {{"per_token", draft_.per_token_in_window()}}),
                                            "the draft's own config")));
      }
      out.insert(out.end(), tensor_parallel_, rank);
    }
    return out;
  }

  std::vector<CacheGroup> groups() const override { return groups_; }

  // One tensor for each term of a layer.
  std::vector<CacheBuffer> buffers(const Load& load, std::size_t rank) const override {
    std::vector<CacheBuffer> out;
    for (const auto& [kind, caches] : stage_kinds_[rank / tensor_parallel_]) {
      const Template line("{kind}, {num_layers} layers", {{"kind", kind}, {"num_layers", caches.size()}});
      for (const LayerCache& cache : caches)
        for (const Term& term : cache.compact) {
          LayerCache alone = cache;
          alone.compact = {term};
          const Bytes bytes = TermSum({alone}, types_, tensor_parallel_).bytes(load);
          if (bytes > Bytes(0)) out.push_back({line, buffer_name(cache.layer, term.name), bytes});
        }
    }
    return out;
  }

  Capacity capacity(Bytes budget, const Load& load) const override {
    Capacity out;
    out.kv_cache_memory = budget;
    // The tokens that fit besides the fixed part, at the bytes per token that remain when every window is full.
    std::uint64_t slope = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s)
      slope =
          std::max(slope, (stages_[s].per_token() + (s + 1 == stages_.size() ? draft_.per_token() : Bytes(0))).count());
    if (slope > 0) out.tokens = budget.count() / slope;
    const Bytes one = reserved({load.max_model_len, 1, load.source_tokens});
    if (one > Bytes(0)) out.max_concurrency = static_cast<double>(budget.count()) / static_cast<double>(one.count());
    return out;
  }

 private:
  using Kinds = std::map<std::string_view, std::vector<LayerCache>>;

  // Drafts are on the last stage.
  Bytes draft_bytes(std::size_t stage, const Load& load) const {
    return stage + 1 == stages_.size() ? draft_.bytes(load) : Bytes(0);
  }

  std::uint64_t tensor_parallel_;
  CacheTypes types_;
  std::vector<TermSum> stages_;
  std::vector<Kinds> stage_kinds_;
  TermSum draft_;
  Template draft_label_;
  std::vector<CacheGroup> groups_;
};

CacheTypes resolve(const ModelShape& model, const Request& request) {
  return resolve_default_types(model, request);
}

std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>&) {
  return std::make_unique<LogicalLayout>(input);
}

// The minimum activations: one prefill chunk of hidden states in 16 bit, and an allowance for any process.
std::vector<LedgerLine> overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const bool whole = is_encoder(input);
  const std::uint64_t chunk =
      whole ? checked_mul(in.load.max_model_len.count(), in.load.num_seqs, "the tokens of the load")
            : prefill_chunk(input.request, in.load);
  const Bytes floor = Bytes(chunk) * input.model.hidden_size * 2;
  LedgerLine activation{Section::kActivation,
                        "activations (floor)",
                        floor,
                        floor,
                        floor * 4,
                        {"{tokens} tokens of a prefill chunk * hidden_size {hidden_size} * 2 B",
                         {{"tokens", chunk}, {"hidden_size", input.model.hidden_size}}},
                        "estimate: the minimum; an engine's peak is a few times higher"};
  LedgerLine runtime{Section::kRuntime,
                     "driver context and libraries",
                     Bytes(512 * kMiB),
                     Bytes(256 * kMiB),
                     Bytes(1024 * kMiB),
                     "allowance of 512 MiB per GPU",
                     "estimate: contexts of 250 MiB to 1 GiB are seen; choose an engine for its figure",
                     LineId::kContext};
  return {activation, runtime};
}

constexpr EngineVersion kVersions[] = {{"1", "arithmetic on the formulas"}};

// A pair of matrices for every linear layer, for one adapter.
LoraSlots lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>&) {
  constexpr std::uint64_t kDefaultRank = 16;
  LoraSlots out;
  out.source = "pairs for every linear layer";
  out.slots = request.extras.max_loras.value_or(1);
  out.rank = std::max(request.extras.max_lora_rank.value_or(kDefaultRank), asked.largest_rank);
  return out;
}

}  // namespace

Engine logical_engine() {
  Engine out{"logical", "none", "what the architecture needs, no allocator", kVersions, 1.0, resolve, layout, overhead};
  out.extras.draft_methods = "draft_model eagle eagle3 mtp medusa ngram dflash dspark";
  out.extras.lora = LoraStorage::kSlotsOrFiles;
  out.extras.lora_slots = lora_slots;
  out.is_logical = true;
  out.options =
      "--block-size --mamba-ssm-cache-dtype --enable-expert-parallel --cache-type-k --cache-type-v "
      "--ctx-size-draft --cache-type-k-draft --cache-type-v-draft --enable-lora --max-loras "
      "--max-lora-rank --max-cpu-loras --lora-targets";
  out.extras.has_beams = true;
  return out;
}

}  // namespace kvplan
