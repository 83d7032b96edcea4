#include "kvplan/gpus.h"

#include <functional>
#include <map>
#include <set>
#include <string>

#include "kvplan/did_you_mean.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// Drivers call a rtx-4060-laptop "NVIDIA GeForce RTX 4060 Laptop GPU": the name without one such word, or "" where none
// is left to remove.
std::string_view without_maker(std::string_view name) {
  for (const std::string_view word : {"nvidia", "geforce", "amd", "radeon", "instinct", "intel", "apple", "tesla"})
    if (name.starts_with(word)) return name.substr(word.size());
  if (name.ends_with("gpu")) return name.substr(0, name.size() - 3);
  return {};
}

}  // namespace

GpuCatalogue::GpuCatalogue(const std::vector<GpuRecord>& own) {
  std::map<std::string, const Gpu*, std::less<>> built_in;
  for (const Gpu& gpu : gpu_table()) built_in.emplace(folded(gpu.name), &gpu);
  for (const GpuRecord& card : own) own_.push_back({card, join(card.aliases, " ")});
  for (const auto& [card, aliases] : own_) {
    rows_.push_back({card.vendor.empty() ? "own" : std::string_view(card.vendor), card.name, aliases,
                     card.memory / kMiB, card.usable / kMiB, card.reported, card.unified, card.bandwidth_gb_s,
                     card.source.empty() ? "own file" : std::string_view(card.source), 0, Peak{}});
    // A file gives no compute capability: a card with a built-in name has that card's.
    const auto same = built_in.find(folded(card.name));
    if (same == built_in.end()) continue;
    rows_.back().capability = same->second->capability;
    rows_.back().peak = same->second->peak;
  }
  std::set<std::string> replaced;
  for (const Own& card : own_) replaced.insert(folded(card.record.name));
  for (const Gpu& gpu : gpu_table())
    if (replaced.count(folded(gpu.name)) == 0) rows_.push_back(gpu);
  for (const std::span<const Gpu> some : {cards(), gpu_slices()})
    for (const Gpu& gpu : some) {
      names_.emplace(gpu.name, &gpu);
      known_names_.emplace(folded(gpu.name), &gpu);
      for (const std::string_view alias : split(gpu.aliases)) known_names_.emplace(folded(alias), &gpu);
    }
}

const GpuCatalogue& built_in_catalogue() {
  static const GpuCatalogue all;
  return all;
}

// A card's exact name means that card, whatever another one's alias is.
const Gpu* GpuCatalogue::find(std::string_view text) const {
  if (const auto exact = names_.find(text); exact != names_.end()) return exact->second;
  const std::string name = folded(text);
  for (std::string_view wanted = name; !wanted.empty(); wanted = without_maker(wanted))
    if (const auto known = known_names_.find(wanted); known != known_names_.end()) return known->second;
  return nullptr;
}

const Gpu& GpuCatalogue::parse(std::string_view text, std::string_view option) const {
  if (const Gpu* gpu = find(text)) return *gpu;
  std::vector<Candidate> known;
  for (const Gpu& gpu : cards()) {
    known.push_back({gpu.name, gpu.name});
    for (const std::string_view alias : split(gpu.aliases)) known.push_back({alias, gpu.name});
  }
  fail(std::string(option) + ": there is no card \"" + one_line(text, 60) +
           "\" in the catalogue; nearest: " + join(nearest_names(text, known)),
       "use one of these, --gpu-memory SIZE, or see kvplan gpus");
}

}  // namespace kvplan
