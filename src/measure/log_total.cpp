#include "measure/log_total.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kvplan/ranges.h"
#include "measure/log_request.h"

namespace kvplan {

namespace {

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

// The first figure of each GPU; of ranks only the first.
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

void add(const GpuMemory& gpu, const LogFigure& figure, RangeSum& all, LogPart& out) {
  RangeSum sum;
  for (const LedgerLine& line : gpu.lines) {
    if (line.part != figure.part || (figure.kind && (line.id == *figure.kind) != figure.is_kind)) continue;
    sum.add(line.bytes, {line.low, line.high});
    all.add(line.bytes, {line.low, line.high});
  }
  out.predicted += sum.bytes();
  out.low += sum.range().low;
  out.high += sum.range().high;
}

}  // namespace

std::optional<LogTotal> log_total(const LogReading& reading, const Plan& plan) {
  LogTotal out;
  RangeSum all;
  const bool all_gpus = plan.engine == "llama.cpp" || plan.engine == "ollama";
  for (const LogFigure& figure : kFigures) {
    const auto seen = observed(reading, figure.seen);
    if (!seen) continue;
    // Until 0.6.4 vLLM's figure was all that the driver counted.
    if (figure.seen == "non_torch" && observed(reading, "initial_usage")) continue;
    LogPart part{std::string(figure.what), figure.part, *seen, {}, {}, {}};
    for (const GpuMemory& gpu : plan.memory) {
      add(gpu, figure, all, part);
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
