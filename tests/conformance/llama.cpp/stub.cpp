// A ggml backend whose GPUs have no memory and compute nothing. It answers the scheduler's questions (which operations
// are supported, sizes of tensors, what is worth an upload) as ggml-cuda does, so that the real library places a model
// on GPUs and sizes their buffers. STUB_DEVICES: how many; STUB_MEMORY: MiB of each.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ggml-backend-impl.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace {

constexpr size_t kMemory = size_t{64} << 40;  // of a GPU: more than any of these models needs
constexpr size_t kAlignment = 128;
constexpr size_t kHostAlignment = 32;
constexpr int64_t kRowPadding = 512;     // elements, for quantized rows
constexpr int64_t kUploadFromRows = 32;  // batches with fewer rows are computed where the weights are

struct Device {
  ggml_backend_device device{};
  ggml_backend_buffer_type memory{}, pinned{};
  std::string name, pinned_name;
};
std::vector<Device*> devices;
ggml_backend_reg registry{};

Device* of(ggml_backend_dev_t device) {
  return static_cast<Device*>(device->context);
}

// --- Memory of a GPU: addresses that are never read.

const char* type_name(ggml_backend_buffer_type_t type) {
  return static_cast<std::string*>(type->context)->c_str();
}
void* nowhere(ggml_backend_buffer_t) {
  return reinterpret_cast<void*>(0x1000);
}
ggml_status take_tensor(ggml_backend_buffer_t, ggml_tensor*) {
  return GGML_STATUS_SUCCESS;
}
void fill_nothing(ggml_backend_buffer_t, ggml_tensor*, uint8_t, size_t, size_t) {}
void set_nothing(ggml_backend_buffer_t, ggml_tensor*, const void*, size_t, size_t) {}
void get_zeros(ggml_backend_buffer_t, const ggml_tensor*, void* out, size_t, size_t size) {
  std::memset(out, 0, size);
}
bool copy_nothing(ggml_backend_buffer_t, const ggml_tensor*, ggml_tensor*) {
  return true;
}
void clear_nothing(ggml_backend_buffer_t, uint8_t) {}
void free_nothing(ggml_backend_buffer_t) {}

ggml_backend_buffer_t make_memory(ggml_backend_buffer_type_t type, size_t size) {
  ggml_backend_buffer_i calls{};
  calls.free_buffer = free_nothing;
  calls.get_base = nowhere;
  calls.init_tensor = take_tensor;
  calls.memset_tensor = fill_nothing;
  calls.set_tensor = set_nothing;
  calls.get_tensor = get_zeros;
  calls.cpy_tensor = copy_nothing;
  calls.clear = clear_nothing;
  return ggml_backend_buffer_init(type, calls, nullptr, size);
}
size_t alignment(ggml_backend_buffer_type_t) {
  return kAlignment;
}

// If flash attention needs K and V in 16 bit and the cache has another type, the copies are stored after its result.
size_t with_copies(const ggml_tensor* attention) {
  const ggml_tensor *q = attention->src[0], *k = attention->src[1], *v = attention->src[2];
  const bool vector_shape = q->ne[0] <= 256 && q->ne[0] % 64 == 0 && q->ne[0] != 192 && k->ne[1] % 256 == 0;
  const bool quantized = ggml_is_quantized(k->type) || ggml_is_quantized(v->type);
  const bool few_rows = quantized ? q->ne[1] <= 2 : q->ne[1] == 1 && q->ne[3] == 1;
  const bool vector = vector_shape && few_rows;  // this kernel reads every type except float32
  const auto copied = [&](const ggml_tensor* t) {
    return t->type != GGML_TYPE_F16 && (!vector || t->type == GGML_TYPE_F32);
  };
  const bool same = v->view_src && (v->view_src == k || (v->view_src == k->view_src && v->view_offs == k->view_offs));
  size_t size = ggml_nbytes(attention);
  const auto add = [&](const ggml_tensor* t) { size = GGML_PAD(size, kAlignment) + size_t(ggml_nelements(t)) * 2; };
  if (copied(k)) add(k);
  if (copied(v) && !same) add(v);
  return size;
}
size_t tensor_size(ggml_backend_buffer_type_t, const ggml_tensor* t) {
  size_t size = t->op == GGML_OP_FLASH_ATTN_EXT ? with_copies(t) : ggml_nbytes(t);
  const int64_t over = t->ne[0] % kRowPadding;
  if (ggml_is_quantized(t->type) && over != 0) size += ggml_row_size(t->type, kRowPadding - over);
  return size;
}

