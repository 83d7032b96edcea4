#include "kvplan/gpus.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// The name without one word such as "NVIDIA", or "" if there is none left to remove. Drivers call a rtx-4060-laptop
// "NVIDIA GeForce RTX 4060 Laptop GPU".
std::string_view without_maker(std::string_view name) {
  for (const std::string_view word : {"nvidia", "geforce", "amd", "radeon", "instinct", "intel", "apple", "tesla"})
    if (name.starts_with(word)) return name.substr(word.size());
  if (name.ends_with("gpu")) return name.substr(0, name.size() - 3);
  return {};
}

// "40gb" for "a100-40gb"; "" if the name ends differently.
std::string_view size_of(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('-') + 1);
  const bool is_size = last.size() > 2 && last.ends_with("gb") &&
                       last.find_first_not_of("0123456789") == last.size() - 2 && last.size() < name.size();
  return is_size ? last : std::string_view();
}

struct SourceRow {
  std::string_view word, text;
  bool is_reported = false;  // a driver reports this memory
};
constexpr SourceRow kSources[] = {
    {"smi", "data sheet; nvidia-smi", true},
    {"cuda", "data sheet; nvidia-smi; CUDA total from llama.cpp and vLLM logs", true},
    {"mig", "nvidia-smi mig -lgip", true},
    {"rocm", "data sheet; rocm-smi", true},
    {"hl-smi", "data sheet; hl-smi", true},
    {"sheet", "data sheet"},
    {"log", "data sheet; CUDA total from llama.cpp's log"},
    {"sycl", "data sheet; llama.cpp's SYCL log"},
    {"metal", "data sheet; Metal's default working set"},
    {"firmware", "data sheet; the largest carve-out of the firmware"},
};

// The GPU of a line of gpus.txt.
Gpu read_card(std::string_view line) {
  const std::vector<std::string_view> words = split(line);
  const auto real = [](std::string_view word) {
    double value = 0;
    parse_real(word, value);
    return value;
  };
  Gpu out{};
  out.vendor = words[0];
  out.name = words[1];
  const std::size_t digits = words[2].find_first_of("0123456789");
  if (digits != std::string_view::npos)
    out.capability = static_cast<std::uint32_t>(
        whole_number(words[2].substr(digits), words[2].starts_with("gfx") ? 16 : 10).value_or(0));
  out.memory_mib = whole_number(words[3]).value_or(0);
  out.usable_mib = whole_number(words[4]).value_or(0);
  out.bandwidth_gb_s = real(words[5]);
  if (const std::vector<std::string_view> peak = split(words[6], ':'); peak.size() == 4)
    out.peak = {real(peak[0]), real(peak[1]), real(peak[2]), real(peak[3])};
  for (const SourceRow& row : kSources)
    if (row.word == words[7]) std::tie(out.source, out.reported) = std::tie(row.text, row.is_reported);
  out.unified = words[8] == "unified";
  if (words.size() > 9) out.aliases = line.substr(static_cast<std::size_t>(words[9].data() - line.data()));
  return out;
}

std::vector<Gpu> built_in_cards(bool are_slices) {
  std::vector<Gpu> out;
  for (const std::string_view line : gpu_lines())
    if (!line.empty() && line.front() != '#' && (line.find(" mig ") != std::string_view::npos) == are_slices)
      out.push_back(read_card(line));
  return out;
}

}  // namespace

std::span<const Gpu> gpu_slices() {
  static const std::vector<Gpu> slices = built_in_cards(true);
  return slices;
}

GpuCatalogue::GpuCatalogue(const std::vector<GpuRecord>& own) {
  const std::vector<Gpu> table = built_in_cards(false);
  std::map<std::string, const Gpu*, std::less<>> built_in;
  for (const Gpu& gpu : table) built_in.emplace(folded(gpu.name), &gpu);
  for (const GpuRecord& card : own) own_.push_back({card, join(card.aliases, " ")});
  for (const auto& [card, aliases] : own_) {
    rows_.push_back({card.vendor.empty() ? "own" : std::string_view(card.vendor), card.name, aliases,
                     card.memory / kMiB, card.usable / kMiB, card.reported, card.unified, card.bandwidth_gb_s,
                     card.source.empty() ? "own file" : std::string_view(card.source), 0, Peak{}});
    // A file gives no compute capability. A GPU with a built-in name gets that of the built-in GPU.
    const auto same = built_in.find(folded(card.name));
    if (same == built_in.end()) continue;
    rows_.back().capability = same->second->capability;
    rows_.back().peak = same->second->peak;
  }
  std::set<std::string> replaced;
  for (const Own& card : own_) replaced.insert(folded(card.record.name));
  for (const Gpu& gpu : table)
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

// A GPU's exact name means that GPU, even if it is another GPU's alias too.
const Gpu* GpuCatalogue::find(std::string_view text) const {
  if (const auto exact = names_.find(text); exact != names_.end()) return exact->second;
  const std::string name = folded(text);
  for (std::string_view wanted = name; !wanted.empty(); wanted = without_maker(wanted))
    if (const auto known = known_names_.find(wanted); known != known_names_.end()) return known->second;
  return nullptr;
}

std::vector<std::string_view> GpuCatalogue::other_sizes(std::string_view text) const {
  std::vector<std::string_view> out;
  const Gpu* const taken = find(text);
  const std::string_view size = taken != nullptr ? size_of(taken->name) : std::string_view();
  if (size.empty() || folded(text).find(size) != std::string::npos) return out;
  const std::string_view same = taken->name.substr(0, taken->name.size() - size.size());
  for (const Gpu& gpu : cards())
    if (&gpu != taken && gpu.name.starts_with(same) && size_of(gpu.name).size() == gpu.name.size() - same.size())
      out.push_back(gpu.name);
  return out;
}

const Gpu& GpuCatalogue::parse(std::string_view text, std::string_view option) const {
  if (const Gpu* gpu = find(text)) return *gpu;
  for (const std::string_view other : {"ascend", "atlas", "tpu", "trainium", "trn", "inferentia", "inf2"})
    if (folded(text).starts_with(other))
      fail(std::string(option) + ": the catalogue has no Ascend, TPU, Trainium or Inferentia devices (\"" +
               one_line(text, 60) + "\")",
           "name its memory with --gpu-memory SIZE: kvplan then plans without its kernels");
  const auto is_not_a_card = [&](const char* remedy) {
    fail(std::string(option) + ": \"" + one_line(text, 60) + "\" does not name one GPU", remedy);
  };
  if (folded(text) == "cpu")
    is_not_a_card("to run on the CPU: --gpu none --engine llama.cpp -ngl 0 --host-memory 32GiB");
  if (has_word("mac macbook macbookpro macmini macstudio imac apple applesilicon", folded(text)))
    is_not_a_card("name the chip and its memory, such as m3-max-36gb; kvplan gpus m3 lists them");
  if (has_word("gpu cuda nvidia amd rocm geforce rtx radeon intel", folded(text)))
    is_not_a_card("name the model, such as rtx-4090; --gpu auto uses the GPU in this machine");
  std::vector<Candidate> known;
  for (const Gpu& gpu : cards()) {
    known.push_back({gpu.name, gpu.name});
    for (const std::string_view alias : split(gpu.aliases)) known.push_back({alias, gpu.name});
  }
  fail(std::string(option) + ": no GPU \"" + one_line(text, 60) +
           "\" in the catalogue; nearest: " + join(nearest_names(text, known)),
       "use one of these, --gpu-memory SIZE, or see kvplan gpus");
}

}  // namespace kvplan
