#include "measure/memory_counter.h"

#include <algorithm>
#include <cstdint>

#include "measure/library.h"
#include "measure/process_tree.h"

namespace kvplan {

namespace {

class HostCounter : public MemoryCounter {
 public:
  Bytes of(const std::vector<pid_t>& processes) override {
    most_ = std::max(most_, processes.size());
    return resident_memory(processes);
  }
  std::string describe() const override {
    return most_ > 1 ? "resident memory of " + std::to_string(most_) + " processes" : "resident memory of the process";
  }
  bool is_host() const override { return true; }

 private:
  std::size_t most_ = 0;
};

// The part of NVML's C interface that is used here.
using NvmlDevice = void*;
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlProcess {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance, compute_instance;
};
constexpr unsigned long long kNotAvailable = ~0ULL;  // on Windows' driver model

class NvidiaCounter : public MemoryCounter {
 public:
  explicit NvidiaCounter(const std::string& library) : nvml_(library) {
    const auto init = nvml_.find<int()>("nvmlInit_v2");
    const auto count = nvml_.find<int(unsigned int*)>("nvmlDeviceGetCount_v2");
    const auto handle = nvml_.find<int(unsigned int, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2");
    running_ = nvml_.find<int(NvmlDevice, unsigned int*, NvmlProcess*)>("nvmlDeviceGetComputeRunningProcesses_v3");
    memory_ = nvml_.find<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
    if (init == nullptr || count == nullptr || handle == nullptr || memory_ == nullptr || init() != kSuccess) return;
    is_open_ = true;
    unsigned int number = 0;
    if (count(&number) != kSuccess) return;
    for (unsigned int i = 0; i < number; ++i)
      if (Card card; handle(i, &card.device) == kSuccess && used(card.device, card.before)) {
        card.others = read(card.device);
        cards_.push_back(std::move(card));
      }
  }
  ~NvidiaCounter() override {
    const auto shutdown = nvml_.find<int()>("nvmlShutdown");
    if (is_open_ && shutdown != nullptr) shutdown();
  }
  bool has_cards() const { return !cards_.empty(); }

  Bytes of(const std::vector<pid_t>& processes) override {
    std::uint64_t own = 0;
    std::uint64_t grown = 0;
    for (Card& card : cards_) {
      bool strangers = false;
      for (const NvmlProcess& each : read(card.device)) {
        const bool is_own =
            std::find(processes.begin(), processes.end(), static_cast<pid_t>(each.pid)) != processes.end();
        if (is_own && each.used != kNotAvailable) own += each.used;
        const auto same = [&](const NvmlProcess& other) { return other.pid == each.pid; };
        const auto known = std::find_if(card.others.begin(), card.others.end(), same);
        if (!is_own && known == card.others.end()) strangers = true;
        if (known != card.others.end() && known->used != each.used) neighbour_moved_ = true;
      }
      std::uint64_t now = card.before;
      if (used(card.device, now) && now > card.before) grown += now - card.before;
      newcomers_ = newcomers_ || strangers;
    }
    by_process_ = by_process_ || own > 0;
    return Bytes(by_process_ ? own : grown);
  }

  std::string describe() const override {
    const std::string where = cards_.size() == 1 ? "the card" : std::to_string(cards_.size()) + " cards";
    return by_process_ ? "memory of its processes on " + where : "what the counter of " + where + " grew by";
  }

  std::vector<std::string> disturbances() const override {
    std::vector<std::string> out;
    if (neighbour_moved_) out.emplace_back("another program on the card took or freed memory meanwhile");
    // Without figures by process, a newcomer is mostly the engine under the host's number.
    if (newcomers_ && by_process_) out.emplace_back("another program came to the card meanwhile");
    return out;
  }

 private:
  struct Card {
    NvmlDevice device = nullptr;
    std::uint64_t before = 0;
    std::vector<NvmlProcess> others;  // that were there before
  };

  bool used(NvmlDevice device, std::uint64_t& out) const {
    NvmlMemory memory{};
    if (memory_(device, &memory) != kSuccess) return false;
    out = memory.used;
    return true;
  }
  std::vector<NvmlProcess> read(NvmlDevice device) const {
    if (running_ == nullptr) return {};
    unsigned int count = 0;
    const int answer = running_(device, &count, nullptr);
    constexpr unsigned int kMost = 4096;
    if (answer != kSuccess && answer != kInsufficientSize) return {};
    // Some may start between the two questions.
    count = std::min(count + 16, kMost);
    std::vector<NvmlProcess> out(count);
    if (running_(device, &count, out.data()) != kSuccess) return {};
    out.resize(std::min<std::size_t>(count, out.size()));
    return out;
  }

  Library nvml_;
  int (*running_)(NvmlDevice, unsigned int*, NvmlProcess*) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  bool is_open_ = false;
  std::vector<Card> cards_;
  bool by_process_ = false, neighbour_moved_ = false, newcomers_ = false;
};

}  // namespace

std::unique_ptr<MemoryCounter> host_counter() {
  return std::make_unique<HostCounter>();
}

std::unique_ptr<MemoryCounter> nvidia_counter(const std::string& library) {
  auto out = std::make_unique<NvidiaCounter>(library);
  if (!out->has_cards()) return nullptr;
  return out;
}

}  // namespace kvplan
