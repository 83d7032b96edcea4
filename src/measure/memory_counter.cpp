#include "measure/watch.h"

#include <algorithm>

#include "measure/nvml.h"
#include "measure/proc.h"

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

class NvidiaCounter : public MemoryCounter {
 public:
  explicit NvidiaCounter(const std::string& library) : nvml_(library) {
    for (const Nvml::Device each : nvml_.cards())
      if (const auto memory = each == nullptr ? std::nullopt : nvml_.memory(each))
        cards_.push_back({each, memory->used, read(each)});
  }
  bool has_cards() const { return !cards_.empty(); }

  Bytes of(const std::vector<pid_t>& processes) override {
    Bytes own;
    Bytes grown;
    for (const Card& card : cards_) {
      bool strangers = false;
      for (const NvmlProcess& each : read(card.device)) {
        const bool is_own = std::find(processes.begin(), processes.end(), each.pid) != processes.end();
        if (is_own) own += each.used;
        const auto same = [&](const NvmlProcess& other) { return other.pid == each.pid; };
        const auto known = std::find_if(card.others.begin(), card.others.end(), same);
        if (!is_own && known == card.others.end()) strangers = true;
        if (known != card.others.end() && known->used != each.used) neighbour_moved_ = true;
      }
      const auto memory = nvml_.memory(card.device);
      if (memory && memory->used > card.before) grown += memory->used - card.before;
      newcomers_ = newcomers_ || strangers;
    }
    by_process_ = by_process_ || own > Bytes(0);
    return by_process_ ? own : grown;
  }

  std::string describe() const override {
    const std::string where = cards_.size() == 1 ? "the GPU" : std::to_string(cards_.size()) + " GPUs";
    return by_process_ ? "memory of its processes on " + where : "what the counter of " + where + " grew by";
  }

  std::vector<std::string> disturbances() const override {
    std::vector<std::string> out;
    if (neighbour_moved_) out.emplace_back("another program on the GPU took or freed memory meanwhile");
    // Without figures per process, a new process is usually the engine itself under the host's PID.
    if (newcomers_ && by_process_) out.emplace_back("another program started on the GPU meanwhile");
    return out;
  }

 private:
  struct Card {
    Nvml::Device device = nullptr;
    Bytes before;
    std::vector<NvmlProcess> others;  // running before the engine was started
  };

  std::vector<NvmlProcess> read(Nvml::Device device) const {
    return nvml_.processes(device).value_or(std::vector<NvmlProcess>());
  }

  Nvml nvml_;
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
