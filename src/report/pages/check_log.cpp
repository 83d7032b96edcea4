// Logged beside predicted, line by line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/pages/pages.h"
#include "report/text.h"
#include "report/words.h"

namespace kvplan {

namespace {

std::string figure(double value, LogUnit unit) {
  switch (unit) {
    case LogUnit::kGibibytes:
    case LogUnit::kMebibytes: return fmt::format("{:.2f} {}", value, unit_name(unit));
    case LogUnit::kTimes: return fmt::format("{:.2f}x", value);
    case LogUnit::kShare: return fmt::format("{:.2f}", value);
    default:
      return fmt::format("{} {}", grouped(static_cast<std::uint64_t>(std::round(std::max(0.0, value)))),
                         unit_name(unit));
  }
}

// "KV cache budget" for "kv_budget".
std::string name_of(std::string_view what) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"kv_budget", "KV cache budget"},
      {"kv_tokens", "KV cache tokens"},
      {"kv_bytes", "KV cache"},
      {"k_bytes", "K cache"},
      {"v_bytes", "V cache"},
      {"kv_buffer", "KV cache buffer"},
      {"kv_total", "KV cache, total"},
      {"num_blocks", "GPU blocks"},
      {"cpu_blocks", "CPU blocks"},
      {"gpu_memory", "GPU memory"},
      {"gpu_memory_utilization", "GPU memory utilization"},
      {"cuda_graphs", "CUDA graphs"},
      {"cuda_graphs_estimated", "CUDA graphs, the engine's estimate"},
      {"non_torch", "outside PyTorch"},
      {"peak_torch", "PyTorch's peak"},
      {"consumed", "weights and outside PyTorch"},
      {"activation", "activations"},
      {"conv_bytes", "convolution states"},
      {"state_bytes", "SSM states"},
      {"layers_on_gpu", "layers on the GPU"},
      {"layers_total", "layers in all"},
      {"max_model_len", "max model length"},
      {"max_model_len_estimated", "max model length that fits"},
      {"n_seq_max", "n_seq_max"},
      {"n_ctx", "n_ctx"},
      {"n_ctx_seq", "n_ctx_seq"},
      {"n_batch", "n_batch"},
      {"n_ubatch", "n_ubatch"}};
  for (const auto& [known, shown] : kNames)
    if (known == what) return std::string(shown);
  std::string out(what);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

constexpr std::string_view kNoError = "0.0 %";

std::string error_text(const LogLine& line) {
  if (!line.predicted) return "-";
  const double value = line.seen.value;
  const bool is_size = line.seen.unit == LogUnit::kGibibytes || line.seen.unit == LogUnit::kMebibytes;
  if (is_size && value < 0) return fmt::format("short by {}", figure(-value, line.seen.unit));
  const double percent = 100 * line.difference();
  return std::abs(percent) < 0.05 ? std::string(kNoError) : fmt::format("{:+.1f} %", percent);
}

// Lines of several ranks that say the same are one row.
struct FoldedLine {
  const LogLine* first = nullptr;
  std::uint64_t ranks = 0;
};

std::vector<FoldedLine> folded(const std::vector<LogLine>& lines) {
  std::vector<FoldedLine> out;
  const auto says_same = [](const LogLine& a, const LogLine& b) {
    return a.seen.rank && b.seen.rank && a.seen.what == b.seen.what && a.seen.device == b.seen.device &&
           a.seen.unit == b.seen.unit && a.seen.value == b.seen.value && a.predicted == b.predicted &&
           a.exact == b.exact && a.reason == b.reason;
  };
  for (const LogLine& line : lines) {
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const FoldedLine& other) { return says_same(*other.first, line); });
    if (same == out.end())
      out.push_back({&line, 1});
    else
      ++same->ranks;
  }
  return out;
}

std::string subject_of(const FoldedLine& line) {
  const Observation& seen = line.first->seen;
  std::string out = name_of(seen.what);
  if (!seen.device.empty()) out += " " + one_line(seen.device, 20);
  if (line.ranks > 1)
    out += fmt::format(" x{} ranks", line.ranks);
  else if (seen.rank)
    out += fmt::format(" rank {}", *seen.rank);
  return out;
}

Headline headline_of(const LogCheck& check) {
  if (check.compared == 0) {
    std::string says = "nothing in this log can be checked exactly (only estimates)";
    if (!check.plan.card) says += "; --gpu NAME enables the KV budget";
    return {Tone::kCareful, "NOT CHECKED", says};
  }
  if (check.disagreements == 0) return {Tone::kGood, "MATCHES THE PLAN", plural(check.compared, "exact line")};
  return {Tone::kBad, "DIFFERS FROM THE PLAN",
          fmt::format("{} of {}", grouped(check.disagreements), plural(check.compared, "exact line"))};
}

// Figures that agree need no explanation.
std::string remark_of(const LogLine& line, const std::string& error) {
  return line.predicted && error != kNoError ? line.reason : "";
}

}  // namespace

Page check_log_page(const LogCheck& check) {
  const Plan& plan = check.plan;
  Page page;
  page.title = engine_text(plan);
  page.facts = fmt::format("{}, TP {}, KV {}", plural(plan.load.max_model_len.count(), "token"),
                           plan.request.tensor_parallel, name(plan.types.key));
  page.file = plan.model->source;
  if (!check.options.version.empty())
    page.about.push_back("release in the log: " + one_line(check.options.version, 40));
  page.headlines.push_back(headline_of(check));
  PageTable table = titled_table({"line", "what", "logged", "predicted", "error", "remark"}, 0b011101, {});
  table.columns.back().kind = Column::Kind::kBelow;
  for (const FoldedLine& row : folded(check.lines)) {
    const LogLine& line = *row.first;
    const std::string error = error_text(line);
    table.rows.push_back(
        {{std::to_string(line.seen.line_number), subject_of(row), figure(line.seen.value, line.seen.unit),
          line.predicted ? figure(*line.predicted, line.seen.unit) : "-", error, remark_of(line, error)},
         line.predicted ? Tone::kPlain : Tone::kFaint});
  }
  Block block{"", Detail::kComment, std::move(table), {}};
  if (check.total && check.total->parts.size() > 1) {
    const LogTotal& total = *check.total;
    const bool inside = total.low <= total.observed && total.observed <= total.high;
    block.remarks.push_back(fmt::format("everything but KV: {} logged, {} predicted ({} to {}): {} the range",
                                        gib(total.observed), gib(total.predicted), gib_number(total.low),
                                        gib(total.high), inside ? "inside" : "outside"));
  }
  page.blocks.push_back(std::move(block));
  const bool lacks_budget = std::any_of(check.lines.begin(), check.lines.end(), [](const LogLine& line) {
    return line.seen.what == "kv_budget" && !line.predicted;
  });
  if (lacks_budget && !plan.card && check.compared > 0)
    page.notes.push_back({Tone::kFaint, "note:", "--gpu NAME enables a prediction of the KV cache budget"});
  for (const std::string& remark : check.remarks) page.notes.push_back({Tone::kFaint, "note:", remark});
  return page;
}

}  // namespace kvplan
