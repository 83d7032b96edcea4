// Which engines have an option. An option that no engine lists belongs to all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvplan {

struct Engine;

// Throws Error that names the engines with `option` where none of `chosen` has it. The logical engine has no options of
// its own and accepts all; where it is chosen alone and the option changes nothing, the answer is a note that says so,
// else "".
std::string check_engine_option(std::string_view option, std::span<const std::string> chosen);

// Whether the engine has the option; false where only others list it.
bool is_option_of(std::string_view option, const Engine& engine);

// The engine that a model's name implies where --engine names none: "ollama" for ollama:NAME, "llama.cpp" for a GGUF;
// empty where it implies none.
std::string_view implied_engine(std::string_view model);

}  // namespace kvplan
