// A GPU with a context and buffers of this process. Other processes are not affected.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "measure/gpu_api.h"
#include "measure/nvml.h"

namespace kvplan {

namespace {

// Reads n16 vectors of 16 bytes from p, grid-stride; writes only if their XOR is a magic number, so that the reads are
// not optimized away.
constexpr char kReadKernelName[] = "kvread";
constexpr char kReadKernel[] = R"PTX(
.version 6.5
.target sm_50
.address_size 64
.visible .entry kvread(.param .u64 p, .param .u64 n16, .param .u64 out)
{
  .reg .pred %q<2>;
  .reg .b32 %r<9>;
  .reg .b64 %d<7>;
  ld.param.u64 %d0, [p];
  ld.param.u64 %d1, [n16];
  ld.param.u64 %d2, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  cvt.u64.u32 %d4, %r2;
  mad.wide.u32 %d3, %r0, %r1, %d4;  // index
  mul.wide.u32 %d5, %r1, %r3;       // stride
  mov.u32 %r4, 0;
LOOP:
  setp.ge.u64 %q0, %d3, %d1;
  @%q0 bra DONE;
  shl.b64 %d6, %d3, 4;
  add.u64 %d6, %d0, %d6;
  ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%d6];
  xor.b32 %r4, %r4, %r5;
  xor.b32 %r4, %r4, %r6;
  xor.b32 %r4, %r4, %r7;
  xor.b32 %r4, %r4, %r8;
  add.u64 %d3, %d3, %d5;
  bra LOOP;
DONE:
  setp.ne.u32 %q0, %r4, 0x5bd1e995;
  @%q0 bra END;
  st.global.u32 [%d2], %r4;
END:
  ret;
}
)PTX";

constexpr std::uint64_t kUsualGranularity = 2 * kMiB;

class GpuDevice : public Device {
 public:
  GpuDevice(GpuInterface kind, unsigned index, bool shares) : api_(kind) {
    int count = 0;
    api_.check(api_.device_count(&count), "the count of devices");
    if (count <= 0) throw DeviceError("the driver sees no device", false);
    if (index >= static_cast<unsigned>(count))
      throw DeviceError("the driver sees " + std::to_string(count) + " device" + (count == 1 ? "" : "s"), false);
    api_.check(api_.device_get(&device_, static_cast<int>(index)), "the device's handle");
    char text[256] = {};
    api_.check(api_.device_name(text, sizeof text - 1, device_), "the device's name");
    facts_.id = (api_.is_cuda() ? "cuda:" : "hip:") + std::to_string(index);
    facts_.name = one_line(text, 80);
    facts_.granularity = Bytes(granularity());
    find_view();
    read_card_facts();
    const auto before = view_ ? view_->memory() : std::nullopt;
    if (before) {
      others_ = before->used;
      other_processes_ = before->processes;
      others_before_ = before->by_process;
      if (!shares) refuse_shared_card(*before);
    }
    open_stage("driver's context", before, [&] { open(); });
    try {
      open_stage("first buffer, written and copied", before, [&] { warm_up(); });
      std::size_t free = 0;
      std::size_t total = 0;
      api_.check(api_.memory_info(&free, &total), "the device's memory");
      facts_.usable = Bytes(total);
    } catch (const DeviceError&) {
      close();
      throw;
    }
    const auto after = view_ ? view_->memory() : std::nullopt;
    facts_.driver = view_ ? view_->driver() : "";
    if (facts_.driver.empty()) facts_.driver = version();
    if (!before || !after) return;
    facts_.nominal = after->total;
    card_.reserved = after->reserved;
    // If main memory is shared with the GPU, a program sees more memory than the GPU has.
    card_.is_integrated = card_.is_integrated || facts_.usable.count() / 10 > after->total.count() / 9;
    set_margin();
    note_others(*after);
    // No context is smaller or larger than this. Such a figure comes from other processes.
    constexpr std::uint64_t kLeast = 20 * kMiB, kMost = 900 * kMiB;
    const Bytes context = taken_since(*before, *after);
    if (moved_ == 0 && context.count() >= kLeast && context.count() <= kMost) facts_.context = context;
  }

