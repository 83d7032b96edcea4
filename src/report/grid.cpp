// Models against cards, for people; and the cells that every form prints.
#include <fmt/format.h>

#include <algorithm>

#include "report/report.h"
#include "report/rows.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string length_text(std::uint64_t tokens) {
  if (tokens >= kAnyCount) return "any";
  return tokens >= 10240 ? grouped(tokens / 1024) + "k" : grouped(tokens);
}

bool many_engines(const Grid& grid) {
  std::string_view first;
  for (const GridRow& row : grid.rows) {
    if (first.empty()) first = row.engine;
    if (!row.engine.empty() && row.engine != first) return true;  // rows of unreadable models name none
  }
  return false;
}

// The folder that all models lie in.
std::size_t shared_folder(const Grid& grid) {
  const std::string& first = grid.rows.front().source;
  std::size_t shared = first.size();
  bool is_one = true;
  for (const GridRow& row : grid.rows) {
    is_one = is_one && row.source == first;
    const auto differs = std::mismatch(first.begin(), first.end(), row.source.begin(), row.source.end()).first;
    const std::size_t slash = std::string_view(first.begin(), differs).find_last_of('/');
    shared = std::min(shared, slash == std::string::npos ? 0 : slash + 1);
  }
  if (!is_one) return shared;
  const std::size_t slash = first.find_last_of('/');
  return slash == std::string::npos || slash + 1 == first.size() ? 0 : slash + 1;
}

}  // namespace

std::string grid_cell_text(const GridRow& row, const GridCell& cell) {
  if (!cell.error.empty()) return "refused";
  const VerdictReport& verdict = cell.verdict;
  if (verdict.status == Verdict::kUnknown) return "?";
  const std::string mark = verdict.close ? "~" : "";
  if (verdict.status == Verdict::kFits) return mark + length_text(cell.longest);
  if (cell.longest >= row.max_model_len) return "no";  // a limit that is not memory
  if (cell.longest > 0) return mark + length_text(cell.longest) + "*";
  if (!verdict.headroom || *verdict.headroom >= 0) return "no";
  return fmt::format("{}-{:.1f} GiB", mark, -static_cast<double>(*verdict.headroom) / kGiB);
}

std::string grid_legend(const Grid& grid) {
  std::string out = fmt::format("The longest context that fits, in tokens, at {}", plural(grid.num_seqs, "sequence"));
  if (grid.gpu_count > 1) out += fmt::format(" on {} cards", grid.gpu_count);
  return out + ". *: less than the request's; -GiB: what the request lacks; ~: within the estimate's range.";
}

std::vector<std::string> grid_row_titles(const Grid& grid) {
  std::vector<std::string> out{"model"};
  if (many_engines(grid)) out.emplace_back("engine");
  out.emplace_back("weights");
  return out;
}

std::vector<std::string> grid_row_names(const Grid& grid, const GridRow& row) {
  std::vector<std::string> out{one_line(row.source.substr(std::min(shared_folder(grid), row.source.size())), 200)};
  if (many_engines(grid)) out.push_back(row.engine);
  out.push_back(row.weights.empty() ? "-" : row.weights);
  return out;
}

std::string grid_table(const Grid& grid, const ReportOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string errors;
  Rows names{grid_row_titles(grid)};
  std::vector<const GridRow*> shown;
  for (const GridRow& row : grid.rows) {
    if (row.cells.empty()) {
      errors += tinted("not planned:", Tint::kRed, options.color) +
                wrapped("not planned: " + one_line(row.error), width).substr(12) + "\n";
      continue;
    }
    names.push_back(grid_row_names(grid, row));
    names.back().front() = end_of(names.back().front(), 30);
    shown.push_back(&row);
  }
  if (shown.empty()) return errors;
  std::vector<std::size_t> widths(names.front().size());
  for (const auto& row : names)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], text_width(row[c]));
  std::size_t left = 0;
  for (const std::size_t w : widths) left += w + 2;

  // Cards that do not fit beside each other go into further tables below.
  std::string out;
  const GridRow& first = *shown.front();
  out +=
      tinted(many_engines(grid) ? "Models and cards" : "Models and cards, " + first.engine + " " + first.engine_version,
             Tint::kBold, options.color) +
      "\n";
  for (std::size_t begin = 0; begin < grid.cards.size();) {
    Rows rows = names;
    std::size_t used = left;
    std::size_t end = begin;
    for (; end < grid.cards.size(); ++end) {
      std::vector<std::string> column{grid.cards[end].name};
      std::size_t widest = text_width(column.front());
      for (const GridRow* row : shown) {
        column.push_back(grid_cell_text(*row, row->cells[end]));
        widest = std::max(widest, text_width(column.back()));
      }
      if (end > begin && used + widest > width) break;
      used += widest + 2;
      for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(column[r]);
    }
    out += "\n" + columns(rows, ~std::uint64_t{0} << names.front().size(), "");
    begin = end;
  }
  return out + "\n" + wrapped(grid_legend(grid), width) + "\n" + errors;
}

}  // namespace kvplan
