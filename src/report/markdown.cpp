// Markdown, for a pull-request comment.
#include <fmt/format.h>

#include "report/report.h"
#include "report/rows.h"
#include "report/text.h"

namespace kvplan {

namespace {

// Text from a file name or a config must not end a cell or start markup.
std::string escaped(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : one_line(text, most)) {
    if (c == '|' || c == '`' || c == '<' || c == '*' || c == '_' || c == '[') out += '\\';
    out += c;
  }
  return out;
}

std::string cell(std::string_view text) {
  return escaped(text, 120);
}

// Outside of tables there is room for all of it.
std::string sentence(std::string_view text) {
  return escaped(text, 2000);
}

std::string part(const std::optional<Bytes>& bytes) {
  return bytes ? gib(*bytes) : std::string("-");
}

std::string_view verdict_word(const Plan& plan) {
  if (plan.verdict.status == Verdict::kUnknown) return "-";
  return plan.verdict.status == Verdict::kFits ? "fits" : "**does not fit**";
}

}  // namespace

std::string grid_markdown(const Grid& grid, const ReportOptions&) {
  const std::vector<std::string> titles = grid_row_titles(grid);
  std::string out = "|";
  for (const std::string& title : titles) out += " " + title + " |";
  for (const GridCard& card : grid.cards) out += " " + cell(card.name) + " |";
  out += "\n|";
  for (std::size_t c = 0; c < titles.size(); ++c) out += "---|";
  for (std::size_t c = 0; c < grid.cards.size(); ++c) out += "---:|";
  out += "\n";
  for (const GridRow& row : grid.rows) {
    out += "|";
    for (const std::string& text : grid_row_names(grid, row)) out += " " + cell(text) + " |";
    for (std::size_t c = 0; c < grid.cards.size(); ++c)
      out += c < row.cells.size() ? " " + cell(grid_cell_text(row, row.cells[c])) + " |"
             : c == 0             ? " " + cell(row.error) + " |"
                                  : " |";
    out += "\n";
  }
  return out + "\n" + escaped(grid_legend(grid), 1000) + "\n";
}

std::string plan_markdown(const Plan& plan, const ReportOptions&) {
  std::string out =
      fmt::format("### {}: {} layers, {}\n\n", cell(title_of(*plan.model)), plan.model->num_layers, plan.attention);
  std::string request = sentence(request_text(plan));
  // Inside of a word, as in the names of types, they start nothing.
  for (auto at = request.find("\\_"); at != std::string::npos; at = request.find("\\_", at)) request.erase(at, 1);
  out += request + "\n\n";
  if (plan.verdict.status != Verdict::kUnknown)
    out += fmt::format("**{}**: {}\n\n", plan.verdict.status == Verdict::kFits ? "Fits" : "Does not fit",
                       sentence(plan.verdict.reason));
  if (plan.verdict.close) out += sentence(close_text(plan.verdict)) + "\n\n";
  out += "| GPU | weights | KV cache | activations | runtime | total |\n|---:|---:|---:|---:|---:|---:|\n";
  for (const GpuMemory& gpu : plan.memory)
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", gpu.gpu, part(gpu.weights), part(gpu.kv_cache),
                       part(gpu.activation), part(gpu.runtime), gib(gpu.total));
  out += fmt::format("\nOne more token {}, fixed state of a sequence {}, the request needs {}, reserved {}.\n",
                     human_bytes(plan.kv_cache.bytes_per_token), human_bytes(plan.kv_cache.bytes_per_sequence),
                     human_bytes(plan.kv_cache.logical), human_bytes(plan.kv_cache.reserved));
  if (plan.host_total() > Bytes(0)) {
    out += "\n| host memory | |\n|---|---:|\n";
    for (const LedgerLine& line : plan.host)
      if (line.bytes > Bytes(0)) out += fmt::format("| {} | {} |\n", cell(line.what), human_bytes(line.bytes));
    out += fmt::format("| total | {} |\n", human_bytes(plan.host_total()));
  }
  if (plan.roofline)
    out += fmt::format("\nAt most {:.0f} tokens/s for one sequence and {:.0f} for all (bounds from {:.0f} GB/s).\n",
                       plan.roofline->tokens_per_s, plan.roofline->tokens_per_s_batch, plan.roofline->bandwidth_gb_s);
  for (const Note& note : plan.notes) out += fmt::format("\n> {}\n", sentence(note.message));
  return out;
}

std::string fleet_markdown(const std::vector<FleetEntry>& entries, const ReportOptions&) {
  std::string out =
      "| model | attention | B/token | B/sequence | KV | total | verdict |\n|---|---|---:|---:|---:|---:|---|\n";
  for (const FleetEntry& entry : entries) {
    if (!entry.plan) {
      out += fmt::format("| {} | {} | | | | | |\n", cell(entry.source), cell(entry.error));
      continue;
    }
    const Plan& plan = *entry.plan;
    out +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(entry.source), plan.attention,
                    grouped(plan.kv_cache.bytes_per_token.count()), grouped(plan.kv_cache.bytes_per_sequence.count()),
                    gib(plan.kv_cache.reserved_total), gib(plan.total.bytes), verdict_word(plan));
  }
  return out;
}

}  // namespace kvplan
