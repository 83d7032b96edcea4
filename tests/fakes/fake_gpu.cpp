// A driver without a GPU: it replaces libcuda.so.1, libamdhip64.so and the management library, so that the real
// program can run everything that --measure does. The environment sets its GPUs and how it fails:
//   KVPLAN_FAKE_GPUS        "NAME=MIB,NAME=MIB": what programs see of each GPU
//   KVPLAN_FAKE_GRANULE     bytes to which an allocation is rounded (2 MiB)
//   KVPLAN_FAKE_CONTEXT     MiB that a context takes (400)
//   KVPLAN_FAKE_OTHERS      MiB that other programs use (0); KVPLAN_FAKE_PROCESSES: their number
//   KVPLAN_FAKE_NEIGHBOUR   "N:MIB": after N allocations the first of them uses that much more
//   KVPLAN_FAKE_PIDS        "1": the library names this process among the programs
//   KVPLAN_FAKE_SLICE       "1": the GPU is a slice, known only by its UUID
//   KVPLAN_FAKE_INTEGRATED  "1": it uses main memory
//   KVPLAN_FAKE_EXTRA       per mille that every allocation takes beyond what was requested
//   KVPLAN_FAKE_FAIL        "CALL:N": the N-th call of that name fails with KVPLAN_FAKE_ERROR (2, out of memory)
//   KVPLAN_FAKE_FORGET      "1": reads bring back what was never written
//   KVPLAN_FAKE_SLOW        milliseconds that a fill takes
//   KVPLAN_FAKE_LOG         a file that says what was live when a context ended
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int kInvalid = 1;
constexpr int kNoDevice = 100;
constexpr unsigned long long kMiB = 1 << 20;
constexpr unsigned long long kFirstAddress = 0x7000000000ull;

struct Card {
  std::string name;
  unsigned long long memory = 0;
};
struct Buffer {
  unsigned long long bytes = 0, taken = 0;
  unsigned char filling = 0;
  std::map<unsigned long long, std::string> written;  // by offset
};
std::vector<Card> cards;
std::map<unsigned long long, Buffer> buffers;
std::map<std::string, unsigned long> calls;
unsigned long long next_address = kFirstAddress;
unsigned long long copied = 0;
unsigned long long read_bytes = 0;  // by a kernel
int module_object = 0;
unsigned long allocations = 0;
int current = -1;

unsigned long long number(const char* name, unsigned long long fallback) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 10);
}

void find_cards() {
  cards.clear();
  const char* text = std::getenv("KVPLAN_FAKE_GPUS");
  std::string rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string one = rest.substr(0, comma);
    const auto equals = one.find('=');
    cards.push_back({one.substr(0, equals), std::stoull(one.substr(equals + 1)) * kMiB});
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
}

// The return code of this call. The call that KVPLAN_FAKE_FAIL names fails.
int turn(const char* name) {
  const unsigned long now = ++calls[name];
  const char* text = std::getenv("KVPLAN_FAKE_FAIL");
  const std::string wanted = text == nullptr ? "" : text;
  const auto colon = wanted.find(':');
  if (colon == std::string::npos || wanted.substr(0, colon) != name) return 0;
  return std::stoul(wanted.substr(colon + 1)) == now ? static_cast<int>(number("KVPLAN_FAKE_ERROR", 2)) : 0;
}

