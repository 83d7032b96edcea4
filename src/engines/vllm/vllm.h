// The parts of vLLM's row in the table of engines, each in the file of its name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/kernel_table.h"
#include "engines/launch_input.h"
#include "engines/lora_slots.h"
#include "engines/vllm/rules.h"
#include "kvplan/gpu.h"

namespace kvplan {

struct VllmClass;

// The pool of blocks. Adds notes. Throws Error(kBadInput) with vLLM's rule if vLLM refuses the request.
std::unique_ptr<CacheLayout> vllm_layout(const EngineInput& input, std::vector<Note>& notes);

// The first refusal, other than for memory, that a start would meet, in vLLM's own words if it prints any. Without a
// GPU every kernel is assumed to exist.
std::optional<Refusal> vllm_refusal(const EngineInput& input, const Load& load);

// Memory for LoRA adapters, allocated at the start. Throws Error(kBadInput) with vLLM's rule; may add notes.
LoraSlots vllm_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes);

// vLLM's options that not every engine has.
inline constexpr std::string_view kVllmOptions =
    "--cuda-graph-max-bs --cudagraph-capture-sizes --mm-encoder-tp-mode "
    "--block-size --enable-prefix-caching --mamba-cache-mode --disable-hybrid-kv-cache-manager "
    "--enforce-eager --attention-backend --mamba-ssm-cache-dtype --decode-context-parallel-size "
    "--cudagraph-mode --enable-expert-parallel --enable-eplb --num-redundant-experts --all2all-backend "
    "--engram-on-gpu --cpu-offload-gb "
    "--kv-offloading-size --swap-space --enable-lora "
    "--max-loras --max-lora-rank --max-cpu-loras --lora-targets --fully-sharded-loras "
    "--limit-mm-per-prompt --language-model-only --pp-layer-partition --mamba-block-size --enable-sleep-mode";

Launch vllm_launch(const LaunchInput& input);

// What vLLM allocates besides weights and cache: the activation peak of its profile run, memory outside PyTorch, and
// CUDA graphs.

std::vector<LedgerLine> vllm_overhead(const OverheadInput& input);

// Whether vLLM serves the request with its new model runner (VllmConfig.use_v2_model_runner).
bool vllm_has_new_runner(const EngineInput& input, const VllmRules& rules);
// Bytes that one token of a batch takes in a layer.
std::uint64_t vllm_layer_row(const EngineInput& input);

// Caches in host memory for one data parallel copy: the offloaded cache of all ranks, and in V0 the swap space of each
// rank.
std::vector<LedgerLine> vllm_host_caches(const Request& request, const VllmRules& rules);

// The part of a GPU's memory that remains for the cache after `others`: weights, activations and runtime. `others`
// includes the graphs. Until 0.20 graphs used the memory that --gpu-memory-utilization leaves free.
Bytes vllm_cache_budget(const EngineInput& input, Bytes gpu_memory, Bytes others, Bytes graphs);

// vLLM's defaults: batches, prefix caching, drafts, and the towers it loads.

// Whether ranks send tokens to experts on other ranks (FusedMoEParallelConfig.use_all2all_kernels), and whether they do
// so in batches of a fixed size (ParallelConfig.use_batched_dp_moe).
bool vllm_exchanges_experts(const Request& request);
bool vllm_batches_experts(const Request& request);

// The scheduler's default batch and sequences (EngineArgs.get_batch_defaults), by the GPU's memory if there is a GPU.
std::uint64_t vllm_batched_tokens(const EngineInput& input, const VllmRules& rules);
std::uint64_t vllm_max_num_seqs(const Request& request, const VllmRules& rules);

// Whether vLLM caches prefixes: as requested, otherwise the release's default.
bool vllm_caches_prefixes(const EngineInput& input, bool has_states, const VllmRules& rules);

// The draft tokens in one step: as requested, otherwise one for MTP layers and three for other drafts.
std::uint64_t vllm_speculative_tokens(const EngineInput& input);

// Whether a limit of 0 excludes a kind of input. A kind that no limit names is allowed
// (MultiModalConfig.get_limit_per_prompt).
bool vllm_refuses(const ExtrasRequest& extras, std::string_view kind);
bool vllm_encodes_no_images(const ExtrasRequest& extras, const VllmClass& its);

// Whether the request's limits exclude images, videos and audio, so that vLLM does not load the towers
// (SupportsMultiModal, _mark_tower_model). `has_audio`: the model has an audio tower.
bool vllm_leaves_towers(const Request& request, Arch arch, bool has_audio);

EngineSettings vllm_settings(const EngineInput& input, const Load& load);

// vLLM's CUDA graphs: which ones are captured, how much memory they take, and how much is kept free for them.

// The number of captured batch sizes, and the number of graphs. Each size has one graph. In piecewise mode a size of a
// decoding step has a second graph, of the whole step.
struct VllmGraphs {
  std::uint64_t sizes = 0, count = 0, whole = 0;
  std::uint64_t largest = 0, tokens = 0;  // tokens of the largest size; tokens of all sizes together
  std::uint64_t largest_whole = 0;        // tokens of the largest whole step
};
VllmGraphs vllm_captured_graphs(const EngineInput& input, const VllmRules& rules);

