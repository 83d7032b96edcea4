// The catalogue of cards: the built-in table, and the cards of the user's own file before it.
#ifndef KVPLAN_GPUS_H_
#define KVPLAN_GPUS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/gpu.h"
#include "kvplan/quantity.h"

namespace kvplan {

// The built-in table alone (gpu_table.cpp).
std::span<const Gpu> built_in_gpus();

// All cards: the user's own, then the built-in ones that they do not replace.
std::span<const Gpu> gpus();
// Parts of cards that are cards to a program (MIG), by name alone: nobody rents a slice for want of a card, so that no
// search offers one.
std::span<const Gpu> gpu_slices();
// A card or a slice by name or alias, case folded, with or without spaces and dashes; null for none.
const Gpu* find_gpu(std::string_view text);
// The same, or Error(kBadInput) with the nearest names.
const Gpu& parse_gpu(std::string_view text, std::string_view option = "--gpu");

// The cards of the user's own (--gpu-file). Every later call of gpus() and find_gpu() knows them; one of a built-in
// name takes its place. Called before any planning; an empty list takes the own cards away.
void set_own_gpus(const std::vector<GpuRecord>& cards);

// What a card of NVIDIA's computes with, as Gpu::capability has it; 0 for another maker's, or a name that is none.
std::uint32_t compute_capability(const std::optional<std::string>& gpu);

}  // namespace kvplan

#endif  // KVPLAN_GPUS_H_
