#include "measure/diagnosis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "engines/engine.h"
#include "kvplan/ranges.h"

namespace kvplan {

namespace {

bool is_state(const LedgerLine& line) {
  return line.id == LineId::kStates || line.id == LineId::kStatePool || line.id == LineId::kPaddingSlot ||
         line.id == LineId::kDraftStates || line.id == LineId::kRollBack;
}

// What llama.cpp prints for a device, or for all.
enum class Kind { kCache, kStates, kContext };

bool counts(const LedgerLine& line, Kind kind) {
  if (line.part != Section::kKvCache) return false;
  return kind == Kind::kContext || is_state(line) == (kind == Kind::kStates);
}

struct Place {
  std::vector<std::size_t> lines;
  std::map<std::string, double> parts;  // of the plan, in bytes
  double seen = 0, play = 0;

  double planned() const {
    double out = 0;
    for (const auto& part : parts) out += part.second;
    return out;
  }
  bool agrees() const { return std::abs(planned() - seen) <= play; }
};

constexpr int kHost = -1;

double unit_bytes(LogUnit unit) {
  return unit == LogUnit::kGibibytes   ? static_cast<double>(kGiB)
         : unit == LogUnit::kMebibytes ? static_cast<double>(kMiB)
                                       : 1;
}

class Buffers {
 public:
  // `floored`: the engine prints whole MiB, rounded down.
  Buffers(const Plan& plan, std::vector<LogLine>& lines, std::string_view what, Kind kind, bool by_device, bool floored)
      : lines_(lines), floored_(floored) {
    const auto add = [&](int device, const LedgerLine& line) {
      if (counts(line, kind) && line.bytes > Bytes(0))
        places_[by_device ? device : 0].parts[in_words(line.what)] += static_cast<double>(line.bytes.count());
    };
    for (std::size_t i = 0; i < plan.memory.size(); ++i)
      for (const LedgerLine& line : plan.memory[i].lines) add(static_cast<int>(i), line);
    for (const LedgerLine& line : plan.host) add(kHost, line);
    std::map<int, std::size_t> last;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Observation& seen = lines[i].seen;
      if (seen.what != what) continue;
      int device = 0;
      if (by_device) {
        const GpuMemory* const gpu = gpu_of(plan, seen.device);
        device = is_host_device(seen.device) ? kHost
                 : gpu == nullptr            ? kUnknown
                                             : static_cast<int>(gpu - plan.memory.data());
      }
      Place& place = places_[device];
      // The table of all memory is printed twice: before the start and at the end.
      if (floored) {
        place.lines.clear();
        place.seen = place.play = 0;
      }
      place.lines.push_back(i);
      place.seen += seen.bytes();
      place.play += seen.step * unit_bytes(seen.unit) * (floored ? 1 : 0.5) * (1 + 1e-9) + 1;
      any_ = true;
    }
  }

  void compare() {
    if (!any_) return;
    const bool split_known = std::all_of(places_.begin(), places_.end(), [](const auto& entry) {
      return entry.second.agrees() || (entry.second.lines.empty() && entry.second.parts.empty());
    });
    if (split_known || places_.size() == 1) {
      for (auto& entry : places_) compare_place(entry.second);
      return;
    }
    Place all;
    for (auto& [device, place] : places_) {
      for (const auto& [name, bytes] : place.parts) all.parts[name] += bytes;
      all.lines.insert(all.lines.end(), place.lines.begin(), place.lines.end());
      all.seen += place.seen;
      all.play += place.play;
      if (place.lines.size() == 1)
        predict(place.lines[0], place.planned(), false, "an estimate: the GPUs get the layers in order");
    }
    std::sort(all.lines.begin(), all.lines.end());
    if (all.lines.size() == 1)
      predict(all.lines[0], all.planned(), true, "");
    else
      add_sum(all);
  }

 private:
  static constexpr int kUnknown = 1000;  // more devices than the plan has

