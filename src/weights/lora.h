// The memory of LoRA slots: a pair of matrices for every linear layer that an adapter may change, allocated before any
// adapter is loaded.
//
//   A  rank x inputs, B  outputs x rank, for each slot
//   cut by output (q, k, v, gate, up):  A whole on every rank, B cut        with fully sharded slots A is cut by rank
//   cut by input (o, down):             A cut, B whole                      with fully sharded slots B is cut
//   neither (routers, MLA's first projections): both whole
//   experts: a pair for each expert
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kvplan/weight_model.h"
#include "weights/weigh.h"

namespace kvplan {

struct LoraRequest {
  std::uint64_t slots = 1, rank = 16;
  std::vector<std::string> targets;  // last words of module names ("q_proj", "qkv_proj"); empty: every linear layer
  bool with_experts = true;
  bool with_embedding = false, with_head = false;  // even if no target names it
  std::uint64_t extra_vocab = 0;                   // rows after the vocabulary, with their own embeddings
  std::uint64_t vocab_padding = 1;                 // to which the head's B is rounded up
  bool head_is_cut = false;                        // the head's B is split over the ranks
  bool fully_sharded = false;
  WeightShare share;
};

struct LoraReport {
  Bytes bytes;
  Elements elements;
  std::uint64_t modules = 0;  // linear layers with a pair, counted for each layer and expert
};

// Bytes on one rank, in the model's 16 bit type (4 bytes for float32 models).
LoraReport weigh_lora(const WeightModel& model, const LoraRequest& request);

// Whether a target names this module, by its last word or by the fused module that contains it (qkv_proj contains
// q_proj).
bool lora_targets(const std::vector<std::string>& targets, std::string_view module);

}  // namespace kvplan
