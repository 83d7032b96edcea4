// Blocks of plan and explain that are not about the cache: bounds of speed, host memory, the curve of contexts and
// sequences.
#include <fmt/format.h>

#include "report/pages/pages.h"

namespace kvplan {

// 0.034, 0.49, 1.4, 23, 1,480: two digits are enough for a bound.
static std::string number(double value) {
  constexpr double kCounted = 1e15;
  if (value >= kCounted) return fmt::format("{:.2g}", value);
  if (value >= 100) return grouped(static_cast<std::uint64_t>(value));
  return value >= 10 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

// A figure of the GPU or the user, without decimals unless it is small.
static std::string given(double value) {
  return value >= 10 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

static std::string rate(double tokens) {
  return number(tokens) + " tokens/s";
}

static std::string crossing_text(const Roofline& bounds) {
  if (!bounds.cache_outweighs_at) return "never";
  return plural(*bounds.cache_outweighs_at, "sequence");
}

static std::string first_token_text(const Roofline& bounds) {
  if (bounds.first_token_s)
    return "at least " + (*bounds.first_token_s < 1 ? number(*bounds.first_token_s * 1000) + " ms"
                                                    : number(*bounds.first_token_s) + " s");
  return bounds.prefill_flops > 0 ? "unknown (no TFLOPS for this GPU; --gpu-tflops)" : "unknown";
}

// What each bound depends on.
static void add_grounds(const Plan& plan, Rows& rows) {
  const Roofline& bounds = *plan.roofline;
  const Request& request = plan.request;
  std::string where = request.parallel.tensor > 1 ? "on each rank" : "";
  if (request.parallel.pipeline > 1) where += (where.empty() ? "" : ", ") + std::string("all stages of one rank");
  rows.push_back({"weights read per step", human_bytes(bounds.weights_read), where});
  if (bounds.weights_read_batch != bounds.weights_read)
    rows.push_back({"weights read per step, batch of " + grouped(plan.load.num_seqs),
                    human_bytes(bounds.weights_read_batch), "distinct experts in a batch: E * (1 - (1 - k/E)^B)"});
  rows.push_back({"KV cache read per step and sequence", human_bytes(bounds.cache_read),
                  request.parallel.tensor > 1 ? "on each rank" : ""});
  rows.push_back({"prefill", fmt::format("{:.3g} FLOPs", bounds.prefill_flops),
                  bounds.tflops ? fmt::format("at {} TFLOPS per GPU (dense, 16 bit)", given(*bounds.tflops)) : ""});
}

void add_speed(const Plan& plan, bool is_whole, Page& page) {
  if (!plan.roofline) return;
  const Roofline& bounds = *plan.roofline;
  const std::string length = grouped(plan.tokens_of_sequence().count());
  Rows rows;
  if (is_whole || bounds.num_seqs <= 1) rows.push_back({"1 sequence, empty context", rate(bounds.tokens_per_s_empty)});
  rows.push_back({fmt::format("1 sequence at {} tokens", length), rate(bounds.tokens_per_s)});
  if (bounds.num_seqs > 1)
    rows.push_back({plural(bounds.num_seqs, "sequence") + ", total", rate(bounds.tokens_per_s_batch)});
  if (is_whole) rows.push_back({"KV reads exceed weight reads from", crossing_text(bounds)});
  if (is_whole || bounds.first_token_s)
    rows.push_back({fmt::format("time to first token, {}-token prompt", length), first_token_text(bounds)});
  if (is_whole) add_grounds(plan, rows);
  Block& block = page.add(fmt::format("Speed, upper bounds ({} GB/s memory bandwidth)", given(bounds.bandwidth_gb_s)),
                          Detail::kScreen, facts_table(rows));
  if (bounds.host_gb_s > 0)
    block.remarks.push_back(fmt::format("Each step reads {} from host memory at {} GB/s{}.",
                                        human_bytes(bounds.host_read), given(bounds.host_gb_s),
                                        bounds.host_assumed ? " (assumed; --host-bandwidth sets it)" : ""));
}

void add_host(const Plan& plan, Page& page) {
  if (plan.host_total() == Bytes(0)) return;
  Rows rows;
  Rows items;
  for (const LedgerLine& line : plan.host) {
    if (line.bytes == Bytes(0)) continue;
    rows.push_back({in_words(line.what), human_bytes(line.bytes)});
    items.push_back({in_words(line.what), gib_number(line.bytes), grouped(line.bytes.count()), in_words(line.formula),
                     line.source});
  }
  PageTable summary = facts_table(rows);
  if (summary.rows.size() > 1) summary.rows.push_back({{"total", human_bytes(plan.host_total())}, Tone::kStrong});
  page.add("Host memory", Detail::kComment, std::move(summary));
  PageTable table = titled_table({"what", "GiB", "bytes", "formula", "source"}, 0b00110, items);
  table.columns[3].kind = Column::Kind::kBelow;
  page.add("Host memory, item by item: " + gib(plan.host_total()), Detail::kDocument, std::move(table)).is_folded =
      true;
}

void add_contexts_by_sequences(const ContextsBySequences& contexts, Page& page) {
  if (contexts.size() < 2) return;
  Chart chart;
  chart.title = "the longest context for each number of sequences";
  chart.x_title = "sequences at once";
  chart.y_title = "max context, tokens";
  chart.log_x = chart.log_y = chart.y_is_tokens = true;
  ChartSeries series{"max context", {}};
  Rows rows;
  for (const auto& [seqs, tokens] : contexts) {
    chart.x.push_back(static_cast<double>(seqs));
    series.y.push_back(static_cast<double>(tokens));
    rows.push_back({grouped(seqs), grouped(tokens)});
  }
  chart.series.push_back(std::move(series));
  page.add("Context vs sequences", Detail::kDocument, std::move(chart));
  page.add("Context vs sequences as a table", Detail::kDocument, titled_table({"sequences", "max context"}, 0b11, rows))
      .is_folded = true;
}

}  // namespace kvplan
