#include "measure/detect.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/library.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "measure/nvml.h"
#include "measure/proc.h"

namespace kvplan {

namespace {

namespace fs = std::filesystem;

// The catalogue's GPU of that name, if its memory matches: some GPUs are sold in two sizes under one name.
const Gpu* in_catalogue(const GpuCatalogue& known, const DetectedCard& card) {
  const Gpu* gpu = known.find(card.name);
  if (gpu == nullptr || card.memory == Bytes(0)) return gpu;
  const double ratio = static_cast<double>(card.memory.count()) / static_cast<double>(gpu->memory_mib * kMiB);
  return ratio > 0.97 && ratio < 1.03 ? gpu : nullptr;
}

}  // namespace

std::vector<DetectedCard> detect_nvidia(const std::string& library) {
  std::vector<DetectedCard> out;
  const Nvml nvml(library);
  const std::vector<Nvml::Device> cards = nvml.cards();
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const auto add = [&](Nvml::Device device) {
      const std::string name = nvml.name(device);
      if (name.empty()) return;
      // A GPU with unified memory answers "not supported".
      const NvmlMemory memory = nvml.memory(device).value_or(NvmlMemory());
      out.push_back({name, memory.total, nvml.uuid(device), memory.used, i});
    };
    if (cards[i] == nullptr) continue;
    // Programs see the slices of a partitioned GPU, not the GPU.
    if (!nvml.is_cut(cards[i]).value_or(false)) add(cards[i]);
    for (const Nvml::Device slice : nvml.slices(cards[i])) add(slice);
  }
  return out;
}

std::vector<DetectedCard> detect_amd(const std::string& drm_folder) {
  // If there is also a separate GPU, integrated graphics with little memory are left out.
  constexpr std::uint64_t kLeast = 2 * kGiB;
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(drm_folder, ignored))
    if (fs::exists(entry.path() / "device" / "mem_info_vram_total", ignored))
      folders.push_back(entry.path() / "device");
  std::sort(folders.begin(), folders.end());
  std::vector<DetectedCard> cards;
  std::vector<DetectedCard> integrated;
  for (const fs::path& folder : folders) {
    // card0 and renderD128 are the same device.
    if (folder.parent_path().filename().string().rfind("card", 0) != 0) continue;
    const auto memory = number_in(folder / "mem_info_vram_total");
    if (!memory || *memory == 0) continue;
    std::string name = one_line(first_line(folder / "product_name"), 80);
    if (name.empty()) name = "AMD GPU";
    if (*memory >= kLeast)
      cards.push_back({name, Bytes(*memory)});
    else
      integrated.push_back({name, Bytes(std::max(*memory, number_in(folder / "mem_info_gtt_total").value_or(0)))});
  }
  std::vector<DetectedCard>& out = cards.empty() ? integrated : cards;
  for (std::size_t i = 0; i < out.size(); ++i) out[i].index = i;
  return out;
}

std::vector<DetectedCard> visible_cards(const std::vector<DetectedCard>& cards, std::string_view list) {
  std::vector<DetectedCard> out;
  for (const std::string_view each : split(list, ',')) {
    const std::string_view word = trimmed(each);
    const std::optional<std::uint64_t> number = whole_number(word);
    const bool is_number = number && word.find_first_not_of("0123456789") == std::string_view::npos;
    const bool is_id = word.starts_with("GPU-") || word.starts_with("MIG-");
    const auto found = std::find_if(cards.begin(), cards.end(), [&](const DetectedCard& card) {
      return is_number ? card.index == *number : is_id && card.uuid.starts_with(word);
    });
    if (found == cards.end()) break;
    out.push_back(*found);
  }
  return out;
}

std::vector<DetectedCard> detect_cards() {
  const auto seen = [](std::vector<DetectedCard> cards, const char* variable) {
    const char* list = std::getenv(variable);
    return list == nullptr ? cards : visible_cards(cards, list);
  };
  const std::vector<DetectedCard> cards = detect_nvidia(environment_or("KVPLAN_NVML", "libnvidia-ml.so.1"));
  if (!cards.empty()) return seen(cards, "CUDA_VISIBLE_DEVICES");
  return seen(detect_amd("/sys/class/drm"), "HIP_VISIBLE_DEVICES");
}

// Reads from the pipe until its other end closes. Returns nothing after the time limit.
static std::optional<std::string> read_within(int pipe, std::chrono::milliseconds longest) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + longest;
  std::string out;
  char part[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waited{pipe, POLLIN, 0};
    if (left <= 0 || ::poll(&waited, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    const ssize_t size = ::read(pipe, part, sizeof part);
    if (size < 0) return std::nullopt;
    if (size == 0) return out;
    out.append(part, static_cast<std::size_t>(size));
  }
}

static std::string as_lines(const std::vector<DetectedCard>& cards) {
  std::string out;
  for (const DetectedCard& card : cards)
    out += one_line(card.name, 80) + "\t" + std::to_string(card.memory.count()) + "\t" +
           std::to_string(card.used.count()) + "\n";
  return out;
}

std::vector<DetectedCard> detect_cards_within(std::chrono::milliseconds longest) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string lines = as_lines(detect_cards());
    const bool is_written = ::write(ends[1], lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  const std::optional<std::string> lines = child > 0 ? read_within(ends[0], longest) : std::nullopt;
  ::close(ends[0]);
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, lines ? 0 : WNOHANG);  // a driver call may not be interruptible
  }
  std::vector<DetectedCard> out;
  const std::string text = lines.value_or("");
  for (const std::string_view line : split(text, '\n'))
    if (const std::vector<std::string_view> parts = split(line, '\t'); parts.size() == 3)
      out.push_back({std::string(parts[0]), Bytes(whole_number(parts[1]).value_or(0)), "",
                     Bytes(whole_number(parts[2]).value_or(0)), out.size()});
  return out;
}

void use_cards(const std::vector<DetectedCard>& cards, Request& request) {
  if (cards.empty())
    fail("--gpu auto: no GPU found on this machine", "name a GPU (kvplan gpus), or a size with --gpu-memory");
  const Gpu* best = nullptr;
  std::optional<Bytes> least;
  bool uneven = false;
  std::string found;
  std::string in_use;
  for (const DetectedCard& card : cards) {
    const Gpu* gpu = in_catalogue(request.card.known(), card);
    if (gpu == nullptr && card.memory == Bytes(0))
      fail("--gpu auto: the driver does not say how much memory \"" + card.name + "\" has",
           "give it with --gpu-memory SIZE");
    const Bytes memory = gpu != nullptr ? gpu->budget() : card.memory;
    found += (found.empty() ? "" : ", ") + card.name + " (" + format_gib(memory) + ")";
    constexpr std::uint64_t kWorthSaying = kGiB;  // a desktop and the driver use less
    if (card.used.count() >= kWorthSaying) in_use += (in_use.empty() ? "" : ", ") + format_gib(card.used);
    uneven = uneven || (least && memory != *least);
    if (!least || memory < *least) {
      least = memory;
      best = gpu;
    }
  }
  if (best != nullptr)
    request.card.gpu = best;
  else
    request.card.memory = *least;
  request.card.count = cards.size();
  const Bytes here = host_memory().limit;
  const bool shares = best != nullptr && best->unified;
  if (!request.card.host_memory && here > Bytes(0) && !shares) request.card.host_memory = here;
  request.card.note = "found on this machine: " + found;
  if (!in_use.empty()) request.card.note += "; in use now: " + in_use;
  if (uneven) request.card.note += "; planned for the smallest";
}

}  // namespace kvplan
