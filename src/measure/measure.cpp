#include "measure/measure.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

#include "kvplan/error.h"
#include "kvplan/numbers.h"
#include "kvplan/quantity.h"

namespace kvplan {

constexpr int kPasses = 5;
constexpr std::uint64_t kMostTries = 24;

// "2 MiB", "0.5 MiB", "4096 B".
static std::string bytes_text(Bytes bytes) {
  if (bytes.count() >= kGiB) return format_gib(bytes);
  if (bytes.count() < kMiB) return std::to_string(bytes.count()) + " B";
  if (bytes.count() % kMiB == 0) return std::to_string(bytes.count() / kMiB) + " MiB";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes.count()) / kMiB);
  return text;
}

// The plan's load if it fits. Otherwise fewer sequences, and then fewer tokens of one sequence. Nothing if not even one
// token's cache fits.
static std::optional<Load> scaled_load(const PlannedCache& cache, const Load& load, Bytes room) {
  if (cache.fits(load, room)) return load;
  Load out = load;
  out.num_seqs = largest_good(load.num_seqs, [&](std::uint64_t n) {
    Load some = load;
    some.num_seqs = n;
    return cache.fits(some, room);
  });
  if (out.num_seqs > 0) return out;
  out.num_seqs = 1;
  out.max_model_len = Tokens(largest_good(load.max_model_len.count(), [&](std::uint64_t n) {
    Load some = out;
    some.max_model_len = Tokens(n);
    return cache.fits(some, room);
  }));
  return out.max_model_len > Tokens(0) ? std::optional(out) : std::nullopt;
}

static std::int64_t moved(Bytes before, Bytes after) {
  return signed_difference(after.count(), before.count());
}

// Allocates line by line, and records how much the device's counter grew.
static void hold_lines(const PlannedCache& cache, const std::vector<CacheBuffer>& buffers, Device& device,
                       DeviceBuffers& holder, Measurement& out) {
  for (const CacheBuffer& buffer : buffers) {
    auto line = std::find_if(out.lines.begin(), out.lines.end(),
                             [&](const MeasuredLine& each) { return each.what == in_words(buffer.line); });
    if (line == out.lines.end()) line = out.lines.insert(line, MeasuredLine{in_words(buffer.line), 0, {}, {}, {}, ""});
    ++line->buffers;
    line->planned += buffer.bytes;
    line->rounding += cache.rounding(buffer.bytes);
    out.planned += buffer.bytes;
  }
  for (MeasuredLine& line : out.lines) {
    const Bytes before = device.memory().used;
    for (const CacheBuffer& buffer : buffers)
      if (in_words(buffer.line) == line.what) holder.hold(buffer);
    const Bytes after = device.memory().used;
    line.measured = after > before ? after - before : Bytes(0);
    out.measured += line.measured;
    if (line.difference() == 0) continue;
    const std::string granule = bytes_text(out.device.granularity);
    if (line.unexplained() == Bytes(0))
      line.reason = "whole multiples of " + granule + ", at most " + bytes_text(line.rounding) + " more";
    else if (line.measured < line.planned)
      line.reason = "less than was written: unexplained";
    else
      line.reason = bytes_text(line.unexplained()) + " beyond whole multiples of " + granule + ": unexplained";
  }
}

// The first pass is a warm-up. If passes are very slow, it counts too.
static void measure_speed(DeviceBuffers& holder, Figure& out) {
  constexpr double kSlow = 0.5;
  constexpr double kEnough = 3;
  const auto start = std::chrono::steady_clock::now();
  double seconds = 0;
  for (int i = 0; i <= kPasses && (out.n == 0 || seconds < kEnough); ++i) {
    const double speed = holder.stream();
    const double before = seconds;
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (speed > 0 && (i > 0 || seconds - before > kSlow)) out.add(speed);
  }
}

