// A start without the engine: the plan's memory is allocated on the device in the engine's order, in the blocks that
// its allocator requests.
#ifndef KVPLAN_MEASURE_REHEARSAL_H_
#define KVPLAN_MEASURE_REHEARSAL_H_

#include <optional>

#include "measure/measure.h"

namespace kvplan {

// It allocates context and libraries beyond what opening the device took, weights, the cache (the whole pool where the
// engine allocates one at its start), graphs, and the activations of a full batch. It never takes more than
// usable_room, and frees everything. Absent where the memory is the machine's own, which swaps or freezes rather than
// refuses, and where the plan does not know the weights. Throws Interrupted.
std::optional<Rehearsal> rehearse(const ModelSpec& model, const Plan& plan, Device& device,
                                  const MeasureOptions& options);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_REHEARSAL_H_
