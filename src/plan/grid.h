// Models against GPUs: what fits where, and how much.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kvplan/error.h"
#include "plan/plan.h"

namespace kvplan {

// The rows of one model: engines x weight types. An empty list means the request's own. `command_of` writes the command
// for a cell's request.
using CommandOf = std::function<OptionValues(const Request&)>;
std::vector<GridRow> grid_rows(const ModelSpec& model, const Request& request, const std::vector<std::string>& engines,
                               const std::vector<std::string>& weights, const std::vector<const Gpu*>& cards,
                               const CommandOf& command_of = {});

// The exit code of the worst cell.
Exit worst_of(const Grid& grid);

}  // namespace kvplan