void note(const std::string& line) {
  const char* path = std::getenv("KVPLAN_FAKE_LOG");
  if (path == nullptr) return;
  if (std::FILE* file = std::fopen(path, "a")) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

unsigned long long neighbour() {
  const char* text = std::getenv("KVPLAN_FAKE_NEIGHBOUR");
  if (text == nullptr) return 0;
  unsigned long after = 0;
  unsigned long long mib = 0;
  if (std::sscanf(text, "%lu:%llu", &after, &mib) != 2) return 0;
  return allocations >= after ? mib * kMiB : 0;
}

unsigned long long taken() {
  unsigned long long out = number("KVPLAN_FAKE_OTHERS", 0) * kMiB + neighbour();
  if (current >= 0) out += number("KVPLAN_FAKE_CONTEXT", 400) * kMiB;
  for (const auto& [address, buffer] : buffers) out += buffer.taken;
  return out;
}

Buffer* at(unsigned long long address, unsigned long long& offset) {
  auto found = buffers.upper_bound(address);
  if (found == buffers.begin()) return nullptr;
  --found;
  offset = address - found->first;
  return offset < found->second.bytes ? &found->second : nullptr;
}

int count(int* out) {
  *out = static_cast<int>(cards.size());
  return 0;
}
int get(int* out, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= cards.size()) return 101;
  *out = index;
  return 0;
}
int name_of(char* out, int length, int index) {
  std::snprintf(out, static_cast<std::size_t>(length), "%s", cards[static_cast<std::size_t>(index)].name.c_str());
  return 0;
}
int bus_of(char* out, int length, int index) {
  std::snprintf(out, static_cast<std::size_t>(length), "0000:%02X:00.0", index + 1);
  return 0;
}
int enter(int index) {
  if (const int code = turn("context")) return code;
  current = index;
  return 0;
}
int memory(std::size_t* free_bytes, std::size_t* total) {
  if (const int code = turn("memory")) return code;
  if (current < 0) return 201;
  *total = cards[static_cast<std::size_t>(current)].memory;
  *free_bytes = *total > taken() ? *total - taken() : 0;
  return 0;
}
int allocate(unsigned long long* out, std::size_t bytes) {
  if (const int code = turn("allocate")) return code;
  if (current < 0 || bytes == 0) return kInvalid;
  const unsigned long long granule = number("KVPLAN_FAKE_GRANULE", 2 * kMiB);
  unsigned long long whole = (bytes + granule - 1) / granule * granule;
  whole += whole / 1000 * number("KVPLAN_FAKE_EXTRA", 0);
  if (taken() + whole > cards[static_cast<std::size_t>(current)].memory) return 2;
  buffers[next_address] = {bytes, whole, 0, {}};
  *out = next_address;
  next_address += whole + granule;
  ++allocations;
  return 0;
}
int release(unsigned long long address) {
  return buffers.erase(address) == 1 ? 0 : kInvalid;
}
int fill(unsigned long long address, unsigned char value, std::size_t bytes) {
  if (const int code = turn("fill")) return code;
  unsigned long long offset = 0;
  Buffer* buffer = at(address, offset);
  if (buffer == nullptr || offset + bytes > buffer->bytes) return kInvalid;
  usleep(static_cast<useconds_t>(number("KVPLAN_FAKE_SLOW", 0) * 1000));
  buffer->filling = value;
  return 0;
}
int write_to(unsigned long long address, const void* from, std::size_t bytes) {
  if (const int code = turn("write")) return code;
  unsigned long long offset = 0;
  Buffer* buffer = at(address, offset);
  if (buffer == nullptr || offset + bytes > buffer->bytes) return kInvalid;
  buffer->written[offset] = std::string(static_cast<const char*>(from), bytes);
  return 0;
}
int read_from(void* to, unsigned long long address, std::size_t bytes) {
  if (const int code = turn("read")) return code;
  unsigned long long offset = 0;
  const Buffer* buffer = at(address, offset);
  if (buffer == nullptr || offset + bytes > buffer->bytes) return kInvalid;
  std::memset(to, buffer->filling, bytes);
  const auto found = buffer->written.find(offset);
  if (found != buffer->written.end() && found->second.size() == bytes && number("KVPLAN_FAKE_FORGET", 0) == 0)
    std::memcpy(to, found->second.data(), bytes);
  return 0;
}
int copy(unsigned long long to, unsigned long long from, std::size_t bytes) {
  if (const int code = turn("copy")) return code;
  unsigned long long offset = 0;
  if (at(to, offset) == nullptr || at(from, offset) == nullptr) return kInvalid;
  copied += bytes;
  return 0;
}
int make_event(void** out) {
  *out = &calls;
  copied = read_bytes = 0;
  return 0;
}
int elapsed(float* out) {
  // 3 TB/s, read and written; 3.2 if it is only read.
  const double seconds = static_cast<double>(copied) * 2 / 3e12 + static_cast<double>(read_bytes) / 3.2e12;
  *out = static_cast<float>(seconds * 1000);
  return 0;
}
int granularity(std::size_t* out) {
  *out = number("KVPLAN_FAKE_GRANULE", 2 * kMiB);
  return 0;
}

struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

struct Memory {
  unsigned long long total, free, used;
};
struct Memory2 {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};

}  // namespace

extern "C" {

// CUDA's driver interface.
int cuInit(unsigned) {
  find_cards();
  return cards.empty() ? kNoDevice : turn("init");
}
int cuDriverGetVersion(int* out) {
  *out = 12080;
  return 0;
}
int cuDeviceGetCount(int* out) {
  return count(out);
}
int cuDeviceGet(int* out, int index) {
  return get(out, index);
}
int cuDeviceGetName(char* out, int length, int index) {
  return name_of(out, length, index);
}
int cuDeviceGetPCIBusId(char* out, int length, int index) {
  return bus_of(out, length, index);
}
int cuDevicePrimaryCtxRetain(void** out, int index) {
  *out = &cards;
  return enter(index);
}
int cuCtxSetCurrent(void*) {
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  note("context released, " + std::to_string(buffers.size()) + " buffers live, " + std::to_string(allocations) +
       " allocated");
  current = -1;
  return 0;
}
int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  return memory(free_bytes, total);
}
int cuMemAlloc_v2(unsigned long long* out, std::size_t bytes) {
  return allocate(out, bytes);
}
int cuMemFree_v2(unsigned long long address) {
  return release(address);
}
int cuMemsetD8_v2(unsigned long long to, unsigned char value, std::size_t bytes) {
  return fill(to, value, bytes);
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  return write_to(to, from, bytes);
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  return read_from(to, from, bytes);
}
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, std::size_t bytes) {
  return copy(to, from, bytes);
}
int cuCtxSynchronize() {
  return turn("synchronize");
}
int cuEventCreate(void** out, unsigned) {
  return make_event(out);
}
int cuEventRecord(void*, void*) {
  return 0;
}
int cuEventSynchronize(void*) {
  return 0;
}
int cuEventElapsedTime(float* out, void*, void*) {
  return elapsed(out);
}
int cuEventDestroy_v2(void*) {
  return 0;
}
int cuMemGetAllocationGranularity(std::size_t* out, const void*, int) {
  return granularity(out);
}
int cuDeviceGetAttribute(int* out, int attribute, int) {
  *out = attribute == 18 ? static_cast<int>(number("KVPLAN_FAKE_INTEGRATED", 0)) : 0;
  return 0;
}
int cuDeviceGetUuid_v2(unsigned char* out, int index) {
  std::memset(out, 0xAB, 15);
  out[15] = static_cast<unsigned char>(index);
  return 0;
}
int cuModuleLoadData(void** out, const void* text) {
  if (const int code = turn("module")) return code;
  *out = &module_object;
  return std::strstr(static_cast<const char*>(text), ".visible .entry kvread") == nullptr ? kInvalid : 0;
}
int cuModuleUnload(void* of) {
  return of == &module_object ? 0 : kInvalid;
}
int cuModuleGetFunction(void** out, void* of, const char* name) {
  *out = of;
  return of == &module_object && std::string(name) == "kvread" ? 0 : 500;
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void** words,
                   void**) {
  if (const int code = turn("launch")) return code;
  unsigned long long offset = 0;
  const Buffer* from = at(*static_cast<unsigned long long*>(words[0]), offset);
  const unsigned long long bytes = *static_cast<unsigned long long*>(words[1]) * 16;
  if (from == nullptr || offset + bytes > from->bytes ||
      at(*static_cast<unsigned long long*>(words[2]), offset) == nullptr)
    return kInvalid;
  read_bytes += bytes;
  return 0;
}
int cuGetErrorName(int code, const char** out) {
  *out = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == kNoDevice ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
  return 0;
}

