// What an engine's command line is written from: a plan, in the engine's words and kvplan's types.
#ifndef KVPLAN_ENGINES_LAUNCH_INPUT_H_
#define KVPLAN_ENGINES_LAUNCH_INPUT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "kvplan/extras.h"
#include "kvplan/launch.h"
#include "kvplan/load.h"
#include "kvplan/quantity.h"
#include "kvplan/request.h"
#include "kvplan/storage.h"

namespace kvplan {

struct LaunchInput {
  const Request* request = nullptr;
  Load load;
  CacheTypes types;
  std::optional<DraftMethod> draft_method;
  std::string model, draft;  // as engines load them: a directory, a *.gguf or a Hub id
  bool is_gguf = false;
  // What --weights and --draft-weights name, as the table of types spells it; empty where they were not given.
  std::string weights, draft_weights;
  bool own_weights = true;              // the weights are of the checkpoint's own type
  std::optional<std::uint64_t> tokens;  // that the cache's budget holds; absent where states share it
};

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LAUNCH_INPUT_H_
