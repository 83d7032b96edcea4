// The page of a measurement, with the plan's figures.
#include <fmt/format.h>

#include <algorithm>

#include "report/pages/pages.h"

namespace kvplan {

// "+2.00 MiB (0.05 %)"; "none".
static std::string difference_text(std::int64_t bytes, Bytes planned) {
  if (bytes == 0) return "none";
  const auto size = static_cast<double>(without_sign(bytes).count());
  const double share = planned == Bytes(0) ? 1 : size / static_cast<double>(planned.count());
  return fmt::format("{} ({:.2f} %)", signed_size(bytes), 100 * share);
}

static std::string speed_text(double bytes_a_second) {
  return fmt::format("{} GB/s", bytes_a_second >= 1e11 ? grouped(static_cast<std::uint64_t>(bytes_a_second / 1e9))
                                                       : fmt::format("{:.1f}", bytes_a_second / 1e9));
}

static std::string tokens_of(std::uint64_t tokens, std::uint64_t sequences) {
  return fmt::format("{} tokens x {}", grouped(tokens), plural(sequences, "sequence"));
}

static Headline headline_of(const Measurement& seen) {
  Headline out{Tone::kBad, "", ""};
  switch (seen.status) {
    case MeasureStatus::kAgrees: out = {Tone::kGood, "AGREES", ""}; break;
    case MeasureStatus::kDisagrees: out.word = "DISAGREES"; break;
    case MeasureStatus::kRefused: out.word = "NOT MEASURED"; break;
    case MeasureStatus::kFailed: out.word = "FAILED"; break;
  }
  std::string says;
  if (seen.status == MeasureStatus::kAgrees || seen.status == MeasureStatus::kDisagrees)
    says = fmt::format("{} measured, {} planned: {:+.3f} % (tolerance {:g} %)", human_bytes(seen.measured),
                       human_bytes(seen.planned), 100 * seen.difference(), 100 * seen.tolerance);
  if (!seen.reason.empty()) says += (says.empty() ? "" : "; ") + seen.reason;
  out.says = says;
  return out;
}

static void add_device(const Plan& plan, const Measurement& seen, Page& page) {
  Rows facts;
  if (seen.device.nominal > Bytes(0)) facts.push_back({"memory, as the driver reports it", gib(seen.device.nominal)});
  facts.push_back({"memory that a program sees", gib(seen.device.usable)});
  if (seen.device.context) facts.push_back({"used by opening the device", human_bytes(*seen.device.context)});
  if (seen.device.context && seen.planned_context)
    facts.push_back({"planned for it, with libraries", human_bytes(*seen.planned_context)});
  facts.push_back({"free before the measurement", human_bytes(seen.free)});
  // Memory that a driver keeps for itself belongs to no process.
  constexpr std::uint64_t kDriversOwn = 16 * kMiB;
  const std::uint64_t programs = seen.other_processes.value_or(0);
  if (seen.used_by_others.count() >= kDriversOwn || programs > 0)
    facts.push_back(
        {programs > 0 ? "in use by other programs (" + plural(programs, "program") + ")" : "in use by other programs",
         human_bytes(seen.used_by_others)});
  facts.push_back({"allocation granularity", human_bytes(seen.device.granularity)});
  Block& block = page.add(fmt::format("Measured on {}: {}{}", seen.device.id, seen.device.name,
                                      seen.device.driver.empty() ? "" : ", driver " + seen.device.driver),
                          Detail::kComment, facts_table(facts));
  if (plan.memory.size() > 1) block.remarks.push_back(fmt::format("GPU {} of {}", seen.gpu, plan.memory.size()));
  if (!seen.scaled.empty())
    block.remarks.push_back("at a smaller scale, " + tokens_of(seen.max_model_len, seen.num_seqs) + ": " + seen.scaled);
}

// What the engine allocates at its start, step by step, and where that stopped.
static void add_rehearsal(const Rehearsal& seen, Page& page) {
  Rows rows;
  for (const RehearsedStep& step : seen.steps)
    rows.push_back({step.what, human_bytes(step.planned), human_bytes(step.asked), grouped(step.blocks),
                    step.held == step.blocks ? "allocated" : grouped(step.held) + " allocated"});
  page.add("Allocating what the engine allocates at its start", Detail::kScreen,
           titled_table({"step", "planned", "requested", "blocks", ""}, 0b01110, rows, {1}));
  const std::string all_there =
      "with the GPU's memory as it is now, the plan starts and leaves " + human_bytes(seen.spare) + " free";
  switch (seen.status) {
    case RehearsalStatus::kStarts:
      page.notes.push_back({Tone::kGood, "now:", all_there + ": everything was allocated at the same time"});
      break;
    case RehearsalStatus::kTight:
      page.notes.push_back(
          {Tone::kPlain, "now:",
           all_there + ", by calculation: kvplan did not allocate the last part, to leave other programs some memory"});
      break;
    case RehearsalStatus::kStops:
      page.notes.push_back({Tone::kBad, "now:",
                            "with the GPU's memory as it is now, the plan fails at " + seen.stopped +
                                (seen.missing > Bytes(0) ? ": " + human_bytes(seen.missing) + " short" : "") +
                                (seen.reason.empty() ? "" : " (" + seen.reason + ")")});
      break;
  }
}

// Whether the whole plan would start next to what is on the GPU now. This is computed, without allocating.
static void add_start(const Plan& plan, const Measurement& seen, Page& page) {
  if (seen.device.id == "host" || seen.gpu >= plan.memory.size() || seen.status == MeasureStatus::kFailed) return;
  Bytes wanted = plan.memory[seen.gpu].total;
  for (const LedgerLine& line : plan.memory[seen.gpu].lines)
    if (line.id == LineId::kContext && seen.device.context)
      wanted = wanted - std::min(line.bytes, *seen.device.context);
  const Bytes left = seen.free > wanted ? seen.free - wanted : Bytes(0);
  const Bytes missing = wanted > seen.free ? wanted - seen.free : Bytes(0);
  page.notes.push_back(
      {missing > Bytes(0) ? Tone::kBad : Tone::kPlain, "now:",
       missing > Bytes(0)
           ? "with the GPU's memory as it is now, the plan does not start: " + human_bytes(missing) + " short"
           : "with the GPU's memory as it is now, the plan starts and leaves " + human_bytes(left) + " free"});
}

static void add_lines(const Measurement& seen, Page& page) {
  Sentences remarks;
  Rows rows;
  for (const MeasuredLine& line : seen.lines) {
    const bool reached = line.measured > Bytes(0) || seen.status != MeasureStatus::kFailed;
    rows.push_back({line.what, grouped(line.buffers), human_bytes(line.planned),
                    reached ? human_bytes(line.measured) : "-",
                    reached ? difference_text(line.difference(), line.planned) : "-"});
    const bool is_told = std::any_of(seen.lines.data(), &line,
                                     [&](const MeasuredLine& earlier) { return earlier.reason == line.reason; });
    if (!line.reason.empty() && !is_told) remarks.push_back(line.what + ": " + line.reason);
  }
  if (seen.bandwidth.n > 0)
    remarks.push_back(fmt::format("streamed at {} ({} passes, {} to {})", speed_text(seen.bandwidth.mean),
                                  seen.bandwidth.n, speed_text(seen.bandwidth.low), speed_text(seen.bandwidth.high)));
  if (seen.maximum) {
    const MeasuredMaximum& most = *seen.maximum;
    remarks.push_back(fmt::format("the KV cache by itself can be allocated up to {}, {}; the limit is {}",
                                  tokens_of(most.max_model_len, most.num_seqs), human_bytes(most.bytes),
                                  most.limited_by));
  }
  if (rows.empty()) {
    if (!remarks.empty()) page.add("", Detail::kComment, std::move(remarks));
    return;
  }
  page.add("", Detail::kComment,
           titled_table({"cache", "buffers", "planned", "measured", "difference"}, 0b11110, rows, {1}),
           std::move(remarks));
}

void add_measurement(const Plan& plan, Page& page) {
  const Measurement& seen = *plan.measurement;
  page.headlines.push_back(headline_of(seen));
  add_device(plan, seen, page);
  if (seen.rehearsal)
    add_rehearsal(*seen.rehearsal, page);
  else
    add_start(plan, seen, page);
  if (seen.device.id != "host")
    page.notes.push_back(
        {Tone::kFaint, "note:",
         std::string("estimates are taken from the plan; --watch measures them") +
             (seen.device.id.starts_with("hip") ? ". Measuring is not yet tested on a real AMD GPU" : "")});
  add_lines(seen, page);
}

}  // namespace kvplan
