#include "plan/grid.h"

#include <algorithm>

#include "kvplan/error.h"
#include "plan/layouts.h"
#include "plan/search.h"
#include "weights/rules.h"

namespace kvplan {

namespace {

GridCell cell_of(PlanCache& cache, const Request& request, GridRow& row) {
  GridCell cell;
  const Plan plan = make_plan(cache, request);
  row.engine_version = plan.engine_version;
  row.weights = plan.weights_dtype;
  row.types = plan.types;
  row.max_model_len = plan.load.max_model_len.count();
  cell.verdict = plan.verdict;
  cell.parallel = plan.request.parallel;
  for (const GpuMemory& gpu : plan.memory) cell.total = std::max(cell.total, gpu.total);
  if (plan.verdict.status == Verdict::kUnknown) return cell;
  // The plan's capacity is the guess: where it is exact, one probe confirms it.
  const std::uint64_t guess = plan.capacity ? plan.capacity->max_model_len : row.max_model_len;
  cell.longest = longest_that_fits(cache, plan.request, std::max<std::uint64_t>(guess, 1));
  cell.most_seqs = plan.capacity ? plan.capacity->max_num_seqs : 0;
  if (!searches_layouts(request)) return cell;
  // Another layout may hold more.
  const std::uint64_t own = cache.model().max_model_len.count();
  const std::uint64_t enough = own == 0 ? kAnyCount : std::max(own, row.max_model_len);
  for (const Request& layout : layouts_of(cache, request, request.card.count)) {
    if (cell.longest >= enough) break;
    try {
      const std::uint64_t longest = longest_that_fits(cache, layout, std::max<std::uint64_t>(cell.longest, 1));
      if (longest <= cell.longest) continue;
      cell.longest = longest;
      cell.parallel = layout.parallel;
    } catch (const Error& error) {
      take_as_misfit(error);  // the engine refuses this layout
    }
  }
  return cell;
}

}  // namespace

std::vector<GridRow> grid_rows(const ModelSpec& model, const Request& request, const std::vector<std::string>& engines,
                               const std::vector<std::string>& weights, const std::vector<std::string>& cards) {
  const std::vector<std::string> as_asked{""};
  PlanCache cache(model);
  std::vector<GridRow> rows;
  for (const std::string& engine : engines.empty() ? as_asked : engines) {
    for (const std::string& type : weights.empty() ? as_asked : weights) {
      Request here = request;
      if (!engine.empty()) find_engine(engine, here);
      if (!type.empty()) here.weights = type;
      GridRow& row = rows.emplace_back();
      row.source = model.source;
      row.engine = engine_of(here).name;
      row.weights = type;
      bool planned = false;
      for (const std::string& card : cards) {
        here.card.name = card;
        try {
          row.cells.push_back(cell_of(cache, here, row));
          planned = true;
        } catch (const Error& error) {
          row.cells.emplace_back().error = error.what();
          row.exit = std::max(row.exit, error.code());
          // It took long, and every card would get it.
          if (!planned && dynamic_cast<const TooManyRules*>(&error) != nullptr) break;
        }
      }
      if (planned || row.cells.empty()) continue;
      row.error = row.cells.front().error;  // the same for every card
      row.cells.clear();
    }
  }
  return rows;
}

Exit worst_of(const Grid& grid) {
  Exit worst = Exit::kAnswered;
  for (const GridRow& row : grid.rows) {
    worst = std::max(worst, row.exit);
    for (const GridCell& cell : row.cells)
      if (cell.verdict.status == Verdict::kDoesNotFit) worst = std::max(worst, Exit::kDoesNotFit);
  }
  return worst;
}

}  // namespace kvplan
