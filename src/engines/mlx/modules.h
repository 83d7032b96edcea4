// How mlx-lm's modules, one file per model_type, treat a model: which caches they create, and which layers they
// quantize.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// What a module does differently. First, its caches:
enum MlxTrait : std::uint32_t {
  kUsual = 0,
  kOwnCaches = 1,          // it has its own make_cache; --max-kv-size only affects modules without one
  kListedCaches = 1 << 1,  // its caches are in lists, which maybe_quantize_kv_cache skips: --kv-bits has no effect
  kRotates = 1 << 2,  // a window is a RotatingKVCache; without this trait it is only a mask, and all tokens are kept
  kRotatesByTypes = 1 << 3,     // as kRotates, if layer_types has windows; sliding_window is not enough
  kChunks = 1 << 4,             // ChunkedKVCache
  kIndexInEveryLayer = 1 << 5,  // every layer has an indexer, and also caches its keys as values
  kExpandsLatents = 1 << 6,     // latent attention caches full keys and values
  kCachesShared = 1 << 7,       // layers store a second copy of what they share with another layer
  kOneKvHead = 1 << 8,          // one KV head, whatever the config says
  kNarrowHeads = 1 << 9,        // heads of 64 unless the config has head_dim
  kPlainScores = 1 << 10,       // computes its scores without a fused kernel, from keys that are not quantized
  kPlainStates = 1 << 11,       // recurrent states have their input's type, not float32
  // Its tensors:
  kEightBitRouter = 1 << 12,  // by quant_predicate
  kPlainRouter = 1 << 13,     // the tensor is not an nn.Linear, so it is not quantized
  kFloat32Bias = 1 << 14,     // cast_predicate leaves the routers' correction bias in float32
  kOwnHead = 1 << 15,         // the head is separate, whatever the config says
  kNoHead = 1 << 16,
  kTiedByDefault = 1 << 17,  // tied, unless the decoder's section says otherwise
  kOwnByDefault = 1 << 18,
  kUnpacksFp8 = 1 << 19,  // sanitize converts FP8 weights to 16 bit, except those in blocks of 32 x 32
  kWithTowers = 1 << 20,  // loads its vision tower
  kNoEngrams = 1 << 21,   // refuses layers with n-gram tables
};

struct MlxModule {
  std::string_view name;  // the file in mlx_lm/models, "cohere2"; empty if there is none
  std::uint32_t traits = kRotates;
  bool is(MlxTrait trait) const { return (traits & trait) != 0; }
};

MlxModule mlx_module(std::string_view root_type, std::string_view model_type);

// The module's default width of a head if the file has none; 0 if it has no default.
std::uint64_t mlx_head_dim(const MlxModule& module, std::span<const ConfigFact> facts);

// A cache type that --kv-bits selects; 0: not quantized.
inline std::uint64_t mlx_bits(Dtype type) {
  return type == Dtype::kInt8 ? 8 : type == Dtype::kInt4 ? 4 : 0;
}

// One step of `prompts` prompts, each with `tokens` new tokens in a context of `context`.
struct MlxStep {
  std::uint64_t tokens = 0, context = 0, prompts = 1;
  bool rotates = false;  // windows store no more than they have to
};
// What a step stores for attention that is not fused, and the rules by release.
std::vector<LedgerLine> mlx_scores(const EngineInput& input, const std::vector<LayerCache>& caches,
                                   const MlxModule& module, const MlxStep& step);
std::vector<RuleRow> mlx_rule_rows();

// A model's tensors as its module makes them (Engine::make_tensors).
void mlx_tensors(EngineTensors& model);

}  // namespace kvplan
