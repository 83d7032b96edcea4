#include "kvplan/gpus.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "kvplan/suggest.h"

namespace kvplan {

namespace {

// folded(text) == other, without a copy.
bool folds_to(std::string_view text, std::string_view other) {
  std::size_t at = 0;
  for (const char c : text) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    if (!is_capital && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) continue;
    if (at == other.size() || (is_capital ? c - 'A' + 'a' : c) != other[at]) return false;
    ++at;
  }
  return at == other.size();
}

bool answers_to(const Gpu& gpu, std::string_view wanted) {
  if (folds_to(gpu.name, wanted)) return true;
  for (std::string_view rest = gpu.aliases; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (folds_to(rest.substr(0, end), wanted)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// Drivers call a rtx-4060-laptop "NVIDIA GeForce RTX 4060 Laptop GPU": the name without one such word, or "" where none
// is left to remove.
std::string_view without_maker(std::string_view name) {
  for (const std::string_view word : {"nvidia", "geforce", "amd", "radeon", "instinct", "intel", "apple", "tesla"})
    if (name.starts_with(word)) return name.substr(word.size());
  if (name.ends_with("gpu")) return name.substr(0, name.size() - 3);
  return {};
}

// The current cards. The rows of the user's own cards point into `own`.
struct OwnGpu {
  GpuRecord record;
  std::string aliases;
};
struct Catalogue {
  std::vector<OwnGpu> own;
  std::vector<Gpu> rows;
  std::uint64_t changes = 0;
};
Catalogue& catalogue() {
  static Catalogue all;
  return all;
}

}  // namespace

std::span<const Gpu> gpus() {
  const Catalogue& all = catalogue();
  return all.rows.empty() ? built_in_gpus() : std::span<const Gpu>(all.rows);
}

void set_own_gpus(const std::vector<GpuRecord>& cards) {
  Catalogue& all = catalogue();
  ++all.changes;
  all.rows.clear();
  all.own.clear();
  for (const GpuRecord& card : cards) all.own.push_back({card, join(card.aliases, " ")});
  if (all.own.empty()) return;
  for (const auto& [card, aliases] : all.own)
    all.rows.push_back({card.vendor.empty() ? "own" : std::string_view(card.vendor), card.name, aliases,
                        card.memory / kMiB, card.usable / kMiB, card.reported, card.unified, card.bandwidth_gb_s,
                        card.source.empty() ? "own file" : std::string_view(card.source), 0, Peak{}});
  // A file gives no compute capability: a card with a built-in name has that card's.
  for (Gpu& row : all.rows)
    for (const Gpu& gpu : built_in_gpus())
      if (folded(gpu.name) == folded(row.name)) {
        row.capability = gpu.capability;
        row.peak = gpu.peak;
      }
  for (const Gpu& gpu : built_in_gpus()) {
    const std::string name = folded(gpu.name);
    const bool replaced =
        std::any_of(all.own.begin(), all.own.end(), [&](const OwnGpu& own) { return folded(own.record.name) == name; });
    if (!replaced) all.rows.push_back(gpu);
  }
}

namespace {

// A card's exact name means that card, whatever another one's alias is.
const Gpu* search_gpu(std::string_view text) {
  for (const std::span<const Gpu> cards : {gpus(), gpu_slices()})
    for (const Gpu& gpu : cards)
      if (gpu.name == text) return &gpu;
  const std::string name = folded(text);
  for (std::string_view wanted = name; !wanted.empty(); wanted = without_maker(wanted))
    for (const std::span<const Gpu> cards : {gpus(), gpu_slices()})
      for (const Gpu& gpu : cards)
        if (answers_to(gpu, wanted)) return &gpu;
  return nullptr;
}

}  // namespace

// Memoised: a search for what fits looks up the same few cards some ten thousand times.
const Gpu* find_gpu(std::string_view text) {
  constexpr std::size_t kMostKnown = 4096;
  static thread_local std::map<std::string, const Gpu*, std::less<>> known;
  static thread_local std::uint64_t known_at = 0;
  if (known.size() >= kMostKnown || known_at != catalogue().changes) known.clear();
  known_at = catalogue().changes;
  if (const auto found = known.find(text); found != known.end()) return found->second;
  return known.emplace(text, search_gpu(text)).first->second;
}

std::uint32_t compute_capability(const std::optional<std::string>& gpu) {
  if (!gpu) return 0;
  const Gpu* card = find_gpu(*gpu);
  return card != nullptr && card->vendor == "NVIDIA" ? card->capability : 0;
}

const Gpu& parse_gpu(std::string_view text, std::string_view option) {
  if (const Gpu* gpu = find_gpu(text)) return *gpu;
  std::vector<Candidate> known;
  for (const Gpu& gpu : gpus()) {
    known.push_back({gpu.name, gpu.name});
    for (const std::string_view alias : split(gpu.aliases)) known.push_back({alias, gpu.name});
  }
  fail(std::string(option) + ": there is no card \"" + one_line(text, 60) +
           "\" in the catalogue; nearest: " + join(nearest_names(text, known)),
       "use one of these, --gpu-memory SIZE, or see kvplan gpus");
}

}  // namespace kvplan