static void judge(Measurement& out) {
  Bytes unexplained;
  for (const MeasuredLine& line : out.lines) unexplained += line.unexplained();
  // A small allocation may be in a granule that the driver already has, and page tables sometimes take one.
  const Bytes granules = out.device.granularity * (2 * out.lines.size());
  const double allowed =
      std::max(out.tolerance * static_cast<double>(out.planned.count()), static_cast<double>(granules.count()));
  if (static_cast<double>(unexplained.count()) > allowed) {
    out.status = MeasureStatus::kDisagrees;
    out.reason = bytes_text(unexplained) + " differ without an explanation";
    if (out.others_moved != 0) out.reason += "; other programs changed memory meanwhile, so measure again";
    return;
  }
  out.status = MeasureStatus::kAgrees;
  const double off = std::fabs(static_cast<double>(moved(out.planned, out.measured)));
  if (off > out.tolerance * static_cast<double>(out.planned.count()))
    out.reason = "the difference is the device's granularity";
}

// The longest context of the plan's sequences that can be allocated, up to the computed limit.
static MeasuredMaximum find_maximum(const ModelSpec& model, const PlannedCache& cache, Device& device, const Load& load,
                                    const MeasureOptions& options) {
  constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 40;
  MeasuredMaximum out;
  out.num_seqs = load.num_seqs;
  const Bytes room = usable_room(device.memory().free, device.facts().margin);
  const auto with = [&](std::uint64_t tokens) {
    Load some = load;
    some.max_model_len = Tokens(tokens);
    return some;
  };
  std::uint64_t high = largest_good(kMostTokens, [&](std::uint64_t n) { return cache.fits(with(n), room); });
  out.limited_by = "the free memory, minus a safety margin";
  if (high == kMostTokens) {  // states and windows stop growing
    high = std::max(model.max_model_len.count(), load.max_model_len.count());
    out.limited_by = "the model's own maximum: its cache does not grow with the context";
  }
  const auto allocates = [&](std::uint64_t tokens) {
    ++out.tries;
    const std::vector<CacheBuffer> buffers = cache.buffers(with(tokens));
    DeviceBuffers holder(device, options, buffers);
    try {
      for (const CacheBuffer& buffer : buffers) holder.hold(buffer);
    } catch (const DeviceError& error) {
      if (error.out_of_memory()) return false;
      throw;
    }
    out.bytes = holder.all();
    return true;
  };
  if (high == 0) {
    out.limited_by = "the free memory: not even one token fits";
    return out;
  }
  if (allocates(high)) {
    out.max_model_len = high;
    return out;
  }
  out.limited_by = "an allocation that the device refused";
  std::uint64_t low = 0;
  while (high - low > std::max<std::uint64_t>(1, high / 4096) && out.tries < kMostTries) {
    const std::uint64_t middle = low + (high - low) / 2;
    (allocates(middle) ? low : high) = middle;
  }
  out.max_model_len = low;
  if (low == 0) out.bytes = Bytes(0);
  return out;
}

Bytes usable_room(Bytes free, double margin) {
  const auto share = static_cast<std::uint64_t>(margin * static_cast<double>(free.count()));
  const Bytes left(std::max<std::uint64_t>(256 * kMiB, share));
  return free > left ? free - left : Bytes(0);
}