// Tokens of the batches that are captured (VllmConfig._set_cudagraph_sizes), smallest first.
std::vector<std::uint64_t> vllm_graph_sizes(const EngineInput& input, const VllmRules& rules);

// Whether whole decoding steps are captured, after vLLM's own downgrades of the graph mode.
bool vllm_captures_whole_steps(const EngineInput& input, const VllmRules& rules);

// Tokens of the largest graph that the class or the GPU allows.
std::uint64_t vllm_largest_graph(const EngineInput& input, const VllmRules& rules);

LedgerLine vllm_graphs_line(const EngineInput& input, const VllmRules& rules);

// Memory that vLLM reserves for graphs but graphs do not use. Absent in older releases, whose estimate was close.
std::optional<LedgerLine> vllm_room_for_graphs(const EngineInput& input, const VllmRules& rules, Bytes taken);

// Whether vLLM subtracts an estimate of the graphs from the budget.
bool vllm_estimates_graphs(const EngineInput& input, const VllmRules& rules);

// Tensors that vLLM adds to a checkpoint's, and sizes that it pads before loading.

// Changes a model's tensors to those of vLLM's classes (tensor_edits.cpp). The second function returns the part of the
// request that the result depends on.
void vllm_make_tensors(EngineTensors& model);
std::string vllm_makes_by(const Request& request);

// The rows that depend on the release, for `kvplan engines vllm --rules`.
std::vector<RuleRow> vllm_tensor_rule_rows();

// Bytes of a rotary table (layers/rotary_embedding), given the bytes of an element in the model's type. 0: vLLM has no
// such table.
Bytes vllm_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element);

// Scales of attention layers, and a buffer for the tokens that an indexer selects in a batch.
std::vector<LedgerLine> vllm_side_tensors(const SideTensorsInput& input);

// An MXFP4 expert's inner and outer width are padded to these multiples by the GPU's kernels. Without a GPU there is no
// padding.
Mxfp4Layout vllm_mxfp4_layout(const Request& request);

// vLLM's choices that depend on the GPU: whether vLLM runs there, and with which kernels.

// The table of weight formats by GPU and release (kernel_rows.cpp).
std::span<const KernelRow> vllm_kernel_rows();

// The refusal if no attention backend, or not the one that the command names, supports a layer's cache. The second
// function returns the table behind it (attention.cpp).
std::optional<Refusal> vllm_attention_refusal(const EngineInput& input, const VllmRules& rules);
std::vector<RuleRow> vllm_attention_rule_rows();

// Whether vLLM runs on the GPU: CUDA from compute capability 7.0, the gfx numbers of its ROCm build
// (docs/getting_started/installation), XPU, and Gaudi through a plugin.
bool vllm_supports(const Gpu& card);

// Families of GPUs with the same kernels.
bool vllm_is_hopper(const Request& request);          // 9.0
bool vllm_is_data_blackwell(const Request& request);  // 10.0 and 10.3, B200 and B300

// Whether the release's class has the indexers that the config describes.
bool vllm_has_indexers(const EngineInput& input, const VllmRules& rules);
// Whether layers attend to an encoder's output; the width of the widest value head.
bool vllm_has_cross_attention(const EngineInput& input);
std::uint64_t vllm_widest_value(const EngineInput& input);

// Tokens in a block of the MLA kernel, which is the first backend in the GPU's list that supports the cache type
// (platforms/cuda.py _get_backend_priorities). With an indexer it is 64. Without one it is 16 in FLASH_ATTN_MLA and
// Triton, 32 in FLASHINFER_MLA, and 64 in FlashMLA. FlashMLA is used for quantized caches on Hopper, and older releases
// chose it first. If no GPU is named, Hopper is assumed.
std::uint64_t vllm_latent_block(const EngineInput& input, const VllmRules& rules);

// Tokens in a block for grouped-query attention. On Hopper, FlashAttention 4 reads FP8 heads of width 512 in pages of
// 64 tokens (flash_attn.py _get_sm90_fa4_fp8_kv_block_size). On data centre Blackwell, image masks need both Triton and
// FlashInfer, which agree on 64 tokens (triton_flashinfer.py).
std::uint64_t vllm_head_block(const EngineInput& input, const VllmRules& rules);

// With prefix caching a request may store one more state, at the end of the last whole block of its prefill
// (MambaSpec.num_prefill_checkpoint_blocks). Returns the multiple of tokens where such a state can be, or nothing if
// there is none.
std::optional<std::uint64_t> vllm_checkpoint_alignment(const EngineInput& input, const VllmRules& rules);

// Inkling's windows, which vLLM reads only from local_layer_ids.

// If the config has no local_layer_ids, every layer has the attention and convolutions of a full layer.
std::vector<LayerCache> vllm_local_layers(std::vector<LayerCache> caches, std::span<const ConfigFact> facts);

}  // namespace kvplan
