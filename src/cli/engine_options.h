// Which engines have an option. Options that no engine lists as its own belong to all of them.
#ifndef KVPLAN_CLI_ENGINE_OPTIONS_H_
#define KVPLAN_CLI_ENGINE_OPTIONS_H_

#include <span>
#include <string>
#include <string_view>

namespace kvplan {

// Error that names the engines that have `option`, where none of `chosen` has it. The logical engine, which models no
// engine's options, lets all pass; where it is alone and the option changes nothing, that is the answer, "" otherwise.
std::string check_engine_option(std::string_view option, std::span<const std::string> chosen);

// The engine that a model's name stands for where --engine names none: "ollama" of ollama:NAME, "llama.cpp" of a GGUF;
// empty where it stands for none.
std::string_view implied_engine(std::string_view model);

}  // namespace kvplan

#endif  // KVPLAN_CLI_ENGINE_OPTIONS_H_
