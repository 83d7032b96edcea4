// The page of a watched start: what each stage took, with the plan's and the log's figures.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"
#include "report/pages/pages.h"

namespace kvplan {

static std::string_view title_of(StartStage stage) {
  return nth_word(stage, "process and libraries|weights|peak of the profiling run|cache and graphs|until it serves",
                  '|');
}

static Headline headline_of(const WatchReport& report) {
  const Watched& seen = report.seen;
  switch (seen.status) {
    case WatchStatus::kDied: {
      const std::string how = seen.signal      ? fmt::format("signal {}", *seen.signal)
                              : seen.exit_code ? fmt::format("exit code {}", *seen.exit_code)
                                               : "its process is gone";
      return {Tone::kBad, "DIED", fmt::format("after {:.1f} s, {}", seen.seconds, how)};
    }
    case WatchStatus::kTooSlow:
      return {Tone::kBad, "NOT STARTED", fmt::format("not serving within {:.0f} s; kvplan stopped it", seen.seconds)};
    case WatchStatus::kStarted:
    case WatchStatus::kSteady: break;
  }
  const bool started = seen.status == WatchStatus::kStarted;
  const std::string what =
      fmt::format("{} after {:.1f} s: {}", started ? "serves" : "steady", seen.seconds, gib(seen.last));
  if (std::none_of(report.lines.begin(), report.lines.end(), [](const WatchedLine& line) { return line.is_judged; }))
    return {Tone::kPlain, started ? "STARTED" : "RUNS", what + "; nothing to compare with the plan"};
  return report.agrees ? Headline{Tone::kGood, "AS PLANNED", what} : Headline{Tone::kBad, "NOT AS PLANNED", what};
}

static std::string range_text(const WatchedLine& line) {
  if (line.low == line.high) return gib(line.planned);
  return fmt::format("{} ({} to {})", gib(line.planned), gib_number(line.low), gib_number(line.high));
}

static void add_stages(const Watched& seen, Page& page) {
  Rows rows;
  for (const WatchedStage& stage : seen.stages)
    rows.push_back({title_of(stage.stage), fmt::format("{:.1f} s", stage.seconds), gib(stage.after),
                    signed_size(stage.grew()), gib(stage.peak)});
  if (rows.empty()) return;
  page.add("Stages of the start: " + seen.counter, Detail::kScreen,
           titled_table({"stage", "ends at", "memory", "grew by", "peak"}, 0b11110, rows));
}

static void add_lines(const WatchReport& report, Page& page) {
  if (report.lines.empty()) return;
  Rows rows;
  bool has_unjudged = false;
  for (const WatchedLine& line : report.lines) {
    const std::string name = line.is_whole                      ? "total"
                             : line.stage == StartStage::kCache ? "cache and graphs"
                                                                : std::string(title_of(line.stage));
    rows.push_back({name, range_text(line), line.logged ? gib(*line.logged) : "-", signed_size(line.seen),
                    !line.is_judged  ? "not judged"
                    : line.is_inside ? "agrees"
                                     : "differs"});
    has_unjudged = has_unjudged || !line.is_judged;
  }
  Block& block = page.add("Compared with the plan", Detail::kComment,
                          titled_table({"part", "planned", "logged", "watched", ""}, 0b01110, rows));
  if (report.seen.is_host && has_unjudged)
    block.remarks.emplace_back(
        "resident memory counts only pages that were touched, so a cache that was not written yet does not show");
}

// Memory over time: a bar for each of several moments, for any terminal.
static void add_curve(const Watched& seen, Page& page) {
  if (seen.curve.size() < 2) return;
  constexpr std::size_t kMost = 12;
  const std::size_t moments = std::min(kMost, seen.curve.size());
  Bars bars;
  bars.value_title = "GiB";
  for (std::size_t i = 0; i < moments; ++i) {
    const MemorySample& sample = seen.curve[i * (seen.curve.size() - 1) / (moments - 1)];
    bars.rows.push_back(
        {fmt::format("{:.1f} s", sample.seconds), gib_number(sample.memory), "", {{Section::kWeights, sample.memory}}});
  }
  page.add("Memory over time", Detail::kScreen, std::move(bars));
  Chart chart;
  chart.title = "memory over time";
  chart.x_title = "seconds";
  chart.y_title = "GiB";
  ChartSeries& series = chart.series.emplace_back(ChartSeries{"memory", {}});
  for (const MemorySample& sample : seen.curve) {
    chart.x.push_back(sample.seconds);
    series.y.push_back(static_cast<double>(sample.memory.count()) / kGiB);
  }
  page.add("Memory over time", Detail::kDocument, std::move(chart));
}

static Page watch_page(const WatchReport& report) {
  Page page;
  if (report.seen.status == WatchStatus::kDied || report.check.disagreements > 0) page = check_log_page(report.check);
  page.title = engine_text(report.plan);
  page.file = report.plan.model->source;
  page.headlines.insert(page.headlines.begin(), headline_of(report));
  if (!report.seen.is_host)
    page.about.emplace_back("not yet tested with an engine on a real GPU, only with a simulated driver");
  Page own;
  add_lines(report, own);
  add_stages(report.seen, own);
  add_curve(report.seen, own);
  page.blocks.insert(page.blocks.begin(), std::make_move_iterator(own.blocks.begin()),
                     std::make_move_iterator(own.blocks.end()));
  for (const std::string& remark : report.seen.remarks) page.notes.push_back({Tone::kCareful, "warning:", remark});
  if (!report.seen.log_file.empty())
    page.notes.push_back({Tone::kFaint, "note:", "what it printed is in " + one_line(report.seen.log_file, 200)});
  return page;
}

Reply reply_of(const WatchReport& report) {
  return reply_with(watch_page, report);
}

}  // namespace kvplan
