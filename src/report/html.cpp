// The plan as one page to share: the verdict, the memory of each GPU as bars, KV against context for each KV type with
// the room that the card leaves, the frontier of sequences and context, the ledger.
#include <fmt/format.h>

#include <algorithm>

#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/part_names.h"
#include "report/report.h"
#include "report/rows.h"
#include "report/speed.h"
#include "report/text.h"

namespace kvplan {

namespace {

double in_gib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / kGiB;
}

std::string tile(std::string_view value, std::string_view what) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", html_escape(value), html_escape(what));
}

std::string tiles(const Plan& plan) {
  const KvCachePlan& kv = plan.kv_cache;
  std::string out = "<div class=\"tiles\">\n";
  out += tile(gib(plan.total.bytes), plan.memory.size() > 1 ? "in all, over every GPU" : "in all");
  out += tile(human_bytes(kv.bytes_per_token), "one more token");
  if (kv.bytes_per_sequence > Bytes(0)) out += tile(human_bytes(kv.bytes_per_sequence), "fixed state of a sequence");
  out += tile(human_bytes(kv.logical), "KV cache that the request needs");
  if (kv.reserved != kv.logical)
    out += tile(human_bytes(kv.reserved),
                fmt::format("that {} reserves{}", plan.request.engine, plan.memory.size() > 1 ? " on a GPU" : ""));
  if (plan.capacity) {
    const std::uint64_t longest = plan.capacity->max_model_len;
    out += tile(longest >= kAnyCount ? "any number" : grouped(longest),
                fmt::format("tokens: the longest context of {}", plural(plan.request.num_seqs, "sequence")));
    out += tile(fmt::format("{:.2f}", plan.capacity->max_concurrency),
                fmt::format("sequences of {} tokens in the room for KV", tokens_text(plan.load.max_model_len.count())));
  }
  return out + "</div>\n";
}

bool same_parts(const GpuMemory& a, const GpuMemory& b) {
  return std::all_of(kParts.begin(), kParts.end(), [&](const PartName& p) { return a.*p.bytes == b.*p.bytes; });
}

// GPUs with the same memory, next to each other, as first and last index.
std::vector<std::pair<std::size_t, std::size_t>> runs_of(const std::vector<GpuMemory>& memory) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!out.empty() && same_parts(memory[out.back().first], memory[i]))
      out.back().second = i;
    else
      out.emplace_back(i, i);
  }
  return out;
}

std::string gpu_title(const std::pair<std::size_t, std::size_t>& run) {
  return run.first == run.second ? fmt::format("GPU {}", run.first)
                                 : fmt::format("GPU {} to {}", run.first, run.second);
}

std::string bars(const Plan& plan) {
  std::vector<BarRow> drawn;
  for (const auto& run : runs_of(plan.memory)) drawn.push_back({gpu_title(run), &plan.memory[run.first]});
  std::string out = "<h2>Memory of each GPU</h2>\n" + html_bars(drawn, plan.card.value_or(Bytes(0)));

  std::vector<std::vector<std::string>> rows;
  for (const auto& run : runs_of(plan.memory)) {
    const GpuMemory& gpu = plan.memory[run.first];
    std::vector<std::string> row{gpu_title(run)};
    for (const PartName& part : kParts) row.push_back(gpu.*part.bytes ? gib_number(*(gpu.*part.bytes)) : "not known");
    row.push_back(gib_number(gpu.total));
    rows.push_back(std::move(row));
  }
  return out + html_rows({{"", false},
                          {"weights GiB", true},
                          {"KV cache GiB", true},
                          {"activations GiB", true},
                          {"runtime GiB", true},
                          {"total GiB", true}},
                         rows);
}

std::string host_html(const Plan& plan) {
  if (plan.host_total() == Bytes(0)) return "";
  std::vector<std::vector<std::string>> rows;
  for (const LedgerLine& line : plan.host)
    if (line.bytes > Bytes(0))
      rows.push_back({html_escape(line.what), gib_number(line.bytes), grouped(line.bytes.count()),
                      "<code>" + html_escape(line.formula) + "</code>", html_escape(line.source)});
  return fmt::format("<h2>Host memory: {}</h2>\n", gib(plan.host_total())) +
         html_rows({{"what", false}, {"GiB", true}, {"bytes", true}, {"formula", false}, {"source", false}}, rows);
}

