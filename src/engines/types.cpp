// The types behind `auto`, as most engines resolve them.
#include "engines/engine.h"
#include "kvplan/error.h"

namespace kvplan {

CacheTypes resolve_default_types(const ModelShape& model, const Request& request) {
  CacheTypes types;
  types.model = request.dtype.value_or(model.dtype);
  if (plain_bytes(types.model) == 0)
    refuse("--dtype: a model does not compute in " + std::string(name(types.model)),
           "use bfloat16, float16 or float32");
  types.state = request.state_dtype.value_or(model.declared_state_dtype.value_or(types.model));
  // A float32 checkpoint is served in 16 bit.
  const Dtype served = types.model == Dtype::kFloat32 ? Dtype::kBfloat16 : types.model;
  const Dtype chosen = model.declared_kv_dtype.value_or(served);
  types.key = request.cache_type_k.value_or(chosen);
  types.value = request.cache_type_v.value_or(chosen);
  return types;
}

}  // namespace kvplan
