#include "engines/planned_quantization.h"

#include <algorithm>
#include <array>

#include "weights/types.h"

namespace kvplan {

namespace {

// quant_method of a checkpoint in this type: the first row whose word begins the type's name.
struct Method {
  std::string_view type, dialect;
};
constexpr std::array kMethods{
    Method{"fp8-channel", "compressed-tensors"},
    Method{"fp8", "fp8"},
    Method{"mxfp8", "modelopt"},
    Method{"nvfp4", "modelopt"},
    Method{"mxfp4", "mxfp4"},
    Method{"bnb-", "bitsandbytes"},
    Method{"gptq-", "gptq"},
    Method{"awq-", "awq"},
    Method{"hqq-", "hqq"},
    Method{"int", "compressed-tensors"},
};

}  // namespace

QuantDeclaration planned_quantization(const EngineInput& input) {
  const std::optional<std::string>& asked = input.request.weights;
  if (!asked) return input.model.quantization;
  QuantDeclaration out;
  const WeightType* type = find_weight_type(*asked);
  if (type == nullptr || type->scope == Scope::kEverything) return out;
  const auto row =
      std::find_if(kMethods.begin(), kMethods.end(), [&](const Method& m) { return type->name.starts_with(m.type); });
  out.dialect = row == kMethods.end() ? type->name : row->dialect;
  WeightScheme scheme;
  scheme.type = type->name;
  scheme.block_rows = scheme.block_columns = type->block;
  out.experts_only = type->scope == Scope::kExperts;
  out.scheme = std::move(scheme);
  return out;
}

}  // namespace kvplan
