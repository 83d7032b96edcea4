// The page of a GPU's measurement.
#include <fmt/format.h>

#include "report/pages/pages.h"

namespace kvplan {

static std::string speed(const Figure& figure) {
  return fmt::format("{:.0f} GB/s ({} passes, {:.0f} to {:.0f})", figure.mean / 1e9, figure.n, figure.low / 1e9,
                     figure.high / 1e9);
}

static Page card_page(const CardMeasurement& seen) {
  Page page;
  page.title = seen.name;
  page.headlines.push_back({seen.is_disturbed ? Tone::kBad : Tone::kGood, seen.is_disturbed ? "DISTURBED" : "MEASURED",
                            fmt::format("{} on {}: {} for programs", seen.name, seen.id, gib(seen.usable))});
  if (seen.id.starts_with("hip"))
    page.about.emplace_back("not yet tested on a real AMD GPU, only with a simulated driver");
  Rows rows;
  const auto row = [&](const char* what, std::string text) { rows.push_back({what, std::move(text)}); };
  if (!seen.driver.empty()) row("driver", seen.driver);
  if (!seen.facts.uuid.empty()) row(seen.facts.is_slice ? "UUID, of a slice (MIG)" : "UUID", seen.facts.uuid);
  if (seen.facts.corrects_errors) row("ECC", *seen.facts.corrects_errors ? "on" : "off");
  if (seen.facts.is_integrated) row("memory", "main memory (integrated GPU)");
  if (seen.nominal > Bytes(0)) row("memory, as the driver reports it", gib(seen.nominal));
  if (seen.facts.reserved) row("kept by the driver", human_bytes(*seen.facts.reserved));
  row("memory that a program sees", gib(seen.usable));
  row("free", gib(seen.free));
  const std::uint64_t programs = seen.other_processes.value_or(0);
  row(programs > 0 ? "in use by other programs, still running" : "in use by other programs",
      human_bytes(seen.used_by_others));
  if (seen.context)
    row("used by a context",
        human_bytes(*seen.context) + (seen.facts.is_by_process ? ", by process" : ", by the GPU's counter"));
  for (const ContextStage& stage : seen.facts.stages) rows.push_back({"  " + stage.what, human_bytes(stage.took)});
  row("granularity, as the driver reports it", human_bytes(seen.granularity));
  if (seen.read.n > 0) row("read by a kernel", speed(seen.read));
  if (seen.copy.n > 0) row("copied (read and written)", speed(seen.copy));
  page.add("GPU", Detail::kScreen, facts_table(rows));
  Rows probes;
  for (const SizeProbe& probe : seen.probes) probes.push_back({human_bytes(probe.asked), human_bytes(probe.took)});
  if (!probes.empty())
    page.add("What allocations take", Detail::kScreen, titled_table({"requested", "taken"}, 0b11, probes));
  for (const std::string& remark : seen.remarks) page.notes.push_back({Tone::kCareful, "warning:", remark});
  return page;
}

Reply reply_of(const CardMeasurement& seen) {
  return reply_with(card_page, seen);
}

}  // namespace kvplan
