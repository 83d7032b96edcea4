// Names of weight types: those that --weights takes, and those that reports give a checkpoint's own.
#include <algorithm>
#include <string>
#include <vector>

#include "kvplan/did_you_mean.h"
#include "kvplan/error.h"
#include "weights/gguf_mixture.h"
#include "weights/types.h"
#include "weights/weigh.h"

namespace kvplan {

void check_weight_type(std::string_view name, std::string_view option) {
  if (find_weight_type(name) != nullptr || fractional_type(name) || is_gguf_mixture(name)) return;
  std::vector<std::string_view> known;
  for (const WeightType& type : weight_types()) known.push_back(type.name);
  for (const std::string_view mixture : gguf_mixture_names()) known.push_back(mixture);
  const std::string near = did_you_mean(name, known);
  refuse(std::string(option) + ": \"" + one_line(name, 40) + "\" is no weight type",
         near.empty() ? "known: " + known_weight_types() : near);
}

std::string declared_weight_type(const WeightModel& model) {
  const QuantDeclaration& declared = model.quantization;
  if (!is_declared(declared)) return std::string(name(model.dtype));
  if (declared.scheme) return declared.scheme->type;
  if (declared.expert_scheme) return declared.expert_scheme->type;
  // Where layers are named one by one: the types, each once, in the file's order. The dialect is only a tool's name.
  std::vector<std::string> types;
  for (const SchemeRule& rule : declared.rules)
    if (rule.scheme && std::find(types.begin(), types.end(), rule.scheme->type) == types.end())
      types.push_back(rule.scheme->type);
  if (types.empty()) return declared.dialect;
  std::string out = types.size() > 1 ? "mixed " + types.front() : types.front();
  for (std::size_t i = 1; i < types.size(); ++i) out += "/" + types[i];
  return out;
}

}  // namespace kvplan
