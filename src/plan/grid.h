// Models against cards: what fits where, and how much of it.
#ifndef KVPLAN_PLAN_GRID_H_
#define KVPLAN_PLAN_GRID_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/error.h"
#include "plan/plan.h"

namespace kvplan {

// One model, engine and weight type on one card.
struct GridCell {
  VerdictReport verdict;        // of the request as it is
  std::uint64_t longest = 0;    // the longest context that fits at the requested sequences; 0: none does
  std::uint64_t most_seqs = 0;  // the most sequences at the requested context
  std::uint64_t tensor_parallel = 1, pipeline_parallel = 1;
  Bytes total;        // of the fullest GPU
  std::string error;  // the engine refuses; everything else is empty then
};

struct GridRow {
  std::string source;
  std::string engine, engine_version;
  std::string weights;
  CacheTypes types;
  std::uint64_t max_model_len = 0;
  std::vector<GridCell> cells;  // one for each card; none where the model cannot be read
  std::string error;            // one line, without the program's name
  Exit exit = Exit::kAnswered;
};

struct Grid {
  std::vector<std::string> cards;
  std::uint64_t gpu_count = 1, num_seqs = 1;
  std::vector<GridRow> rows;
};

// The rows of one model: engines x weight types. Either list may be empty: as the request has it.
std::vector<GridRow> grid_rows(const ModelSpec& model, const Request& request, const std::vector<std::string>& engines,
                               const std::vector<std::string>& weights, const std::vector<std::string>& cards);

// The exit code of the worst cell.
Exit worst_of(const Grid& grid);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_GRID_H_
