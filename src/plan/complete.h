// The parts of a plan that only a report needs, and no search.
#pragma once

#include "plan/plan.h"

namespace kvplan {

// Parts of an answer that take time, and that not every output format shows.
struct Wanted {
  bool curves = false;   // KV by context for each type, and the longest context for numbers of sequences
  bool engines = false;  // each engine's verdict, where a GPU was named and no engine
  bool launch = false;   // the engine's command line; Error if it has none for the request
};

// Adds remedies to the verdict of a plan that does not fit.
void suggest(const ModelSpec& model, Plan& plan);

// If the request names no release and those of the last year differ by more than 2 %, a note with their range.
void compare_releases(const ModelSpec& model, Plan& plan);

void complete(const ModelSpec& model, const Wanted& wanted, Plan& plan);

}  // namespace kvplan
