// The page of models against cards.
#include <fmt/format.h>

#include <algorithm>

#include "report/pages/pages.h"

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
    if (!row.engine.empty() && row.engine != first) return true;  // rows of unreadable models have none
  }
  return false;
}

// The length of the folder that all models are in.
std::size_t folder_of_models(const Grid& grid) {
  std::vector<std::string_view> sources;
  for (const GridRow& row : grid.rows) sources.push_back(row.source);
  // Of one model the name alone is left.
  const std::string_view first = sources.front();
  const std::size_t shared = shared_folder(sources);
  const bool is_one = std::all_of(sources.begin(), sources.end(), [&](std::string_view each) { return each == first; });
  return is_one && shared == first.size() ? 0 : shared;
}

// "512k", "40k*" (less than asked for), "-12.3 GiB" (short), "~" before a close one.
std::string cell_text(const GridCell& cell) {
  if (!cell.error.empty()) return "refused";
  const VerdictReport& verdict = cell.verdict;
  if (verdict.status == Verdict::kUnknown) return "?";
  const std::string mark = verdict.close ? "~" : "";
  const std::string layout = cell.parallel.gpus() > 1 ? " " + layout_name(cell.parallel) : "";
  if (verdict.status == Verdict::kPartlyOnCpu) return "part" + layout;
  if (verdict.status == Verdict::kFits) return mark + length_text(cell.longest) + layout;
  if (verdict.refusal || cell.longest >= cell.max_model_len) return "no";  // a limit other than memory
  if (cell.longest > 0) return mark + length_text(cell.longest) + "*" + layout;
  if (!verdict.headroom || *verdict.headroom >= 0) return "no";
  return fmt::format("{}-{:.1f} GiB", mark, -static_cast<double>(*verdict.headroom) / kGiB);
}

std::string legend(const Grid& grid) {
  std::string out = fmt::format("The longest context that fits, in tokens, at {}", plural(grid.num_seqs, "sequence"));
  if (grid.gpu_count > 1) out += fmt::format(" on {} GPUs", grid.gpu_count);
  const auto is_part = [](const GridCell& cell) { return cell.verdict.status == Verdict::kPartlyOnCpu; };
  const bool has_parts = std::any_of(grid.rows.begin(), grid.rows.end(), [&](const GridRow& row) {
    return std::any_of(row.cells.begin(), row.cells.end(), is_part);
  });
  return out + ". *: less than the request's; -GiB: short by that much; ~: too close to call" +
         (has_parts ? "; part: partly in main memory." : ".");
}

Page grid_page(const Grid& grid) {
  Page page;
  page.title = "Models and GPUs";
  const bool engines = many_engines(grid);
  const std::size_t shared = folder_of_models(grid);
  PageTable table{{{"model"}}, {}};
  if (engines) table.columns.push_back({"engine"});
  table.columns.push_back({"weights"});
  for (const GridCard& card : grid.cards) table.columns.push_back({card.name, Column::Kind::kNumber});
  for (const GridRow& row : grid.rows) {
    if (row.cells.empty()) {
      page.notes.push_back(not_planned(row.error, row.source));
      continue;
    }
    if (table.rows.empty()) {
      page.file = row.source;
      if (!engines) page.facts = row.engine + " " + row.engine_version;
    }
    std::vector<Text>& cells = table.rows.emplace_back().cells;
    cells.emplace_back(end_of(one_line(row.source.substr(std::min(shared, row.source.size())), 200), 30));
    if (engines) cells.emplace_back(row.engine);
    cells.emplace_back(row.weights.empty() ? "-" : row.weights);
    for (const GridCell& cell : row.cells) cells.emplace_back(cell_text(cell));
  }
  std::vector<const OptionValues*> commands;
  for (const GridRow& row : grid.rows)
    for (const GridCell& cell : row.cells) commands.push_back(&cell.command);
  Sentences remarks = how_to_repeat(commands);
  remarks.insert(remarks.begin(), Text(legend(grid)));
  if (!table.rows.empty()) page.add("", Detail::kComment, std::move(table), std::move(remarks));
  return page;
}

}  // namespace

Reply reply_of(const Grid& grid) {
  return reply_with(grid_page, grid);
}

}  // namespace kvplan
