#include "report/html_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "kvplan/error.h"
#include "report/html_page.h"
#include "report/part_names.h"
#include "report/rows.h"
#include "report/text.h"

namespace kvplan {

std::string page_title(const ModelFacts& model) {
  return "kvplan: " + title_of(model);
}

std::string html_heading(const Plan& plan) {
  const ModelFacts& model = *plan.model;
  return fmt::format(
      "<h1>{}</h1>\n<p class=\"muted\">{}, {}, {}{}<br>{}</p>\n<p>{}</p>\n", html_escape(title_of(model)),
      plural(model.num_layers, "layer"), html_escape(plan.attention), name(model.dtype),
      model.max_model_len > Tokens(0) ? fmt::format(", up to {} tokens", grouped(model.max_model_len.count())) : "",
      html_escape(one_line(model.source, 300)), html_escape(request_text(plan)));
}

std::string html_verdict(const Plan& plan) {
  const VerdictReport& verdict = plan.verdict;
  if (verdict.status == Verdict::kUnknown) return "";
  const bool fits = verdict.status == Verdict::kFits;
  std::string text = verdict.reason;
  if (verdict.headroom) text += "; " + headroom_text(verdict);
  if (verdict.close) text += "; " + close_text(verdict);
  return fmt::format("<p class=\"verdict {}\">{} <span>{}</span></p>\n", fits ? "good" : "bad",
                     fits ? "Fits." : "Does not fit.", html_escape(text));
}

std::string html_notes(const std::vector<Note>& notes) {
  if (notes.empty()) return "";
  std::string out = "<h2>Notes</h2>\n";
  for (const Note& note : notes) {
    const bool warning = note.level == NoteLevel::kWarning;
    out += fmt::format("<p>{}{}</p>\n", warning ? "<b class=\"warn\">Warning:</b> " : "",
                       html_escape(one_line(note.message, 2000)));
  }
  return out;
}

std::string html_bars(const std::vector<BarRow>& rows, Bytes card) {
  Bytes widest = card;
  for (const BarRow& row : rows) widest = std::max(widest, row.gpu->total);
  if (widest == Bytes(0)) return "";
  const auto percent = [&](Bytes bytes) {
    return 100.0 * static_cast<double>(bytes.count()) / static_cast<double>(widest.count());
  };
  std::string out;
  for (const BarRow& row : rows) {
    std::string label;
    std::string inside;
    for (std::size_t p = 0; p < kParts.size(); ++p) {
      const std::optional<Bytes>& bytes = row.gpu->*kParts[p].bytes;
      if (!bytes) continue;
      label += fmt::format("{}{} {}", label.empty() ? "" : ", ", kParts[p].name, gib(*bytes));
      inside += fmt::format("<i class=\"p{}\" style=\"width:{:.3f}%\"></i>", p + 1, percent(*bytes));
    }
    if (card > Bytes(0)) inside += fmt::format("<u style=\"left:calc({:.3f}% - 2px)\"></u>", percent(card));
    out += fmt::format(
        "<div class=\"gpu\"><span>{}</span><div class=\"bar\" role=\"img\" aria-label=\"{}\">{}</div>"
        "<span>{}</span></div>\n",
        row.title, html_escape(label), inside, gib(row.gpu->total));
  }
  out += "<ul class=\"key\">";
  for (std::size_t p = 0; p < kParts.size(); ++p)
    out += fmt::format("<li><i class=\"p{}\"></i>{}</li>", p + 1, kParts[p].name);
  if (card > Bytes(0)) out += fmt::format("<li>dashed: the card's {}</li>", gib(card));
  return out + "</ul>\n";
}

std::string html_frontier(const Frontier& points) {
  if (points.size() < 2) return "";
  Chart chart;
  chart.title = "the longest context for each number of sequences";
  chart.x_title = "sequences at once";
  chart.y_title = "longest context that fits, tokens";
  chart.log_x = chart.log_y = chart.y_is_tokens = true;
  ChartSeries series{"longest context", {}};
  for (const auto& [seqs, tokens] : points) {
    chart.x.push_back(static_cast<double>(seqs));
    series.y.push_back(static_cast<double>(tokens));
  }
  chart.series.push_back(std::move(series));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [seqs, tokens] : points) rows.push_back({grouped(seqs), grouped(tokens)});
  return "<section>\n<h2>Frontier: sequences and context</h2>\n" + html_chart(chart) +
         "<details><summary>The points as a table</summary>\n" +
         html_rows({{"sequences", true}, {"longest context", true}}, rows) + "</details>\n</section>\n";
}

}  // namespace kvplan
