// The page of models against GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "report/pages/pages.h"

namespace kvplan {

static std::string length_text(std::uint64_t tokens) {
  if (tokens >= kAnyCount) return "any";
  return tokens >= 10240 ? grouped(tokens / 1024) + "k" : grouped(tokens);
}

static bool many_engines(const Grid& grid) {
  std::string_view first;
  for (const GridRow& row : grid.rows) {
    if (first.empty()) first = row.engine;
    if (!row.engine.empty() && row.engine != first) return true;  // rows of unreadable models have none
  }
  return false;
}

// The length of the folder that all models are in.
static std::size_t folder_of_models(const Grid& grid) {
  std::vector<std::string_view> sources;
  for (const GridRow& row : grid.rows) sources.push_back(row.source);
  // For one model only the name is left.
  const std::string_view first = sources.front();
  const std::size_t shared = shared_folder(sources);
  const bool is_one = std::all_of(sources.begin(), sources.end(), [&](std::string_view each) { return each == first; });
  return is_one && shared == first.size() ? 0 : shared;
}

// "512k", "40k*" (less than requested), "no", "~" before a close one.
static std::string cell_text(const GridCell& cell) {
  const VerdictReport& verdict = cell.verdict;
  if (!cell.error.empty()) return "refused";
  if (verdict.status == Verdict::kUnknown) return "?";
  const bool fits = verdict.status == Verdict::kFits;
  if (!fits && (verdict.refusal || cell.longest == 0 || cell.longest >= cell.max_model_len)) return "no";
  const std::string layout = cell.parallel.gpus() > 1 ? " " + layout_name(cell.parallel) : "";
  if (verdict.status == Verdict::kPartlyOnCpu) return "part" + layout;
  return (verdict.close ? "~" : "") + length_text(cell.longest) + (fits ? "" : "*") + layout;
}

static Heat heat_of(const GridCell& cell, const std::string& text) {
  if (!cell.error.empty()) return {Tone::kFaint, cell.error, -2e18};
  const VerdictReport& verdict = cell.verdict;
  if (text == "?") return {Tone::kPlain, reason_of(verdict), -1e18};
  const auto headroom = static_cast<double>(verdict.headroom.value_or(0));
  if (text == "no") return {Tone::kBad, reason_of(verdict), std::min(headroom, 0.0)};
  return {verdict.status == Verdict::kFits ? Tone::kGood : Tone::kCareful,
          fmt::format("{}; {} on the fullest GPU", reason_of(verdict), gib(cell.total)),
          static_cast<double>(cell.longest)};
}

static std::string legend(const Grid& grid) {
  std::string out = fmt::format("The longest context that fits, in tokens, at {}", plural(grid.num_seqs, "sequence"));
  if (grid.gpu_count > 1) out += fmt::format(" on {} GPUs", grid.gpu_count);
  const auto is_part = [](const GridCell& cell) { return cell.verdict.status == Verdict::kPartlyOnCpu; };
  const bool has_parts = std::any_of(grid.rows.begin(), grid.rows.end(), [&](const GridRow& row) {
    return std::any_of(row.cells.begin(), row.cells.end(), is_part);
  });
  return out + ". *: less than the request's; no: does not fit or start; ~: too close to call" +
         (has_parts ? "; part: partly in main memory." : ".");
}

static Page grid_page(const Grid& grid) {
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
    cells.emplace_back(end_of(one_line(row.source.substr(std::min(shared, row.source.size())), 200), 64));
    if (engines) cells.emplace_back(row.engine);
    cells.emplace_back(or_dash(row.weights));
    for (const GridCell& cell : row.cells) {
      cells.emplace_back(cell_text(cell));
      table.rows.back().heat.push_back(heat_of(cell, cells.back().str()));
    }
  }
  std::vector<const OptionValues*> commands;
  for (const GridRow& row : grid.rows)
    for (const GridCell& cell : row.cells) commands.push_back(&cell.command);
  Sentences remarks = how_to_repeat(commands);
  remarks.insert(remarks.begin(), Text(legend(grid)));
  if (!table.rows.empty()) page.add("", Detail::kComment, std::move(table), std::move(remarks));
  return page;
}

Reply reply_of(const Grid& grid) {
  return reply_with(grid_page, grid);
}

}  // namespace kvplan
