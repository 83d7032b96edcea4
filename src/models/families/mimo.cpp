// Xiaomi's MiMo. Source: transformers modeling_mimo_v2_flash.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// MiMo-V2: sliding-window layers have their own heads (swa_*), with twice the KV heads if the file gives none. Keys are
// wider than values. By default the first layer and every sixth one are full. Source: transformers
// modeling_mimo_v2_flash.py.
static void read_mimo_v2(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(reader.text);
  Heads doubled = full;
  doubled.num_kv_heads = std::min(full.num_heads, checked_mul(full.num_kv_heads, 2, "the KV heads"));
  const Heads sliding = read_heads(
      reader.text, {"swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim"}, doubled);
  reader.text.touch("sliding_window_size");   // the same number under a second name
  reader.text.touch("attention_chunk_size");  // in the file, but used by no layer
  const Tokens window = read_window(reader.text);
  std::vector<Label> labels = layer_labels(reader.text, layers, full_every(6));
  if (!reader.text.is_list("layer_types") && !reader.text.is_list("hybrid_layer_pattern") && !labels.empty())
    labels.front() = Label::kFull;
  const LayerHeads own(reader.text);
  for (std::uint64_t i = 0; i < layers; ++i) {
    const bool slides = labels[i] == Label::kSliding;
    reader.add({{attention_mixer(reader, labels[i], own.of(i, slides ? sliding : full), window)}});
  }
}

static void write_mimo_v2(Inventory& out) {
  if (!out.text.flag("add_swa_attention_sink_bias", true)) return;
  const std::vector<LayerRun> sliding = layers_of<SlidingWindow>(out);
  if (sliding.empty()) return;
  const auto& mixer = std::get<SlidingWindow>(out.reader.model.layers[sliding.front().first].mixers.front());
  out.in_layers(sliding);
  out.plain(Component::kAttention, "self_attn.attention_sink_bias", mixer.heads.num_heads, Split::kRows,
            mixer.heads.num_heads);
}

// clang-format off
std::span<const Family> mimo_family() {
  static constexpr Family kRows[] = {
    {.is = {"mimo", kExecutedClass}, .layers = read_qwen, .tensors = {.qkv_bias = "+", .o_bias = ""}},
    {.is = {"mimo_v2_flash mimo_v2", kExecutedClass, Arch::kMimoV2}, .layers = read_mimo_v2, .rule = "mimo_v2",
     .tensors = {.o_bias = "", .dense_first = 1, .has_router_bias = true, .has_float32_router = true},
     .extras = write_mimo_v2},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