Measurement measure_plan(const ModelSpec& model, const Plan& plan, Device& device, const MeasureOptions& options) {
  Measurement out;
  out.device = device.facts();
  out.tolerance = options.tolerance;
  out.max_model_len = plan.load.max_model_len.count();
  out.num_seqs = plan.load.num_seqs;
  try {
    const PlannedCache cache(model, plan, out.device.granularity);
    const DeviceMemory before = device.memory();
    out.free = before.free;
    out.used_by_others = before.others;
    out.other_processes = before.other_processes;
    out.gpu = cache.gpu();
    for (const LedgerLine& line : plan.memory[out.gpu].lines)
      if (line.id == LineId::kContext) out.planned_context = line.bytes;
    const Bytes room = usable_room(before.free, out.device.margin);
    const auto load = scaled_load(cache, plan.load, room);
    if (!load) {
      out.status = MeasureStatus::kRefused;
      out.reason =
          "not even one token's cache fits the " + bytes_text(before.free) + " that are free, minus a safety margin";
      return out;
    }
    out.max_model_len = load->max_model_len.count();
    out.num_seqs = load->num_seqs;
    if (out.max_model_len != plan.load.max_model_len.count() || out.num_seqs != plan.load.num_seqs)
      out.scaled = "the plan's " + format_gib(cache.footprint(plan.load)) + " are more than the " + format_gib(room) +
                   " that may be taken of " + format_gib(before.free) + " free";
    const std::vector<CacheBuffer> buffers = cache.buffers(*load);
    if (buffers.empty()) {
      out.status = MeasureStatus::kRefused;
      out.reason = "the plan keeps no cache on this GPU";
      return out;
    }
    {
      DeviceBuffers holder(device, options, buffers);
      hold_lines(cache, buffers, device, holder, out);
      holder.verify();
      if (holder.all().count() >= out.device.least_stream) measure_speed(holder, out.bandwidth);
    }
    // Includes changes that were undone meanwhile.
    const DeviceMemory after = device.memory();
    out.others_moved = moved(before.used, after.used);
    if (out.others_moved == 0) out.others_moved = after.others_moved;
    judge(out);
    if (options.find_maximum) out.maximum = find_maximum(model, cache, device, plan.load, options);
  } catch (const DeviceError& error) {
    out.status = MeasureStatus::kFailed;
    out.reason = one_line(error.what(), 300);
  }
  return out;
}

CalibrationRecord calibration_of(const Measurement& measurement, std::string_view date) {
  CalibrationRecord out;
  out.device = measurement.device.name;
  out.memory = measurement.device.usable;
  out.driver = measurement.device.driver;
  out.source = "measure";
  out.date = date;
  if (measurement.device.context) out.add(kContextFigure, static_cast<double>(measurement.device.context->count()));
  out.add(kUsableFigure, static_cast<double>(measurement.device.usable.count()));
  // Copying a cache buffer by buffer is slower than reading it can be. `measure card` measures reading.
  return out;
}

// Bytes between two calls of `stop`.
constexpr std::uint64_t kChunk = 256 * kMiB;
constexpr unsigned char kFilling = 0xA5;

// Written into each granule: the number of its buffer, and its position.
using Mark = std::array<std::uint64_t, 2>;
constexpr std::uint64_t kMarkBytes = sizeof(Mark);

static Mark mark_of(std::uint64_t buffer, std::uint64_t offset) {
  return {0x6b76706c616e0000 ^ buffer, offset * 0x9e3779b97f4a7c15 + 1};
}

DeviceBuffers::DeviceBuffers(Device& device, const MeasureOptions& options, const std::vector<CacheBuffer>& buffers)
    : device_(device), options_(options) {
  for (const CacheBuffer& buffer : buffers) all_ += buffer.bytes;
}

DeviceBuffers::~DeviceBuffers() {
  for (const Held& each : held_) device_.free(each.id);
}

void DeviceBuffers::step(std::string_view what, Bytes done) const {
  if (options_.stop && options_.stop()) throw Interrupted();
  if (options_.progress) options_.progress(what, done, all_);
}

void DeviceBuffers::hold(const CacheBuffer& buffer) {
  step("allocating", written_);
  const std::uint64_t bytes = buffer.bytes.count();
  const std::size_t number = held_.size() + 1;
  held_.reserve(number);
  try {
    const BufferId id = device_.allocate(bytes);
    held_.push_back({id, buffer.name, bytes});
    for (std::uint64_t offset = 0; offset < bytes; offset += kChunk) {
      device_.fill(id, offset, std::min(kChunk, bytes - offset), kFilling);
      step("writing", written_ + Bytes(offset));
    }
  } catch (const DeviceError& error) {
    throw DeviceError("buffer " + std::to_string(number) + " (" + buffer.name + ", " + std::to_string(bytes) +
                          " bytes): " + error.what(),
                      error.out_of_memory());
  }
  written_ += buffer.bytes;
}

