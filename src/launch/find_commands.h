// Finds engines' commands in what people paste: shell lines and scripts, docker run, a container of Kubernetes or
// Compose as JSON, Ollama's Modelfile. Nothing is run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "launch/shell.h"

namespace kvplan {

struct LaunchCommand {
  const Engine* engine = nullptr;
  std::string release;                // of the container's tag: "0.8.4"; "" if nothing names it
  std::vector<ShellWord> words;       // from the program on
  std::size_t arguments = 0;          // index of the first word after the program
  Assignments environment;            // assignments that apply to it; if a name occurs twice, the last one wins
  std::optional<std::uint64_t> gpus;  // that the container is given
  std::vector<ShellWord> before;      // words in front of the program: "sudo docker run ... IMAGE", "numactl"
  bool is_rocm = false;
};

// "/opt/build/bin/llama-server.exe" -> "llama-server"
std::string_view program_name(std::string_view word);

// At most 1 MiB of text and 64 commands. Throws Error if there is more, for YAML, and if the text has no engine's
// command.
std::vector<LaunchCommand> find_commands(std::string_view text);
// As above, for words that a shell has already read.
std::vector<LaunchCommand> find_commands(const std::vector<std::string>& words);

}  // namespace kvplan