  void predict(std::size_t at, double bytes, bool exact, std::string reason) {
    LogLine& line = lines_[at];
    line.predicted = in_unit(bytes, line.seen.unit);
    if (floored_) line.predicted = std::floor(*line.predicted);
    line.exact = exact;
    line.reason = std::move(reason);
  }

  void compare_place(Place& place) {
    if (place.lines.empty()) return;
    if (place.lines.size() == 1) return predict(place.lines[0], place.planned(), true, "");
    std::map<std::string, double> left = place.parts;
    std::vector<std::pair<std::size_t, double>> own;
    for (const std::size_t at : place.lines)
      for (auto part = left.begin(); part != left.end(); ++part) {
        const Observation& seen = lines_[at].seen;
        const double play = seen.step * unit_bytes(seen.unit) / 2 * (1 + 1e-9) + 1;
        if (std::abs(part->second - seen.bytes()) > play) continue;
        own.emplace_back(at, part->second);
        left.erase(part);
        break;
      }
    if (!left.empty()) return add_sum(place);
    for (const auto& [at, bytes] : own) predict(at, bytes, true, "");
    for (const std::size_t at : place.lines)
      if (!lines_[at].predicted) lines_[at].reason = "of another context: a draft's?";
  }

  // Adds the sum of these lines as a separate line after the last of them.
  void add_sum(const Place& place) {
    const std::size_t last = place.lines.back();
    LogLine sum{lines_[last].seen, std::nullopt, true, "the sum of " + std::to_string(place.lines.size()) + " lines"};
    sum.seen.value = in_unit(place.seen, sum.seen.unit);
    sum.seen.step = place.play * 2 / unit_bytes(sum.seen.unit);
    bool alike = true;
    for (const std::size_t at : place.lines) alike = alike && lines_[at].seen.device == sum.seen.device;
    if (!alike) sum.seen.device.clear();
    sum.predicted = in_unit(place.planned(), sum.seen.unit);
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(last) + 1, std::move(sum));
  }

  std::vector<LogLine>& lines_;
  bool floored_;
  std::map<int, Place> places_;
  bool any_ = false;
};

// A figure of a log, and the lines of the ledger that correspond to it.
struct LogFigure {
  std::string_view seen;  // the reader's name for it
  std::string_view what;
  Section part;
  std::optional<LineId> kind;
  bool is_kind = true;
};
constexpr std::array kFigures{
    LogFigure{"weights", "weights", Section::kWeights, {}},
    LogFigure{"activation", "activation", Section::kActivation, {}},
    LogFigure{"compute_buffer", "activation", Section::kActivation, {}},
    LogFigure{"non_torch", "non_torch", Section::kRuntime, LineId::kGraphs, false},
    LogFigure{"cuda_graphs", "cuda_graphs", Section::kRuntime, LineId::kGraphs},
};

// The first figure of each GPU, or of the first rank only.
std::optional<Bytes> observed(const LogReading& reading, std::string_view what) {
  std::vector<std::string_view> devices;
  double sum = 0;
  for (const Observation& seen : reading.observations) {
    if (seen.what != what || is_host_device(seen.device) || seen.value < 0 || seen.value > 1e7) continue;
    if (std::find(devices.begin(), devices.end(), seen.device) != devices.end()) continue;
    devices.push_back(seen.device);
    sum += seen.bytes();
  }
  if (devices.empty()) return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(sum));
}

void add_figure_of(const std::vector<LedgerLine>& lines, const LogFigure& figure, RangeSum& all, LogPart& out) {
  RangeSum sum;
  for (const LedgerLine& line : lines) {
    if (line.part != figure.part || (figure.kind && (line.id == *figure.kind) != figure.is_kind)) continue;
    sum.add(line.bytes, {line.low, line.high});
    all.add(line.bytes, {line.low, line.high});
  }
  out.predicted += sum.bytes();
  out.low += sum.range().low;
  out.high += sum.range().high;
}

}  // namespace

