// Simulates NVML with the GPUs that KVPLAN_FAKE_CARDS names, "NAME=MIB,NAME=MIB"; 0 MiB answers "not supported", as
// GPUs of unified memory do. "NAME=MIB+USED" is a GPU in use; a name with " MIG " in it is a slice of the GPU before
// it. The processes on the first GPU are in the file that KVPLAN_FAKE_PROCESSES names, one line "PID MIB" per process,
// read at every call.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct Card {
  std::string name;
  unsigned long long mib;
  unsigned long long used_mib = 0;
  bool is_slice = false;
  unsigned int slices = 0;  // that follow it
};
std::vector<Card> cards;
std::vector<std::size_t> whole;  // positions of the GPUs that are not slices
struct Process {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance, compute_instance;
};
std::vector<Process> processes() {
  std::vector<Process> out;
  const char* place = std::getenv("KVPLAN_FAKE_PROCESSES");
  std::ifstream file(place == nullptr ? "" : place);
  unsigned int pid = 0;
  for (unsigned long long mib = 0; file >> pid >> mib;) out.push_back({pid, mib << 20, ~0U, ~0U});
  return out;
}
constexpr int kInsufficientSize = 7;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  cards.clear();
  whole.clear();
  const char* text = std::getenv("KVPLAN_FAKE_CARDS");
  std::string rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string one = rest.substr(0, comma);
    const auto equals = one.find('=');
    const auto plus = one.find('+');
    Card card{one.substr(0, equals), std::stoull(one.substr(equals + 1))};
    if (plus != std::string::npos) card.used_mib = std::stoull(one.substr(plus + 1));
    card.is_slice = card.name.find(" MIG ") != std::string::npos;
    if (card.is_slice)
      ++cards[whole.back()].slices;
    else
      whole.push_back(cards.size());
    cards.push_back(card);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return 0;
}

int nvmlShutdown() {
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = static_cast<unsigned int>(whole.size());
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  if (index >= whole.size()) return kInvalidArgument;
  *device = &cards[whole[index]];
  return 0;
}

int nvmlDeviceGetName(void* device, char* name, unsigned int length) {
  std::snprintf(name, length, "%s", static_cast<Card*>(device)->name.c_str());
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned int* count, Process* out) {
  if (std::getenv("KVPLAN_FAKE_PROCESSES") == nullptr) return kNotSupported;
  const std::vector<Process> found = device == &cards[whole.front()] ? processes() : std::vector<Process>{};
  const unsigned int room = *count;
  *count = static_cast<unsigned int>(found.size());
  if (found.size() > room) return kInsufficientSize;
  for (std::size_t i = 0; i < found.size(); ++i) out[i] = found[i];
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const unsigned long long mib = static_cast<Card*>(device)->mib;
  if (mib == 0) return kNotSupported;
  unsigned long long used = static_cast<Card*>(device)->used_mib;
  if (device == &cards[whole.front()])
    for (const Process& each : processes()) used += each.used >> 20;
  *memory = {mib << 20, (mib - used) << 20, used << 20};
  return 0;
}

int nvmlDeviceGetUUID(void* device, char* id, unsigned int length) {
  const Card& card = *static_cast<Card*>(device);
  std::snprintf(id, length, "%s-%zu", card.is_slice ? "MIG" : "GPU", static_cast<size_t>(&card - cards.data()));
  return 0;
}

int nvmlDeviceGetMigMode(void* device, unsigned int* mode, unsigned int* pending) {
  *mode = *pending = static_cast<Card*>(device)->slices > 0 ? 1 : 0;
  return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned int* count) {
  *count = 7;
  return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned int index, void** slice) {
  Card* card = static_cast<Card*>(device);
  if (index >= card->slices) return kInvalidArgument;
  *slice = card + 1 + index;
  return 0;
}

}  // extern "C"
