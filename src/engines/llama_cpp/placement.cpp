// The placement of layers: the last -ngl units are on the GPUs, split evenly or by --tensor-split.
#include <algorithm>

#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/rules.h"

namespace kvplan {

LlamaPlacement::LlamaPlacement(const Request& request, std::uint64_t num_layers) : gpus(request.parallel.pipeline) {
  const std::uint64_t units = checked_add(num_layers, 1, "a number of layers");
  units_on_gpu = std::min(request.llama_cpp.gpu_layers.value_or(llama_without_gpu(request) ? 0 : units), units);
  first_on_gpu = units - units_on_gpu;
  const bool overrides = request.llama_cpp.cpu_moe_layers.value_or(0) > 0;
  const bool has_events = llama_backend(request) != LlamaBackend::kVulkan || llama_rules(request).vulkan_pipelines;
  pipelined = gpus > 1 && request.llama_cpp.split == LlamaSplit::kLayer && first_on_gpu == 0 && !overrides &&
              !request.llama_cpp.no_kv_offload && has_events;
  float sum = 0;
  for (const double share : request.llama_cpp.tensor_split) ends_.push_back(sum += static_cast<float>(share));
  for (float& end : ends_) end /= sum;
}

std::uint64_t LlamaPlacement::gpu_of(std::uint64_t unit) const {
  if (ends_.empty()) return (unit - first_on_gpu) * gpus / units_on_gpu;
  const float at = static_cast<float>(unit - first_on_gpu) / static_cast<float>(units_on_gpu);
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin();
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(found), gpus - 1);
}

std::optional<AutoPlacement> llama_cpp_places(const Request& request) {
  const LlamaRules rules = llama_rules(request);
  if (request.llama_cpp.split != LlamaSplit::kLayer) return std::nullopt;  // llama_params_fit is not implemented for it
  if (!rules.fits && request.llama_cpp.placement != Placement::kFit) return std::nullopt;
  const LlamaCppOptions& asked = request.llama_cpp;
  std::vector<Bytes> margins(request.parallel.pipeline,
                             asked.fit_target.size() == 1 ? asked.fit_target[0] : Bytes(kGiB));
  if (asked.fit_target.size() > 1)
    std::copy_n(asked.fit_target.begin(), std::min(margins.size(), asked.fit_target.size()), margins.begin());
  return AutoPlacement{std::move(margins), asked.fit_ctx.value_or(Tokens(4096)), true,
                       rules.fits_extras || !rules.fits};
}

Template llama_cpp_on_cpu(const EngineInput& input) {
  if (llama_without_gpu(input.request)) return {};
  const LlamaPlacement placement(input);
  const LlamaCppOptions& asked = input.request.llama_cpp;
  const std::uint64_t layers = input.model.num_layers + input.model.num_nextn_layers;
  const std::uint64_t whole = std::min(placement.first_on_gpu, layers);
  const std::uint64_t bare = input.model.experts.count > 0 ? std::min(asked.cpu_moe_layers.value_or(0), layers) : 0;
  if (placement.units_on_gpu == 0) return {"all {layers} layers are in main memory", {{"layers", layers}}};
  if (whole > 0 && bare > whole)
    return {"{whole} of {layers} layers and the experts of {more} others are in main memory",
            {{"whole", whole}, {"layers", layers}, {"more", bare - whole}}};
  if (whole > 0) return {"{whole} of {layers} layers are in main memory", {{"whole", whole}, {"layers", layers}}};
  if (bare > 0)
    return {"the experts of {bare} of {layers} layers are in main memory", {{"bare", bare}, {"layers", layers}}};
  if (asked.no_kv_offload) return "the KV cache is in main memory";
  return {};
}

std::vector<StageShare> llama_cpp_stages(std::uint64_t num_layers, const Request& request) {
  const LlamaPlacement placement(request, num_layers);
  std::vector<StageShare> out(placement.gpus);
  // The embedding is always in host memory, not on the first GPU.
  if (!out.empty()) out.front().has_embedding = true;
  for (std::uint64_t unit = placement.first_on_gpu; unit <= num_layers; ++unit) {
    StageShare& share = out[placement.gpu_of(unit)];
    if (unit == num_layers) {
      share.has_head = true;
    } else {
      if (share.layers == 0) share.first_layer = unit;
      ++share.layers;
    }
  }
  return out;
}

}  // namespace kvplan
