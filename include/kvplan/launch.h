// The engine's own command line for a plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvplan {

// The engine's server in the container that its makers publish.
struct ServerImage {
  std::string_view image = "";  // empty: they publish none
  std::uint16_t port = 0;
  std::string_view health = "";   // the path that answers 200 once the model is loaded
  std::string_view store = "";    // the variable that names the folder for downloaded models
  std::string_view program = "";  // set if the image has no entry point
  bool listens = false;           // it serves other machines even without --host
  bool takes_token = true;        // HF_TOKEN, for models of the Hub
};

// The placeholder in a command for the first node's address.
inline constexpr std::string_view kFirstNode = "HOST";

struct Launch {
  std::string_view engine;
  ServerImage container;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::vector<std::string>> commands;  // one for each node, the program first
  std::uint64_t gpus_per_node = 1;
  std::string local_model;           // the path in the commands, if the model is not from the Hub
  std::vector<std::string> remarks;  // one sentence for each thing that the commands cannot express
};

}  // namespace kvplan
