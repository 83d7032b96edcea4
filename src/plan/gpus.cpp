#include "plan/gpus.h"

#include <algorithm>
#include <cctype>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/suggest.h"
#include "kvplan/words.h"

namespace kvplan {

namespace {

bool counts(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// `text` folded equals `folded`, without a copy: a plan looks its card up several times.
bool folds_to(std::string_view text, std::string_view folded) {
  std::size_t at = 0;
  for (const char c : text) {
    if (!counts(c)) continue;
    if (at == folded.size() || lower(c) != folded[at]) return false;
    ++at;
  }
  return at == folded.size();
}

bool answers_to(const Gpu& gpu, std::string_view folded) {
  if (folds_to(gpu.name, folded)) return true;
  for (std::string_view rest = gpu.aliases; !rest.empty();) {
    const auto space = rest.find(' ');
    if (folds_to(rest.substr(0, space), folded)) return true;
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
  return false;
}

// Drivers say "NVIDIA GeForce RTX 4060 Laptop GPU" of a rtx-4060-laptop: without one such word, or "" where none is
// left.
std::string_view without_maker(std::string_view folded) {
  for (const std::string_view word : {"nvidia", "geforce", "amd", "radeon", "instinct", "intel", "apple", "tesla"})
    if (folded.starts_with(word)) return folded.substr(word.size());
  if (folded.ends_with("gpu")) return folded.substr(0, folded.size() - 3);
  return {};
}

// The cards as they are now. The rows of the user's own point into `own`.
struct OwnGpu {
  GpuRecord record;
  std::string aliases;
};
struct Catalogue {
  std::vector<OwnGpu> own;
  std::vector<Gpu> rows;
};
Catalogue& catalogue() {
  static Catalogue all;
  return all;
}

}  // namespace

bool runs_on(const Engine& engine, const Gpu& gpu) {
  constexpr std::string_view kMakers = "NVIDIA AMD Intel Apple";
  if (has_word(kMakers, gpu.vendor) && !has_word(engine.makers, gpu.vendor)) return false;
  for (const std::string_view beginning : alias_words(engine.unsupported_cards))
    if (gpu.name.starts_with(beginning)) return false;
  return true;
}

std::string folded_name(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (counts(c)) out += lower(c);
  return out;
}

std::vector<std::string_view> alias_words(std::string_view aliases) {
  std::vector<std::string_view> out;
  for (std::string_view rest = aliases; !rest.empty();) {
    const auto space = rest.find(' ');
    out.push_back(rest.substr(0, space));
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
  return out;
}

std::span<const Gpu> gpus() {
  const Catalogue& all = catalogue();
  return all.rows.empty() ? built_in_gpus() : std::span<const Gpu>(all.rows);
}

void set_own_gpus(const std::vector<GpuRecord>& cards) {
  Catalogue& all = catalogue();
  all.rows.clear();
  all.own.clear();
  for (const GpuRecord& card : cards) {
    std::string aliases;
    for (const std::string& alias : card.aliases) aliases += (aliases.empty() ? "" : " ") + alias;
    all.own.push_back({card, std::move(aliases)});
  }
  if (all.own.empty()) return;
  for (const auto& [card, aliases] : all.own)
    all.rows.push_back({card.vendor.empty() ? "own" : std::string_view(card.vendor), card.name, aliases,
                        card.memory >> 20, card.usable >> 20, card.reported, card.unified, card.bandwidth_gb_s,
                        card.source.empty() ? "own file" : std::string_view(card.source)});
  for (const Gpu& gpu : built_in_gpus()) {
    const std::string name = folded_name(gpu.name);
    const bool replaced =
        std::any_of(all.own.begin(), all.own.end(), [&](const OwnGpu& own) { return folds_to(own.record.name, name); });
    if (!replaced) all.rows.push_back(gpu);
  }
}

const Gpu* find_gpu(std::string_view text) {
  const std::string folded = folded_name(text);
  for (std::string_view wanted = folded; !wanted.empty(); wanted = without_maker(wanted))
    for (const Gpu& gpu : gpus())
      if (answers_to(gpu, wanted)) return &gpu;
  return nullptr;
}

const Gpu& parse_gpu(std::string_view text, std::string_view option) {
  // A request holds a card's own name: found without folding.
  for (const Gpu& gpu : gpus())
    if (gpu.name == text) return gpu;
  if (const Gpu* gpu = find_gpu(text)) return *gpu;
  std::vector<Candidate> known;
  for (const Gpu& gpu : gpus()) {
    known.push_back({gpu.name, gpu.name});
    for (const std::string_view alias : alias_words(gpu.aliases)) known.push_back({alias, gpu.name});
  }
  std::string nearest;
  for (const std::string_view name : nearest_names(text, known))
    nearest += (nearest.empty() ? "" : ", ") + std::string(name);
  fail(std::string(option) + ": there is no card \"" + one_line(text, 60) + "\" in the catalogue; nearest: " + nearest,
       "use one of these, --gpu-memory SIZE, or see kvplan gpus");
}

}  // namespace kvplan
