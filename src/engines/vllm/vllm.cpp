// vLLM: its row of the table of engines, and the types that `auto` means. The layout is in layout.cpp.
#include "engines/vllm/vllm.h"
#include "engines/engine.h"
#include "engines/vllm/class_table.h"
#include "engines/vllm/rules.h"
#include "kvplan/error.h"

namespace kvplan {

constexpr std::array kVersions{
    EngineVersion{"0.6",
                  "V0: one block table; figures of start-up logs of 0.4 to 0.8 (blocks, CPU blocks, concurrency)"},
    EngineVersion{"0.11", "hybrid manager, states in pages; a start-up log of Qwen3-Next with TP 2"},
    EngineVersion{"0.16", "layers are grouped up to a ratio of 1.25 (0.15 to 0.17); only from source"},
    EngineVersion{"0.19", "the old \"KV cache size\" line; logs of Qwen3.5, Gemma-4, DeepSeek-V3, EXAONE-4, Llama"},
    EngineVersion{"0.20", "CUDA graphs in the budget, which is 0.92 of the GPU; widths of values; source"},
    EngineVersion{"0.21", "\"KV cache size\" is concurrency x length; a log of Qwen2.5-14B"},
    EngineVersion{"0.22", "DeepSeek-V4; logs of GLM-5, Kimi-K3, DeepSeek-V4-Flash"},
    EngineVersion{"0.24", "padded pages of attention; source"},
    EngineVersion{"0.26", "executed; a window is charged for two batches in flight"},
    EngineVersion{"0.27", "packed blocks of the widest group; source, a log of Qwen3.8"},
    EngineVersion{"0.28", "executed; prefix caching of states"},
    EngineVersion{"0.29", "the null block, checkpoints of Kimi-Linear; source"},
    EngineVersion{"0.30", "executed; block size and \"KV cache needed\" lines of Qwen3.5, Qwen3.8, Kimi-Linear"},
    EngineVersion{"0.31", "FP8 heads of 512 on Hopper; a log of Llama-3.1"},
    EngineVersion{"0.32", "Mamba 2 keeps a checkpoint of a prefill; source, starts on a CPU"},
    EngineVersion{"0.33", "executed, the newest known; checkpoints of gated delta nets"},
};

// Whether vLLM supports a cache of this type.
static bool has_cache_in(Dtype type) {
  switch (type) {
    case Dtype::kFloat16:
    case Dtype::kBfloat16:
    case Dtype::kFp8E4m3:
    case Dtype::kFp8E5m2:
    case Dtype::kFp8PerTokenHead:
    case Dtype::kFp8DsMla:
    case Dtype::kInt8:
    case Dtype::kInt4:
    case Dtype::kNvfp4:
    case Dtype::kTurboquantK8V4:
    case Dtype::kTurboquant4bit:
    case Dtype::kTurboquantK3V4:
    case Dtype::kTurboquant3bit: return true;
    default: return false;
  }
}

// A float32 checkpoint is served in bfloat16. A checkpoint that declares an FP8 cache gets one under `auto`.
static CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (!request.dtype && types.model == Dtype::kFloat32) types.model = Dtype::kBfloat16;
  const VllmRules rules = vllm_rules(request);
  const bool is_modelopt = model.quantization.dialect.starts_with("modelopt");
  const bool reads = is_modelopt ? rules.reads_modelopt_cache : rules.reads_declared_cache;
  const bool declared = !request.cache_type_k && model.declared_kv_dtype && reads;
  if (!request.cache_type_k && !reads) types.key = types.value = types.model;
  if (types.key != types.value)
    refuse("vLLM keeps K and V in one type, and " + std::string(name(types.key)) + " and " +
               std::string(name(types.value)) + " were requested",
           "use --kv-cache-dtype");
  if (!has_cache_in(types.key))
    refuse("vLLM has no KV cache in " + std::string(name(types.key)),
           "use auto, bfloat16, float16, fp8, fp8_e5m2, int8, int4, fp8_per_token_head, nvfp4 or turboquant_*");
  const VllmClass the_class = vllm_class(model);
  const bool is_auto = !request.cache_type_k && !declared;
  if (is_auto && rules.glm_fp8 && the_class.has_fp8_by_default && vllm_is_data_blackwell(request))
    types.key = types.value = Dtype::kFp8E4m3;
  if (rules.splits_types && the_class.ignores_cache_type) types.key = types.value = types.model;
  const bool packs = the_class.packs_fp8_latents;
  const bool fp8 = types.key == Dtype::kFp8E4m3 || types.key == Dtype::kFp8E5m2;
  // If the packed layout is the only one, `auto` means the option that selects it.
  const bool packs_here =
      rules.sparse_on_sm120 && the_class.indexes_by_frequency && request.card.capability() / 10 == 12;
  const bool only_packed = (the_class.is_always_packed || packs_here) && !request.cache_type_k;
  // If a checkpoint declares an FP8 cache, vLLM uses fp8_e4m3, which no packed kernel supports. The option fp8 means
  // the packed layout.
  const bool plain =
      ((rules.plain_fp8_latents && vllm_is_data_blackwell(request)) || (declared && rules.plain_declared_fp8)) &&
      !the_class.is_always_packed;
  if (packs && ((fp8 && !plain) || only_packed)) types.key = types.value = Dtype::kFp8DsMla;
  if (types.key == Dtype::kFp8DsMla && !packs)
    refuse("fp8_ds_mla is vLLM's layout for DeepSeek-V3.2, DeepSeek-V4 and GLM-5", "use --kv-cache-dtype fp8, or auto");
  if (!request.state_dtype && !model.declared_state_dtype)
    types.state = the_class.has_float32_states ? Dtype::kFloat32 : types.model;
  return types;
}

