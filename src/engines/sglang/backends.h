// Attention backends that a user can name: what each needs of card and model, and its page size.
#ifndef KVPLAN_ENGINES_SGLANG_BACKENDS_H_
#define KVPLAN_ENGINES_SGLANG_BACKENDS_H_

#include <cstdint>
#include <optional>

#include "engines/engine.h"

namespace kvplan {

// Why SGLang does not start with the named backend; absent where it does, or where none is named.
std::optional<Refusal> sglang_backend_refusal(const EngineInput& input, std::uint32_t capability);
// Tokens of a page of the named backend; absent where none is named.
std::optional<std::uint64_t> sglang_backend_page(const EngineInput& input);
// Whether values are read from the cached keys.
bool sglang_has_latents(const EngineInput& input);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_BACKENDS_H_
