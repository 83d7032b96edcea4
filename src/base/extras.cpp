#include "kvplan/extras.h"

#include <algorithm>
#include <array>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

struct DraftMethodRow {
  DraftMethod method;
  std::string_view name, aliases;  // case folded, dashes as underscores
};

constexpr std::array kRows{
    DraftMethodRow{DraftMethod::kModel, "draft_model",
                   "draft model standalone draft_simple draft_target frozen_kv_mtp gemma4_mtp"},
    DraftMethodRow{DraftMethod::kEagle, "eagle", "eagle2 draft_eagle"},
    DraftMethodRow{DraftMethod::kEagle3, "eagle3", "draft_eagle3 eagle_3 p_eagle peagle"},
    DraftMethodRow{DraftMethod::kDflash, "dflash", "dflash2 draft_dflash domino"},
    DraftMethodRow{DraftMethod::kDspark, "dspark", "draft_dspark"},
    DraftMethodRow{DraftMethod::kMtp, "mtp", "nextn draft_mtp"},  // and every other word that ends in "_mtp"
    DraftMethodRow{DraftMethod::kMedusa, "medusa", ""},
    DraftMethodRow{DraftMethod::kNgram, "ngram",
                   "ngram_gpu ngram_simple ngram_mod ngram_cache ngram_map_k ngram_map_k4v prompt_lookup suffix"},
};

}  // namespace

std::string_view name(DraftMethod method) {
  for (const DraftMethodRow& row : kRows)
    if (row.method == method) return row.name;
  return "";
}

std::optional<DraftMethod> find_draft_method(std::string_view text) {
  std::string wanted = lower(text);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  for (const DraftMethodRow& row : kRows)
    if (row.name == wanted || has_word(row.aliases, wanted)) return row.method;
  return wanted.ends_with("_mtp") ? std::optional(DraftMethod::kMtp) : std::nullopt;
}

std::string known_draft_methods() {
  return join(kRows, ", ", &DraftMethodRow::name);
}

}  // namespace kvplan