bool agrees(const LogLine& line) {
  if (!line.predicted) return true;
  const Observation& seen = line.seen;
  // vLLM omits trailing zeros: "22.5" means 22.50.
  const double step =
      seen.unit == LogUnit::kGibibytes && seen.what == "kv_needed" ? std::min(seen.step, 0.01) : seen.step;
  const bool whole =
      seen.unit != LogUnit::kGibibytes && seen.unit != LogUnit::kMebibytes && seen.unit != LogUnit::kTimes;
  const double play = (whole ? 0 : step / 2 * (1 + 1e-6));
  return std::abs(*line.predicted - seen.value) <= play;
}

double in_unit(double value, LogUnit unit) {
  if (unit == LogUnit::kGibibytes) return value / kGiB;
  if (unit == LogUnit::kMebibytes) return value / kMiB;
  return value;
}

const GpuMemory* gpu_of(const Plan& plan, std::string_view device) {
  if (device.empty()) return plan.memory.data();
  if (is_host_device(device)) return nullptr;
  std::string_view name = device.substr(0, device.find("_Split"));
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
  std::size_t index = 0;
  for (const char c : name.substr(at).substr(0, 3)) index = index * 10 + static_cast<std::size_t>(c - '0');
  // If there is only one GPU, its number in the log does not matter.
  if (plan.memory.size() == 1) index = 0;
  return index < plan.memory.size() ? &plan.memory[index] : nullptr;
}

std::optional<LogPart> planned_part(const std::vector<LedgerLine>& lines, std::string_view what) {
  for (const LogFigure& figure : kFigures)
    if (figure.seen == what) {
      LogPart out{std::string(figure.what), figure.part, {}, {}, {}, {}};
      RangeSum all;
      add_figure_of(lines, figure, all, out);
      return out;
    }
  return std::nullopt;
}

void compare_buffers(const Plan& plan, std::vector<LogLine>& lines) {
  Buffers(plan, lines, "kv_buffer", Kind::kCache, true, false).compare();
  Buffers(plan, lines, "kv_total", Kind::kCache, false, false).compare();
  Buffers(plan, lines, "state_buffer", Kind::kStates, true, false).compare();
  Buffers(plan, lines, "state_total", Kind::kStates, false, false).compare();
  Buffers(plan, lines, "context_memory", Kind::kContext, true, true).compare();
}

PoolBytes pool_bytes(const Plan& plan) {
  PoolBytes out;
  for (const LedgerLine& line : plan.memory.front().lines)
    if (line.part == Section::kKvCache && !is_state(line)) out.all += static_cast<double>(line.bytes.count());
  double keys = 0;
  double all = 0;
  for (const LayerFacts& layer : plan.layers)
    for (const TermFacts& term : layer.terms) {
      if (term.growth != Growth::kToken) continue;
      const double bytes = static_cast<double>(term.entry.count() * layer.count);
      all += bytes;
      if (term.role == Role::kKey) keys += bytes;
    }
  out.keys = all > 0 ? out.all * keys / all : 0;
  return out;
}

std::optional<LogTotal> log_total(const LogReading& reading, const Plan& plan) {
  LogTotal out;
  RangeSum all;
  const bool all_gpus = log_of(engine_of(plan.request)).by_device;
  for (const LogFigure& figure : kFigures) {
    const auto seen = observed(reading, figure.seen);
    if (!seen) continue;
    // Until 0.6.4 vLLM's figure was the driver's whole count.
    if (figure.seen == "non_torch" && observed(reading, "initial_usage")) continue;
    LogPart part{std::string(figure.what), figure.part, *seen, {}, {}, {}};
    for (const GpuMemory& gpu : plan.memory) {
      add_figure_of(gpu.lines, figure, all, part);
      if (!all_gpus) break;
    }
    out.observed += part.observed;
    out.predicted += part.predicted;
    out.parts.push_back(std::move(part));
  }
  if (out.parts.empty()) return std::nullopt;
  out.low = all.range().low;
  out.high = all.range().high;
  return out;
}

}  // namespace kvplan