// HIP's.
int hipInit(unsigned flags) {
  return cuInit(flags);
}
int hipDriverGetVersion(int* out) {
  *out = 60342134;
  return 0;
}
int hipGetDeviceCount(int* out) {
  return count(out);
}
int hipDeviceGet(int* out, int index) {
  return get(out, index);
}
int hipDeviceGetName(char* out, int length, int index) {
  return name_of(out, length, index);
}
int hipSetDevice(int index) {
  return enter(index);
}
int hipMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  return memory(free_bytes, total);
}
int hipMalloc(unsigned long long* out, std::size_t bytes) {
  return allocate(out, bytes);
}
int hipFree(unsigned long long address) {
  return release(address);
}
int hipMemsetD8(unsigned long long to, unsigned char value, std::size_t bytes) {
  return fill(to, value, bytes);
}
int hipMemcpyHtoD(unsigned long long to, const void* from, std::size_t bytes) {
  return write_to(to, from, bytes);
}
int hipMemcpyDtoH(void* to, unsigned long long from, std::size_t bytes) {
  return read_from(to, from, bytes);
}
int hipMemcpyDtoD(unsigned long long to, unsigned long long from, std::size_t bytes) {
  return copy(to, from, bytes);
}
int hipDeviceSynchronize() {
  return 0;
}
int hipEventCreateWithFlags(void** out, unsigned) {
  return make_event(out);
}
int hipEventRecord(void*, void*) {
  return 0;
}
int hipEventSynchronize(void*) {
  return 0;
}
int hipEventElapsedTime(float* out, void*, void*) {
  return elapsed(out);
}
int hipEventDestroy(void*) {
  return 0;
}
int hipMemGetAllocationGranularity(std::size_t* out, const void*, int) {
  return granularity(out);
}
const char* hipGetErrorName(int) {
  return "hipErrorUnknown";
}

// The management library's.
int nvmlInit_v2() {
  if (cards.empty()) find_cards();
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlSystemGetDriverVersion(char* out, unsigned length) {
  std::snprintf(out, length, "570.00.fake");
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** out) {
  if (number("KVPLAN_FAKE_SLICE", 0) != 0) return 4;  // no permission for the whole GPU
  const auto index = static_cast<std::size_t>(std::strtoul(std::string(bus).substr(5, 2).c_str(), nullptr, 16)) - 1;
  if (index >= cards.size()) return 6;
  *out = &cards[index];
  return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, Memory2* out) {
  constexpr unsigned long long kReserved = 500 * kMiB;  // memory of the driver itself, which no program sees
  if (out->version != (sizeof(Memory2) | (2u << 24))) return 25;
  out->total = static_cast<Card*>(device)->memory + kReserved;
  out->reserved = kReserved;
  out->used = taken();
  out->free = out->total - out->reserved - out->used;
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** out) {
  const char* kind = number("KVPLAN_FAKE_SLICE", 0) != 0 ? "MIG-" : "GPU-";
  if (std::string(uuid).rfind(kind, 0) != 0) return 6;
  const auto index = std::strtoul(std::string(uuid).substr(std::strlen(uuid) - 2).c_str(), nullptr, 16);
  if (index >= cards.size()) return 6;
  *out = &cards[index];
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned length) {
  std::snprintf(out, length, "%s-abababab-abab-abab-abab-ababababab%02x",
                number("KVPLAN_FAKE_SLICE", 0) != 0 ? "MIG" : "GPU",
                static_cast<unsigned>(static_cast<Card*>(device) - cards.data()));
  return 0;
}
int nvmlDeviceGetEccMode(void*, unsigned* now, unsigned* pending) {
  *now = *pending = 1;
  return 0;
}
// The other processes share the memory that is in use. This process is listed if KVPLAN_FAKE_PIDS says so.
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* out) {
  std::vector<Process> found;
  const auto programs = static_cast<unsigned>(number("KVPLAN_FAKE_PROCESSES", 0));
  for (unsigned i = 0; i < programs; ++i)
    found.push_back(
        {100 + i, number("KVPLAN_FAKE_OTHERS", 0) * kMiB / programs + (i == 0 ? neighbour() : 0), ~0U, ~0U});
  if (number("KVPLAN_FAKE_PIDS", 0) != 0 && current >= 0) {
    unsigned long long own = number("KVPLAN_FAKE_CONTEXT", 400) * kMiB;
    for (const auto& [address, buffer] : buffers) own += buffer.taken;
    found.push_back({static_cast<unsigned>(getpid()), own, ~0U, ~0U});
  }
  const unsigned room = *count;
  *count = static_cast<unsigned>(found.size());
  if (found.size() > room) return 7;
  for (std::size_t i = 0; i < found.size(); ++i) out[i] = found[i];
  return 0;
}

}  // extern "C"
