// The parameters of a model, from its tensors.
#include "weights/weigh.h"

namespace kvplan {

Parameters count_parameters(const WeightModel& model) {
  Parameters out;
  Elements total, active, mtp;
  for (const TensorGroup& group : model.tensors) {
    if (group.component == Component::kMtp) {
      mtp += group.stored();
      continue;
    }
    total += group.stored();
    active += group.active();
  }
  // A tower that the config does not determine is left out. If a part of the decoder is missing, the total is unknown.
  out.is_known = !model.tensors.empty();
  for (const UnknownTensors& part : model.unknown_tensors)
    if (!is_tower(part.component) && part.estimate > Elements(0)) out.is_known = false;
  if (model.tensors.empty() && !model.stored.empty()) {
    for (const StoredTensors& part : model.stored)
      if (part.component != Component::kMtp) total += part.elements;
    active = total;
    out.is_known = true;
  }
  out.total = total.count();
  out.active = active.count();
  out.mtp = mtp.count();
  return out;
}

}  // namespace kvplan
