// RWKV 4 to 7. Source: transformers modeling_rwkv.py; the checkpoints' modeling_rwkv*.py.
#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

void read_rwkv(Reader& reader) {
  const Rwkv rwkv = read_rwkv_mixer(reader.text);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{rwkv}});
}

void write_first_norm(Inventory& inventory) {
  inventory.out.in_layers({{0, 1, 1}});
  inventory.out.norms("pre_ln", inventory.hidden, 1, true);
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"rwkv rwkv5 rwkv6 rwkv7", "rwkv", Arch::kRwkv, "executed class"}, .layers = read_rwkv,
     .tensors = {.norms = 2, .norm_style = NormStyle::kLayerNorm}, .extras = write_first_norm},
    {.is = {"rwkv6qwen2", "rwkv", Arch::kRwkv}, .layers = read_rwkv, .tensors = {.may_have_more = true}},
    {.is = {"arwkv7", "rwkv"}, .layers = read_rwkv},
};
// clang-format on

}  // namespace

std::span<const Family> rwkv_family() {
  return kRows;
}

}  // namespace kvplan
