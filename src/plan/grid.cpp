#include "plan/questions.h"

#include <algorithm>

#include "kvplan/error.h"
#include "plan/plan_cache.h"
#include "plan/search.h"
#include "weights/rules.h"

namespace kvplan {

static GridCell cell_of(PlanCache& cache, Request request, const CommandOf& command_of, GridRow& row) {
  GridCell cell;
  lower_seqs_cap(cache, request);
  const Plan plan = make_plan(cache, request);
  row.engine_version = plan.engine_version;
  row.weights = plan.weights_dtype;
  row.types = plan.types;
  if (plan.model->parameters.is_known) row.parameters = plan.model->parameters.total;
  row.max_model_len = cell.max_model_len = plan.load.max_model_len.count();
  cell.verdict = plan.verdict;
  cell.parallel = plan.request.parallel;
  if (command_of) cell.command = command_of(plan.request);
  for (const GpuMemory& gpu : plan.memory) cell.total = std::max(cell.total, gpu.total);
  if (plan.verdict.status == Verdict::kUnknown) return cell;
  if (plan.capacity) {
    cell.longest = plan.capacity->max_model_len;
    cell.longest_by_memory = plan.capacity->max_model_len_by_memory;
    cell.most_seqs = plan.capacity->max_num_seqs;
  }
  return cell;
}

std::vector<GridRow> grid_rows(const ModelSpec& model, const Request& request, const std::vector<std::string>& engines,
                               const std::vector<std::string>& weights, const std::vector<const Gpu*>& cards,
                               const CommandOf& command_of) {
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
      for (const Gpu* card : cards) {
        here.card.gpu = card;
        try {
          row.cells.push_back(cell_of(cache, here, command_of, row));
          planned = true;
        } catch (const Error& error) {
          GridCell& refused = row.cells.emplace_back();
          refused.error = error.what();
          if (command_of) refused.command = command_of(here);
          row.exit = std::max(row.exit, error.code());
          // The error took long to compute, and every GPU has the same one.
          if (!planned && dynamic_cast<const TooManyRules*>(&error) != nullptr) break;
        }
      }
      for (GridCell& cell : row.cells)
        if (!cell.error.empty()) cell.max_model_len = row.max_model_len;
      if (planned || row.cells.empty()) continue;
      row.error = row.cells.front().error;  // the same for every GPU
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
      if (cell.verdict.fails()) worst = std::max(worst, Exit::kDoesNotFit);
  }
  return worst;
}

}  // namespace kvplan
