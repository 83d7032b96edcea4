#include "engines/sglang/refusal.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "engines/estimates.h"
#include "engines/sglang/models.h"
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

using Found = std::optional<Refusal>;

constexpr std::uint64_t kWiderKernels = 23;   // 0.5.8 refuses on Blackwell too what 0.5.23 pads
constexpr std::uint64_t kNvfp4OnHopper = 23;  // ModelOptFp4Config.get_min_capability: 100 in 0.5.8

constexpr std::string_view kPlainKernels[] = {"MiniMaxM2ForCausalLM"};
constexpr std::uint64_t kWindowsWanted = 12;  // 0.5.8 takes a model of two pools without windows

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

// get_min_capability of ModelOpt's classes.
Found quantization(const EngineInput& input, std::uint32_t capability) {
  const QuantDeclaration& declared = input.model.quantization;
  if (capability == 0 || input.request.weights || !declared.dialect.starts_with("modelopt") || !declared.scheme)
    return std::nullopt;
  const bool is_fp8 = declared.scheme->type.starts_with("fp8");
  const std::uint32_t least = is_fp8 ? 89 : sglang_since(input.request, kNvfp4OnHopper) ? 0 : 100;
  if (capability >= least) return std::nullopt;
  return Refusal{"quantization",
                 std::string("The quantization method ") + (is_fp8 ? "modelopt_fp8" : "modelopt_fp4") +
                     " is not supported for the current GPU. Minimum capability: " + number(least) +
                     ". Current capability: " + number(capability),
                 "use a newer card"};
}

// Fp8MoEMethod.create_weights: a rank's share of an expert is whole blocks.
Found fp8_blocks(const EngineInput& input, std::uint32_t capability) {
  const std::optional<WeightScheme>& scheme = input.model.quantization.scheme;
  const Request& request = input.request;
  const ExpertShape& experts = input.model.experts;
  const std::uint64_t ranks = request.expert_parallel ? 1 : request.tensor_parallel;
  if (request.weights || !scheme || scheme->block_rows == 0 || experts.count == 0 || ranks <= 1) return std::nullopt;
  if (experts.width % ranks != 0 || experts.width / ranks % scheme->block_rows == 0) return std::nullopt;
  // FlashInfer's kernels, which not every class takes.
  const bool pads = std::find(std::begin(kPlainKernels), std::end(kPlainKernels), input.model.architecture) ==
                    std::end(kPlainKernels);
  if (capability / 10 == 10 && pads && sglang_since(request, kWiderKernels)) return std::nullopt;
  return Refusal{"fp8_blocks",
                 "The output_size of gate's and up's weight = " + number(experts.width / ranks) +
                     " is not divisible by weight quantization block_n = " + number(scheme->block_rows),
                 "use --enable-expert-parallel (--ep-size " + number(ranks) + ")"};
}

// HybridSWAPoolConfigurator.
Found windows(const EngineInput& input) {
  if (!sglang_hybrid_windows(input) || has_windows(input) || !sglang_since(input.request, kWindowsWanted))
    return std::nullopt;
  return Refusal{"windows", "Hybrid SWA model must have at least one SWA layer",
                 "use a config that names its sliding layers"};
}

// DeepSeek's sparse attention takes two types.
Found types(const EngineInput& input) {
  const bool is_sparse = sglang_compressed(input.model.arch) || is_one_of(input.model.arch, {Arch::kDeepseekV32});
  if (!is_sparse || input.types.key != Dtype::kFp8E5m2) return std::nullopt;
  return Refusal{"kv_cache_dtype", "DeepSeek DSA only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype",
                 "use --kv-cache-dtype fp8_e4m3"};
}

}  // namespace

std::optional<Refusal> sglang_refusal(const EngineInput& input, const Load&) {
  const std::uint32_t capability = compute_capability(input.request.gpu);
  if (Found found = quantization(input, capability)) return found;
  if (Found found = fp8_blocks(input, capability)) return found;
  if (Found found = windows(input)) return found;
  return types(input);
}

}  // namespace kvplan
