// One picture of planned against observed figures, as a separate SVG.
#pragma once

#include <string>
#include <vector>

namespace kvplan {

struct ScatterPoint {
  std::string engine, name;
  double observed = 0, planned = 0, low = 0, high = 0;  // GiB
};

// Both axes are logarithms of GiB. A point's bar is the planned range, and the diagonal is where both values are equal.
std::string scatter_svg(const std::vector<ScatterPoint>& points);

}  // namespace kvplan