static Bytes budget(const BudgetInput& in) {
  return vllm_cache_budget(*in.engine, in.gpu_memory, in.weights + in.activation + in.runtime, in.graphs);
}

static std::string_view log_remark(const Request& request) {
  if (vllm_rules(request).tokens_from_concurrency) return "";
  return "before vLLM 0.21, \"GPU KV cache size\" is not the capacity of a model with several kinds of layers. It is "
         "blocks / groups * block size. Since 0.21 it is concurrency * length";
}

Engine vllm_engine() {
  Engine engine{"vllm",      "",           "paged blocks in groups of layers, with the hybrid manager",
                kVersions,   0.92,         resolve,
                vllm_layout, vllm_overhead};
  engine.names_latents = [](const EngineInput& input) { return vllm_class(input.model).keeps_latents; };
  engine.utilization_of = [](const EngineInput& input) { return vllm_rules(input.request).utilization; };
  engine.cache_budget = budget;
  engine.oldest_recent = "0.12";
  engine.share_option = "--gpu-memory-utilization";
  engine.settings = vllm_settings;
  engine.start = Start::kOneSequence;
  engine.assumed_length = Tokens(2048);  // config/model.py, default_max_len
  engine.parallel.data_ranks_share_experts = true;
  engine.parallel.has_expert_buffer = true;
  engine.parallel.decode_context = true;
  engine.loading.counted =
      CountedAs::kAllocated;  // "Model loading took" in its log: platforms/cuda.py get_current_memory_usage
  // its towers consist of parallel layers, except with --mm-encoder-tp-mode data
  engine.parallel.cuts_towers = true;
  engine.loading.leaves_towers = vllm_leaves_towers;
  engine.loading.make_tensors = vllm_make_tensors;
  engine.loading.makes_by = vllm_makes_by;
  engine.loading.rotary_table = vllm_rotary_table;
  engine.loading.side_tensors = vllm_side_tensors;
  engine.rules = vllm_rule_rows;
  engine.refusal = vllm_refusal;
  engine.loading.made_at_load = "fp8 fp8-channel bnb-nf4";
  engine.loading.makes_single_nf4 = [](const Request& request) { return vllm_rules(request).unpacks_bnb_scales; };
  engine.loading.keeps_large_rests = [](const Request& request) {
    return vllm_rules(request).keeps_large_rests && !request.card.is_amd();
  };
  engine.loading.keeps_types = true;
  // vocab_parallel_embedding.py: dispatch_cpu_unquantized_gemm with remove_weight=False
  engine.loading.packs_embedding_on_cpu = true;
  engine.parallel.pads_vocab = true;
  engine.parallel.refines_blocks = [](const Request& request) { return vllm_rules(request).refines_blocks; };
  engine.loading.asks_quant_method = true;  // ModelConfig._parse_quant_hf_config
  engine.loading.mxfp4_layout = vllm_mxfp4_layout;
  engine.loading.halves_float32 = true;  // config/model.py _resolve_auto_dtype
  engine.parallel.expert = true;
  engine.options = kVllmOptions;
  engine.makers = "NVIDIA AMD Intel";
  engine.supports = vllm_supports;
  engine.extras.draft_methods = "draft_model eagle eagle3 mtp medusa ngram dflash dspark";
  engine.extras.lora = LoraStorage::kSlots;
  engine.extras.lora_slots = vllm_lora_slots;
  engine.log.lines = vllm_log_lines;
  engine.log.remark = log_remark;
  engine.launch = vllm_launch;
  engine.command = vllm_command();
  engine.extras.has_beams = true;
  return engine;
}

}  // namespace kvplan
