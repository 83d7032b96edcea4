#include "engines/drafts.h"

#include <algorithm>

#include "engines/capacity.h"
#include "engines/term_kinds.h"

namespace kvplan {

static bool is_window(const Term& term) {
  return is_windowed(term) && !is_open_group(term);
}

static std::string label_of(const EngineInput& input) {
  switch (input.draft_method.value_or(DraftMethod::kModel)) {
    case DraftMethod::kEagle: return "EAGLE layers";
    case DraftMethod::kEagle3: return "EAGLE-3 layers";
    case DraftMethod::kDflash: return "DFlash layers";
    case DraftMethod::kDspark: return "DSpark layers";
    default: return "draft model";
  }
}

std::vector<LayerCache> mtp_layers(const EngineInput& input) {
  std::vector<LayerCache> out;
  const bool indexed = any_term(input, is_index);
  const LayerCache* model = nullptr;
  for (const LayerCache& cache : input.caches) {
    if (cache.compact.empty() || any_term(cache.compact, is_fixed)) continue;
    const bool packed = any_term(cache.compact, is_packed);
    if (!packed && (any_term(cache.compact, is_window) || any_term(cache.compact, is_index) != indexed)) continue;
    model = &cache;
  }
  if (model == nullptr) return out;
  LayerCache draft = *model;
  if (any_term(draft.compact, is_packed)) {
    std::erase_if(draft.compact.own(),
                  [](const Term& term) { return !(is_windowed(term) && term.role == Role::kKey); });
    draft.expanded = draft.compact;
  }
  for (std::uint64_t i = 0; i < input.model.num_nextn_layers; ++i) {
    draft.layer = checked_add(input.model.num_layers, i, "the number of layers");
    out.push_back(draft);
  }
  return out;
}

DraftLayers draft_layers(const EngineInput& input) {
  DraftLayers out;
  if (input.draft != nullptr) {
    out.label = label_of(input);
    out.types = input.draft->types;
    for (LayerCache cache : input.draft->caches) {
      if (cache.compact.empty()) continue;
      cache.layer = checked_add(cache.layer, input.model.num_layers, "the number of layers");
      out.caches.push_back(std::move(cache));
    }
  } else if (input.request.mtp) {
    out.label = "MTP layers";
    out.types = input.types;
    out.caches = mtp_layers(input);
  }
  return out;
}

std::uint64_t step_draft_tokens(const EngineInput& input, std::uint64_t otherwise) {
  if (input.request.num_speculative_tokens > 0) return input.request.num_speculative_tokens;
  return input.draft_method ? otherwise : 0;
}

namespace {

class LayoutWithDraft : public CacheLayout {
 public:
  LayoutWithDraft(std::unique_ptr<CacheLayout> main, std::unique_ptr<CacheLayout> draft,
                  std::function<Load(const Load&)> load_of, Template label)
      : main_(std::move(main)), draft_(std::move(draft)), load_of_(std::move(load_of)), label_(std::move(label)) {}

  Bytes reserved(const Load& load) const override {
    // The model and its draft may be largest on different GPUs, so the GPU with the largest sum decides.
    Bytes fullest;
    for (const RankCache& rank : explain(load)) fullest = std::max(fullest, rank.reserved);
    return fullest;
  }

  std::vector<RankCache> explain(const Load& load) const override {
    std::vector<RankCache> out = main_->explain(load);
    const std::vector<RankCache> drafts = draft_->explain(load_of_(load));
    for (std::size_t i = 0; i < out.size() && i < drafts.size(); ++i) {
      RankCache& rank = out[i];
      rank.reserved += drafts[i].reserved;
      if (drafts[i].reserved > Bytes(0))
        rank.gap.push_back({label_, static_cast<std::int64_t>(drafts[i].reserved.count())});
      for (LedgerLine line : drafts[i].lines) {
        line.what = label_ + Template(": ") + line.what;
        line.id = LineId::kDraftCache;
        rank.lines.push_back(std::move(line));
      }
    }
    return out;
  }

  std::vector<CacheGroup> groups() const override { return main_->groups(); }
  std::optional<std::uint64_t> block_size() const override { return main_->block_size(); }

  Capacity capacity(Bytes budget, const Load& load) const override {
    Capacity out = main_->capacity(budget, load);
    const std::uint64_t alone = out.max_model_len;
    out.max_model_len = longest_sequence(*this, budget, load);
    out.max_num_seqs = std::min(out.max_num_seqs, most_sequences(*this, budget, load));
    // The log's figures are of the model's pool, so they are scaled to what the draft's cache leaves.
    if (out.tokens && alone > 0) {
      const std::uint64_t streams = std::max<std::uint64_t>(1, *out.tokens / alone);
      out.tokens = checked_mul(out.max_model_len, streams, "the tokens of the pool");
      const std::uint64_t length = std::max<std::uint64_t>(1, load.max_model_len.count());
      out.max_concurrency = static_cast<double>(*out.tokens) / static_cast<double>(length);
    }
    return out;
  }

  std::vector<LedgerLine> host(const Load& load) const override {
    std::vector<LedgerLine> out = main_->host(load);
    for (LedgerLine line : draft_->host(load_of_(load))) {
      line.what = label_ + Template(": ") + line.what;
      line.id = LineId::kDraftCache;
      out.push_back(std::move(line));
    }
    return out;
  }

 private:
  std::unique_ptr<CacheLayout> main_, draft_;
  std::function<Load(const Load&)> load_of_;
  Template label_;
};

}  // namespace

std::unique_ptr<CacheLayout> with_draft(std::unique_ptr<CacheLayout> main, std::unique_ptr<CacheLayout> draft,
                                        std::function<Load(const Load&)> load_of, Template label) {
  return std::make_unique<LayoutWithDraft>(std::move(main), std::move(draft), std::move(load_of), std::move(label));
}

std::vector<LayerCache> with_indexes(std::vector<LayerCache> caches) {
  const auto is_index = [](const Term& term) { return term.role == Role::kIndex; };
  std::optional<Term> index;
  for (const LayerCache& cache : caches)
    for (const Term& term : cache.compact)
      if (!index && is_index(term)) index = term;
  if (!index) return caches;
  for (LayerCache& cache : caches)
    if (!cache.compact.empty() && std::none_of(cache.compact.begin(), cache.compact.end(), is_index))
      cache.compact.own().push_back(*index);
  return caches;
}

}  // namespace kvplan
