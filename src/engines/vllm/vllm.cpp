// vLLM: its row of the table of engines, and the types that `auto` means. The layout is in layout.cpp.
#include "engines/engine.h"
#include "engines/vllm/card.h"
#include "engines/vllm/launcher.h"
#include "engines/vllm/layout.h"
#include "engines/vllm/lora.h"
#include "engines/vllm/memory.h"
#include "engines/vllm/refusal.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/tensors.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

// A float32 checkpoint is served in bfloat16; a checkpoint that declares an FP8 cache gets it under `auto`.
CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (!request.dtype && types.model == Dtype::kFloat32) types.model = Dtype::kBfloat16;
  if (types.key != types.value)
    refuse("vLLM keeps K and V in one type, and " + std::string(name(types.key)) + " and " +
               std::string(name(types.value)) + " were asked for",
           "use --kv-cache-dtype");
  if (!vllm_keeps(types.key))
    refuse("vLLM has no KV cache in " + std::string(name(types.key)),
           "use auto, bfloat16, float16, fp8, fp8_e5m2, int8, int4, fp8_per_token_head, nvfp4 or turboquant_*");
  const VllmRules rules = vllm_rules(request);
  const bool is_auto = !request.cache_type_k && !model.declared_kv_dtype;
  if (is_auto && rules.glm_fp8 && model.arch == Arch::kGlmMoeDsa && vllm_is_data_blackwell(request))
    types.key = types.value = Dtype::kFp8E4m3;
  if (rules.splits_types && model.arch == Arch::kMimoV2) types.key = types.value = types.model;
  const bool packs = vllm_packs_fp8_latents(model.arch);
  const bool fp8 = types.key == Dtype::kFp8E4m3 || types.key == Dtype::kFp8E5m2;
  // DeepSeek-V4 supports only the packed layout; `auto` means the option that selects it.
  const bool only_packed = model.arch == Arch::kDeepseekV4 && !request.cache_type_k;
  // A checkpoint's declaration means fp8_e4m3, which no packed kernel takes; the option fp8 means the packed layout.
  const bool declared = !request.cache_type_k && model.declared_kv_dtype;
  const bool plain =
      (vllm_keeps_fp8_plain(request) || (declared && rules.plain_declared_fp8)) && model.arch != Arch::kDeepseekV4;
  if (packs && ((fp8 && !plain) || only_packed)) types.key = types.value = Dtype::kFp8DsMla;
  if (types.key == Dtype::kFp8DsMla && !packs)
    refuse("fp8_ds_mla is vLLM's layout for DeepSeek-V3.2, DeepSeek-V4 and GLM-5", "use --kv-cache-dtype fp8, or auto");
  // States have the type that the config names, else the model's; Nemotron-H gets float32 where its config is silent
  // (NemotronHForCausalLMConfig).
  if (!request.state_dtype && !model.declared_state_dtype)
    types.state = model.arch == Arch::kNemotronH ? Dtype::kFloat32 : types.model;
  return types;
}

Bytes budget(const BudgetInput& in) {
  return vllm_cache_budget(*in.engine, in.gpu_memory, in.weights + in.activation + in.runtime, in.graphs);
}

}  // namespace

Engine vllm_engine() {
  Engine engine{"vllm",          "",           "paged blocks in groups of layers, with the hybrid manager",
                vllm_versions(), 0.92,         resolve,
                vllm_layout,     vllm_overhead};
  engine.names_latents = [](const EngineInput& input) { return vllm_uses_mla(input.model.arch); };
  engine.utilization_of = [](const EngineInput& input) { return vllm_rules(input.request).utilization; };
  engine.cache_budget = budget;
  engine.share_option = "--gpu-memory-utilization";
  engine.settings = vllm_settings;
  engine.start = Start::kOneSequence;
  engine.assumed_length = Tokens(2048);  // config/model.py, default_max_len
  engine.parallel.data_ranks_share_experts = true;
  engine.parallel.decode_context = true;
  engine.loading.counted =
      CountedAs::kAllocated;  // "Model loading took" in its log: platforms/cuda.py get_current_memory_usage
  // Its towers consist of parallel layers, except with --mm-encoder-tp-mode data.
  engine.parallel.cuts_towers = true;
  engine.loading.leaves_towers = vllm_leaves_towers;
  engine.loading.make_tensors = vllm_make_tensors;
  engine.loading.makes_by = vllm_makes_by;
  engine.loading.rotary_table = vllm_rotary_table;
  engine.loading.side_tensors = vllm_side_tensors;
  engine.rules = vllm_rule_rows;
  engine.refusal = vllm_refusal;
  engine.loading.made_at_load = "fp8 fp8-channel bnb-nf4";
  engine.loading.keeps_types = true;
  // vocab_parallel_embedding.py: dispatch_cpu_unquantized_gemm with remove_weight=False
  engine.loading.packs_embedding_on_cpu = true;
  engine.parallel.pads_vocab = [](const Request& request) { return vllm_rules(request).pads_vocab; };
  engine.parallel.refines_blocks = [](const Request& request) { return vllm_rules(request).refines_blocks; };
  engine.loading.asks_quant_method = true;  // ModelConfig._parse_quant_hf_config
  engine.loading.mxfp4_layout = vllm_mxfp4_layout;
  engine.loading.halves_float32 = true;  // config/model.py _resolve_auto_dtype
  engine.parallel.expert = true;
  engine.options = kVllmOptions;
  engine.makers = "NVIDIA AMD Intel";
  engine.supports = vllm_supports;
  engine.extras.draft_methods = "draft_model eagle eagle3 mtp medusa ngram";
  engine.extras.lora = LoraStorage::kSlots;
  engine.extras.lora_slots = vllm_lora_slots;
  engine.log = vllm_log();
  engine.launch = vllm_launch;
  engine.extras.has_beams = true;
  return engine;
}

}  // namespace kvplan
