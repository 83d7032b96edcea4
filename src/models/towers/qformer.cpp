// Q-Formers: queries that attend to a tower's output in some of their layers. Source: transformers modeling_blip_2.py,
// modeling_instructblip.py.
#include <algorithm>

#include "models/towers/tower.h"

namespace kvplan {

void write_qformer(const Tower& p, const Fields& config, std::uint64_t queries, bool reads) {
  const std::uint64_t h = config.count_or("hidden_size", 768);
  const std::uint64_t inner = config.count_or("intermediate_size", 3072);
  const std::uint64_t layers = config.count_or("num_hidden_layers", 12);
  const std::uint64_t every = std::max<std::uint64_t>(1, config.count_or("cross_attention_frequency", 2));
  const std::uint64_t looking = ceil_div(layers, every);
  p.plain("qformer.query", times(queries, h));
  p.plain("qformer.layernorm", times(2, h));
  p.blocks("qformer.layer.", {.width = h, .inner = inner, .layers = layers});
  p.linear("qformer.crossattention.query", h, h, true, looking);
  p.linear("qformer.crossattention.kv", times(2, h), config.count_or("encoder_hidden_size", 1408), true, looking);
  p.linear("qformer.crossattention.output", h, h, true, looking);
  p.plain("qformer.crossattention.norm", times(2, h), looking);
  if (!reads) return;
  // Embeddings of the instruction's tokens, with a separate MLP in each layer.
  p.plain("qformer.word_embeddings", times(config.count_or("vocab_size", 30522), h));
  p.plain("qformer.position_embeddings", times(config.count_or("max_position_embeddings", 512), h));
  p.linear("qformer.words.fc1", inner, h, true, layers);
  p.linear("qformer.words.fc2", h, inner, true, layers);
  p.plain("qformer.words.norm", times(2, h), layers);
}

}  // namespace kvplan
