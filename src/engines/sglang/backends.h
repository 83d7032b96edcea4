// The attention backends that a user names: what of card and model each wants, and its pages.
#ifndef KVPLAN_ENGINES_SGLANG_BACKENDS_H_
#define KVPLAN_ENGINES_SGLANG_BACKENDS_H_

#include <cstdint>
#include <optional>

#include "engines/engine.h"

namespace kvplan {

// Why SGLang does not start with the one that is named; absent where it does, or where none is named.
std::optional<Refusal> sglang_backend_refusal(const EngineInput& input, std::uint32_t capability);
// Tokens of a page of the one that is named; absent where none is.
std::optional<std::uint64_t> sglang_backend_page(const EngineInput& input);
// Keys of tokens that values are read from too.
bool sglang_has_latents(const EngineInput& input);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_BACKENDS_H_
