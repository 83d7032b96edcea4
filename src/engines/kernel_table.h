// Which weights an engine's kernels run on which NVIDIA GPUs, release by release. A row names the GPUs that run a
// format, and the engine refuses to start on any other GPU. If no row is about a format and a GPU, the pair was not
// checked in the engine, and the plan says so.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

enum class KernelPart : std::uint8_t {
  kWeights,         // all of them
  kBlocks,          // weights with a scale for each block
  kAsymmetric,      // GPTQ's with zero points that count (sym=false)
  kFp4Activations,  // weights that are multiplied by activations in FP4
  kExperts,         // routed experts
  kPlainExperts,    // routed experts without a gate
  kClampedExperts,  // routed experts whose SwiGLU is clamped
  kHead,            // an output projection that a rule of the checkpoint quantizes
};

// What the engine's table of classes says about a model's experts.
struct ExpertKinds {
  bool plain = false, clamped = false;
};

struct KernelRow {
  std::string_view methods = {};  // quant_method, separated by spaces; "" for any weights, quantized or not
  std::string_view types = {};    // how names of weight types begin, separated by spaces; "" for any
  KernelPart part = KernelPart::kWeights;
  std::string_view cards = {};  // compute capabilities times ten: "75+", "100-109 120+"; "" for none
  Release since{}, until = kNoEnd;
  const char* words = nullptr;  // the engine's own sentence; null: its usual one about the minimum capability
  const char* cure = nullptr;   // a remedy; null: a newer GPU
  std::string_view evidence{};
  RuleBasis basis = RuleBasis::kRead;
};

// Whether a number is in one of the ranges: "75+", "100-109 120+".
bool is_among(std::string_view ranges, std::uint64_t number);

// The refusal of the first row that excludes the GPU; nothing without a named NVIDIA GPU.
std::optional<Refusal> kernel_refusal(std::span<const KernelRow> table, const EngineInput& input, ExpertKinds kinds);
// Adds notes for quantized weights that no row covers, and for GPUs of other makers.
void note_unasked_kernels(std::span<const KernelRow> table, const EngineInput& input, std::vector<Note>& notes);
std::vector<RuleRow> kernel_rule_rows(std::span<const KernelRow> table);

// How a plan's weights are quantized, as a checkpoint would declare it: by --weights, or else by the checkpoint.
// Refusals use this, so an engine refuses a type whether the user or the checkpoint names it. No quantization if the
// weights are in 16 or 32 bit.
QuantDeclaration planned_quantization(const EngineInput& input);

}  // namespace kvplan
