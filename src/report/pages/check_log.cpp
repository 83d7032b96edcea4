// The page of check-log: logged and predicted figures, line by line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "kvplan/strings.h"
#include "report/pages/pages.h"

namespace kvplan {

namespace {

std::string figure(double value, LogUnit unit) {
  switch (unit) {
    case LogUnit::kGibibytes:
    case LogUnit::kMebibytes: return fmt::format("{:.2f} {}", value, unit_name(unit));
    case LogUnit::kTimes: return fmt::format("{:.2f}x", value);
    case LogUnit::kShare: return fmt::format("{:.2f}", value);
    default:
      return fmt::format("{} {}", grouped(static_cast<std::uint64_t>(std::round(std::clamp(value, 0.0, 1e15)))),
                         unit_name(unit));
  }
}

// "KV cache budget" for "kv_budget".
std::string name_of(std::string_view what) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"kv_bytes", "KV cache"},
      {"k_bytes", "K cache"},
      {"v_cache", "V cache"},
      {"state_total", "states, total"},
      {"v_bytes", "V cache"},
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
      {"layers_total", "layers of the model"},
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
  if (what.starts_with("kv_")) out = "KV cache " + out.substr(3);
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

// A row for equal lines of several ranks.
struct FoldedLine {
  const LogLine* first = nullptr;
  std::uint64_t ranks = 0;
};

std::vector<FoldedLine> folded(const std::vector<LogLine>& lines) {
  std::vector<FoldedLine> out;
  // Rows of each figure by their values: a log may have thousands.
  std::map<std::tuple<std::string_view, std::string_view, LogUnit, double>, std::vector<std::size_t>> known;
  for (const LogLine& line : lines) {
    const Observation& seen = line.seen;
    if (!seen.rank) {
      out.push_back({&line, 1});
      continue;
    }
    std::vector<std::size_t>& rows = known[{seen.what, seen.device, seen.unit, seen.value}];
    const auto same = std::find_if(rows.begin(), rows.end(), [&](std::size_t row) {
      const LogLine& other = *out[row].first;
      return other.predicted == line.predicted && other.exact == line.exact && other.reason == line.reason;
    });
    if (same == rows.end()) {
      rows.push_back(out.size());
      out.push_back({&line, 1});
    } else {
      ++out[*same].ranks;
    }
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

// Figures that differ from the plan, and possible explanations.
std::string difference_text(const LogCheck& check) {
  const auto outside =
      std::find_if(check.lines.begin(), check.lines.end(), [](const LogLine& line) { return line.is_outside(); });
  if (outside == check.lines.end())
    return fmt::format("{} of {} off", grouped(check.disagreements), plural(check.compared, "exact figure"));
  const Observation& seen = outside->seen;
  std::string out = fmt::format("{}{} is outside the plan's range of {:.2f} to {}", subject_of({&*outside, 1}),
                                " of " + figure(seen.value, seen.unit), outside->low, figure(outside->high, seen.unit));
  if (!check.agrees_with.empty()) return out + ": with " + check.agrees_with + " they agree";
  if (seen.what == "weights")
    out += seen.value < outside->low
               ? ": experts or layers are in main memory (offloaded), or the weights are quantized"
               : ": the weights were loaded in a wider type, or not split";
  if (seen.what == "compute_buffer" || seen.what == "activation") out += ": another release, batch or micro-batch";
  return out;
}

Headline headline_of(const LogCheck& check) {
  const Diagnosis& found = check.diagnosis;
  const std::string_view word = verdict_title(found.verdict);
  const std::string why = cause_text(found);
  switch (found.verdict) {
    case LogVerdict::kDidNotStart:
    case LogVerdict::kDied: return {Tone::kBad, word, why};
    case LogVerdict::kServesWithTrouble: return {Tone::kCareful, word, why};
    case LogVerdict::kAsPlanned: return {Tone::kGood, word, plural(check.compared, "exact figure") + " agree"};
    case LogVerdict::kLessRoom:
    case LogVerdict::kMoreRoom:
    case LogVerdict::kDiffers: return {Tone::kCareful, word, difference_text(check)};
    case LogVerdict::kStarted:
      return {Tone::kPlain, word,
              !why.empty()     ? why
              : check.has_plan ? "no figure in this log can be compared exactly with the plan"
                               : "no error in this log. Give the MODEL before the log to compare it with a plan"};
    case LogVerdict::kCannotTell: return {Tone::kPlain, word, "the log shows neither a start nor a failure"};
  }
  return {};
}

// The engine's own words, and how much memory is missing.
void add_cause(const Diagnosis& found, Page& page) {
  if (!found.cause) return;
  Sentences says{fmt::format("line {}: {}", found.cause->line_number, one_line(found.cause->words, 400))};
  for (const LogEvent& hint : found.hints)
    says.push_back(fmt::format("line {}: {}: {}", hint.line_number, one_line(hint.words, 120), event_text(hint)));
  for (const LogEvent& other : found.other_failures)
    says.push_back(fmt::format("line {}: {}", other.line_number, one_line(other.words, 200)));
  if (found.missing) says.push_back(gib(*found.missing) + " short");
  page.add("Why", Detail::kComment, std::move(says));
}

void add_remedies(const Diagnosis& found, Page& page) {
  if (found.remedies.empty()) return;
  Rows rows;
  for (const LogRemedy& remedy : found.remedies) {
    if (cure_option(remedy).empty()) continue;
    rows.push_back({cure_option(remedy), cure_effect(remedy)});
    page.remedies.push_back(rows.back().front());
  }
  const bool runs = found.verdict != LogVerdict::kDidNotStart && found.verdict != LogVerdict::kDied;
  page.add(runs ? "What helps" : "To make it start", Detail::kComment,
           titled_table({"change", "what it gives"}, 0, rows));
}

void add_beside(const Diagnosis& found, Page& page) {
  constexpr std::size_t kMost = 12;
  for (const LogEvent& event : found.other_events) {
    if (page.notes.size() >= kMost) break;
    if (const std::string text = event_text(event); !text.empty())
      page.notes.push_back({Tone::kFaint, fmt::format("line {}:", event.line_number), text});
  }
}

// Figures that agree have no explanation.
std::string remark_of(const LogLine& line, const std::string& error) {
  return line.predicted && error != kNoError ? line.reason : "";
}

void add_lines(const LogCheck& check, Page& page) {
  if (check.lines.empty()) return;
  PageTable table = check.has_plan
                        ? titled_table({"line", "what", "logged", "predicted", "error", "remark"}, 0b011101, {})
                        : titled_table({"line", "what", "logged"}, 0b101, {});
  if (check.has_plan) table.columns.back().kind = Column::Kind::kBelow;
  for (const FoldedLine& row : folded(check.lines)) {
    const LogLine& line = *row.first;
    std::vector<Text> cells{std::to_string(line.seen.line_number), subject_of(row),
                            figure(line.seen.value, line.seen.unit)};
    if (check.has_plan) {
      const std::string error = error_text(line);
      cells.push_back(line.predicted ? figure(*line.predicted, line.seen.unit) : "-");
      cells.push_back(error);
      cells.push_back(remark_of(line, error));
    }
    table.rows.push_back({std::move(cells), line.predicted || !check.has_plan ? Tone::kPlain : Tone::kFaint});
  }
  Block& block = page.add("Figures in the log", Detail::kScreen, std::move(table));
  if (check.total && check.total->parts.size() > 1) {
    const LogTotal& total = *check.total;
    const bool inside = total.low <= total.observed && total.observed <= total.high;
    block.remarks.push_back(fmt::format("all but the KV cache: {} in the log, {} planned ({} to {}): {} the range",
                                        gib(total.observed), gib(total.predicted), gib_number(total.low),
                                        gib(total.high), inside ? "inside" : "outside"));
  }
}

void add_next(const LogCheck& check, Page& page) {
  const std::string model = check.has_plan ? shell_word(check.plan.model->source) : "MODEL";
  std::string command = "kvplan " + model;
  if (!check.planned_as.empty()) command += " --engine " + check.planned_as;
  for (const LogRemedy& remedy : check.diagnosis.remedies)
    if (remedy.cure == LogCure::kShorterLength && !remedy.value.empty()) {
      command += " --max-model-len " + remedy.value;
      break;
    }
  if (check.diagnosis.missing && !check.planned_as.empty()) page.next.push_back(command + " --gpu NAME");
}

}  // namespace

Page check_log_page(const LogCheck& check) {
  Page page;
  if (check.has_plan) {
    const Plan& plan = check.plan;
    page.title = engine_text(plan);
    page.facts = fmt::format("{}, TP {}, KV {}", plural(plan.load.max_model_len.count(), "token"),
                             plan.request.parallel.tensor, name(plan.types.key));
    page.file = plan.model->source;
  } else {
    page.title = check.program;
  }
  if (!check.options.version.empty())
    page.about.push_back("release in the log: " + one_line(check.options.version, 40));
  if (!check.read.empty()) page.about.push_back("read from the log: " + join(check.read));
  for (const std::string& assumed : check.assumed) page.about.push_back("assumed: " + assumed);
  page.headlines.push_back(headline_of(check));
  add_cause(check.diagnosis, page);
  add_remedies(check.diagnosis, page);
  add_lines(check, page);
  add_beside(check.diagnosis, page);
  const bool lacks_budget = std::any_of(check.lines.begin(), check.lines.end(), [](const LogLine& line) {
    return line.seen.what == "kv_budget" && !line.predicted;
  });
  if (check.has_plan && lacks_budget && !check.plan.card && check.compared > 0)
    page.notes.push_back({Tone::kFaint, "note:", "add --gpu NAME to compare the KV cache budget, too"});
  for (const std::string& remark : check.remarks) page.notes.push_back({Tone::kFaint, "note:", remark});
  add_next(check, page);
  return page;
}

Reply reply_of(const LogCheck& check) {
  return reply_with(check_log_page, check);
}

}  // namespace kvplan
