// The memory between a GGUF's tensors in ggml's buffers.
//
// Source: ggml-alloc.c, ggml-cuda.cu (get_alloc_size), src/llama-model.cpp (load_tensors).
#include <algorithm>

#include "engines/llama_cpp/cache.h"
#include "kvplan/ggml_types.h"

namespace kvplan {

constexpr std::uint64_t kGpuAlignment = 128, kHostAlignment = 32;

// The padding of a tensor. It starts at a multiple of the alignment, and on a GPU the last row of a quantized tensor is
// padded to 512 elements.
static std::uint64_t padding_of(const TensorGroup& group, bool on_host) {
  constexpr std::uint64_t kRow = 512;
  const std::uint64_t bytes = checked_mul(group.stored_bytes.count(), group.copies, "a tensor's bytes");
  std::uint64_t row = 0;
  if (const auto type = find_ggml_type(group.stored_type);
      !on_host && type && type->block > 1 && group.columns % kRow != 0)
    row = (kRow - group.columns % kRow) / type->block * type->bytes;
  return round_up(bytes + row, on_host ? kHostAlignment : kGpuAlignment, "a tensor's bytes") - bytes;
}

// The number of the group's tensors that are in the stage.
static std::uint64_t tensors_in(const StageShare& stage, const TensorGroup& group, std::uint64_t first_layer) {
  if (group.place == Place::kEach) return stage.layers > 0 ? 1 : 0;
  std::uint64_t out = group.layers.empty() && stage.has_head ? 1 : 0;
  for (const LayerRun& run : group.layers)
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::uint64_t layer = run.first + i * run.step;
      if (layer >= first_layer && layer - stage.first_layer < stage.layers) ++out;
    }
  return out;
}

LedgerLine llama_cpp_padding(std::span<const TensorGroup> tensors, const StageShare& stage, const Request& request,
                             bool on_host) {
  std::uint64_t padding = 0;
  for (const TensorGroup& group : tensors) {
    if (is_tower(group.component) || group.place == Place::kFirst) continue;
    if (group.component == Component::kMtp && !request.mtp) continue;
    const std::uint64_t moved = group.is_expert && !on_host ? request.llama_cpp.cpu_moe_layers.value_or(0) : 0;
    const std::uint64_t count = tensors_in(stage, group, std::max(stage.first_layer, moved));
    padding = checked_add(padding, checked_mul(padding_of(group, on_host), count, "padding"), "padding");
  }
  return of_kind(LineId::kLoading, exact_line(Section::kWeights, "padding of tensors", Bytes(padding),
                                              {"tensors begin at multiples of {alignment} B",
                                               {{"alignment", on_host ? kHostAlignment : kGpuAlignment}}},
                                              "ggml-alloc.c, ggml-cuda.cu"));
}

}  // namespace kvplan
