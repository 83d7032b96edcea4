#include "kvplan/gpus.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "kvplan/did_you_mean.h"

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

// A file gives no compute capability: a card with a built-in name has that card's.
const Gpu* built_in_named(std::string_view name) {
  for (const Gpu& gpu : gpu_table())
    if (folded(gpu.name) == folded(name)) return &gpu;
  return nullptr;
}

}  // namespace

GpuCatalogue::GpuCatalogue(const std::vector<GpuRecord>& own) {
  for (const GpuRecord& card : own) own_.push_back({card, join(card.aliases, " ")});
  for (const auto& [card, aliases] : own_) {
    const Gpu* const same = built_in_named(card.name);
    rows_.push_back({card.vendor.empty() ? "own" : std::string_view(card.vendor), card.name, aliases,
                     card.memory / kMiB, card.usable / kMiB, card.reported, card.unified, card.bandwidth_gb_s,
                     card.source.empty() ? "own file" : std::string_view(card.source),
                     same != nullptr ? same->capability : 0, same != nullptr ? same->peak : Peak{}});
  }
  for (const Gpu& gpu : gpu_table())
    if (std::none_of(own_.begin(), own_.end(),
                     [&](const Own& card) { return folded(card.record.name) == folded(gpu.name); }))
      rows_.push_back(gpu);
}

const GpuCatalogue& built_in_catalogue() {
  static const GpuCatalogue all;
  return all;
}

// A card's exact name means that card, whatever another one's alias is.
const Gpu* GpuCatalogue::find(std::string_view text) const {
  for (const std::span<const Gpu> some : {cards(), gpu_slices()})
    for (const Gpu& gpu : some)
      if (gpu.name == text) return &gpu;
  const std::string name = folded(text);
  for (std::string_view wanted = name; !wanted.empty(); wanted = without_maker(wanted))
    for (const std::span<const Gpu> some : {cards(), gpu_slices()})
      for (const Gpu& gpu : some)
        if (answers_to(gpu, wanted)) return &gpu;
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
