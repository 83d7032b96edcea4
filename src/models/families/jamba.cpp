// AI21's Jamba. Source: transformers modeling_jamba.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// Jamba: Mamba 1, and attention where i % attn_layer_period == attn_layer_offset.
void read_jamba(Reader& reader) {
  read_hybrid(reader, {}, read_mamba1(reader.text));
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"jamba", "jamba", Arch::kJamba, "executed class"}, .layers = read_jamba,
     .tensors = {.moe = "feed_forward"}},
};
// clang-format on

}  // namespace

std::span<const Family> jamba_family() {
  return kRows;
}

}  // namespace kvplan
