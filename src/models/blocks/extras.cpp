// What several families have besides mixers and MLPs: hyper-connections, n-gram tables, MTP layers.
#include <algorithm>

#include "kvplan/error.h"
#include "models/blocks/inventory.h"

namespace kvplan {

// An estimate for the encoder and decoder of a class whose tensors no row lists: 4 h^2 for attention and 8 h^2 for an
// MLP. In layers that have experts, the latter counts once per expert.
static Elements estimated_stacks(const Inventory& inventory) {
  const Fields text = inventory.text.quietly();
  const std::uint64_t square = checked_mul(inventory.hidden, inventory.hidden, "a layer");
  const std::uint64_t step = std::max<std::uint64_t>(1, text.count_or("encoder_sparse_step", 4));
  const std::uint64_t experts = text.is_list("num_experts") ? 0 : text.count_or("num_experts", 0);
  const std::uint64_t mlps = experts > 1 ? checked_add(1, experts / step, "the experts") : 1;
  return Elements(square) * checked_add(4, checked_mul(8, mlps, "a layer"), "a layer") *
         inventory.reader.model.layers.size() * 2;
}

bool write_unknown_stacks(Inventory& out) {
  write_ends(out);
  const Elements guess = estimated_stacks(out);
  ModelSpec& model = out.reader.model;
  model.unknown_tensors.push_back({Component::kMlp, "the encoder and decoder of " + model.model_type,
                                   Elements(guess.count() / 2), guess, guess * 3});
  return true;
}

void make_encoder(std::span<TensorGroup> groups) {
  for (TensorGroup& group : groups) {
    std::uint64_t count = 0;
    for (const LayerRun& run : group.layers) count += run.count;
    if (count > 0) {
      group.copies = checked_mul(group.copies, count, "an encoder");
      group.used = checked_mul(group.used, count, "an encoder");
    }
    group.component = Component::kEncoder;
    group.role = group.role == TensorRole::kHead ? TensorRole::kPlain : group.role;
    group.place = Place::kFirst;
    group.layers.clear();
  }
}

std::uint64_t num_stored_layers(const Inventory& inventory) {
  const ModelSpec& model = inventory.reader.model;
  const std::uint64_t layers = model.layers.size();
  return model.stored_layers == 0 ? layers : std::min(layers, model.stored_layers);
}

std::vector<LayerRun> all_layers(const Inventory& inventory) {
  return {{0, num_stored_layers(inventory), 1}};
}

// DeepSeek-V4, GLM-5.3-Flash and Hy-V4: several residual streams, mixed before and after each block. DeepSeek and GLM
// mix every stream with every other one. Hy-V4 weights each stream separately.
void write_hyper_connections(Inventory& out, const HyperConnections& form) {
  const std::uint64_t m = out.text.count_or("hc_mult", 4);
  if (m == 0 || m > 64) return;
  const std::uint64_t wide = times(m, out.hidden);
  const std::uint64_t outputs = form.weighs ? 2 * m : (2 + m) * m;
  out.in_layers(all_layers(out));
  TensorGroup& mix = out.plain(Component::kOther, "hc", times(outputs, wide) + outputs + (form.weighs ? 2 : 3));
  mix.copies = mix.used = 2;
  mix.is_float32 = true;
  if (!form.has_head) return;
  out.outside(Place::kLast);
  out.plain(Component::kOther, "model.hc_head", times(m, wide) + m + 1).is_float32 = true;
}

// LongCat's n-gram embeddings: E = splits * (neighbours - 1) tables of ratio * vocab + 2 i + 1 rows, i = 0 .. E - 1.
// Each is hidden / E wide and has a projection to the hidden size. Source: vLLM's NgramEmbedding.
void write_ngrams(Inventory& out) {
  const auto number = [&](std::string_view key, std::string_view other) {
    const auto value = out.text.find_count(key);
    return value ? *value : out.text.count_or(other, 0);
  };
  const std::uint64_t ratio = number("ngram_vocab_size_ratio", "oe_vocab_size_ratio");
  const std::uint64_t neighbours = number("emb_neighbor_num", "oe_neighbor_num");
  const std::uint64_t splits = number("emb_split_num", "oe_split_num");
  if (ratio == 0 || neighbours < 2 || splits == 0) return;
  const std::uint64_t tables = times(splits, neighbours - 1);
  if (tables > out.hidden) fail("more n-gram tables than the model is wide", "correct the config");
  out.outside(Place::kFirst);
  const std::uint64_t rows = checked_add(times(tables, checked_add(times(ratio, out.vocab), 1, "the n-grams")),
                                         times(tables, tables - 1), "the n-grams");
  out.table(Component::kEmbedding, "model.ngram_embeddings.embedders", rows, out.hidden / tables, Split::kVocab);
  out.linear(Component::kEmbedding, "model.ngram_embeddings.post_projs", out.hidden, out.hidden);
}

// MTP layers: each is a decoder layer with a projection of two hidden states. They are counted separately.
void write_mtp(Inventory& out, const std::vector<Ffn>& ffns) {
  const ModelSpec& model = out.reader.model;
  const std::uint64_t count = model.num_nextn_layers;
  if (count == 0 || count > 64 || ffns.empty()) return;
  const std::uint64_t h = out.hidden;
  // The attention of the model's last layer that has any, and the last layer's MLP.
  const Layer* attending = nullptr;
  for (const Layer& layer : model.layers)
    if (!cache_terms(layer.mixers.front()).empty()) attending = &layer;
  if (attending == nullptr) return;
  const Ffn* last = &ffns.back();
  for (const Ffn& ffn : ffns)
    if (ffn.experts > 0 || ffn.dense > 0) last = &ffn;
  const Mixer mixer = attending->mixers.front();
  const Ffn ffn = *last;
  out.book_as(Component::kMtp);
  // Module names continue the decoder's layer numbers, as in checkpoints.
  const std::size_t before = out.reader.model.tensors.size();
  out.in_layers({{model.layers.size(), count, 1}});
  write_mixer(out, mixer);
  write_ffn(out, ffn);
  out.norms("input_layernorm", h, std::max<std::uint64_t>(1, out.traits.norms));
  out.linear(Component::kMtp, "eh_proj", h, times(2, h)).kept = Kept::kPlain;  // vLLM models/deepseek_mtp.py
  out.norms("mtp_norms", h, 3);
  if (out.traits.mtp_repeats_ends) {
    TensorGroup& copies = out.table(Component::kMtp, "mtp_embed_and_head", out.vocab, h, Split::kVocab);
    copies.copies = copies.used = 2;
  }
  for (std::size_t i = before; i < out.reader.model.tensors.size(); ++i) {
    TensorGroup& group = out.reader.model.tensors[i];
    group.component = Component::kMtp;
    group.copies *= count;
    group.used *= count;
    group.place = Place::kLast;
    group.layers.clear();
  }
  out.book_plainly();
}

}  // namespace kvplan
