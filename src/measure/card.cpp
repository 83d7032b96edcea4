#include "measure/measure.h"

#include <algorithm>

#include "kvplan/error.h"

namespace kvplan {

constexpr int kOpenings = 3;
constexpr int kReadings = 5;
constexpr std::uint64_t kMostBlock = 4 * kGiB;
constexpr std::uint64_t kLeastBlock = 256 * kMiB;  // smaller blocks would measure caches

static void check(const MeasureOptions& options) {
  if (options.stop && options.stop()) throw Interrupted();
}

// One buffer of each size, then several of 1 MiB, to see whether they share a granule.
static void probe_sizes(Device& device, const MeasureOptions& options, CardMeasurement& out) {
  HeldBuffers held(device);
  const auto probe = [&](std::uint64_t bytes, int times) {
    check(options);
    const Bytes before = device.memory().used;
    for (int i = 0; i < times; ++i) held.take(Bytes(bytes));
    const Bytes after = device.memory().used;
    out.probes.push_back(
        {Bytes(bytes) * static_cast<std::uint64_t>(times), after > before ? after - before : Bytes(0)});
  };
  probe(1, 1);
  probe(kMiB, 1);
  probe(kMiB, 16);
  probe(2 * kMiB + 1, 1);
  probe(20 * kMiB, 1);
}

static void measure_speeds(Device& device, const MeasureOptions& options, CardMeasurement& out) {
  const Bytes room = usable_room(device.memory().free, device.facts().margin);
  const std::uint64_t block = std::min(kMostBlock, room.count() / 2) / (2 * kMiB) * (2 * kMiB);
  if (block < kLeastBlock) {
    out.remarks.push_back("too little memory is free to measure its speed");
    return;
  }
  HeldBuffers held(device);
  const BufferId buffer = held.take(Bytes(block));
  device.fill(buffer, 0, block, 0xA5);
  out.block = Bytes(block);
  const auto size = static_cast<double>(block);
  // The first pass warms up.
  for (int i = 0; i <= kReadings; ++i) {
    check(options);
    if (options.progress) options.progress("reading", Bytes(0), out.block);
    const double seconds = device.read_through(buffer);
    if (seconds <= 0) break;
    if (i > 0) out.read.add(size / seconds);
  }
  for (int i = 0; i <= kReadings; ++i) {
    check(options);
    if (options.progress) options.progress("copying", Bytes(0), out.block);
    const double seconds = device.stream(std::span(&buffer, 1));
    if (seconds > 0 && i > 0) out.copy.add(size / seconds);
  }
}

CardMeasurement measure_card(const std::function<std::unique_ptr<Device>()>& open, const MeasureOptions& options) {
  CardMeasurement out;
  for (int i = 0; i < kOpenings; ++i) {
    check(options);
    const std::unique_ptr<Device> device = open();
    const DeviceFacts& facts = device->facts();
    if (facts.context) out.contexts.push_back(*facts.context);
    if (device->memory().others_moved != 0) out.is_disturbed = true;
    if (i + 1 < kOpenings) continue;
    out.id = facts.id;
    out.name = facts.name;
    out.driver = facts.driver;
    out.facts = device->card();
    out.nominal = facts.nominal;
    out.usable = facts.usable;
    out.granularity = facts.granularity;
    const DeviceMemory memory = device->memory();
    out.free = memory.free;
    out.used_by_others = memory.others;
    out.other_processes = memory.other_processes;
    try {
      probe_sizes(*device, options, out);
      measure_speeds(*device, options, out);
      if (device->memory().others_moved != 0) out.is_disturbed = true;
    } catch (const DeviceError& error) {
      out.remarks.push_back("the device refused: " + one_line(error.what(), 200));
    }
  }
  if (out.contexts.size() == kOpenings)
    out.context = *std::min_element(out.contexts.begin(), out.contexts.end());
  else
    out.remarks.emplace_back(
        "the size of its context is unknown: the driver does not report it, or other programs used memory meanwhile");
  if (out.is_disturbed) out.remarks.emplace_back("other programs took or freed memory meanwhile: nothing is saved");
  if (out.facts.is_integrated) out.remarks.emplace_back("its memory is shared with the CPU, and so is the free memory");
  if (out.facts.is_wsl)
    out.remarks.emplace_back("under WSL2 Windows swaps GPU memory instead of refusing, so free memory says little");
  return out;
}

std::optional<CalibrationRecord> calibration_of(const CardMeasurement& seen, std::string_view date) {
  if (seen.is_disturbed) return std::nullopt;
  CalibrationRecord out;
  out.device = seen.name;
  out.memory = seen.usable;
  out.driver = seen.driver;
  out.source = "measure";
  out.date = date;
  if (seen.context) out.add(kContextFigure, static_cast<double>(seen.context->count()));
  // If the GPU uses main memory, the part that a program sees is not a property of the GPU.
  if (!seen.facts.is_integrated) out.add(kUsableFigure, static_cast<double>(seen.usable.count()));
  if (seen.read.n > 0) out.figures.push_back({std::string(kBandwidthFigure), seen.read});
  return out;
}

}  // namespace kvplan
