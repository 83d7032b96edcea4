// Gemma 3n and 4: the last layers read the cache of earlier ones, and Gemma 4's full layers have their own heads.
#include "kvplan/error.h"
#include "models/families.h"

namespace kvplan {

namespace {

// The last `num_shared` layers read the last earlier layer of their own sort.
void share_tail(Reader& reader, std::uint64_t num_shared) {
  auto& layers = reader.model.layers;
  if (num_shared == 0) return;
  if (num_shared >= layers.size())
    fail("\"num_kv_shared_layers\" is " + std::to_string(num_shared) + " of " + std::to_string(layers.size()) +
             " layers",
         "at least one layer must hold a cache");
  const std::uint64_t first = layers.size() - num_shared;
  for (std::uint64_t i = first; i < layers.size(); ++i) {
    const bool slides = std::holds_alternative<SlidingWindow>(layers[i].mixers[0]);
    std::uint64_t source = first;
    while (source > 0 && std::holds_alternative<SlidingWindow>(layers[source - 1].mixers[0]) != slides) --source;
    if (source == 0) continue;  // no earlier layer of this sort: it keeps its own
    Shared shared{source - 1, {}, Tokens(0)};
    if (slides) {
      shared.heads = std::get<SlidingWindow>(layers[i].mixers[0]).heads;
      shared.window = std::get<SlidingWindow>(layers[i].mixers[0]).window;
    } else {
      shared.heads = std::get<FullAttention>(layers[i].mixers[0]).heads;
    }
    layers[i].mixers[0] = shared;
  }
}

}  // namespace

void read_gemma3n(Reader& reader) {
  read_decoder(reader, {PatternRule::Default::kFullEvery, 5});
  share_tail(reader, reader.text.count_or("num_kv_shared_layers", 15));
}

void read_gemma4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads sliding = read_heads(reader.text);
  // K and V of full layers are one tensor with attention_k_eq_v, but both are cached; only then do the full layers
  // have their own number of KV heads.
  const bool k_eq_v = reader.text.flag("attention_k_eq_v", false);
  Heads full = sliding;
  full.head_dim = full.v_head_dim = reader.text.count_or("global_head_dim", 512);
  if (k_eq_v) full.num_kv_heads = reader.text.count_or("num_global_key_value_heads", sliding.num_kv_heads);
  reader.text.touch("num_global_key_value_heads");
  check_heads(full);
  const std::vector<Label> labels =
      layer_labels(reader.text, layers, {PatternRule::Default::kFullEvery, 6, true, Label::kSliding, ""});
  const Tokens window = read_window(reader.text);
  const LayerHeads own(reader.text);
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads& base = labels[i] == Label::kSliding ? sliding : full;
    reader.model.layers.push_back({{attention_mixer(reader, labels[i], own.of(i, base), window)}});
  }
  share_tail(reader, reader.text.count_or("num_kv_shared_layers", 0));
}

}  // namespace kvplan
