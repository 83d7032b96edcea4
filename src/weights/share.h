// The part of a group of tensors on one rank of a layout.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kvplan/tensors.h"
#include "weights/weigh.h"

namespace kvplan {

inline constexpr std::uint64_t kVocabPadding = 64;  // vLLM and SGLang pad before they split

// A rank's part of one matrix of the group.
struct Piece {
  std::uint64_t rows = 0, columns = 0, copies = 0;
};

// The ranks that split a tensor that is not an expert's. In MTP layers a tensor with heads counts as attention.
inline std::uint64_t cutting_ranks(const TensorGroup& group, const WeightShare& share) {
  const auto some_or_all = [&](std::uint64_t some) { return some > 0 ? some : share.tensor_parallel; };
  switch (group.component) {
    case Component::kAttention:
    case Component::kStateMixer:
    case Component::kVision:
    case Component::kAudio:
    case Component::kProjector: return some_or_all(share.attention_parallel);
    case Component::kMtp: return some_or_all(group.units > 0 ? share.attention_parallel : 0);
    case Component::kEmbedding: return some_or_all(share.embedding_parallel);
    default: return share.tensor_parallel;
  }
}

inline Piece piece_of(const TensorGroup& group, const WeightShare& share) {
  Piece piece{group.rows, group.columns, group.copies + (group.is_expert ? share.redundant_experts : 0)};
  std::uint64_t ranks = cutting_ranks(group, share);
  if (is_tower(group.component)) {
    // If the ranks do not divide a tower's width, the tower is replicated.
    const std::uint64_t cut = group.split == Split::kColumns ? group.columns : group.rows;
    if (!share.cuts_towers || cut % ranks != 0 || group.units % ranks != 0) return piece;
  }
  if (group.is_expert && share.expert_parallel > 1) {
    piece.copies = ceil_div(piece.copies, share.expert_parallel);
    return piece;
  }
  if (group.is_expert && share.expert_tensor_parallel > 0) ranks = share.expert_tensor_parallel;
  // If there are fewer heads than ranks, each head is replicated.
  if (group.units > 0) ranks = std::min(ranks, group.units);
  if (group.split == Split::kVocab && share.pads_vocab)
    piece.rows = round_up(group.rows, kVocabPadding, "the padded vocabulary");
  if (ranks <= 1) return piece;
  switch (group.split) {
    case Split::kNone: break;
    case Split::kRows: piece.rows = ceil_div(group.rows, ranks); break;
    case Split::kColumns: piece.columns = ceil_div(group.columns, ranks); break;
    case Split::kVocab:
      piece.rows = ceil_div(round_up(group.rows, kVocabPadding, "the padded vocabulary"), ranks);
      break;
  }
  return piece;
}

// A stage's layers within a run.
struct HeldLayers {
  const TensorGroup& group;
  const WeightShare& share;

  // The part of a run within the stage, by its indices: [first, last).
  std::pair<std::uint64_t, std::uint64_t> within(const LayerRun& run) const {
    if (!share.layers || run.count == 0) return {0, run.count};
    const std::uint64_t end = share.first_layer + *share.layers;
    if (run.step == 0) return {0, run.first >= share.first_layer && run.first < end ? run.count : 0};
    const auto below = [&](std::uint64_t bound) {
      return bound <= run.first ? 0 : std::min(run.count, ceil_div(bound - run.first, run.step));
    };
    return {below(share.first_layer), below(end)};
  }
  // Number of layers in a run, without a loop.
  std::uint64_t count(const LayerRun& run) const {
    const auto [first, last] = within(run);
    return last - first;
  }
  std::uint64_t count() const {
    if (group.place == Place::kFirst) return share.first_stage && !share.embedding_on_host ? 1 : 0;
    if (group.place == Place::kEach) return !share.layers || *share.layers > 0 ? 1 : 0;
    if (group.place == Place::kLast) {
      // A tied head is the embedding itself if one rank has both.
      if (group.is_tied) return share.last_stage && (!share.first_stage || share.embedding_on_host) ? 1 : 0;
      return share.last_stage ? 1 : 0;
    }
    if (!share.layers) return group.num_layers();
    std::uint64_t out = 0;
    for (const LayerRun& run : group.layers) out += count(run);
    return out;
  }
  template <class Visit>
  void each(Visit&& visit) const {
    if (group.place != Place::kLayers) {
      if (count() > 0) visit(std::uint64_t{0});
      return;
    }
    for (const LayerRun& run : group.layers) {
      const auto [first, last] = within(run);
      for (std::uint64_t i = first; i < last; ++i) visit(run.first + i * run.step);
    }
  }
};

}  // namespace kvplan
