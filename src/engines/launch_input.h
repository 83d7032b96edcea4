// The input of an engine's launcher: a plan, with the names and types that a command needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kvplan/extras.h"
#include "kvplan/launch.h"
#include "kvplan/load.h"
#include "kvplan/model_facts.h"
#include "kvplan/quantity.h"
#include "kvplan/request.h"
#include "kvplan/storage.h"

namespace kvplan {

// A model in the form in which engines load it.
struct LaunchModel {
  std::string name;      // a directory, a *.gguf, or a repository of the Hub: "org/name", "org/name:Q4_K_M"
  std::string file;      // within the repository, if one is named
  std::string revision;  // of the repository; empty: the newest
  bool is_hub = false;
  bool is_gguf = false;
  bool is_placeholder = false;  // only a config was planned, so `name` is a placeholder for the directory
};

struct LaunchInput {
  const Request* request = nullptr;
  Load load;
  CacheTypes types;
  std::optional<DraftMethod> draft_method;
  LaunchModel model;
  std::optional<LaunchModel> draft;
  std::string model_name;    // for people: "llama-3.1-8b"
  std::string architecture;  // as the file names it: the prefix of a GGUF's keys
  Tokens max_model_len;      // the model's own maximum; 0 if it names none
  std::optional<PlainRotation> plain_rotation;
  // --weights and --draft-weights in the spelling of the table of types; empty if not given.
  std::string weights, draft_weights;
  bool own_weights = true, own_draft_weights = true;  // false: the engine quantizes while it loads
  bool places_itself = false;           // the engine chose by itself what is in main memory, so no option is needed
  std::optional<std::uint64_t> tokens;  // tokens that fit in the cache's budget; absent if states share it
};

// The engines' own command lines (ENGINE/launcher.cpp).
Launch llama_cpp_launch(const LaunchInput& input);
Launch mlx_launch(const LaunchInput& input);
Launch ollama_launch(const LaunchInput& input);
Launch sglang_launch(const LaunchInput& input);
Launch tensorrt_llm_launch(const LaunchInput& input);

}  // namespace kvplan
