// A layer without any cache: an MLP or expert layer of Nemotron-H, a no_op or linear attention block of a model found
// by architecture search.
//
//   elements = 0
//
// Source: NVIDIA Nemotron-H (arXiv 2504.03624); Puzzle (2411.19146), block_configs.
// Checked against: testdata/configs/nemotron-super-49b.json: 31 of 80 layers; hybrid_override_pattern "-" and "E".
// Engines differ: none.
#pragma once

#include "formulas/kind.h"

namespace kvplan {

struct None {
  static constexpr KindInfo kInfo[] = {
      {"none", "no cache", "0", "hybrid_override_pattern, block_configs", "nothing", "arXiv 2504.03624, 2411.19146"}};
  CacheTerms terms(Form) const { return {}; }
  std::vector<Symbol> symbols() const { return {}; }
  void project(Projections&) const {}
  friend bool operator==(const None&, const None&) = default;
};

}  // namespace kvplan
