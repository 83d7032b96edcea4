#include "engines/drafts.h"

#include <algorithm>

#include "engines/term_kinds.h"

namespace kvplan {

namespace {

bool is_window(const Term& term) {
  return is_windowed(term) && !is_open_group(term);
}

std::string label_of(const EngineInput& input) {
  switch (input.draft_method.value_or(DraftMethod::kModel)) {
    case DraftMethod::kEagle: return "EAGLE layers";
    case DraftMethod::kEagle3: return "EAGLE-3 layers";
    case DraftMethod::kDflash: return "DFlash layers";
    case DraftMethod::kDspark: return "DSpark layers";
    default: return "draft model";
  }
}

}  // namespace

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

}  // namespace kvplan
