#include "engines/vllm/rules.h"

#include "engines/vllm/vllm.h"

namespace kvplan {

using V = VllmRules;
using enum RuleBasis;

// Rows in the order of VllmRules. All releases begin with 0: 28 is 0.28.
static constexpr Release release(std::uint64_t number) {
  return {0, number, 0};
}

// A row sets a flag from a release on, or until before one, or gives a number another value.
static constexpr Rule<V> since(std::uint64_t number, bool V::*sets, std::string_view what, std::string_view evidence,
                               RuleBasis basis = kRead) {
  return {sets, 1, release(number), kNoEnd, what, evidence, basis};
}
static constexpr Rule<V> until(std::uint64_t number, bool V::*sets, std::string_view what, std::string_view evidence,
                               RuleBasis basis = kRead) {
  return {sets, 1, {}, release(number), what, evidence, basis};
}
template <class Value>
static constexpr Rule<V> value_since(std::uint64_t number, Value V::*sets, Value to, std::string_view what,
                                     std::string_view evidence) {
  return {sets, static_cast<double>(to), release(number), kNoEnd, what, evidence};
}

constexpr std::string_view kBlackwellLatents =
    "Tokens in a block of dense latents on data centre Blackwell; 16 before.";
constexpr std::string_view kUnsupported = "_get_v2_model_runner_unsupported_features of each release from 0.30 to 0.33";

constexpr Rule<V> kRules[] = {
    since(8, &V::v1_engine,
          "The V1 engine: prefix caching by default, an encoder cache, no swap space. 0.8 uses it on NVIDIA GPUs from "
          "compute capability 8.0 on, unless an option needs V0.",
          "EngineArgs._is_v1_supported_oracle of 0.8.1; start-up logs of 0.8 and 0.9"),
    {&V::v1_where_it_can, 1, release(8), release(9), "0.8 chooses the engine by the GPU and the options.",
     "EngineArgs._is_v1_supported_oracle"},
    until(11, &V::has_v0, "VLLM_USE_V1=0 takes the V0 engine.", "0.11 has only vllm/v1"),
    since(10, &V::profiles_videos,
          "The profile run has a whole video of Qwen2-VL and Qwen2.5-VL; before, one that fits the batch.",
          "_dummy_run's seq_len in v1/worker/gpu_model_runner.py of 0.9 and 0.10"),
    until(11, &V::image_beside_video, "The longest video of Qwen2-VL leaves room for an image.",
          "get_num_frames_with_most_features of 0.10 and 0.11"),
    value_since(11, &V::video_frames, std::uint64_t{14}, "The longest video of Qwen2-VL has 14 frames; before, 16.",
                "_MAX_FRAMES_PER_VIDEO of models/qwen2_vl.py"),
    {&V::counts_times_of_videos, 1, release(11), release(13),
     "The encoder cache of Qwen3-VL has 12.5 tokens for each token of a video.",
     "get_max_video_tokens of models/qwen3_vl.py"},
    since(10, &V::graphs_by_seqs,
          "Graphs are captured for at most twice --max-num-seqs; before, for up to 512 tokens in any case.",
          "SchedulerConfig.cuda_graph_sizes of 0.9.0 and 0.10.0"),
    since(10, &V::hybrid_manager,
          "Layers of several types get separate groups; before, one block table serves all layers.",
          "start-up logs of V0 and early V1"),
    since(14, &V::chunked_groups, "Chunked local attention gets a separate group.",
          "vllm-project/vllm#29627, VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE"),
    value_since(18, &V::group_ratio, 1.5,
                "Groups are as long as the longest bucket if it is less than 1.5 times the shortest; 1.25 before.",
                "kv_cache_utils.py; drafts add a layer to one bucket"),
    since(20, &V::window_value_width, "Values of full and windowed attention may be narrower than keys.",
          "SlidingWindowSpec.head_size_v"),
    since(28, &V::local_value_width, "Values of chunked and cross attention may be narrower than keys.",
          "AttentionSpec.head_size_v; not in 0.27"),
    since(24, &V::pads_attention_pages,
          "A page of attention that does not divide the largest page is padded; before, the model is refused.",
          "AttentionSpec.indexes_kv_by_block_stride; not in 0.23"),
    since(23, &V::packs_by_slots,
          "A block of DeepSeek-V4 has as many pages of each size as any group needs; before, one of each size for "
          "every slot.",
          "vllm-project/vllm#44454"),
    since(27, &V::packs_widest_group, "A block of DeepSeek-V4 is as wide as the pages of its widest group.",
          "vllm-project/vllm#48993; not in 0.26", kExecuted),
    since(29, &V::checks_whole_blocks,
          "The check before start-up counts the pool's blocks; before, pages of the first group for every slot.",
          "_max_memory_usage_bytes_from_groups; not in 0.28", kExecuted),
    since(27, &V::packed_sum_of_pages,
          "The concurrency of DeepSeek-V4 counts the blocks of all groups; before, their bytes over those of the first "
          "group.",
          "vllm-project/vllm#48317", kExecuted),
    since(13, &V::batch_for_source,
          "Cross attention is charged a whole batch for a source; before, the source's length.",
          "config/vllm.py has the encoder's length until 0.12"),
    since(26, &V::in_flight_batches, "Windows and chunks are charged for every batch in flight.",
          "vllm-project/vllm#47728, max_in_flight_tokens"),
    since(29, &V::null_block, "The check before start-up leaves out the null block.",
          "kv_cache_utils.py get_kv_cache_configs; not in 0.28", kExecuted),
    since(10, &V::ceil_concurrency,
          "The concurrency counts whole blocks of a request; before, it is tokens over the length.", "start-up logs"),
    {&V::tokens_from_concurrency,
     1,
     {0, 20, 1},
     kNoEnd,
     "\"GPU KV cache size\" is concurrency x length; before, blocks over groups x block size.",
     "vllm-project/vllm#40691 and #43308; 0.20.1 was cut from main like 0.21 (a log)"},
    since(11, &V::pages_cross_attention,
          "Llama 3.2 Vision runs with transformers' code, and its cross attention has pages for every token.",
          "registry.py _PREVIOUSLY_SUPPORTED_MODELS; the class was removed in 0.10.2"),
    {&V::caches_latents,
     1,
     {0, 7, 1},
     kNoEnd,
     "Latents (MLA) are cached; before, keys and values of every head, padded to 256.",
     "attention/backends/mla; not in 0.7.0; a start of DeepSeek-Coder-V2 in vllm-project/vllm#4650"},
    since(28, &V::caches_states, "Prefix caching is on by default for models with states and attention.",
          "vllm-project/vllm#50991, ModelConfig.is_prefix_caching_supported; not in 0.27", kExecuted),
    since(28, &V::align_by_default,
          "Prefix caching of states means the mode align by default; before, all for selective scans.",
          "config/vllm.py; not in 0.27", kExecuted),
    since(29, &V::admits_whole, "Where windows or states may be gone, a request is admitted as if it shared no prefix.",
          "the scheduler with gpt-oss-20b in 0.28 and 0.29", kExecuted),
    since(30, &V::frees_states, "A prefill keeps one state; before, its batches leave their last states behind.",
          "MambaManager._remove_blocks_in_range; not in 0.29", kExecuted),
    until(32, &V::all_mode, "--mamba-cache-mode accepts all.", "CacheConfig.mamba_cache_mode; still in 0.31"),
    since(22, &V::all_mode_speculative, "The mode all also counts speculative states.", "MambaSpec; not in 0.21"),
    since(32, &V::scan_checkpoints, "Mamba 2 keeps a state for the end of a prefill's last whole block.",
          "MambaMixer2.get_kv_cache_spec; not in 0.31", kExecuted),
    since(33, &V::delta_checkpoints,
          "Gated delta nets under FlashInfer keep a state for the end of a prefill's last whole block.",
          "qwen_gdn_linear_attn.py get_kv_cache_spec", kExecuted),
    since(20, &V::checks_state_blocks,
          "If whole decoding steps are captured, --max-num-seqs must not exceed the blocks of a model with states; "
          "0.18 and 0.19 cap the captured sizes instead.",
          "vllm-project/vllm#38270, resolve_cudagraph_mode_and_sizes; adjust_cudagraph_sizes_for_mamba_cache in 0.19"),
    since(29, &V::latent_checkpoints,
          "KDA layers under FlashKDA keep a state for the end of a prefill's last whole block.",
          "models/kimi_k3/nvidia/kda.py; not in 0.28"),
    since(27, &V::latent_state_blocks, "Blocks of latents are multiples of 128 tokens in models with states.",
          "Platform._align_hybrid_block_size; not in 0.26"),
    until(32, &V::pooled_layout,
          "GLM-5 Next has a separate layout: pages of 32 index keys, no aligned blocks, no states at the end of a "
          "prefill.",
          "_glm5_next_tensor_layout, _get_indexer_block_alignment, glm5next/common/kda.py; not in 0.32", kExecuted),
    since(19, &V::plain_fp8_latents, "Indexed FP8 latents are plain, not packed, on data centre Blackwell.",
          "vllm-project/vllm#35891; not in 0.18"),
    since(30, &V::plain_declared_fp8, "Indexed latents of a checkpoint that declares an FP8 cache are plain.",
          "FLASHINFER_MLA_SPARSE_SM90; not in 0.29", kExecuted),
    since(24, &V::sparse_on_sm120,
          "Indexed latents have kernels for compute capability 12; under auto they are packed there.",
          "FLASHINFER_MLA_SPARSE_SM120, _canonicalize_sparse_mla_kv_cache_dtype; not in 0.23"),
    since(30, &V::packs_by_default,
          "DeepSeek-V4 starts with --kv-cache-dtype auto; before, its class asserts an FP8 cache.",
          "models/deepseek_v4; executed in 0.26", kExecuted),
    until(32, &V::splits_types, "MiMo-V2's class passes the cache's type to no layer.",
          "models/mimo_v2_flash.py; not in 0.32", kExecuted),
    {&V::one_sink_kernel, 1, release(20), release(24),
     "MiMo-V2 always uses FlashAttention, whose sinks need compute capability 9 or 10.",
     "FlashAttentionDiffKVBackend in models/mimo_v2.py; not in 0.19, and one of two in 0.24"},
    since(32, &V::glm_fp8, "GLM-5 uses an FP8 cache by default on data centre Blackwell.",
          "GlmMoeDsaForCausalLM in models/config.py; not in 0.31", kExecuted),
    since(18, &V::latents_by_card, "The GPU's preferred backend sets the block of dense latents; before, 64 tokens.",
          "update_block_size_for_backend; 0.17 forces FlashMLA's 64"),
    value_since<std::uint64_t>(11, &V::blackwell_latent_block, 128, kBlackwellLatents,
                               "platforms/cuda.py: CUTLASS_MLA; not in 0.10"),
    value_since<std::uint64_t>(15, &V::blackwell_latent_block, 64, kBlackwellLatents,
                               "platforms/cuda.py: FLASHINFER_MLA; not in 0.14"),
    value_since<std::uint64_t>(18, &V::blackwell_latent_block, 32, kBlackwellLatents,
                               "update_block_size_for_backend; not in 0.17"),
    since(30, &V::composite_masks,
          "Image masks on data centre Blackwell use Triton and FlashInfer together, with blocks of 64 tokens.",
          "TRITON_FLASHINFER; not in 0.29", kExecuted),
    since(31, &V::wide_fp8_blocks, "FP8 heads of width 512 have blocks of 64 tokens on Hopper.",
          "FlashAttentionBackend._get_sm90_fa4_fp8_kv_block_size; not in 0.30", kExecuted),
    since(12, &V::flashinfer_fp8, "FP8 caches use FlashInfer where FlashAttention has no kernel for them.",
          "_get_backend_priorities; Triton in 0.11"),
    until(24, &V::builds_every_indexer,
          "Every layer of DeepSeek-V3.2 and GLM-5 has an indexer, also where the config shares one among several.",
          "models/deepseek_v2.py: 0.23 builds it and skips it at run time"),
    since(14, &V::reads_modelopt_cache, "A cache type that a ModelOpt checkpoint declares is used under auto.",
          "resolve_kv_cache_dtype_string; not in 0.13"),
    since(15, &V::reads_declared_cache,
          "A cache type that a compressed-tensors checkpoint declares is used under auto.",
          "attention/layer.py kv_cache_scheme; not in 0.14"),
    since(31, &V::hy_indexers, "Hy-V4 has its indexers, and its sinks in float32.",
          "hy_v4/nvidia/attention.py create_indexer; 0.30 built none", kExecuted),
    since(33, &V::mixes_beside, "A checkpoint starts whose MIXED_PRECISION only hf_quant_config.json declares.",
          "model_arch_config_convertor.py; not in 0.32"),
    since(27, &V::modelopt_on_ampere,
          "ModelOpt's FP8 checkpoints run from compute capability 8.0 on; before, from 8.9.",
          "ModelOptFp8Config.get_min_capability: 89 in 0.26, 80 in 0.27", kExecuted),
    value_since(20, &V::utilization, 0.92, "--gpu-memory-utilization is 0.92 by default; 0.9 before.",
                "config/cache.py"),
    value_since<std::uint64_t>(8, &V::max_num_seqs, 1024,
                               "--max-num-seqs is 1024 by default on a large GPU; 256 before and on others.",
                               "EngineArgs.get_batch_defaults; _set_default_args_v1 of 0.8.4"),
    {&V::small_max_num_seqs,
     1024,
     release(8),
     {0, 8, 4},
     "V1 has 1024 on every GPU.",
     "_set_default_args_v1 of 0.8.1 and 0.8.4"},
    since(22, &V::whole_items, "The default batch fits the largest item if images attend in both directions.",
          "vllm-project/vllm#43051"),
    since(28, &V::largest_batches, "The default batch is 16,384 tokens on GPUs of at least 160 GiB.",
          "vllm-project/vllm#51726", kExecuted),
    since(11, &V::whole_graphs, "Whole decode steps are captured in addition to piecewise graphs.",
          "VllmConfig.__post_init__: FULL_AND_PIECEWISE; a log of 0.11.0 captures 67 and 35; not in 0.10"),
    since(12, &V::wide_steps, "Captured sizes from 256 on are 16 apart; 8 before.",
          "VllmConfig._set_cudagraph_sizes; not in 0.11"),
    since(13, &V::counts_drafts, "The largest graph has twice the tokens of a step, with its drafts.",
          "VllmConfig._set_cudagraph_sizes; not in 0.12"),
    since(29, &V::whole_steps, "Graph sizes are whole requests with their drafts.",
          "VllmConfig._set_cudagraph_sizes; not in 0.28", kExecuted),
    since(31, &V::widest_step, "A step of all sequences has a graph size.",
          "VllmConfig._set_cudagraph_sizes; not in 0.30"),
    since(12, &V::gpt_oss_graphs, "gpt-oss captures graphs of up to 1,024 tokens; up to 992 before.",
          "GptOssForCausalLMConfig"),
    since(28, &V::largest_graphs, "Graphs have up to 1,024 tokens on data centre Blackwell.", "vllm-project/vllm#49390",
          kExecuted),
    since(29, &V::keeps_graph_pool, "The memory that estimating the graphs took is reused for their pool.",
          "start-up logs: 86 graphs of Qwen3.5-4B take 0.24 GiB in 0.29, 0.55 in 0.22; dense models 0.52 in 0.28"),
    until(20, &V::keeps_reduces, "NCCL keeps memory for each all-reduce that is captured.",
          "start-up logs of 0.10 and 0.19 on L40S, not of 0.28 on RTX PRO 6000; vllm-project/vllm#2192"),
    since(
        18, &V::empties_before_capture,
        "PyTorch's cache is emptied before graphs are captured; before, the printed memory lacks what a warm-up left.",
        "GPUModelRunner.capture_model; not in 0.17"),
    since(20, &V::graphs_in_budget, "CUDA graphs are subtracted from the budget.",
          "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS defaults to 1"),
    since(27, &V::graphs_in_peak, "The estimate of the graphs is printed within \"peak activation\".",
          "the log line with \"consumed\"; not in 0.26"),
    since(29, &V::estimates_new_graphs, "The new runner estimates its graphs before the cache is sized.",
          "profile_cudagraph_memory of worker/gpu; 0 in 0.28"),
    since(24, &V::new_runner_for_quantized,
          "The models that a list names use the new runner; 0.22 and 0.23 only if they are dense and not quantized.",
          "DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES; _is_default_v2_model_runner_model of 0.23 and 0.24"),
    since(25, &V::new_runner, "Dense models with only attention use the new runner too, also with image input.",
          "_is_default_v2_model_runner_model of 0.24 and 0.25; executed in 0.26"),
    since(31, &V::new_runner_for_models, "Requests with draft models use the new runner too.", kUnsupported),
    since(32, &V::new_runner_for_ngrams, "Requests with n-grams use the new runner too.", kUnsupported),
    since(33, &V::new_runner_for_medusa, "Requests with Medusa use the new runner too.", kUnsupported),
    since(29, &V::new_runner_for_all, "Models with states or experts use the new runner too.",
          "VllmConfig.use_v2_model_runner; not in 0.28", kExecuted),
    since(32, &V::new_runner_on_rocm, "No class keeps the old runner on ROCm.",
          "ROCM_DEFAULT_MRV1_ARCHITECTURES; still in 0.31"),
    since(14, &V::keeps_workspaces, "The workspaces of 16 bit experts stay beside the sampler.",
          "UnquantizedFusedMoEMethod runs a modular kernel; not in 0.13"),
    since(17, &V::sparing_sampler, "The old runner's sampler does not sort all logits.",
          "apply_top_k_top_p: a Triton kernel; 0.16 sorts, 1.4 to 2.1 GiB for 256 rows of 151,936"),
    since(33, &V::samples_twice, "The profile run samples a second time, with every parameter set.",
          "_dummy_sampler_run; not in 0.32"),
    since(30, &V::compiles_before,
          "A first start compiles before the profile run, which no longer copies the embedding.",
          "first starts in logs of 0.29, 0.30 and 0.31"),
    since(20, &V::batched_dp_default,
          "Batches have 256 tokens by default in low-latency expert parallelism; before, they were sent in parts.",
          "EngineArgs._set_default_max_num_seqs_and_batched_tokens_args; not in 0.19"),
    since(13, &V::index_workspace, "Indexers have a workspace for prefills.",
          "sparse_attn_indexer: get_simultaneous; not in 0.12"),
    since(24, &V::pads_shared_blocks,
          "DeepSeek-V4 pads its shared expert to whole FP8 blocks of every rank on NVIDIA GPUs.",
          "vllm-project/vllm#46001; DeepseekV4MLP, not in 0.23"),
    since(23, &V::decode_logits_on_rocm, "On CDNA the logits of a batch of decodes are in the indexers' workspace.",
          "rocm_aiter_sparse_attn_indexer in its profile run; not in 0.22"),
    since(32, &V::short_index_workspace, "The indexers' workspace is shorter for contexts beyond 256 Ki tokens.",
          "sparse_mla_prefill_workspace_factor; not in 0.31"),
    since(7, &V::excludes_context, "Memory taken before the start, such as the CUDA context, no longer counts.",
          "vllm-project/vllm#11809"),
    since(27, &V::counts_consumed,
          "Everything that is gone after the profile run counts as consumed, also what the allocator keeps.",
          "the log line with \"consumed\"; not in 0.26"),
    since(11, &V::leaves_towers, "Towers are not loaded where the limits exclude their input.",
          "get_limit_per_prompt in models/qwen2_5_vl.py; not in 0.10. _mark_tower_model since 0.15"),
    since(29, &V::refines_blocks,
          "Blocks of FP8 experts that ranks split become smaller; before, the layout is refused.",
          "fused_moe/oracle/fp8.py; not in 0.28", kExecuted),
    since(26, &V::copies_scales, "Attention layers have copies of the scales of K and V for the host.",
          "attention.py: _k_scale_cpu; not in 0.25"),
    since(28, &V::fewer_scales, "Attention layers have no ranges of Q, K and V.", "attention.py; still in 0.27",
          kExecuted),
    since(30, &V::library_scales, "Classes of transformers' code have the scales of attention too.",
          "models/transformers; not in 0.29", kExecuted),
    since(10, &V::unpacks_bnb_scales, "Double-quantized scales of bitsandbytes are kept in float32.",
          "BitsAndBytesModelLoader._dequantize_dq; not in 0.9"),
    since(21, &V::keeps_large_rests, "While loading on NVIDIA GPUs, tensors of 20 MiB or more keep whole segments.",
          "gpu_worker.py: _scoped_allocator_max_split; not in 0.20"),
    since(12, &V::lora_with_experts, "LoRA adapters wrap experts too, and reserve no extra rows of vocabulary.",
          "lora/layers; 256 extra rows before"),
    {&V::has_decode_context,
     1,
     {0, 10, 2},
     kNoEnd,
     "--decode-context-parallel-size splits a sequence's tokens.",
     "engine/arg_utils.py; not in 0.10.1"},
    since(12, &V::spans_nodes, "--nnodes starts one copy over several nodes.", "engine/arg_utils.py"),
    since(12, &V::rope_parameters, "A scaled context is given as rope_parameters; as rope_scaling before.",
          "transformers' config keys"),
};

// Whether 0.8 uses the V1 engine, as far as a request shows it.
static bool allows_v1(const Request& request) {
  constexpr unsigned kAmpere = 80;
  const Gpu* card = request.card.gpu;
  const bool runs = card != nullptr && card->vendor == "NVIDIA" && card->capability >= kAmpere;
  return runs && request.parallel.pipeline == 1 && !request.cache_type_k && !request.cpu_offload && !request.mtp &&
         !request.extras.draft && !request.extras.wants_lora() && request.dtype != Dtype::kFloat32;
}

VllmRules vllm_rules(const Request& request) {
  VllmRules rules = resolve_rules(kRules, release_of(request), request.turned_rule);
  const bool asks_v0 = rules.has_v0 && request.command.wants_v0;
  if (!rules.v1_engine || (!asks_v0 && (!rules.v1_where_it_can || allows_v1(request)))) return rules;
  rules.v1_engine = false;
  rules.max_num_seqs = rules.small_max_num_seqs = VllmRules{}.max_num_seqs;
  return rules;
}

std::vector<RuleRow> vllm_rule_rows() {
  std::vector<RuleRow> out = rule_rows(kRules);
  for (const std::vector<RuleRow>& rows :
       {vllm_tensor_rule_rows(), kernel_rule_rows(vllm_kernel_rows()), vllm_attention_rule_rows()})
    out.insert(out.end(), rows.begin(), rows.end());
  return out;
}

}  // namespace kvplan
