// Rules of a checkpoint's lists that match no module of the model: they have no effect, and the plan says so.
#pragma once

#include <string>
#include <vector>

#include "kvplan/note.h"
#include "kvplan/weight_model.h"
#include "weights/rules.h"

namespace kvplan {

// All names that checkpoints use for a group's module.
std::vector<std::string> names_of(const TensorGroup& group);

// A note for each list of the declaration, with the share of its rules that match nothing.
std::vector<Note> notes_of_unmatched(const WeightModel& model, const RuleBook& book);

}  // namespace kvplan
