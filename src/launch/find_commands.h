// Finds the engines' commands in what people paste: shell lines and scripts, docker run, a container of Kubernetes or
// Compose as JSON, a Modelfile of Ollama. Nothing is run.
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
  Assignments environment;            // assignments that apply to it; the last of a name wins
  std::optional<std::uint64_t> gpus;  // that the container is given
  std::vector<ShellWord> before;      // words in front of the program: "sudo docker run ... IMAGE", "numactl"
  bool is_rocm = false;
};

// "/opt/build/bin/llama-server.exe" -> "llama-server"
std::string_view program_name(std::string_view word);

// At most 1 MiB of text and 64 commands; throws Error beyond them, for YAML, and where no command of an engine is in
// the text.
std::vector<LaunchCommand> find_commands(std::string_view text);
// The same for words that a shell has read already.
std::vector<LaunchCommand> find_commands(const std::vector<std::string>& words);

}  // namespace kvplan
