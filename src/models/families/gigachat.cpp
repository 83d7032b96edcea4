// Sber's GigaChat 3.5. Source: vLLM configs/gigachat3_5.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// GigaChat 3.5: gated delta nets, and latent attention in the layers of full_attention_layers (counted from 0), which
// go before layer_types; all layers are latent where linear_attention_type is null. Source: vLLM
// configs/gigachat3_5.py.
static void read_gigachat(Reader& reader) {
  const Fields& text = reader.text;
  if (text.is_null("linear_attention_type")) return read_mla(reader);
  std::vector<Label> labels(reader.num_layers(), Label::kRecurrent);
  if (const auto full = text.counts("full_attention_layers")) {
    for (const std::uint64_t i : *full)
      if (i < labels.size()) labels[i] = Label::kFull;
  } else if (text.is_list("layer_types")) {
    labels = layer_labels(text, labels.size(), {});
  }
  push_linear_and_latent(reader, labels, read_delta_net(text));
}

// clang-format off
std::span<const Family> gigachat_family() {
  static constexpr Family kRows[] = {
    {.is = {"gigachat3_5", "gigachat"}, .layers = read_gigachat, .tensors = {.may_have_more = true, .norms = 4,
     .dense_first = 3, .has_router_bias = true}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
