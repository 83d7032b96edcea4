#include "weights/lora.h"

#include <algorithm>

#include "kvplan/strings.h"
#include "weights/share.h"

namespace kvplan {

namespace {

constexpr std::string_view kSlots = "the LoRA slots";

bool is_decoder(const TensorGroup& group) {
  switch (group.component) {
    case Component::kVision:
    case Component::kAudio:
    case Component::kProjector:
    case Component::kEncoder:
    case Component::kMtp: return false;
    default: return true;
  }
}

// Modules that engines fuse, and their parts.
struct Fused {
  std::string_view name, parts;
};
constexpr Fused kFused[] = {{"qkv_proj", "q_proj k_proj v_proj"},
                            {"gate_up_proj", "gate_proj up_proj"},
                            {"fused_qkv_a_proj", "q_a_proj kv_a_proj_with_mqa"},
                            {"fused_qkv_a_proj_with_mqa", "q_a_proj kv_a_proj_with_mqa"},
                            {"in_proj_qkvz", "in_proj_qkv in_proj_z in_proj_qkvz"},
                            // llama.cpp's names.
                            {"attn_q", "q_proj"},
                            {"attn_k", "k_proj"},
                            {"attn_v", "v_proj"},
                            {"attn_output", "o_proj"},
                            {"ffn_gate", "gate_proj"},
                            {"ffn_up", "up_proj"},
                            {"ffn_down", "down_proj"}};

}  // namespace

bool lora_targets(const std::vector<std::string>& targets, std::string_view module) {
  const std::string_view word = module.substr(module.rfind('.') + 1);
  return std::any_of(targets.begin(), targets.end(), [&](const std::string& target) {
    if (target == word || target == "all" || target == "all-linear") return true;
    return std::any_of(std::begin(kFused), std::end(kFused), [&](const Fused& fused) {
      return (fused.name == target && has_word(fused.parts, word)) ||
             (fused.name == word && has_word(fused.parts, target));
    });
  });
}

LoraReport weigh_lora(const WeightModel& model, const LoraRequest& request) {
  LoraReport out;
  const std::uint64_t element = std::max<std::uint64_t>(2, plain_bytes(model.dtype));
  const std::uint64_t ranks = std::max<std::uint64_t>(1, request.share.tensor_parallel);
  const std::uint64_t cut_rank = request.fully_sharded ? ceil_div(request.rank, ranks) : request.rank;
  const auto add = [&](Elements one, std::uint64_t copies) {
    out.elements += one * copies * request.slots;
    out.modules = checked_add(out.modules, copies, kSlots);
  };
  for (const TensorGroup& group : model.tensors) {
    if (!is_decoder(group) || group.elements_of_one() == Elements(0)) continue;
    const HeldLayers held{group, request.share};
    if (group.role == TensorRole::kEmbedding || group.role == TensorRole::kHead) {
      const bool is_head = group.role == TensorRole::kHead;
      if (!is_head && group.module != "model.embed_tokens") continue;
      const std::string_view module = is_head ? "lm_head" : "embed_tokens";
      const bool named = std::find(request.targets.begin(), request.targets.end(), module) != request.targets.end();
      if (!named && !(request.targets.empty() && (is_head ? request.with_head : request.with_embedding))) continue;
      if (is_head ? !request.share.last_stage : !request.share.first_stage) continue;
      const std::uint64_t vocab = checked_add(group.rows, request.extra_vocab, kSlots);
      std::uint64_t rows = is_head ? round_up(vocab, request.vocab_padding, kSlots) : vocab;
      if (is_head && request.head_is_cut) rows = ceil_div(rows, ranks);
      Elements one = Elements(checked_add(rows, group.columns, kSlots)) * request.rank;
      one += Elements(request.extra_vocab) * group.columns;
      add(one, 1);
      continue;
    }
    if (group.role != TensorRole::kLinear || group.is_derived || (group.is_expert && !request.with_experts)) continue;
    if (!request.targets.empty() && !lora_targets(request.targets, group.module)) continue;
    const Piece piece = piece_of(group, request.share);
    Elements one;
    switch (group.split) {
      case Split::kRows:
      case Split::kVocab: one = Elements(group.columns) * cut_rank + Elements(piece.rows) * request.rank; break;
      case Split::kColumns: {
        const std::uint64_t rows = request.fully_sharded ? ceil_div(group.rows, ranks) : group.rows;
        one = Elements(piece.columns) * request.rank + Elements(rows) * request.rank;
        break;
      }
      case Split::kNone: one = Elements(checked_add(group.rows, group.columns, kSlots)) * request.rank; break;
    }
    add(one, checked_mul(piece.copies, held.count(), kSlots));
  }
  out.bytes = Bytes(out.elements.count()) * element;
  return out;
}

}  // namespace kvplan
