#include "engines/vllm/vllm.h"

#include <numeric>
#include <string>
#include <string_view>

#include "engines/kernel_table.h"
#include "engines/vllm/class_table.h"
#include "engines/vllm/rules.h"
#include "kvplan/strings.h"

namespace kvplan {

using Found = std::optional<Refusal>;

constexpr unsigned kAmpere = 80;
constexpr unsigned kAda = 89;
constexpr unsigned kBlackwell = 100;
constexpr std::uint64_t kFinestBlock = 32;

// "8.0" for 80.
static NamedValue named_capability(std::string_view name, unsigned capability) {
  return {name, std::to_string(capability / 10) + "." + std::to_string(capability % 10)};
}

static bool is_fp8(Dtype type) {
  return type == Dtype::kFp8E4m3 || type == Dtype::kFp8E5m2 || type == Dtype::kFp8DsMla;
}

static Found architecture(const EngineInput& input) {
  const VllmClass the_class = vllm_class(input.model);
  if (!the_class.is_missing && !the_class.is_unregistered) return std::nullopt;
  return Refusal{"architecture",
                 {"vLLM has no class for {model_type}", {{"model_type", input.model.model_type}}},
                 "choose another engine"};
}

// ModelConfig.get_and_verify_max_len.
static Found length(const EngineInput& input, const Load& load) {
  const Tokens longest = input.model.longest;
  const bool is_allowed = input.request.command.allows_longer.value_or(false);
  if (longest == Tokens(0) || load.max_model_len <= longest || is_allowed) return std::nullopt;
  return Refusal{"max_model_len",
                 {"User-specified max_model_len ({asked}) is greater than the derived max_model_len ({derived})",
                  {{"asked", load.max_model_len}, {"derived", longest}}},
                 "ask for less, or set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"};
}

// ModelConfig.verify_with_parallel_config, and layers that split their heads over the ranks.
static Found ranks(const EngineInput& input) {
  constexpr const char* kCure = "use a --tensor-parallel-size that divides them";
  const std::uint64_t tp = input.request.parallel.tensor;
  if (tp <= 1) return std::nullopt;
  std::uint64_t heads = input.model.num_heads;
  for (const ConfigFact& fact : input.model.facts)  // an encoder has no cache
    if (heads == 0 && fact.key == "num_attention_heads") heads = whole_number(fact.value).value_or(0);
  if (heads % tp != 0)
    return Refusal{"attention_heads",
                   {"Total number of attention heads ({num_heads}) must be divisible by tensor parallel size ({ranks})",
                    {{"num_heads", heads}, {"ranks", tp}}},
                   kCure};
  if (input.model.state_groups > 1 && input.model.state_groups % tp != 0)
    return Refusal{"state_groups",
                   {"tensor parallel size {ranks} does not divide the {state_groups} groups of the states",
                    {{"ranks", tp}, {"state_groups", input.model.state_groups}}},
                   kCure};
  for (const LayerCache& cache : input.caches) {
    for (const Term& term : cache.compact) {
      const std::uint64_t units = term.shape.units;
      const bool is_state = term.growth == Growth::kSequence;
      if (term.shape.columns > 0 || units % tp == 0 || (!is_state && units < tp && tp % units == 0)) continue;
      return Refusal{is_state ? "state_heads" : "kv_heads",
                     {"{heads} is not divisible by {ranks}: heads of \"{term}\"",
                      {{"heads", units}, {"ranks", tp}, {"term", term.name}}},
                     kCure};
    }
  }
  return std::nullopt;
}

// ModelConfig and the loader: GPUs and kernels that the release lacks.
static Found card(const EngineInput& input) {
  const unsigned capability = input.request.card.capability();
  const VllmClass the_class = vllm_class(input.model);
  const ExpertKinds kinds{the_class.has_plain_experts, the_class.clamps_experts};
  if (Found found = kernel_refusal(vllm_kernel_rows(), input, kinds)) return found;
  if (capability > 0 && capability < kAmpere && input.request.dtype == Dtype::kBfloat16)
    return Refusal{"bfloat16",
                   {"Bfloat16 is only supported on GPUs with compute capability of at least 8.0, and this one has "
                    "{capability}",
                    {named_capability("capability", capability)}},
                   "use --dtype float16"};
  return std::nullopt;
}

// The width of the shared experts' MLP if ranks split it. 0 if there is none, or if each rank has all of it for its
// part of the sequences (use_sequence_parallel_moe).
std::uint64_t split_shared_width(const EngineInput& input) {
  const Parallel& parallel = input.request.parallel;
  if (parallel.expert && parallel.tensor > 1 && parallel.data > 1) return 0;
  for (const TensorGroup& group : input.model.tensors)
    if (group.component == Component::kSharedExperts && group.split == Split::kRows) return group.rows;
  return 0;
}

// Ranks that split FP8 weights must have whole blocks: validate_fp8_block_shape, and a separate check for experts.
static Found fp8_blocks(const EngineInput& input, const VllmRules& rules) {
  const QuantDeclaration quantization = planned_quantization(input);
  const std::optional<WeightScheme>& scheme = quantization.scheme;
  const Request& request = input.request;
  if (!scheme || scheme->block_rows == 0) return std::nullopt;
  const std::uint64_t block = scheme->block_rows;
  const bool pads_shared = vllm_pads_shared_experts(input.model.arch, request, rules);
  const ExpertShape& experts = input.model.experts;
  const bool has_dense = experts.count == 0 || experts.dense_layers > 0;
  const std::uint64_t tp = request.parallel.tensor;
  for (const std::uint64_t whole :
       {has_dense ? input.model.intermediate_size : 0, pads_shared ? 0 : split_shared_width(input)})
    if (tp > 1 && whole % tp == 0 && whole / tp % block != 0)
      return Refusal{"fp8_blocks",
                     {"Weight output_partition_size = {size} is not divisible by weight quantization block_n = {block}",
                      {{"size", whole / tp}, {"block", block}}},
                     "use a smaller --tensor-parallel-size"};
  const std::uint64_t cuts = request.parallel.expert ? 1 : tp * request.parallel.data;
  if (quantization.expert_scheme && quantization.expert_scheme->block_rows == 0) return std::nullopt;
  if (experts.count == 0 || cuts <= 1 || experts.width % cuts != 0 || experts.width / cuts % block == 0)
    return std::nullopt;
  const std::uint64_t width = experts.width / cuts;
  constexpr const char* cure = "use --enable-expert-parallel, or a smaller --tensor-parallel-size";
  if (!rules.refines_blocks || std::gcd(block, width) < kFinestBlock)
    return Refusal{"fp8_blocks",
                   {"The output_size of gate's and up's weight = {width} is not divisible by weight quantization "
                    "block_n = {block}",
                    {{"width", width}, {"block", block}}},
                   cure};
  // Only Triton supports smaller blocks, and only if the GPU computes in FP8.
  const unsigned capability = request.card.capability();
  if (capability == 0 || capability >= kAda) return std::nullopt;
  return Refusal{"fp8_experts", "No FP8 MoE backend supports the deployment configuration", cure};
}

// Layers for which the GPU has no kernel, or none with this cache type.
static Found kernels(const EngineInput& input, const VllmRules& rules) {
  const unsigned capability = input.request.card.capability();
  const Dtype type = input.types.key;
  const VllmClass the_class = vllm_class(input.model);
  const bool is_latent = the_class.keeps_latents;
  const bool is_sparse = is_latent && vllm_has_indexers(input, rules);
  const bool is_packed = the_class.is_always_packed;
  const bool is_auto = !input.request.cache_type_k;
  const bool asserts_auto = !rules.packs_by_default && is_auto && !input.model.declared_kv_dtype;
  if (is_packed && (asserts_auto || type != Dtype::kFp8DsMla))
    return Refusal{"kv_cache_dtype",
                   {"DeepseekV4 fp8_ds_mla layout only supports fp8 kv-cache, got {type}",
                    {{"type", asserts_auto ? "auto" : std::string(name(type))}}},
                   "use --kv-cache-dtype fp8"};
  if (capability == 0) return vllm_attention_refusal(input, rules);
  const unsigned major = capability / 10;
  if (is_sparse && major != 9 && major != 10 && (major != 12 || !rules.sparse_on_sm120))
    return Refusal{
        "no_kernel",
        {"No valid attention backend found: sparse MLA has kernels for compute capability {majors}, and "
         "this GPU has {capability}",
         {{"majors", rules.sparse_on_sm120 ? "9, 10 and 12" : "9 and 10"}, named_capability("capability", capability)}},
        major == 12 ? "use vLLM 0.24 or newer" : "use a Hopper or Blackwell GPU"};
  if (is_sparse && !is_packed && major == 9 && !rules.plain_declared_fp8 && is_auto && input.model.declared_kv_dtype &&
      is_fp8(type))
    return Refusal{"no_kernel", "No valid attention backend found for a sparse MLA cache in fp8_e4m3",
                   "use --kv-cache-dtype fp8 or bfloat16"};
  if (is_fp8(type) && the_class.lacks_fp8_on_blackwell && capability >= kBlackwell)
    return Refusal{"no_fp8_cache", "FlashAttention does not support fp8 kv-cache on this device",
                   "use --kv-cache-dtype bfloat16"};
  if (rules.one_sink_kernel && the_class.needs_flash_sinks && major != 9 && major != 10)
    return Refusal{"no_kernel", "Sinks are only supported in FlashAttention 3",
                   "use vLLM 0.24 or newer, or a Hopper GPU"};
  return vllm_attention_refusal(input, rules);
}

// What ParallelConfig and FusedMoE check when experts are distributed over ranks.
static Found balanced_experts(const EngineInput& input) {
  const Parallel& parallel = input.request.parallel;
  if (!parallel.balances_experts) {
    if (parallel.redundant_experts == 0) return std::nullopt;
    return Refusal{
        "redundant_experts",
        {"num_redundant_experts is set to {count} but EPLB is not enabled", {{"count", parallel.redundant_experts}}},
        "use --enable-eplb"};
  }
  if (!parallel.expert)
    return Refusal{"eplb", "enable_expert_parallel must be True to use EPLB", "use --enable-expert-parallel"};
  const std::uint64_t ranks = checked_mul(parallel.tensor, parallel.data, "the number of ranks");
  if (ranks <= 1) return Refusal{"eplb", "EPLB requires tensor or data parallelism", "leave out --enable-eplb"};
  const std::uint64_t experts = checked_add(input.model.experts.count, parallel.redundant_experts, "the experts");
  if (experts % ranks == 0) return std::nullopt;
  return Refusal{
      "eplb",
      {"EPLB currently only supports even distribution of experts across ranks ({experts} experts, {ranks} "
       "ranks)",
       {{"experts", experts}, {"ranks", ranks}}},
      {"use --num-redundant-experts {count}", {{"count", parallel.redundant_experts + ranks - experts % ranks}}}};
}

// What ModelConfig, SpeculativeConfig and VllmConfig check before the model is created.
static Found configuration(const EngineInput& input) {
  const VllmClass the_class = vllm_class(input.model);
  if (input.request.parallel.expert && input.model.experts.count == 0)
    return Refusal{"expert_parallel",
                   "Number of experts in the model must be greater than 0 when expert parallelism is enabled",
                   "leave out --enable-expert-parallel"};
  if (auto refused = balanced_experts(input)) return refused;
  if (input.request.parallel.pipeline > 1 && the_class.lacks_stages)
    return Refusal{"pipeline_parallel", "Pipeline parallelism is not supported for this model",
                   "use only --tensor-parallel-size"};
  const Request& request = input.request;
  if (request.vllm.mamba_block_size && request.prefix_caching == false)
    return Refusal{"mamba_block_size", "--mamba-block-size can only be set with --enable-prefix-caching",
                   "leave out --no-enable-prefix-caching"};
  if (request.max_num_batched_tokens && request.max_num_seqs &&
      request.max_num_batched_tokens->count() < *request.max_num_seqs)
    return Refusal{"batch",
                   {"max_num_batched_tokens ({tokens}) must be greater than or equal to max_num_seqs ({seqs}).",
                    {{"tokens", *request.max_num_batched_tokens}, {"seqs", *request.max_num_seqs}}},
                   "raise --max-num-batched-tokens, or lower --max-num-seqs"};
  if (request.parallel.decode_context > 1 && !vllm_rules(request).has_decode_context)
    return Refusal{"decode_context", "unrecognized arguments: --decode-context-parallel-size",
                   "use vLLM 0.11 or newer, or leave out -dcp"};
  const ExtrasRequest& extras = request.extras;
  if ((extras.wants_lora() || !extras.adapters.empty()) && the_class.lacks_lora)
    return Refusal{"lora",
                   {"LoRA is not supported for {architecture}", {{"architecture", input.model.architecture}}},
                   "merge the adapter into the model"};
  if (input.types.key == Dtype::kNvfp4 && the_class.keeps_latents)
    return Refusal{"kv_cache_dtype", "nvfp4 KV cache is not supported with MLA (Multi-head Latent Attention) backends",
                   "use --kv-cache-dtype fp8 or auto"};
  if (input.draft_method == DraftMethod::kMtp && (input.model.num_nextn_layers == 0 || the_class.lacks_mtp) &&
      !the_class.builds_unnamed_mtp)
    return Refusal{"mtp", "Unsupported speculative method: 'mtp' (the class has no MTP layers)", "leave out --mtp"};
  if (input.draft_method == DraftMethod::kModel && input.draft != nullptr &&
      input.draft->model.vocab_size != input.model.vocab_size)
    return Refusal{"draft_vocabulary",
                   {"Target and draft model should have the same vocabulary size. Target model vocab_size={target}. "
                    "Draft model vocab_size={draft}",
                    {{"target", input.model.vocab_size}, {"draft", input.draft->model.vocab_size}}},
                   "name a draft of the same family"};
  return std::nullopt;
}

// ModelArchConfigConvertor, for a quantization that only hf_quant_config.json declares.
static Found side_file(const EngineInput& input, const VllmRules& rules) {
  for (const ConfigFact& fact : input.model.facts)
    if (!rules.mixes_beside && fact.key == "hf_quant_config.json: quant_algo" &&
        fact.value.find("MIXED_PRECISION") != std::string::npos)
      return Refusal{"quantization", "Unknown ModelOpt quant algo: MIXED_PRECISION", "use vLLM 0.33 or newer"};
  return std::nullopt;
}

std::optional<Refusal> vllm_refusal(const EngineInput& input, const Load& load) {
  const VllmRules rules = vllm_rules(input.request);
  if (Found found = architecture(input)) return found;
  if (Found found = registry_refusal(vllm_registry_lines(), input, "vLLM")) return found;
  if (Found found = side_file(input, rules)) return found;
  if (Found found = length(input, load)) return found;
  if (Found found = configuration(input)) return found;
  if (Found found = ranks(input)) return found;
  if (Found found = card(input)) return found;
  if (Found found = fp8_blocks(input, rules)) return found;
  return kernels(input, rules);
}

}  // namespace kvplan
