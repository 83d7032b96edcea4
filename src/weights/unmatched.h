// Rules of a checkpoint's lists that name no module of the model: what they say is applied to nothing, and the plan
// says so.
#ifndef KVPLAN_WEIGHTS_UNMATCHED_H_
#define KVPLAN_WEIGHTS_UNMATCHED_H_

#include <string>
#include <vector>

#include "kvplan/note.h"
#include "kvplan/weight_model.h"
#include "weights/rules.h"

namespace kvplan {

// All that checkpoints call a group's module.
std::vector<std::string> names_of(const TensorGroup& group);

// A note for each list of the declaration, with the share of it that names nothing.
std::vector<Note> notes_of_unmatched(const WeightModel& model, const RuleBook& book);

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_UNMATCHED_H_