// --- Pinned memory of the host.

constexpr uintptr_t kCacheLine = 64;

void* pinned_base(ggml_backend_buffer_t buffer) {
  return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(buffer->context) + kCacheLine - 1) & ~(kCacheLine - 1));
}
void pinned_free(ggml_backend_buffer_t buffer) {
  std::free(buffer->context);
}
void pinned_set(ggml_backend_buffer_t, ggml_tensor* t, const void* data, size_t offset, size_t size) {
  std::memcpy(static_cast<char*>(t->data) + offset, data, size);
}
void pinned_get(ggml_backend_buffer_t, const ggml_tensor* t, void* data, size_t offset, size_t size) {
  std::memcpy(data, static_cast<const char*>(t->data) + offset, size);
}
ggml_backend_buffer_t make_pinned(ggml_backend_buffer_type_t type, size_t size) {
  ggml_backend_buffer_i calls{};
  calls.free_buffer = pinned_free;
  calls.get_base = pinned_base;
  calls.memset_tensor = fill_nothing;
  calls.set_tensor = pinned_set;
  calls.get_tensor = pinned_get;
  calls.clear = clear_nothing;
  void* memory = std::malloc(size + kCacheLine);
  return memory ? ggml_backend_buffer_init(type, calls, memory, size) : nullptr;
}
size_t pinned_alignment(ggml_backend_buffer_type_t) {
  return kHostAlignment;
}
bool pinned_is_host(ggml_backend_buffer_type_t) {
  return true;
}

// --- The backend: every operation succeeds at once.

ggml_guid guid = {7, 1, 7, 2, 7, 3, 7, 4, 7, 5, 7, 6, 7, 7, 7, 8};

const char* backend_name(ggml_backend_t backend) {
  return of(backend->device)->name.c_str();
}
void backend_free(ggml_backend_t backend) {
  delete backend;
}
void synchronize(ggml_backend_t) {}
ggml_status compute(ggml_backend_t, ggml_cgraph*) {
  return GGML_STATUS_SUCCESS;
}
void on_event(ggml_backend_t, ggml_backend_event_t) {}

ggml_backend_t make_backend(ggml_backend_dev_t device, const char*) {
  ggml_backend_i calls{};
  calls.get_name = backend_name;
  calls.free = backend_free;
  calls.synchronize = synchronize;
  calls.graph_compute = compute;
  calls.event_record = on_event;
  calls.event_wait = on_event;
  return new ggml_backend{&guid, calls, device, nullptr};
}

// --- The device: its properties, and the operations it supports.

const char* device_name(ggml_backend_dev_t device) {
  return of(device)->name.c_str();
}
const char* device_description(ggml_backend_dev_t) {
  return "a GPU that holds nothing";
}
void device_memory(ggml_backend_dev_t, size_t* free, size_t* total) {
  const char* mebibytes = std::getenv("STUB_MEMORY");  // of each GPU; else more than any model takes
  *free = *total = mebibytes != nullptr ? static_cast<size_t>(std::atol(mebibytes)) << 20 : kMemory;
}
enum ggml_backend_dev_type device_type(ggml_backend_dev_t) {
  return GGML_BACKEND_DEVICE_TYPE_GPU;
}
void device_properties(ggml_backend_dev_t device, ggml_backend_dev_props* out) {
  *out = {};
  out->name = device_name(device);
  out->description = device_description(device);
  out->type = GGML_BACKEND_DEVICE_TYPE_GPU;
  device_memory(device, &out->memory_free, &out->memory_total);
  out->caps.async = out->caps.host_buffer = out->caps.events = true;
}
ggml_backend_buffer_type_t device_buffers(ggml_backend_dev_t device) {
  return &of(device)->memory;
}
ggml_backend_buffer_type_t pinned_buffers(ggml_backend_dev_t device) {
  return &of(device)->pinned;
}

