// The memory of a request's sequences in the cache: all at full length, or of the lengths that the request states,
// with a shared prefix counted once. A plan's memory, verdict and capacity all use these bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

class Occupancy {
 public:
  // `load`: one copy's sequences at full length. Throws Error if the stated lengths are too many.
  Occupancy(const EngineInput& input, const CacheLayout& layout, const Load& load);

  // Whether the request states lengths or a prefix, so that the bytes differ from `load`'s.
  bool is_stated() const { return is_stated_; }
  const std::vector<Load>& parts() const { return parts_; }
  // Bytes of the fullest GPU, and of one GPU of each stage.
  Bytes held() const;
  std::vector<Bytes> held_by_stage(std::uint64_t stages) const;
  // One entry for each GPU, with `share` of its bytes (cut()).
  std::vector<RankCache> explain(double share) const;

  // Whether the engine runs all sequences at once in `budget` bytes of a GPU. It may need less than held(): windows of
  // many sequences are not all at their largest at once.
  bool fits(Bytes budget) const;
  // Why it does not, in words; empty if it does.
  Template shortfall(Bytes budget) const;
  // The fraction of held() that the sequences have if all of them run in `budget`; 1 if that is not less.
  double cut(Bytes budget) const;

 private:
  const CacheLayout* layout_;
  Load load_;
  std::vector<Load> parts_;  // groups of equal sequences
  Running running_;
  std::uint64_t sequences_ = 0;
  bool is_stated_ = false;
  bool starts_with_one_ = false;  // the engine refuses to start without the memory of a full sequence
};

// How many sequences like the request's run at once in `budget` bytes; absent if the engine's rule is not known.
std::optional<std::uint64_t> runs_at_once(const Request& request, const CacheLayout& layout, const Load& load,
                                          Bytes budget);

}  // namespace kvplan