std::string speed_html(const Plan& plan) {
  const std::string text = speed_section(plan);
  if (text.empty()) return "";
  const std::size_t first = std::min(text.find('\n'), text.size());
  std::string out = "<h2>" + html_escape(std::string_view(text).substr(0, first)) + "</h2>\n<pre>";
  // Line by line: a control character has no place in what is escaped.
  for (std::size_t at = first + 1; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += html_escape(std::string_view(text).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out + "</pre>\n";
}

// KV of the fullest GPU against context, a curve for the plan's KV type and for each that the engine's users choose.
std::string kv_curves(const Plan& plan) {
  const std::uint64_t asked = plan.load.max_model_len.count();
  Chart chart;
  chart.title = "KV cache against context, a curve for each KV type";
  chart.x_title = plan.load.pooled ? "tokens of the pool" : "tokens of a sequence";
  chart.y_title = fmt::format("KV GiB{}, {}", plan.memory.size() > 1 ? " of the fullest GPU" : "",
                              plural(plan.load.num_seqs, "sequence"));
  chart.x_is_tokens = true;
  for (const CacheCurve& curve : plan.curves) {
    if (chart.x.empty()) chart.x.assign(curve.tokens.begin(), curve.tokens.end());
    ChartSeries& series = chart.series.emplace_back(ChartSeries{curve.types, {}});
    for (const Bytes bytes : curve.bytes) series.y.push_back(in_gib(bytes));
  }
  if (plan.capacity) {
    chart.limit = in_gib(plan.capacity->kv_cache_memory);
    chart.limit_name = fmt::format("room for KV on the card: {}", gib(plan.capacity->kv_cache_memory));
  }
  if (asked < plan.model->max_model_len.count()) {
    chart.marked = static_cast<double>(asked);
    chart.marked_name = fmt::format("the request, {} tokens", grouped(asked));
  }
  const std::string figure = html_chart(chart);
  return figure.empty() ? "" : "<section>\n<h2>KV cache against context</h2>\n" + figure + "</section>\n";
}

std::string ledger(const Plan& plan) {
  std::string out = "<h2>Ledger</h2>\n";
  for (const auto& run : runs_of(plan.memory)) {
    const GpuMemory& gpu = plan.memory[run.first];
    std::vector<std::vector<std::string>> rows;
    for (const PartName& part : kParts)
      for (const LedgerLine& line : gpu.lines) {
        if (line.part != part.part) continue;
        rows.push_back({html_escape(line.what), std::string(part.name), gib_number(line.bytes),
                        grouped(line.bytes.count()),
                        line.low == line.high ? "" : gib_number(line.low) + " to " + gib_number(line.high),
                        "<code>" + html_escape(line.formula) + "</code>", html_escape(line.source)});
      }
    out += fmt::format("<details{}><summary>{}: {}</summary>\n", run.first == 0 ? " open" : "", gpu_title(run),
                       gib(gpu.total));
    out += html_rows({{"what", false},
                      {"part", false},
                      {"GiB", true},
                      {"bytes", true},
                      {"range GiB", true},
                      {"formula", false},
                      {"source", false}},
                     rows) +
           "</details>\n";
  }
  return out;
}

std::string layers_html(const Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const LayerFacts& layer : plan.layers)
    rows.push_back({html_escape(kind_of(layer)), grouped(layer.count), grouped(layer.bytes_per_token),
                    grouped(layer.bytes_per_sequence), layer.token_limit ? grouped(*layer.token_limit) : "",
                    html_escape(layer.indices)});
  return "<h2>Layers</h2>\n" + html_rows({{"kind", false},
                                          {"layers", true},
                                          {"bytes per token, of one", true},
                                          {"bytes per sequence, of one", true},
                                          {"stops at, tokens", true},
                                          {"which", false}},
                                         rows);
}

}  // namespace

std::string plan_html(const Plan& plan, const ReportOptions&) {
  std::string body = html_heading(plan) + html_verdict(plan) + tiles(plan) + bars(plan);
  body += "<div class=\"charts\">\n" + kv_curves(plan) + html_frontier(plan.frontier) + "</div>\n";
  body += ledger(plan) + host_html(plan) + speed_html(plan) + layers_html(plan) + html_notes(plan.notes);
  return html_page(page_title(*plan.model), body);
}

}  // namespace kvplan