bool on_another_gpu(ggml_backend_dev_t device, const ggml_tensor* t) {
  if (!t || !t->buffer) return false;
  const ggml_backend_buffer_type_t type = t->buffer->buft;
  return type->iface.get_name == type_name && !type->iface.is_host && type->device != device;
}
bool has_rows_kernel(ggml_type type) {
  switch (type) {
    case GGML_TYPE_F16:
    case GGML_TYPE_F32:
    case GGML_TYPE_BF16:
    case GGML_TYPE_I32:
    case GGML_TYPE_Q4_0:
    case GGML_TYPE_Q4_1:
    case GGML_TYPE_Q5_0:
    case GGML_TYPE_Q5_1:
    case GGML_TYPE_Q8_0: return true;
    default: return false;
  }
}
bool has_flash_attention(const ggml_tensor* op) {
  const ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2], *mask = op->src[3];
  const int64_t grouped = q->ne[2] / k->ne[2];
  const bool can_group = grouped >= 2 && mask && k->ne[1] % 256 == 0;
  switch (k->ne[0]) {
    case 40:
    case 64:
    case 72:
    case 80:
    case 96:
    case 112:
    case 128:
    case 256: return v->ne[0] == k->ne[0];
    case 192: return v->ne[0] == 128 && can_group && grouped % 8 == 0;
    case 320: return v->ne[0] == 256 && can_group && grouped % 32 == 0;
    case 512:
    case 576: return v->ne[0] == 512 && can_group;
    default: return false;
  }
}
bool supports(ggml_backend_dev_t device, const ggml_tensor* op) {
  for (const ggml_tensor* source : op->src)
    if (on_another_gpu(device, source)) return false;
  if (op->op == GGML_OP_GET_ROWS) return has_rows_kernel(op->src[0]->type);
  if (op->op == GGML_OP_FLASH_ATTN_EXT) return has_flash_attention(op);
  return true;
}
bool takes_buffer(ggml_backend_dev_t device, ggml_backend_buffer_type_t type) {
  return type == device_buffers(device);
}
bool is_worth_an_upload(ggml_backend_dev_t, const ggml_tensor* op) {
  switch (op->op) {
    case GGML_OP_GET_ROWS: return false;
    case GGML_OP_MUL_MAT: return op->ne[1] >= kUploadFromRows;
    case GGML_OP_MUL_MAT_ID:
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK: return op->ne[2] >= kUploadFromRows;
    default: return ggml_nrows(op) >= kUploadFromRows;
  }
}
ggml_backend_event_t make_event(ggml_backend_dev_t device) {
  return new ggml_backend_event{device, nullptr};
}
void free_event(ggml_backend_dev_t, ggml_backend_event_t event) {
  delete event;
}
void wait_for_event(ggml_backend_dev_t, ggml_backend_event_t) {}

// --- The list of devices.

const char* registry_name(ggml_backend_reg_t) {
  return "CUDA";
}
size_t count_of_devices(ggml_backend_reg_t) {
  return devices.size();
}
ggml_backend_dev_t device_at(ggml_backend_reg_t, size_t i) {
  return &devices[i]->device;
}
void* no_function(ggml_backend_reg_t, const char*) {
  return nullptr;
}

Device* make_device(size_t number) {
  auto* out = new Device;
  out->name = "CUDA" + std::to_string(number);
  out->pinned_name = "CUDA_Host";

  ggml_backend_device_i& calls = out->device.iface;
  calls.get_name = device_name;
  calls.get_description = device_description;
  calls.get_memory = device_memory;
  calls.get_type = device_type;
  calls.get_props = device_properties;
  calls.init_backend = make_backend;
  calls.get_buffer_type = device_buffers;
  calls.get_host_buffer_type = pinned_buffers;
  calls.supports_op = supports;
  calls.supports_buft = takes_buffer;
  calls.offload_op = is_worth_an_upload;
  calls.event_new = make_event;
  calls.event_free = free_event;
  calls.event_synchronize = wait_for_event;
  out->device.reg = &registry;
  out->device.context = out;

  out->memory.iface.get_name = out->pinned.iface.get_name = type_name;
  out->memory.device = out->pinned.device = &out->device;
  out->memory.iface.alloc_buffer = make_memory;
  out->memory.iface.get_alignment = alignment;
  out->memory.iface.get_alloc_size = tensor_size;
  out->memory.context = &out->name;
  out->pinned.iface.alloc_buffer = make_pinned;
  out->pinned.iface.get_alignment = pinned_alignment;
  out->pinned.iface.is_host = pinned_is_host;
  out->pinned.context = &out->pinned_name;
  return out;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init() {
  if (!devices.empty()) return &registry;
  registry.api_version = GGML_BACKEND_API_VERSION;
  registry.iface = {registry_name, count_of_devices, device_at, no_function};
  const char* count = std::getenv("STUB_DEVICES");
  for (size_t i = 0; i < (count ? std::strtoull(count, nullptr, 10) : 1); ++i) devices.push_back(make_device(i));
  return &registry;
}

extern "C" __attribute__((visibility("default"))) int ggml_backend_score() {
  return 1;
}