template <class Visit>
void DeviceBuffers::for_each_mark(const Visit& visit) {
  constexpr std::uint64_t kMarksBetweenLooks = 4096;
  const std::uint64_t granule = std::max<std::uint64_t>(device_.facts().granularity.count(), kMarkBytes);
  std::uint64_t marks = 0;
  Bytes done;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const std::uint64_t bytes = held_[i].bytes;
    for (std::uint64_t offset = 0; offset < bytes; offset += granule) {
      if (++marks % kMarksBetweenLooks == 0) step("checking", done + Bytes(offset));
      visit(i, offset, std::min(kMarkBytes, bytes - offset));
    }
    // If the last granule's mark does not cover the last bytes, these get a mark too.
    if (bytes > kMarkBytes && bytes % granule > kMarkBytes) visit(i, bytes - kMarkBytes, kMarkBytes);
    done += Bytes(bytes);
    step("checking", done);
  }
}

void DeviceBuffers::verify() {
  for_each_mark([&](std::size_t i, std::uint64_t offset, std::uint64_t size) {
    const Mark mark = mark_of(i, offset);
    device_.write(held_[i].id, offset, std::as_bytes(std::span(mark)).first(size));
  });
  for_each_mark([&](std::size_t i, std::uint64_t offset, std::uint64_t size) {
    const Mark wanted = mark_of(i, offset);
    Mark found{};
    device_.read(held_[i].id, offset, std::as_writable_bytes(std::span(found)).first(size));
    if (std::memcmp(&wanted, &found, size) != 0)
      throw DeviceError(
          held_[i].name + ": the data written at byte " + std::to_string(offset) + " could not be read back", false);
  });
}

double DeviceBuffers::stream() {
  step("streaming", all_);
  std::vector<BufferId> ids;
  std::uint64_t moved = 0;
  for (const Held& each : held_) {
    ids.push_back(each.id);
    moved += each.bytes / 2 * 2;
  }
  const double seconds = device_.stream(ids);
  return seconds > 0 ? static_cast<double>(moved) / seconds : 0;
}

constexpr int kOpenings = 3;
constexpr int kReadings = 5;
constexpr std::uint64_t kMostBlock = 4 * kGiB;
constexpr std::uint64_t kLeastBlock = 256 * kMiB;  // smaller blocks would measure caches instead

static void check(const MeasureOptions& options) {
  if (options.stop && options.stop()) throw Interrupted();
}

// Allocates one buffer of each size, then several of 1 MiB to see whether they share a granule.
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
  // The first pass is a warm-up.
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
  // If the GPU uses main memory, the memory that a program sees is not a property of the GPU.
  if (!seen.facts.is_integrated) out.add(kUsableFigure, static_cast<double>(seen.usable.count()));
  if (seen.read.n > 0) out.figures.push_back({std::string(kBandwidthFigure), seen.read});
  return out;
}

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
static volatile std::sig_atomic_t noticed = 0;

static void notice(int number) {
  noticed = number;
}

InterruptGuard::InterruptGuard() {
  noticed = 0;
  for (int i = 0; i < 3; ++i) {
    // A signal that was ignored stays ignored (nohup).
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = notice;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool InterruptGuard::interrupted() {
  return noticed != 0;
}

void InterruptGuard::pass_on() {
  const int number = noticed != 0 ? static_cast<int>(noticed) : SIGINT;
  std::signal(number, SIG_DFL);
  raise(number);
  _exit(128 + number);
}

}  // namespace kvplan
