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
#include "kvplan/rotary.h"
#include "kvplan/storage.h"

namespace kvplan {

// A model as engines load it.
struct LaunchModel {
  std::string name;      // a directory, a *.gguf, or a repository of the Hub: "org/name", "org/name:Q4_K_M"
  std::string file;      // of the repository, where one is named
  std::string revision;  // of the repository; empty: the newest
  bool is_hub = false;
  bool is_gguf = false;
  bool is_placeholder = false;  // `name` is where the directory belongs: a config alone was planned
};

struct LaunchInput {
  const Request* request = nullptr;
  Load load;
  CacheTypes types;
  std::optional<DraftMethod> draft_method;
  LaunchModel model;
  std::optional<LaunchModel> draft;
  std::string model_name;    // for people: "llama-3.1-8b"
  std::string architecture;  // as the file names it: a GGUF's keys begin with it
  Tokens max_model_len;      // the model's own maximum; 0 where it names none
  std::optional<PlainRotation> plain_rotation;
  // What --weights and --draft-weights name, as the table of types spells it; empty where they were not given.
  std::string weights, draft_weights;
  bool own_weights = true;              // the weights are of the checkpoint's own type
  std::string quantization;             // that the checkpoint declares; empty where it declares none
  std::optional<std::uint64_t> tokens;  // that the cache's budget holds; absent where states share it
};

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LAUNCH_INPUT_H_
