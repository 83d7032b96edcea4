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
    DraftMethodRow{DraftMethod::kModel, "draft_model", "draft model standalone draft_simple draft_target"},
    DraftMethodRow{DraftMethod::kEagle, "eagle", "eagle2 draft_eagle"},
    DraftMethodRow{DraftMethod::kEagle3, "eagle3", "draft_eagle3 eagle_3"},
    DraftMethodRow{DraftMethod::kMtp, "mtp",
                   "nextn draft_mtp deepseek_mtp qwen3_next_mtp qwen3_5_mtp glm4_moe_mtp mimo_mtp ernie_mtp"},
    DraftMethodRow{DraftMethod::kMedusa, "medusa", ""},
    DraftMethodRow{DraftMethod::kNgram, "ngram",
                   "ngram_simple ngram_mod ngram_cache ngram_map_k ngram_map_k4v prompt_lookup suffix"},
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
  return std::nullopt;
}

std::string known_draft_methods() {
  return join(kRows, ", ", &DraftMethodRow::name);
}

}  // namespace kvplan
