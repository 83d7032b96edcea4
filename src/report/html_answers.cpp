// Pages of many plans: a fleet, the types side by side, what fits.
#include <fmt/format.h>

#include <algorithm>

#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/report.h"
#include "report/rows.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string verdict_word(const Plan& plan) {
  if (plan.verdict.status == Verdict::kUnknown) return "";
  return plan.verdict.status == Verdict::kFits ? "<b class=\"good\">fits</b>" : "<b class=\"bad\">does not fit</b>";
}

// Rows of plain text, the first with the titles; columns from `text` columns on are numbers but for the last `tail`.
std::string table_of(const Rows& rows, std::size_t text, std::size_t tail) {
  std::vector<HtmlColumn> columns;
  for (std::size_t c = 0; c < rows.front().size(); ++c)
    columns.push_back({rows.front()[c], c >= text && c + tail < rows.front().size()});
  Rows cells(rows.begin() + 1, rows.end());
  for (auto& row : cells)
    for (std::string& cell : row) cell = html_escape(cell);
  return html_rows(columns, cells);
}

std::string sentences(const Answers& answers) {
  std::string out;
  for (const std::string& sentence : answers.sentences) out += "<p>" + html_escape(sentence) + "</p>\n";
  return out;
}

std::string answer_bars(const Answers& answers, std::string (*title)(const Answer& answer)) {
  std::vector<BarRow> rows;
  for (const Answer& answer : answers.answers) rows.push_back({html_escape(title(answer)), &answer.plan.fullest()});
  const std::string bars = html_bars(rows, answers.asked.card.value_or(Bytes(0)));
  return bars.empty() ? "" : "<h2>Memory of the fullest GPU</h2>\n<div class=\"wide\">\n" + bars + "</div>\n";
}

}  // namespace

std::string fleet_html(const std::vector<FleetEntry>& entries, const ReportOptions&) {
  std::vector<BarRow> bars;
  Bytes card;
  Rows rows;
  std::string errors;
  for (const FleetEntry& entry : entries) {
    const std::string source = html_escape(one_line(entry.source, 300));
    if (!entry.plan) {
      errors += "<p><b class=\"bad\">Not planned:</b> " + html_escape(one_line(entry.error, 400)) + "</p>\n";
      continue;
    }
    const Plan& plan = *entry.plan;
    const KvCachePlan& kv = plan.kv_cache;
    std::string short_name = one_line(entry.source, 300);
    if (const auto slash = short_name.find_last_of('/'); slash != std::string::npos && slash + 1 < short_name.size())
      short_name = short_name.substr(slash + 1);
    bars.push_back({html_escape(short_name), &plan.fullest()});
    card = std::max(card, plan.card.value_or(Bytes(0)));
    rows.push_back({source, html_escape(plan.attention), grouped(plan.model->num_layers),
                    grouped(kv.bytes_per_token.count()), grouped(kv.bytes_per_sequence.count()),
                    grouped(plan.load.max_model_len.count()), gib_number(kv.reserved_total),
                    gib_number(plan.total.bytes), verdict_word(plan)});
  }
  std::string body = fmt::format("<h1>{}</h1>\n", plural(entries.size(), "model"));
  if (!rows.empty()) {
    body += fmt::format("<p class=\"muted\">{} at once, {} {}</p>\n",
                        plural(entries[0].plan ? entries[0].plan->request.num_seqs : 1, "sequence"),
                        entries[0].plan ? entries[0].plan->request.engine : "",
                        entries[0].plan ? entries[0].plan->engine_version : "");
    body += "<h2>Memory of the fullest GPU</h2>\n<div class=\"wide\">\n" + html_bars(bars, card) + "</div>\n";
    body += "<h2>Models</h2>\n" + html_rows({{"model", false},
                                             {"attention", false},
                                             {"layers", true},
                                             {"B per token", true},
                                             {"B per sequence", true},
                                             {"tokens", true},
                                             {"KV GiB, all GPUs", true},
                                             {"total GiB, all GPUs", true},
                                             {"verdict", false}},
                                            rows);
  }
  return html_page("kvplan: " + plural(entries.size(), "model"), body + errors);
}

std::string grid_html(const Grid& grid, const ReportOptions&) {
  std::vector<HtmlColumn> columns;
  for (const std::string& title : grid_row_titles(grid)) columns.push_back({title, false});
  for (const GridCard& card : grid.cards) columns.push_back({html_escape(card.name), true});
  Rows rows;
  std::string errors;
  for (const GridRow& row : grid.rows) {
    if (row.cells.empty()) {
      errors += "<p><b class=\"bad\">Not planned:</b> " + html_escape(one_line(row.error, 400)) + "</p>\n";
      continue;
    }
    std::vector<std::string>& cells = rows.emplace_back();
    for (const std::string& text : grid_row_names(grid, row)) cells.push_back(html_escape(text));
    for (const GridCell& cell : row.cells) {
      const std::string text = html_escape(grid_cell_text(row, cell));
      const bool is_known = cell.error.empty() && cell.verdict.status != Verdict::kUnknown;
      const std::string_view sort = cell.verdict.status == Verdict::kFits ? "good" : "bad";
      cells.push_back(is_known ? fmt::format("<b class=\"{}\">{}</b>", sort, text) : text);
    }
  }
  std::string body = "<h1>Models and cards</h1>\n<p class=\"muted\">" + html_escape(grid_legend(grid)) + "</p>\n";
  if (!rows.empty()) body += html_rows(columns, rows);
  return html_page("kvplan: models and cards", body + errors);
}

std::string compare_html(const Answers& answers, const ReportOptions&) {
  std::string body = html_heading(answers.asked) + html_verdict(answers.asked) + sentences(answers);
  body += "<h2>Weight types and KV types</h2>\n" +
          table_of(compare_rows(answers), 2, compare_rows(answers).front().back() == "rough loss" ? 1 : 0) +
          "<p class=\"small muted\">* as the checkpoint is</p>\n";
  body += answer_bars(answers, [](const Answer& answer) {
    return fmt::format("{} x {}", answer.plan.weights_dtype, cache_types_name(answer.plan.types));
  });
  return html_page(page_title(*answers.asked.model), body + html_notes(answers.asked.notes));
}

std::string fit_html(const Answers& answers, const ReportOptions&) {
  std::string body = html_heading(answers.asked) + html_verdict(answers.asked) + sentences(answers);
  body += html_frontier(answers.frontier);
  body += "<h2>What fits</h2>\n" + table_of(fit_rows(answers), 2, 0);
  return html_page(page_title(*answers.asked.model), body + html_notes(answers.asked.notes));
}

}  // namespace kvplan