  ~GpuDevice() override {
    while (!buffers_.empty()) free(buffers_.begin()->first);
    close();
  }

  const DeviceFacts& facts() const override { return facts_; }

  DeviceMemory memory() override {
    std::size_t free = 0;
    std::size_t total = 0;
    api_.check(api_.memory_info(&free, &total), "the device's memory");
    DeviceMemory out;
    out.free = Bytes(free);
    out.used = Bytes(total > free ? total - free : 0);
    if (const auto seen = view_ ? view_->memory() : std::nullopt) {
      note_others(*seen);
      // HIP does not count the memory that graphics use.
      if (!api_.is_cuda() && !card_.is_integrated)
        out.free = std::min(out.free, seen->total > seen->used ? seen->total - seen->used : Bytes(0));
    }
    out.others = others_;
    out.other_processes = other_processes_;
    out.others_moved = moved_;
    return out;
  }

  BufferId allocate(std::uint64_t bytes) override {
    GpuAddress address = 0;
    api_.check(api_.allocate(&address, bytes), api_.is_cuda() ? "cuMemAlloc" : "hipMalloc");
    buffers_[next_] = {address, bytes};
    return next_++;
  }
  void fill(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, unsigned char value) override {
    api_.check(api_.fill(buffers_.at(buffer).address + offset, value, bytes), "memset");
    api_.check(api_.synchronize(), "memset");
  }
  void write(BufferId buffer, std::uint64_t offset, std::span<const std::byte> from) override {
    api_.check(api_.write(buffers_.at(buffer).address + offset, from.data(), from.size()), "copy to the device");
  }
  void read(BufferId buffer, std::uint64_t offset, std::span<std::byte> to) override {
    api_.check(api_.read(to.data(), buffers_.at(buffer).address + offset, to.size()), "copy from the device");
  }
  void free(BufferId buffer) noexcept override {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    api_.release(found->second.address);  // if that fails, the end of the context frees it
    buffers_.erase(found);
  }

  CardFacts card() const override { return card_; }

