// A management library without a driver: the cards that KVPLAN_FAKE_CARDS names, "NAME=MIB,NAME=MIB"; 0 MiB answers
// "not supported", as cards of unified memory do.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct Card {
  std::string name;
  unsigned long long mib;
};
std::vector<Card> cards;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  cards.clear();
  const char* text = std::getenv("KVPLAN_FAKE_CARDS");
  std::string rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string one = rest.substr(0, comma);
    const auto equals = one.find('=');
    cards.push_back({one.substr(0, equals), std::stoull(one.substr(equals + 1))});
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return 0;
}

int nvmlShutdown() {
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = static_cast<unsigned int>(cards.size());
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  if (index >= cards.size()) return kInvalidArgument;
  *device = &cards[index];
  return 0;
}

int nvmlDeviceGetName(void* device, char* name, unsigned int length) {
  std::snprintf(name, length, "%s", static_cast<Card*>(device)->name.c_str());
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const unsigned long long mib = static_cast<Card*>(device)->mib;
  if (mib == 0) return kNotSupported;
  *memory = {mib << 20, mib << 20, 0};
  return 0;
}

}  // extern "C"
