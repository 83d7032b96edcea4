// The lengths and the number of a plan's sequences.
#pragma once

#include <cstdint>

#include "kvplan/quantity.h"

namespace kvplan {

// The load of a layout. The layout does not depend on it.
struct Load {
  Tokens max_model_len;
  std::uint64_t num_seqs = 1;
  Tokens source_tokens;
  bool pooled = false;  // max_model_len is a pool that all sequences share
  // Tokens of one sequence. If there is a pool, an equal part of it.
  Tokens tokens_of_sequence() const {
    return pooled && num_seqs > 0 ? Tokens(max_model_len.count() / num_seqs) : max_model_len;
  }
};

}  // namespace kvplan
