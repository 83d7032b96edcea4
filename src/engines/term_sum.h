// What the architecture needs: the terms of many layers added up, so that a load takes only a few multiplications.
// Nothing is rounded or allocated.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/parallel.h"

namespace kvplan {

class TermSum {
 public:
  TermSum() = default;
  // The sum of one rank's part under `tensor_parallel`; 1 for the whole model.
  TermSum(const std::vector<LayerCache>& caches, const CacheTypes& types, std::uint64_t tensor_parallel,
          Uneven uneven = Uneven::kRefuse);

  Bytes bytes(const Load& load) const;
  Bytes per_token() const { return per_token_; }                      // beyond every window
  Bytes per_token_in_window() const { return per_token_in_window_; }  // while at least one window still grows
  Bytes per_sequence() const { return per_sequence_; }

 private:
  struct Bucket {
    Growth growth;
    std::uint64_t stride;
    std::uint64_t limit;  // 0: none
    Bytes entry;
  };
  std::vector<Bucket> buckets_;
  Bytes per_token_, per_token_in_window_, per_sequence_;
};

}  // namespace kvplan
