// Reads an engine's command as the engine's own parser does. The result is the equivalent options of kvplan, and what
// kvplan cannot plan.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/command_options.h"
#include "kvplan/note.h"
#include "kvplan/request.h"
#include "launch/find_commands.h"

namespace kvplan {

// An option at its place in the command.
struct PlacedOption {
  const EngineOption* row = nullptr;
  std::string name;       // the option's own name, or a member of its object
  std::size_t word = 0;   // index in LaunchCommand::words
  std::size_t words = 0;  // it and its values
};

struct ReadCommand {
  LaunchCommand command;
  std::vector<std::size_t> devices;  // of the machine's GPUs, those that the command makes visible
  std::string engine;                // "vllm", "vllm@0.8.4"
  EngineOptions options;
  CommandSettings settings;
  std::vector<PlacedOption> placed;
  CommandRequest request;
  std::vector<Note> notes;
};

// `model` replaces the command's model unless it is empty. Throws Error for an option that no release of the engine
// has, for a value that the text does not give, and if no model is named.
ReadCommand read_command(LaunchCommand command, std::string_view model);

// Takes the engine's options out of kvplan's own `words`, and returns what they mean. `own_option` gives the name of
// kvplan's option that a word belongs to, if there is one.
ReadCommand take_engine_options(const Engine& engine, std::vector<std::string>& words,
                                const std::function<std::optional<std::string_view>(std::string_view)>& own_option);

// The command as one line, with kvplan's options in `changes` added or replaced in the engine's own spelling, and
// secrets hidden. "" if the engine has no option for one of them.
std::string edited_command(const ReadCommand& read, const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace kvplan
