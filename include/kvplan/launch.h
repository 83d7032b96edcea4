// The engine's own command line for a plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvplan {

struct Launch {
  std::string_view engine, image;  // image: of a container; empty where its makers publish none
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::vector<std::string>> commands;  // one for each node, the program first
  std::uint64_t gpus_per_node = 1;
  std::vector<std::string> remarks;  // what the commands cannot express, each a sentence
};

}  // namespace kvplan
