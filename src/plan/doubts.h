// What makes a plan doubtful: known errors of kvplan, and what nobody has checked.
#pragma once

#include <vector>

#include "engines/engine.h"

namespace kvplan {

struct Doubts {
  std::vector<Note> notes;
  Template no_verdict;  // why there is no verdict; empty: there is one
};
Doubts doubts_of(const EngineInput& input);

}  // namespace kvplan
