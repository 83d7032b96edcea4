#include "kvplan/extras.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "kvplan/words.h"

namespace kvplan {

namespace {

struct Row {
  DraftMethod method;
  std::string_view name, aliases;  // case folded, dashes as underscores
};

constexpr std::array kRows{
    Row{DraftMethod::kModel, "draft_model", "draft model standalone draft_simple draft_target"},
    Row{DraftMethod::kEagle, "eagle", "eagle2 draft_eagle"},
    Row{DraftMethod::kEagle3, "eagle3", "draft_eagle3 eagle_3"},
    Row{DraftMethod::kMtp, "mtp",
        "nextn draft_mtp deepseek_mtp qwen3_next_mtp qwen3_5_mtp glm4_moe_mtp mimo_mtp ernie_mtp"},
    Row{DraftMethod::kMedusa, "medusa", ""},
    Row{DraftMethod::kNgram, "ngram",
        "ngram_simple ngram_mod ngram_cache ngram_map_k ngram_map_k4v prompt_lookup suffix"},
};

}  // namespace

std::string_view name(DraftMethod method) {
  for (const Row& row : kRows)
    if (row.method == method) return row.name;
  return "";
}

std::optional<DraftMethod> find_draft_method(std::string_view text) {
  std::string folded(text);
  std::transform(folded.begin(), folded.end(), folded.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(c)); });
  for (const Row& row : kRows)
    if (row.name == folded || has_word(row.aliases, folded)) return row.method;
  return std::nullopt;
}

std::string known_draft_methods() {
  std::string out;
  for (const Row& row : kRows) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

}  // namespace kvplan
