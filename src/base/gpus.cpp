#include "kvplan/gpus.h"

#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "kvplan/suggest.h"

namespace kvplan {

namespace {

bool answers_to(const Gpu& gpu, std::string_view wanted) {
  const std::vector<std::string_view> aliases = split(gpu.aliases);
  return folded(gpu.name) == wanted ||
         std::any_of(aliases.begin(), aliases.end(), [&](std::string_view alias) { return folded(alias) == wanted; });
}

// Drivers say "NVIDIA GeForce RTX 4060 Laptop GPU" of a rtx-4060-laptop: without one such word, or "" where none is
// left.
std::string_view without_maker(std::string_view name) {
  for (const std::string_view word : {"nvidia", "geforce", "amd", "radeon", "instinct", "intel", "apple", "tesla"})
    if (name.starts_with(word)) return name.substr(word.size());
  if (name.ends_with("gpu")) return name.substr(0, name.size() - 3);
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

std::span<const Gpu> gpus() {
  const Catalogue& all = catalogue();
  return all.rows.empty() ? built_in_gpus() : std::span<const Gpu>(all.rows);
}

void set_own_gpus(const std::vector<GpuRecord>& cards) {
  Catalogue& all = catalogue();
  all.rows.clear();
  all.own.clear();
  for (const GpuRecord& card : cards) all.own.push_back({card, join(card.aliases, " ")});
  if (all.own.empty()) return;
  for (const auto& [card, aliases] : all.own)
    all.rows.push_back({card.vendor.empty() ? "own" : std::string_view(card.vendor), card.name, aliases,
                        card.memory / kMiB, card.usable / kMiB, card.reported, card.unified, card.bandwidth_gb_s,
                        card.source.empty() ? "own file" : std::string_view(card.source), 0, Peak{}});
  // What a card computes with stands in no file: one of a built-in name is as that.
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

const Gpu* find_gpu(std::string_view text) {
  const std::string name = folded(text);
  for (std::string_view wanted = name; !wanted.empty(); wanted = without_maker(wanted))
    for (const std::span<const Gpu> cards : {gpus(), gpu_slices()})
      for (const Gpu& gpu : cards)
        if (answers_to(gpu, wanted)) return &gpu;
  return nullptr;
}

std::uint32_t compute_capability(const std::optional<std::string>& gpu) {
  if (!gpu) return 0;
  const Gpu* card = find_gpu(*gpu);
  return card != nullptr && card->vendor == "NVIDIA" ? card->capability : 0;
}

const Gpu& parse_gpu(std::string_view text, std::string_view option) {
  // A request holds a card's own name: found without folding.
  for (const std::span<const Gpu> cards : {gpus(), gpu_slices()})
    for (const Gpu& gpu : cards)
      if (gpu.name == text) return gpu;
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
