// Meituan's LongCat-Flash: two latent attentions a layer. Source: transformers modeling_longcat_flash.py; vLLM's
// NgramEmbedding.
#include "kvplan/error.h"
#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// LongCat-Flash: each layer holds two latent attentions; num_layers counts the layers, num_hidden_layers the
// attentions.
void read_longcat(Reader& reader) {
  const Latent latent = read_latent(reader.text);
  const std::uint64_t attentions = reader.text.contains("num_layers")
                                       ? checked_mul(reader.text.count("num_layers"), 2, "the attention layers")
                                       : reader.text.count("num_hidden_layers");
  for (const std::string_view key : {"num_hidden_layers", "mla_scale_q_lora", "mla_scale_kv_lora"})
    reader.text.touch(key);
  check_layers(attentions, "num_layers");
  for (std::uint64_t i = 0; i < attentions; ++i) reader.model.layers.push_back({{Mla{latent}}});
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"longcat_flash longcat_flash_ngram", "longcat", Arch::kLongcat, "published total"},
     .layers = read_longcat, .tensors = {.has_router_bias = true}, .extras = write_ngrams},
    {.is = {"longcat_next", "longcat", Arch::kLongcat}, .layers = read_longcat, .tensors = {.may_have_more = true,
     .has_router_bias = true}, .extras = write_ngrams},
};
// clang-format on

}  // namespace

std::span<const Family> longcat_family() {
  return kRows;
}

}  // namespace kvplan
