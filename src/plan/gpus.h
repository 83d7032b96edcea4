// The catalogue of cards.
#ifndef KVPLAN_PLAN_GPUS_H_
#define KVPLAN_PLAN_GPUS_H_

#include <optional>
#include <span>
#include <string_view>

#include "kvplan/quantity.h"

namespace kvplan {

struct Gpu {
  std::string_view name;     // "h100-80gb"
  std::string_view aliases;  // separated by spaces
  std::uint64_t memory_mib;  // that the driver reports, where known; else the nominal size
  bool reported;             // memory_mib is what a driver reports
  double bandwidth_gb_s;     // 10^9 bytes a second
  std::string_view source;
};

std::span<const Gpu> gpus();
// By name or alias, case folded, with or without spaces and dashes; null for none.
const Gpu* find_gpu(std::string_view text);
// The same, or Error(kBadInput) with the nearest names.
const Gpu& parse_gpu(std::string_view text);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_GPUS_H_
