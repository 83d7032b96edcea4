// Workflow annotations: one line that a pull request shows, and one for each warning.
#include <fmt/format.h>

#include "report/report.h"
#include "report/rows.h"
#include "report/text.h"

namespace kvplan {

namespace {

// The data of a workflow command ends at a line end and at a percent sign.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else
      out += c;
  }
  return out;
}

std::string property(std::string_view text) {
  std::string out;
  for (const char c : escaped(text)) {
    if (c == ':')
      out += "%3A";
    else if (c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

std::string annotation(std::string_view level, std::string_view file, std::string_view title,
                       std::string_view message) {
  return fmt::format("::{} file={},title={}::{}\n", level, property(file), property(title), escaped(message));
}

}  // namespace

std::string plan_github(const Plan& plan, const ReportOptions&) {
  Bytes fullest;
  for (const GpuMemory& gpu : plan.memory) fullest = std::max(fullest, gpu.total);
  const bool broken = plan.verdict.status == Verdict::kDoesNotFit;
  std::string message = fmt::format(
      "{} on {} for {} of {} in {}", gib(fullest),
      plan.memory.size() == 1 ? "the GPU" : fmt::format("the fullest of {} GPUs", plan.memory.size()),
      plural(plan.request.num_seqs, "sequence"), plural(plan.load.max_model_len.count(), "token"), plan.request.engine);
  if (plan.verdict.status != Verdict::kUnknown) message += ": " + plan.verdict.reason;
  if (plan.verdict.close) message += "; " + close_text(plan.verdict);
  std::string out = annotation(broken ? "error" : "notice", one_line(plan.model->source),
                               broken ? "kvplan: does not fit" : "kvplan", message);
  for (const Note& note : plan.notes)
    if (note.level == NoteLevel::kWarning)
      out += annotation("warning", one_line(plan.model->source), "kvplan: " + note.code, note.message);
  return out;
}

std::string diff_github(const PlanDiff& diff) {
  const std::string& file = diff.after.model_file.empty() ? diff.after.source : diff.after.model_file;
  return annotation(diff.is_too_much ? "error" : "notice", one_line(file, 4096),
                    diff.is_too_much ? "kvplan: memory grew too much" : "kvplan", diff_headline(diff));
}

std::string fleet_github(const std::vector<FleetEntry>& entries, const ReportOptions& options) {
  std::string out;
  for (const FleetEntry& entry : entries)
    out += entry.plan ? plan_github(*entry.plan, options)
                      : annotation("error", one_line(entry.source), "kvplan", entry.error);
  return out;
}

}  // namespace kvplan
