#include "engines/sglang/sglang.h"

#include <string>

#include "engines/estimates.h"
#include "engines/kernel_table.h"
#include "engines/sglang/class_table.h"
#include "engines/sglang/rules.h"
#include "kvplan/gpus.h"

namespace kvplan {

using Found = std::optional<Refusal>;

static Found library_class(const EngineInput& input) {
  const std::string_view name = input.model.architecture;
  if (!sglang_library_class(input).value_or(true))
    return Refusal{"model_class",
                   {"{architecture} has no SGlang implementation and the Transformers implementation is not compatible "
                    "with SGLang.",
                    {{"architecture", name}}},
                   "use another engine"};
  if (input.request.parallel.tensor > 1 && sglang_runs_library_class(input))
    return Refusal{
        "tensor_parallel",
        {"transformers' class of {architecture} does not support tensor parallel yet!", {{"architecture", name}}},
        "use -tp 1"};
  return std::nullopt;
}

// ModelConfig._verify_quantization, of a quantization_config without quant_method (MLX).
static Found unnamed_quantization(const EngineInput& input) {
  const QuantDeclaration planned = planned_quantization(input);
  if (planned.names_method || !is_declared(planned)) return std::nullopt;
  return Refusal{"quantization", "Unknown quantization method: .", "use a checkpoint whose config has a quant_method"};
}

// A rank's part of an expert must be whole blocks: Fp8MoEMethod.create_weights, and for experts that are padded on
// Blackwell, ModelRunner's check_quantized_moe_compatibility.
static Found fp8_blocks(const EngineInput& input) {
  const std::optional<WeightScheme> scheme = planned_quantization(input).scheme;
  const Request& request = input.request;
  const ExpertShape& experts = input.model.experts;
  const std::uint64_t ranks = request.parallel.expert ? 1 : request.parallel.tensor;
  if (!scheme || scheme->block_rows == 0 || experts.count == 0 || ranks <= 1) return std::nullopt;
  if (experts.width % ranks != 0 || experts.width / ranks % scheme->block_rows == 0) return std::nullopt;
  // Routed experts in another format: only the shared expert has blocks, and this variable keeps it whole.
  const char* const remedy = planned_quantization(input).expert_scheme
                                 ? "use --enable-expert-parallel (--ep-size {ranks}), or set SGLANG_SHARED_EXPERT_TP1=1"
                                 : "use --enable-expert-parallel (--ep-size {ranks})";
  return Refusal{
      "fp8_blocks",
      {"The output_size of gate's and up's weight = {width} is not divisible by weight quantization block_n = "
       "{block}",
       {{"width", experts.width / ranks}, {"block", scheme->block_rows}}},
      {remedy, {{"ranks", ranks}}}};
}

// ExpertLocationMetadata has an assertion without a message.
static Found uneven_experts(const EngineInput& input) {
  const Parallel& parallel = input.request.parallel;
  if (parallel.balances_experts && !(parallel.expert && parallel.tensor > 1))
    return Refusal{"eplb", "assert self.ep_size > 1", "use --ep-size, or leave out --enable-eplb"};
  const std::uint64_t experts = checked_add(input.model.experts.count, parallel.redundant_experts, "the experts");
  if (parallel.redundant_experts == 0 || !parallel.expert || experts % parallel.tensor == 0) return std::nullopt;
  return Refusal{"uneven_experts",
                 {"assert num_physical_experts % ep_size == 0 ({experts} experts, {ranks} ranks)",
                  {{"experts", experts}, {"ranks", parallel.tensor}}},
                 {"use --num-redundant-experts {count}",
                  {{"count", parallel.redundant_experts + parallel.tensor - experts % parallel.tensor}}}};
}

// HybridSWAPoolConfigurator.
static Found windows(const EngineInput& input) {
  if (!sglang_hybrid_windows(input) || has_windows(input) || !sglang_rules(input.request).needs_windows)
    return std::nullopt;
  return Refusal{"windows", "Hybrid SWA model must have at least one SWA layer",
                 "use a config that names its sliding layers"};
}

// Models with latents and an indexer (is_deepseek_dsa), and DeepSeek-V4.
static bool is_sparse(const EngineInput& input) {
  return sglang_class(input.model).compressed ||
         (any_term(input, [](const Term& term) { return term.role == Role::kIndex; }) && sglang_has_latents(input));
}

// DeepSeek's sparse attention on GPUs before Hopper: DeepGEMM, which the indexer uses, and FlashAttention 3 have no
// kernels for them (sgl-project/sglang#35420; #33194 for DeepSeek-V4).
static Found old_card(const EngineInput& input, std::uint32_t capability) {
  constexpr std::uint32_t kHopper = 90, kDesktopBlackwell = 12;
  if (capability == 0 || !is_sparse(input)) return std::nullopt;
  const SglangRules rules = sglang_rules(input.request);
  const bool is_v4 = sglang_class(input.model).compressed;
  if (capability / 10 == kDesktopBlackwell && !(is_v4 ? rules.compresses_on_sm120 : rules.indexes_on_sm120))
    return Refusal{"attention_backend",
                   {"{what} has no kernels for compute capability 12 in this release: deep_gemm says Unsupported "
                    "architecture",
                    {{"what", is_v4 ? "DeepSeek-V4" : "DeepSeek sparse attention (DSA)"}}},
                   is_v4 ? "use SGLang 0.5.13 or newer" : "use SGLang 0.5.17 or newer"};
  if (capability >= kHopper) return std::nullopt;
  return Refusal{"attention_backend",
                 {"DeepSeek sparse attention (DSA) has kernels from compute capability 9.0 on, and this GPU has "
                  "{major}.{minor}",
                  {{"major", std::uint64_t{capability / 10}}, {"minor", std::uint64_t{capability % 10}}}},
                 "use a Hopper or Blackwell GPU"};
}

// DeepSeek-V4's experts in MXFP4. Triton's runner treats them as FP8 (Fp8MoEMethod, create_moe_runner).
static Found packed_experts(const EngineInput& input, std::uint32_t capability) {
  const std::optional<WeightScheme> experts = planned_quantization(input).expert_scheme;
  if (!sglang_class(input.model).compressed || !experts || experts->type != "mxfp4") return std::nullopt;
  const std::string& runner = input.request.extras.moe_runner;
  const bool is_left_out = runner.empty() || runner == "auto";
  const bool has_default = capability / 10 == 12 || sglang_rules(input.request).picks_mxfp4_runner;
  if (capability < 90 || !(is_left_out ? !has_default : runner == "triton")) return std::nullopt;
  return Refusal{"moe_runner", "AssertionError: Hidden size mismatch, of MXFP4 experts in Triton's MoE runner",
                 "use --moe-runner-backend flashinfer_mxfp4"};
}

// Experts in ModelOpt's NVFP4 on Blackwell, if the MoE runner stays "auto" (ModelOptNvFp4FusedMoEMethod), and
// flashinfer_cutlass for experts that it does not support.
static Found nvfp4_experts(const EngineInput& input, std::uint32_t capability) {
  constexpr std::uint32_t kData = 10, kDesktop = 12;
  const QuantDeclaration quantization = planned_quantization(input);
  const auto& scheme = quantization.expert_scheme ? quantization.expert_scheme : quantization.scheme;
  const std::uint32_t major = capability / 10;
  if ((major != kData && major != kDesktop) || input.model.experts.count == 0 || !scheme ||
      quantization.dialect != "modelopt" || !scheme->type.starts_with("nvfp4"))
    return std::nullopt;
  const SglangRules rules = sglang_rules(input.request);
  const SglangClass the_class = sglang_class(input.model);
  const std::string& runner = input.request.extras.moe_runner;
  const bool is_named = input.request.command.names_nvfp4;
  const bool is_left_out = runner.empty() || runner == "auto";
  const bool is_cutlass = major == kDesktop && is_named && rules.cutlass_on_sm120;
  if (the_class.weighs_inputs && (runner == "flashinfer_cutlass" || (is_left_out && is_cutlass)))
    return Refusal{"moe_runner", "apply_router_weight_on_input is not supported for Flashinfer",
                   "use SGLang 0.5.12, or a GPU of compute capability 10.0"};
  const bool is_picked =
      the_class.picks_nvfp4_runner || is_cutlass ||
      (major == kData && (the_class.picks_runner_on_sm100 || (the_class.picks_runner_by_rule && rules.routed_minimax)));
  if (!is_left_out || is_picked || !rules.needs_nvfp4_runner) return std::nullopt;
  return Refusal{"moe_runner",
                 "Unsupported moe_runner_backend for NVFP4 MoE: MoeRunnerBackend.FLASHINFER_TRTLLM. Use "
                 "--moe-runner-backend flashinfer_cutlass instead.",
                 "use --moe-runner-backend flashinfer_cutlass"};
}

// DeepSeek's sparse attention supports two cache types. NVFP4 is only for ordinary attention (attention_backend.py).
static Found types(const EngineInput& input) {
  const Dtype type = input.types.key;
  // DeepSeekV4SingleKVPool.create_buffer.
  if (sglang_class(input.model).compressed && plain_bytes(type) > 1)
    return Refusal{
        "kv_cache_dtype",
        {"assert self.store_dtype == torch.uint8: DeepSeek-V4's pool takes no {type} cache", {{"type", name(type)}}},
        "use --kv-cache-dtype fp8_e4m3"};
  if (is_sparse(input) && (type == Dtype::kFp8E5m2 || type == Dtype::kNvfp4))
    return Refusal{"kv_cache_dtype", "DeepSeek DSA only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype",
                   "use --kv-cache-dtype fp8_e4m3"};
  if (type != Dtype::kNvfp4) return std::nullopt;
  const bool is_latent = !sglang_rules(input.request).nvfp4_for_latents && sglang_has_latents(input);
  if (!is_latent && input.model.state_groups == 0) return std::nullopt;
  return Refusal{
      "kv_cache_dtype",
      {"NVFP4 prefill supports an FP8 E4M3 workspace or native NVFP4, but backend '{backend}' provides neither",
       {{"backend", is_latent ? "trtllm_mla" : "triton"}}},
      "use --kv-cache-dtype fp8_e4m3"};
}

// arg_groups/speculative_hook.py.
static Found drafts(const EngineInput& input) {
  if (!input.draft_method) return std::nullopt;
  const DraftMethod method = *input.draft_method;
  const bool is_block = method == DraftMethod::kDspark;
  const bool is_eagle = method == DraftMethod::kMtp || method == DraftMethod::kEagle;
  if (sglang_class(input.model).compressed && !is_eagle && !is_block)
    return Refusal{"speculative_method", "Only EAGLE and DSPARK speculative algorithms are supported for DeepSeek-V4",
                   "use --mtp"};
  if (is_sparse(input) && method == DraftMethod::kNgram)
    return Refusal{"speculative_method",
                   "speculative_eagle_topk(10) > 1 with page_size(64) > 1 is unstable and produces incorrect results "
                   "for paged attention backends",
                   "use --mtp"};
  return std::nullopt;
}

// ModelConfig._derive_context_length. Without a command, kvplan's own launch line allows the length.
static Found length(const EngineInput& input, const Load& load) {
  const Tokens longest = input.model.longest;
  const bool is_allowed = input.request.command.allows_longer.value_or(true);
  if (longest == Tokens(0) || load.max_model_len <= longest || is_allowed) return std::nullopt;
  return Refusal{"max_model_len",
                 {"User-specified context_length ({asked}) is greater than the derived context_length ({derived}).",
                  {{"asked", load.max_model_len}, {"derived", longest}}},
                 "ask for less, or set SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"};
}

std::optional<Refusal> sglang_refusal(const EngineInput& input, const Load& load) {
  const std::uint32_t capability = input.request.card.capability();
  if (Found found = registry_refusal(sglang_registry_lines(), input, "SGLang")) return found;
  if (Found found = length(input, load)) return found;
  if (Found found = library_class(input)) return found;
  if (Found found = unnamed_quantization(input)) return found;
  if (Found found = kernel_refusal(sglang_kernel_rows(), input, {})) return found;
  if (Found found = fp8_blocks(input)) return found;
  if (Found found = windows(input)) return found;
  if (Found found = uneven_experts(input)) return found;
  if (Found found = sglang_backend_refusal(input, capability)) return found;
  if (Found found = old_card(input, capability)) return found;
  if (Found found = packed_experts(input, capability)) return found;
  if (Found found = nvfp4_experts(input, capability)) return found;
  if (Found found = drafts(input)) return found;
  return types(input);
}

}  // namespace kvplan
