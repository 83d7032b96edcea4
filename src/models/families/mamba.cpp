// State space models alone. Source: transformers modeling_mamba.py, modeling_mamba2.py, modeling_falcon_mamba.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"mamba falcon_mamba", "mamba", Arch::kOther, "executed class"}, .layers = read_mamba,
     .tensors = {.norms = 1, .ties_by_default = true}},
    {.is = {"mamba2", "mamba2", Arch::kOther, "executed class"}, .layers = read_mamba2_model, .tensors = {.norms = 1}},
};
// clang-format on

}  // namespace

void read_mamba(Reader& reader) {
  const Ssm ssm = read_mamba1(reader.text);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{ssm}});
}

void read_mamba2_model(Reader& reader) {
  const bool spelled_as_hybrid = reader.text.has("mamba_num_heads");
  const Ssm ssm = spelled_as_hybrid ? read_mamba2(reader.text) : read_mamba2_alone(reader.text);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{ssm}});
}

std::span<const Family> mamba_family() {
  return kRows;
}

}  // namespace kvplan
