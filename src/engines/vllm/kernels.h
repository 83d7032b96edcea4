// What vLLM decides by the GPU: whether it supports it, and the kernels that memory depends on.
#pragma once

#include <optional>

#include "engines/engine.h"
#include "engines/kernel_table.h"
#include "engines/vllm/rules.h"
#include "kvplan/gpu.h"

namespace kvplan {

// The table of weight formats by GPU and release (kernel_rows.cpp).
std::span<const KernelRow> vllm_kernel_rows();

// The refusal where no attention backend takes a layer's cache, or the one that the command names does not; the rows
// behind it (attention.cpp).
std::optional<Refusal> vllm_attention_refusal(const EngineInput& input, const VllmRules& rules);
std::vector<RuleRow> vllm_attention_rule_rows();

// Whether vLLM runs on it: CUDA from compute capability 7.0, the gfx numbers that its ROCm build names
// (docs/getting_started/installation), XPU; Gaudi by a plugin.
bool vllm_supports(const Gpu& card);

// Families of GPUs with the same kernels.
bool vllm_is_hopper(const Request& request);          // 9.0
bool vllm_is_data_blackwell(const Request& request);  // 10.0 and 10.3, B200 and B300

// Whether the release's class has the indexers that the config describes.
bool vllm_has_indexers(const EngineInput& input, const VllmRules& rules);
// Whether layers attend to an encoder's output; the widest head of values.
bool vllm_has_cross_attention(const EngineInput& input);
std::uint64_t vllm_widest_value(const EngineInput& input);

// The block of a latent's kernel, which is the first backend in the GPU's list that takes the type (platforms/cuda.py
// _get_backend_priorities). For indexed latents it is 64 everywhere; for dense ones 16 in FLASH_ATTN_MLA and Triton, 32
// in FLASHINFER_MLA, 64 in FlashMLA, which is used for quantized ones on Hopper and was the first choice of older
// releases. Without a GPU: Hopper's.
std::uint64_t vllm_latent_block(const EngineInput& input, const VllmRules& rules);

// The block for grouped heads. FlashAttention 4 reads FP8 heads of width 512 in pages of 64 tokens on Hopper
// (flash_attn.py _get_sm90_fa4_fp8_kv_block_size); on data centre Blackwell images' masks need Triton together with
// FlashInfer, which agree on 64 (triton_flashinfer.py).
std::uint64_t vllm_head_block(const EngineInput& input, const VllmRules& rules);

// With prefix caching a request may hold one more state, that of its prefill's last whole block, where the layers
// return one (MambaSpec.num_prefill_checkpoint_blocks). The result is the number of tokens that it must be a multiple
// of; nothing if there is no such state.
std::optional<std::uint64_t> vllm_checkpoint_alignment(const EngineInput& input, const VllmRules& rules);

}  // namespace kvplan
