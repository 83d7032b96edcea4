// CSV: bytes as integers, one header line.
#include <algorithm>

#include "report/report.h"
#include "report/words.h"

namespace kvplan {

namespace {

// RFC 4180: quote what holds a comma, a quote or a line end.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string bytes(const std::optional<Bytes>& value) {
  return value ? std::to_string(value->count()) : "";
}

std::string_view verdict_word(Verdict verdict) {
  return verdict == Verdict::kUnknown ? "unknown" : verdict == Verdict::kFits ? "fits" : "does_not_fit";
}

constexpr std::string_view kColumns =
    "attention,engine,max_model_len,num_seqs,weights_dtype,kv_cache_dtype,bytes_per_token,bytes_per_sequence,"
    "logical_bytes,reserved_bytes,gpus,weights_bytes,kv_cache_bytes,activation_bytes,runtime_bytes,total_bytes,"
    "capacity_tokens,longest_context,most_sequences,verdict,close,total_low_bytes,total_high_bytes,host_bytes,"
    "tokens_per_s,tokens_per_s_batch";

// As many fields as a plan has, for what has none.
std::string no_fields() {
  return std::string(static_cast<std::size_t>(std::count(kColumns.begin(), kColumns.end(), ',')), ',');
}

// The parts, the total and its range are of the fullest GPU.
std::string plan_fields(const Plan& plan) {
  const GpuMemory& gpu = plan.fullest();
  Bytes low;
  Bytes high;
  for (const LedgerLine& line : gpu.lines) {
    low += line.low;
    high += line.high;
  }
  const KvCachePlan& kv = plan.kv_cache;
  std::string out = plan.attention + "," + plan.request.engine + "," + std::to_string(plan.load.max_model_len.count()) +
                    "," + std::to_string(plan.request.num_seqs) + "," + field(plan.weights_dtype) + "," +
                    std::string(name(plan.types.key)) + "," + std::to_string(kv.bytes_per_token.count()) + "," +
                    std::to_string(kv.bytes_per_sequence.count()) + "," + std::to_string(kv.logical.count()) + "," +
                    std::to_string(kv.reserved.count()) + "," + std::to_string(plan.memory.size());
  for (const auto& part : {gpu.weights, gpu.kv_cache, gpu.activation, gpu.runtime}) out += "," + bytes(part);
  out += "," + std::to_string(gpu.total.count());
  out += "," + (plan.capacity && plan.capacity->tokens ? std::to_string(*plan.capacity->tokens) : "");
  // Nothing where any number fits.
  const auto most = [&](std::uint64_t n) { return n < kAnyCount ? std::to_string(n) : std::string(); };
  out += "," + (plan.capacity ? most(plan.capacity->max_model_len) : "");
  out += "," + (plan.capacity ? most(plan.capacity->max_num_seqs) : "");
  out += "," + std::string(verdict_word(plan.verdict.status)) + (plan.verdict.close ? ",true" : ",false");
  out += "," + std::to_string(low.count()) + "," + std::to_string(high.count()) + "," +
         std::to_string(plan.host_total().count());
  // Bounds, whole tokens: no form of a double differs between machines then.
  const auto whole = [](double value) { return std::to_string(static_cast<std::uint64_t>(value)); };
  return out + "," + (plan.roofline ? whole(plan.roofline->tokens_per_s) : "") + "," +
         (plan.roofline ? whole(plan.roofline->tokens_per_s_batch) : "");
}

}  // namespace

// A line for each cell.
std::string grid_csv(const Grid& grid, const ReportOptions&) {
  std::string out =
      "source,error,engine,weights_dtype,kv_cache_dtype,max_model_len,num_seqs,gpu,gpu_count,tensor_parallel_size,"
      "pipeline_parallel_size,verdict,headroom_bytes,total_bytes,longest_context,most_sequences\n";
  for (const GridRow& row : grid.rows) {
    const std::string head = "," + row.engine + "," + field(row.weights) + ",";
    if (row.cells.empty()) out += field(row.source) + "," + field(row.error) + head + ",,,,,,,,,,,\n";
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const GridCell& cell = row.cells[c];
      out += field(row.source) + "," + field(cell.error) + head;
      if (!cell.error.empty()) {
        out += ",,," + field(grid.cards[c].name) + ",,,,,,,,\n";
        continue;
      }
      const auto add = [&](std::uint64_t n) { out += "," + std::to_string(n); };
      out += name(row.types.key);
      add(row.max_model_len);
      add(grid.num_seqs);
      out += "," + field(grid.cards[c].name);
      add(grid.gpu_count);
      add(cell.tensor_parallel);
      add(cell.pipeline_parallel);
      out += "," + std::string(verdict_word(cell.verdict.status)) + ",";
      if (cell.verdict.headroom) out += std::to_string(*cell.verdict.headroom);
      add(cell.total.count());
      add(cell.longest);
      add(cell.most_seqs);
      out += "\n";
    }
  }
  return out;
}

std::string plan_csv(const Plan& plan, const ReportOptions&) {
  return "source," + std::string(kColumns) + "\n" + field(plan.model->source) + "," + plan_fields(plan) + "\n";
}

std::string fleet_csv(const std::vector<FleetEntry>& entries, const ReportOptions&) {
  std::string out = "source,error," + std::string(kColumns) + "\n";
  for (const FleetEntry& entry : entries)
    out += field(entry.source) + "," + field(entry.error) + "," +
           (entry.plan ? plan_fields(*entry.plan) : no_fields()) + "\n";
  return out;
}

std::string fits_csv(const std::vector<FitEntry>& entries, const ReportOptions&) {
  std::string out = "source,error,gpu,answer," + std::string(kColumns) + "\n";
  for (const FitEntry& entry : entries) {
    if (!entry.answers) out += field(entry.source) + "," + field(entry.error) + ",,," + no_fields() + "\n";
    if (!entry.answers) continue;
    for (const Answer& answer : entry.answers->answers)
      out += field(entry.source) + ",," + field(answer.plan.request.gpu.value_or("")) + "," + field(answer.name) + "," +
             plan_fields(answer.plan) + "\n";
  }
  return out;
}

std::string answers_csv(const Answers& answers, const ReportOptions&) {
  std::string out = "source,answer," + std::string(kColumns) + "\n";
  for (const Answer& answer : answers.answers)
    out += field(answers.asked.model->source) + "," + field(answer.name) + "," + plan_fields(answer.plan) + "\n";
  return out;
}

}  // namespace kvplan
