// What changed between two plans.
#ifndef KVPLAN_PLAN_DIFF_H_
#define KVPLAN_PLAN_DIFF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/plan_file.h"
#include "kvplan/quantity.h"

namespace kvplan {

struct ValueChange {
  std::string where;  // "config" or "request"
  std::string key;
  std::string before, after;  // empty: not there
};

struct MemoryChange {
  std::string part;
  std::uint64_t before = 0, after = 0;
  std::int64_t difference() const { return signed_difference(after, before); }
};

// What the card holds; nothing where one of the plans does not say.
struct CapacityChange {
  std::string what;  // "tokens", "max_model_len", "max_num_seqs"
  std::optional<std::uint64_t> before, after;
};

// --fail-over SIZE or PERCENT%: whether the total grew by more.
struct GrowthLimit {
  std::optional<Bytes> bytes;
  std::optional<double> percent;
};

struct PlanDiff {
  PlanDigest before, after;
  std::vector<ValueChange> values;
  std::vector<MemoryChange> memory;  // biggest first; unchanged parts left out
  MemoryChange total;
  std::vector<CapacityChange> capacity;  // unchanged figures left out
  GrowthLimit limit;                     // as the user set it
};

PlanDiff diff_plans(PlanDigest before, PlanDigest after);

bool grew_beyond(const PlanDiff& diff, const GrowthLimit& limit);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_DIFF_H_
