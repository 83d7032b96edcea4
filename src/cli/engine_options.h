// Which engines have an option. Options that are not listed belong to all of them.
#ifndef KVPLAN_CLI_ENGINE_OPTIONS_H_
#define KVPLAN_CLI_ENGINE_OPTIONS_H_

#include <span>
#include <string>
#include <string_view>

namespace kvplan {

struct EngineOption {
  std::string_view option;   // its first name
  std::string_view engines;  // separated by spaces
  bool logical_too = false;  // it means something for the logical plan as well
};
std::span<const EngineOption> engine_options();

// Error that names the engines that have `option`, where none of `chosen` has it. The logical engine, which models no
// engine's options, lets all pass; where it is alone and the option changes nothing, that is the answer, "" otherwise.
std::string check_engine_option(std::string_view option, std::span<const std::string> chosen);

// The engine that a model's name stands for where --engine names none: "ollama" of ollama:NAME, "llama.cpp" of a GGUF;
// empty where it stands for none.
std::string_view implied_engine(std::string_view model);

}  // namespace kvplan

#endif  // KVPLAN_CLI_ENGINE_OPTIONS_H_
