// Which engines have an option. An option that no engine lists belongs to all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvplan {

struct Engine;

// Throws Error, with the engines that have `option`, if none of `chosen` has it. The logical engine accepts all
// options; if it is the only engine and the option changes nothing, a note says so, else "".
std::string check_engine_option(std::string_view option, std::span<const std::string> chosen);

// Whether the engine has the option; false if only others list it.
bool is_option_of(std::string_view option, const Engine& engine);

// The engine that a model's name implies if there is no --engine: "ollama" for ollama:NAME, "llama.cpp" for a GGUF;
// empty if it implies none.
std::string_view implied_engine(std::string_view model);

}  // namespace kvplan
