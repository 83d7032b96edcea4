// Requests for the engine tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "kvplan/request.h"
#include "plan/answer.h"

namespace kvplan {

// One sequence of `tokens` under `engine` ("sglang@0.4"), with `budget` bytes for the cache unless it is 0.
inline Request request_for(const std::string& engine, std::uint64_t tokens, std::uint64_t budget = 0) {
  Request request;
  find_engine(engine, request);
  request.max_model_len = Tokens(tokens);
  if (budget > 0) request.kv_cache_memory_bytes = Bytes(budget);
  return request;
}

// The keys or values of one token, in a window if `window` is given.
inline Term term_of(Role role, std::uint64_t units, std::uint64_t width, std::uint64_t window = 0) {
  Term out{.name = role == Role::kKey ? "key" : "value", .role = role};
  out.shape = {.units = units, .vectors = 1, .width = width};
  if (window > 0) out.limit = {LimitKind::kWindow, Tokens(window), Tokens(0)};
  return out;
}

// Keys and values of one layer.
inline CacheTerms heads(std::uint64_t units, std::uint64_t width, std::uint64_t window = 0) {
  return {term_of(Role::kKey, units, width, window), term_of(Role::kValue, units, width, window)};
}

// The line of this kind on the first GPU; 0 B if there is none.
inline LedgerLine line_of(const Plan& plan, LineId id) {
  for (const LedgerLine& line : plan.memory.front().lines)
    if (line.id == id) return line;
  return {};
}

inline std::unique_ptr<CacheLayout> layout_of(const EngineInput& input) {
  std::vector<Note> notes;
  return engine_of(input.request).layout(input, notes);
}

}  // namespace kvplan
