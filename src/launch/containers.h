// Containers: docker run, and objects of Kubernetes and Compose as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/shell.h"

namespace kvplan {

struct Container {
  std::string image;                 // "vllm/vllm-openai:v0.8.4"
  std::vector<ShellWord> arguments;  // of the image, after its entry point if the text names one
  Assignments environment;
  std::optional<std::uint64_t> gpus;
  std::vector<ShellWord> starter;  // the words from "docker" to the image, for docker run without --entrypoint
};

// `words` begin with "docker" or "podman". Nothing if they run no image.
std::optional<Container> read_docker_run(const std::vector<ShellWord>& words);
// Every object with an "image" and a "command", "args" or "entrypoint". Throws Error if the text is not JSON.
std::vector<Container> read_containers(std::string_view json);

// "0.4.5" for "lmsysorg/sglang:v0.4.5.post3-cu121"; "" if the tag names no release.
std::string release_of_image(std::string_view image);

}  // namespace kvplan
