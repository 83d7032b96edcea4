// What mlx-lm's modules, one for each model_type, make of a model: which caches, and which layers quantize.
#ifndef KVPLAN_ENGINES_MLX_MODULES_H_
#define KVPLAN_ENGINES_MLX_MODULES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// Where a module makes a RotatingKVCache; elsewhere a window is a mask over all tokens.
enum class Rotation : std::uint8_t {
  kNever,
  kByLayerTypes,  // layer_types alone, not sliding_window by itself
  kAlways,
};

// How a module's routers are kept when it is quantized.
enum class RouterType : std::uint8_t {
  kAsRest,
  kEightBit,  // quant_predicate
  kPlain,     // a tensor that is no nn.Linear
};

struct MlxModule {
  std::string_view name;  // of the file in mlx_lm/models, "cohere2.py"; empty: there is none
  Rotation rotation = Rotation::kNever;
  RouterType router = RouterType::kAsRest;
  bool makes_caches = false;  // by itself: --max-kv-size is for the others
};

MlxModule mlx_module(std::string_view root_type, std::string_view model_type);

// The width of a head where the file names none and the module has a default of its own; 0: as the model has it.
std::uint64_t mlx_head_dim(const MlxModule& module, std::span<const ConfigFact> facts);

// A model's tensors as its module makes them (Engine::make_tensors).
void mlx_tensors(EngineTensors& model);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_MLX_MODULES_H_
