// Which kernel vLLM takes on a card, as far as memory follows from it: tokens of its block, states that it hands out.
#ifndef KVPLAN_ENGINES_VLLM_KERNELS_H_
#define KVPLAN_ENGINES_VLLM_KERNELS_H_

#include <optional>

#include "engines/engine.h"
#include "engines/vllm/rules.h"

namespace kvplan {

// The block of a latent's kernel: the first backend of the card's list that takes the type (platforms/cuda.py
// _get_backend_priorities). Indexed latents have 64 everywhere, dense ones 16 in FLASH_ATTN_MLA and Triton, 32 in
// FLASHINFER_MLA, 64 in FlashMLA, which has Hopper's quantized ones and was the first choice of older releases. Without
// a card: Hopper's.
std::uint64_t vllm_latent_block(const EngineInput& input, const VllmRules& rules);

// Of grouped heads. FlashAttention 4 reads FP8 heads of 512 in pages of 64 tokens on Hopper (flash_attn.py
// _get_sm90_fa4_fp8_kv_block_size); on data centre Blackwell Triton masks images beside FlashInfer, which agree on 64
// (triton_flashinfer.py).
std::uint64_t vllm_head_block(const EngineInput& input, const VllmRules& rules);

// With prefix caching a request may hold one more state, of its prefill's last whole block, where the layers hand such
// a state out (MambaSpec.num_prefill_checkpoint_blocks). The tokens that it must be a multiple of; nothing where there
// is none.
std::optional<std::uint64_t> vllm_checkpoint_alignment(const EngineInput& input, const VllmRules& rules);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_KERNELS_H_
