// A start without the engine: what a plan says that it takes, held on the device in the engine's order and in the
// blocks that its allocator asks for.
#ifndef KVPLAN_MEASURE_REHEARSAL_H_
#define KVPLAN_MEASURE_REHEARSAL_H_

#include <optional>

#include "measure/measure.h"

namespace kvplan {

// Context and libraries beyond what opening the device took, weights, the cache (the whole pool where the engine takes
// one at its start), graphs, and the activations of a full batch. Nothing beyond usable_room is taken; all of it is
// freed. Absent where memory is the machine's own, which pages or halts instead of refusing, and where the plan does
// not know the weights. Throws Interrupted.
std::optional<Rehearsal> rehearse(const ModelSpec& model, const Plan& plan, Device& device,
                                  const MeasureOptions& options);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_REHEARSAL_H_
