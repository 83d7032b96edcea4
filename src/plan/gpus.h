// The catalogue of cards: the built-in table, and the cards of the user's own file before it.
#ifndef KVPLAN_PLAN_GPUS_H_
#define KVPLAN_PLAN_GPUS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gpu_file.h"
#include "kvplan/quantity.h"

namespace kvplan {

struct Gpu {
  std::string_view vendor;   // "NVIDIA"; the table is sorted by it
  std::string_view name;     // "h100-80gb"
  std::string_view aliases;  // separated by spaces
  std::uint64_t memory_mib;  // that the driver reports, where known; else the nominal size
  std::uint64_t usable_mib;  // that a program sees (CUDA's total, Metal's working set); 0 where nobody recorded it
  bool reported;             // memory_mib is what a driver reports
  bool unified;              // shared with the processor
  double bandwidth_gb_s;     // 10^9 bytes a second; 0 where not known
  std::string_view source;

  // What engines share out: their budgets start from the program's total, not from the driver's.
  Bytes budget() const { return Bytes((usable_mib != 0 ? usable_mib : memory_mib) * kMiB); }
};

// The built-in table alone (gpu_table.cpp).
std::span<const Gpu> built_in_gpus();

// All cards: the user's own, then the built-in ones that they do not replace.
std::span<const Gpu> gpus();
// By name or alias, case folded, with or without spaces and dashes; null for none.
const Gpu* find_gpu(std::string_view text);
// The same, or Error(kBadInput) with the nearest names.
const Gpu& parse_gpu(std::string_view text, std::string_view option = "--gpu");

// The cards of the user's own (--gpu-file). Every later call of gpus() and find_gpu() knows them; one of a built-in
// name takes its place. Called before any planning; an empty list takes the own cards away.
void set_own_gpus(const std::vector<GpuRecord>& cards);

// Whether the engine supports the card. Makers that no engine names are the user's own: always.
struct Engine;
bool runs_on(const Engine& engine, const Gpu& gpu);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_GPUS_H_
