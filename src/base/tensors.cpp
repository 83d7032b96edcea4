#include "kvplan/tensors.h"

#include <array>

namespace kvplan {

std::string_view name(Component component) {
  static constexpr std::array<std::string_view, 15> kNames{
      "embedding", "attention", "mlp",          "experts",       "shared experts", "router", "state mixer", "norms",
      "lm_head",   "encoder",   "vision tower", "audio encoder", "projector",      "mtp",    "other"};
  return kNames[static_cast<std::size_t>(component)];
}

std::uint64_t TensorGroup::num_layers() const {
  if (place != Place::kLayers) return 1;
  std::uint64_t count = 0;
  for (const LayerRun& run : layers) count = checked_add(count, run.count, "a number of layers");
  return count;
}

Elements TensorGroup::elements_of_one() const {
  return Elements(rows) * columns;
}

Elements TensorGroup::stored() const {
  return is_tied || is_derived ? Elements(0) : elements_of_one() * num_layers() * copies;
}

Elements TensorGroup::active() const {
  return is_tied || is_derived ? Elements(0) : elements_of_one() * num_layers() * used;
}

}  // namespace kvplan
