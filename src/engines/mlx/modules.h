// How mlx-lm's modules, one per model_type, treat a model: which caches it gets, and which layers are quantized.
#ifndef KVPLAN_ENGINES_MLX_MODULES_H_
#define KVPLAN_ENGINES_MLX_MODULES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// Where a module makes a RotatingKVCache; in others a window only masks, and all tokens are kept.
enum class Rotation : std::uint8_t {
  kNever,
  kByLayerTypes,  // only by layer_types, not by sliding_window alone
  kAlways,
};

// The type of a module's routers when it is quantized.
enum class RouterType : std::uint8_t {
  kAsRest,
  kEightBit,  // by quant_predicate
  kPlain,     // a tensor outside of nn.Linear
};

struct MlxModule {
  std::string_view name;  // the file in mlx_lm/models, "cohere2.py"; empty where there is none
  Rotation rotation = Rotation::kNever;
  RouterType router = RouterType::kAsRest;
  bool makes_caches = false;  // it has its own make_cache; --max-kv-size is for the others
};

MlxModule mlx_module(std::string_view root_type, std::string_view model_type);

// The width of a head where the file names none and the module has its own default; 0: the model's.
std::uint64_t mlx_head_dim(const MlxModule& module, std::span<const ConfigFact> facts);

// A model's tensors as its module makes them (Engine::make_tensors).
void mlx_tensors(EngineTensors& model);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_MLX_MODULES_H_
