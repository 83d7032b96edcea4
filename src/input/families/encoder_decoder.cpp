// Models with cross attention: encoder-decoders, and Llama 3.2 Vision.
#include <algorithm>

#include "input/families.h"
#include "kvplan/error.h"

namespace kvplan {

// T5, BART, Whisper and kin: each decoder layer keeps its own tokens, and the encoder's output once more.
void read_encoder_decoder(Reader& reader) {
  const Config& text = reader.text;
  // num_hidden_layers and num_layers count the encoder where there is a name of the decoder's own.
  std::uint64_t layers = 0;
  for (const std::string_view key : {"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"})
    if (layers == 0) layers = text.count_or(key, 0);
  if (layers == 0) layers = reader.num_layers();
  std::uint64_t num_heads = text.count_or("decoder_attention_heads", 0);
  if (num_heads == 0) num_heads = text.count_or("decoder_num_attention_heads", 0);
  if (num_heads == 0) num_heads = text.count("num_attention_heads");
  const std::uint64_t hidden_size = text.count("hidden_size");
  std::uint64_t head_dim = text.count_or("head_dim", 0);  // T5: d_kv
  if (head_dim == 0) head_dim = hidden_size / num_heads;
  const std::uint64_t num_kv_heads = text.count_or("decoder_num_key_value_heads", num_heads);
  const Heads heads{num_heads, num_kv_heads, head_dim, head_dim};
  check_heads(heads);
  check_layers(layers, "decoder_layers");
  text.derived("decoder_layers", layers);

  std::uint64_t encoder_layers = text.count_or("encoder_layers", 0);
  if (encoder_layers == 0) encoder_layers = text.count_or("num_layers", 0);
  if (encoder_layers == 0) encoder_layers = text.count_or("num_hidden_layers", 0);
  reader.model.sides.push_back({"encoder", std::string(text.class_name()), encoder_layers});

  // Frames or tokens of the source: the encoder's own maximum, else as many as the decoder's.
  std::uint64_t source = text.count_or("max_source_positions", 0);
  if (source == 0) source = text.count_or("max_position_embeddings", 0);
  if (source == 0) source = 512;
  reader.model.source_tokens = Tokens(source);
  for (std::uint64_t i = 0; i < layers; ++i) reader.model.layers.push_back({{FullAttention{heads}, Cross{heads}}});
}

// Llama 3.2 Vision: the layers of cross_attention_layers attend to the image alone.
void read_mllama(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(reader.text);
  std::vector<bool> cross(layers, false);
  const auto indices = reader.text.counts("cross_attention_layers");
  for (std::uint64_t i = 0; i < layers; ++i) cross[i] = !indices && i % 5 == 3;
  if (indices)
    for (const std::uint64_t i : *indices)
      if (i < layers) cross[i] = true;
  // One image at its largest: tiles of (image / patch)^2 patches and a class token, 4 * 1601 in the released models.
  std::uint64_t tiles = 4;
  std::uint64_t patches = 1601;
  if (const auto vision = reader.root.child("vision_config")) {
    tiles = vision->count_or("max_num_tiles", 4);
    const std::uint64_t image = vision->count_or("image_size", 560);
    const std::uint64_t patch = vision->count_or("patch_size", 14);
    if (patch > 0 && image / patch < 100000) patches = image / patch * (image / patch) + 1;
  }
  reader.model.source_tokens = Tokens(checked_mul(tiles, patches, "the image tokens"));
  for (std::uint64_t i = 0; i < layers; ++i)
    reader.model.layers.push_back({{cross[i] ? Mixer(Cross{heads}) : Mixer(FullAttention{heads})}});
}

}  // namespace kvplan
