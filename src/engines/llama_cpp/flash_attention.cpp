// Whether a context runs with flash attention: "auto" goes by the head sizes that CUDA has kernels for.
#include <algorithm>
#include <array>

#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/classes.h"

namespace kvplan {

namespace {

// Width of a head of keys and of values, as the kernels see it. A latent is both key and value.
struct HeadSizes {
  std::uint64_t key = 0, value = 0, units = 0;
};

// DeepSeek-V4's entries are values as a whole, MLA's latents without their rope part.
HeadSizes head_sizes(const CacheTerms& terms, bool whole_values) {
  HeadSizes out;
  std::uint64_t latent = 0;
  std::uint64_t latent_rope = 0;
  for (const Term& term : terms) {
    if (term.growth != Growth::kToken || term.stride > 1) continue;
    if (term.role == Role::kKey) {
      out.key += term.shape.width;
      out.units = term.shape.units;
      if (term.part == Part::kLatent) latent = term.shape.width;
      if (term.part == Part::kRope) latent_rope = term.shape.width;
    } else if (term.role == Role::kValue) {
      out.value = term.shape.width;
    }
  }
  if (out.value == 0) out.value = whole_values ? latent + latent_rope : latent;
  return out;
}

bool cuda_has_kernel(const HeadSizes& head, std::uint64_t num_heads) {
  constexpr std::array<std::uint64_t, 8> kSame{40, 64, 72, 80, 96, 112, 128, 256};
  const std::uint64_t share = head.units == 0 ? 1 : std::max<std::uint64_t>(1, num_heads / head.units);
  if (head.key == head.value && std::find(kSame.begin(), kSame.end(), head.key) != kSame.end()) return true;
  if (head.key == 192 && head.value == 128) return share % 8 == 0;
  if (head.key == 320 && head.value == 256) return share % 32 == 0;
  return (head.key == 512 || head.key == 576) && head.value == 512 && share >= 2;
}

}  // namespace

bool llama_flash_attention(const EngineInput& input) {
  const FlashAttention asked = input.request.llama_cpp.flash_attention;
  const LlamaClass is = llama_class(input.model);
  if (asked == FlashAttention::kOff || is.forbids_flash_attention) return false;
  if (asked == FlashAttention::kOn || is_quantized(input.types.value)) return true;
  const LlamaPlacement placement(input);
  for (const LayerCache& cache : input.caches) {
    if (placement.on_host(cache.layer)) continue;  // the CPU has a kernel for every head size
    const HeadSizes head = head_sizes(is.expands_latents ? cache.expanded : cache.compact, is.whole_values);
    if (head.key > 0 && !cuda_has_kernel(head, input.model.num_heads)) return false;
  }
  return true;
}

}  // namespace kvplan