  double read_through(BufferId buffer) override {
    if (!api_.module_load || !api_.module_function || !api_.launch || !api_.module_unload) return 0;
    const Kernel kernel(api_);
    constexpr unsigned kThreads = 256, kBlocks = 4096;
    const BufferId answer = allocate(sizeof(std::uint64_t));
    GpuAddress from = buffers_.at(buffer).address;
    GpuAddress to = buffers_.at(answer).address;
    std::uint64_t pieces = buffers_.at(buffer).bytes / 16;
    void* arguments[] = {&from, &pieces, &to};
    try {
      const double seconds = seconds_of([&] {
        api_.check(api_.launch(kernel.function, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
                   "cuLaunchKernel");
      });
      free(answer);
      return seconds;
    } catch (const DeviceError&) {
      free(answer);
      throw;
    }
  }

  double stream(std::span<const BufferId> buffers) override {
    return seconds_of([&] {
      for (const BufferId each : buffers) {
        const Buffer& buffer = buffers_.at(each);
        const std::uint64_t half = buffer.bytes / 2;
        if (half > 0) api_.check(api_.copy(buffer.address + half, buffer.address, half), "copy on the device");
      }
    });
  }

 private:
  struct Buffer {
    GpuAddress address = 0;
    std::uint64_t bytes = 0;
  };

  struct Event {
    explicit Event(const GpuApi& gpu) : api(gpu) { api.check(api.event_create(&handle, 0), "event"); }
    ~Event() { api.event_destroy(handle); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    const GpuApi& api;
    GpuHandle handle = nullptr;
  };

  struct Kernel {
    explicit Kernel(const GpuApi& gpu) : api(gpu) {
      api.check(api.module_load(&module, kReadKernel), "cuModuleLoadData");
      if (const int code = api.module_function(&function, module, kReadKernelName)) {
        api.module_unload(module);
        api.check(code, "cuModuleGetFunction");
      }
    }
    ~Kernel() { api.module_unload(module); }
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    const GpuApi& api;
    GpuHandle module = nullptr, function = nullptr;
  };

  // How long the device takes for `work`.
  template <class Work>
  double seconds_of(const Work& work) {
    const Event start(api_);
    const Event stop(api_);
    api_.check(api_.synchronize(), "synchronize");
    api_.check(api_.event_record(start.handle, nullptr), "event");
    work();
    api_.check(api_.event_record(stop.handle, nullptr), "event");
    api_.check(api_.event_wait(stop.handle), "event");
    float milliseconds = 0;
    api_.check(api_.event_elapsed(&milliseconds, start.handle, stop.handle), "event");
    return static_cast<double>(milliseconds) / 1000;
  }

  void read_card_facts() {
    constexpr int kIntegrated = 18;  // CU_DEVICE_ATTRIBUTE_INTEGRATED
    int value = 0;
    card_.is_integrated =
        api_.device_attribute != nullptr && api_.device_attribute(&value, kIntegrated, device_) == 0 && value == 1;
    card_.is_wsl = access(environment_or("KVPLAN_DXG", "/dev/dxg").c_str(), F_OK) == 0;
    if (view_) {
      card_.uuid = view_->uuid();
      card_.corrects_errors = view_->corrects_errors();
    }
    card_.is_slice = card_.uuid.starts_with("MIG-");
    set_margin();
  }

  // If the GPU's memory is the machine's, or Windows pages it, filling it would slow down or stop the whole machine.
  void set_margin() {
    if (card_.is_integrated) facts_.margin = std::max(facts_.margin, 0.10);
    if (card_.is_wsl) facts_.margin = std::max(facts_.margin, 0.20);
  }

  static void refuse_shared_card(const GpuMemoryView& seen) {
    constexpr std::uint64_t kMuch = kGiB;  // a desktop and the driver take less
    const std::uint64_t programs = seen.computing.value_or(0);
    if (programs == 0 && seen.used.count() < kMuch) return;
    throw SharedDevice((programs > 0
                            ? std::to_string(programs) + (programs == 1 ? " program computes" : " programs compute")
                            : format_gib(seen.used) + " are in use") +
                       " on it");
  }

  // Runs a step of opening the GPU, and records the memory that it took by the GPU's counters.
  template <class Step>
  void open_stage(const char* what, const std::optional<GpuMemoryView>& first, const Step& step) {
    const auto before = view_ ? view_->memory() : std::nullopt;
    step();
    const auto after = view_ ? view_->memory() : std::nullopt;
    if (first && before && after) {
      const Bytes earlier = taken_since(*first, *before);
      const Bytes later = taken_since(*first, *after);
      card_.stages.push_back({what, later > earlier ? later - earlier : Bytes(0)});
    }
  }

  using Processes = std::vector<std::pair<std::int64_t, Bytes>>;
  static const Bytes* bytes_of(const Processes& list, std::int64_t pid) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.first == pid; });
    return found == list.end() ? nullptr : &found->second;
  }

  // This process's figure if the library lists it. Otherwise that of the only new process (in a container this process
  // has another PID). Otherwise the growth of the GPU's counter.
  Bytes taken_since(const GpuMemoryView& before, const GpuMemoryView& now) {
    std::vector<Bytes> own;
    if (const Bytes* const listed = bytes_of(now.by_process, getpid()))
      own = {*listed};
    else
      for (const auto& [pid, bytes] : now.by_process)
        if (bytes_of(before.by_process, pid) == nullptr) own.push_back(bytes);
    if (own.size() != 1 || own[0] == Bytes(0)) return now.used > before.used ? now.used - before.used : Bytes(0);
    card_.is_by_process = true;
    return own[0];
  }

  // Others are all processes except this one, whether they started before or after it.
  void note_others(const GpuMemoryView& seen) {
    std::int64_t moved = 0;
    std::size_t newcomers = 0;
    for (const auto& [pid, bytes] : seen.by_process) {
      const Bytes* const known = bytes_of(others_before_, pid);
      if (known != nullptr) moved += std::abs(signed_difference(bytes.count(), known->count()));
      if (known == nullptr && pid != getpid()) ++newcomers;
    }
    for (const auto& [pid, bytes] : others_before_)
      if (bytes_of(seen.by_process, pid) == nullptr) moved += static_cast<std::int64_t>(bytes.count()) + 1;
    // If this process is not listed under its own PID, a single new process is this one under the host's PID.
    if (newcomers > (bytes_of(seen.by_process, getpid()) != nullptr ? 0U : 1U)) moved += 1;
    moved_ = std::max(moved_, moved);
  }

  void find_view() {
    char text[64] = {};
    if (api_.device_bus == nullptr || api_.device_bus(text, sizeof text - 1, device_) != 0) return;
    const std::string pci = text;
    if (api_.is_cuda()) {
      view_ = nvidia_view(environment_or("KVPLAN_NVML", "libnvidia-ml.so.1"), uuid(), pci);
    } else {
      view_ = amd_view("/sys/bus/pci/devices", lower(pci));
    }
  }

  // The primary context, which frameworks use too, so it takes as much memory as theirs.
  void open() {
    if (!api_.is_cuda()) {
      api_.check(api_.set_device(device_), "hipSetDevice");
      api_.check(api_.synchronize(), "hipDeviceSynchronize");
      return;
    }
    GpuHandle context = nullptr;
    api_.check(api_.context_retain(&context, device_), "cuDevicePrimaryCtxRetain");
    retained_ = true;
    try {
      api_.check(api_.context_current(context), "cuCtxSetCurrent");
    } catch (const DeviceError&) {
      close();
      throw;
    }
  }

  // Drivers load their own kernels at first use. That memory belongs to the context, not to the measurement.
  void warm_up() {
    try {
      const BufferId id = allocate(2 * facts_.granularity.count());
      std::byte word{};
      fill(id, 0, facts_.granularity.count(), 1);
      write(id, 0, std::span(&word, 1));
      read(id, 0, std::span(&word, 1));
      stream(std::span(&id, 1));
      free(id);
    } catch (const DeviceError&) {  // the GPU is full, and the next step will report it
      while (!buffers_.empty()) free(buffers_.begin()->first);
    }
  }

  void close() noexcept {
    if (!retained_) return;
    retained_ = false;
    api_.context_current(nullptr);
    api_.context_release(device_);
  }

  std::string version() const {
    int number = 0;
    if (api_.driver_version == nullptr || api_.driver_version(&number) != 0 || number <= 0) return "";
    if (api_.is_cuda()) return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    return "HIP " + std::to_string(number / 10000000) + "." + std::to_string(number / 100000 % 100);
  }

  // "1b4e28ba-2fa1-11d2-883f-0016d3cca427", also for a slice; "" if there is none.
  std::string uuid() const {
    unsigned char bytes[16] = {};
    if (api_.device_uuid == nullptr || api_.device_uuid(bytes, device_) != 0) return "";
    std::string out;
    for (std::size_t i = 0; i < sizeof bytes; ++i) {
      constexpr char kDigits[] = "0123456789abcdef";
      if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
      out += kDigits[bytes[i] >> 4];
      out += kDigits[bytes[i] & 15];
    }
    return out;
  }

  // AMD's minimum is a page of 4 KiB, but its counter moves in steps of 2 MiB.
  std::uint64_t granularity() const {
    constexpr int kMinimum = 0, kRecommended = 1;
    GpuAllocationProperties wish;
    wish.location_id = device_;
    std::size_t out = 0;
    if (api_.granularity == nullptr || api_.granularity(&out, &wish, api_.is_cuda() ? kMinimum : kRecommended) != 0 ||
        out == 0 || out > kGiB)
      return kUsualGranularity;
    return api_.is_cuda() ? out : std::max<std::uint64_t>(out, kUsualGranularity);
  }

  GpuApi api_;
  std::unique_ptr<GpuView> view_;
  DeviceFacts facts_;
  int device_ = 0;
  bool retained_ = false;
  Bytes others_;
  std::optional<std::uint64_t> other_processes_;
  CardFacts card_;
  Processes others_before_;  // running before this process opened the GPU
  std::int64_t moved_ = 0;
  std::map<BufferId, Buffer> buffers_;
  BufferId next_ = 0;
};

}  // namespace

std::unique_ptr<Device> open_gpu(GpuInterface kind, unsigned index, bool shares) {
  return std::make_unique<GpuDevice>(kind, index, shares);
}

}  // namespace kvplan
