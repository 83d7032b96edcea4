// The catalogue of cards: those of the user's own file, then the built-in table.
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
// Slices of cards (MIG), which a program sees as cards. They are found by name alone: no search offers one, since
// nobody rents a slice in place of a card.
std::span<const Gpu> gpu_slices();
// A card or a slice by name or alias, ignoring case, spaces and dashes; null where unknown.
const Gpu* find_gpu(std::string_view text);
// The same, or Error(kBadInput) with the nearest names.
const Gpu& parse_gpu(std::string_view text, std::string_view option = "--gpu");

// Sets the user's own cards (--gpu-file). Every later call of gpus() and find_gpu() knows them; a card with a built-in
// name replaces that one. Call it before any planning; an empty list removes them.
void set_own_gpus(const std::vector<GpuRecord>& cards);

// The compute capability of an NVIDIA card, as in Gpu::capability; 0 for other vendors and unknown names.
std::uint32_t compute_capability(const std::optional<std::string>& gpu);

}  // namespace kvplan

#endif  // KVPLAN_GPUS_H_
