// Whether a context runs with flash attention: "auto" depends on the head sizes for which the backend has kernels.
//
// Source: ggml-cuda/fattn.cu, ggml-metal-device.m, ggml-sycl/fattn.cpp and ggml-vulkan.cpp (supports_op) of b6673,
// b8179, b8352, v0.4.0 and v0.5.0.
#include <algorithm>
#include <array>

#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/classes.h"

namespace kvplan {

namespace {

// Width of a key head and of a value head, as the kernels see them. A latent is both key and value.
struct HeadSizes {
  std::uint64_t key = 0, value = 0, units = 0;
};

// In DeepSeek-V4 the whole entry is a value; in MLA the latent is, without its rope part.
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

bool metal_has_kernel(const HeadSizes& head, const CacheTypes& types, const LlamaRules& rules) {
  constexpr std::array<std::uint64_t, 11> kSizes{32, 40, 48, 64, 72, 80, 96, 112, 128, 192, 256};
  if (types.key != types.value) return false;
  if (std::find(kSizes.begin(), kSizes.end(), head.key) != kSizes.end()) return true;
  if (head.key == 576) return rules.metal_latents;
  return (head.key == 320 || head.key == 512) && rules.metal_wide_heads;
}

bool sycl_has_kernel(const HeadSizes& head, const CacheTypes& types, const LlamaRules& rules) {
  constexpr std::array<std::uint64_t, 8> kSizes{40, 64, 72, 80, 96, 112, 128, 256};
  if (!rules.sycl_flash_attention || types.key != types.value) return false;
  if (head.key == 576) return head.value == 512;
  if (head.key != head.value) return false;
  return std::find(kSizes.begin(), kSizes.end(), head.key) != kSizes.end() ||
         (head.key == 512 && rules.sycl_wide_heads);
}

bool has_kernel(const EngineInput& input, const HeadSizes& head) {
  const LlamaRules rules = llama_rules(input.request);
  switch (llama_backend(input.request)) {
    case LlamaBackend::kMetal: return metal_has_kernel(head, input.types, rules);
    case LlamaBackend::kSycl: return sycl_has_kernel(head, input.types, rules);
    case LlamaBackend::kVulkan: return head.key % 8 == 0 && head.value % 8 == 0;
    default: return cuda_has_kernel(head, input.model.num_heads);  // ROCm compiles the same kernels
  }
}

}  // namespace

LlamaBackend llama_backend(const Request& request) {
  using enum LlamaBackend;
  const Gpu* card = request.card.gpu;
  if (request.llama_cpp.backend != kByCard || card == nullptr)
    return request.llama_cpp.backend == kByCard ? kCuda : request.llama_cpp.backend;
  constexpr std::uint32_t kRdna = 0x1000;
  if (card->vendor == "AMD") return card->unified && card->capability >= kRdna ? kVulkan : kRocm;
  return card->vendor == "Intel" ? kSycl : card->vendor == "Apple" ? kMetal : kCuda;
}

bool llama_flash_attention_off(const EngineInput& input) {
  const FlashAttention asked = input.request.llama_cpp.flash_attention;
  return asked == FlashAttention::kOff || llama_class(input.model).forbids_flash_attention ||
         (asked == FlashAttention::kAuto && !llama_rules(input.request).chooses_flash_attention);
}

bool llama_flash_attention(const EngineInput& input) {
  if (llama_flash_attention_off(input)) return false;
  if (input.request.llama_cpp.flash_attention == FlashAttention::kOn || is_quantized(input.types.value)) return true;
  const LlamaClass is = llama_class(input.model);
  const LlamaPlacement placement(input);
  for (const LayerCache& cache : input.caches) {
    if (placement.on_host(cache.layer)) continue;  // the CPU has a kernel for every head size
    const HeadSizes head = head_sizes(is.expands_latents ? cache.expanded : cache.compact, is.whole_values);
    if (head.key > 0 && !has_kernel(input, head)) return false;
  }
  return true;
}

}  // namespace kvplan
