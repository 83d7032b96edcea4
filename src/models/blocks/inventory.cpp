#include "models/blocks/inventory.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "kvplan/strings.h"
#include "models/family.h"

namespace kvplan {

Inventory::Inventory(Reader& from, const Fields& fields, const Family& known)
    : Projections(from.model, from.model.hidden_size),
      reader(from),
      text(fields),
      family(known),
      traits(known.tensors),
      vocab(from.model.vocab_size) {
  if (traits.biases) traits.qkv_bias = traits.o_bias = traits.mlp_bias = *traits.biases;
}

bool Inventory::on(Switch key) const {
  if (key.empty() || key == "+") return !key.empty();
  return key.starts_with('+') ? text.flag(key.substr(1), true) : text.flag(key, false);
}

Inventory inventory_of(Reader& reader, const Fields& text, std::string_view model_type) {
  static constexpr Family kUnknown{.is = kNoArchitecture};
  const Family* found = find_family(model_type);
  const Family& family = found == nullptr ? kUnknown : *found;
  return {reader, text, family};
}

// Embedders and classifiers are decoders without the head over the vocabulary. Instead they have a few rows for labels.
static bool has_head(const Inventory& inventory) {
  constexpr std::string_view kBodies =
      "LlamaModel MistralModel MixtralModel Qwen2Model Qwen3Model Qwen3MoeModel GemmaModel Gemma2Model Gemma3TextModel "
      "PhiModel Phi3Model LlamaBidirectionalModel GPTNeoXModel";
  if (!inventory.traits.has_lm_head) return false;
  const std::string_view name = inventory.reader.model.architecture;
  for (const std::string_view end :
       {"ForSequenceClassification", "ForTokenClassification", "RewardModel", "EncoderModel"})
    if (name.ends_with(end)) return false;
  return !has_word(kBodies, name);
}

// Whether the file ties the head. The config of the class that owns the head decides, which is the outermost one
// (transformers' PreTrainedModel.get_expanded_tied_weights_keys). The decoder of an encoder-decoder pair is a whole
// model and owns its head.
static std::optional<bool> stated_tied(const Inventory& inventory) {
  const Fields root = inventory.reader.root.bare(), text = inventory.text.bare();
  std::vector<Fields> places = {root};
  if (const auto thinker = root.child("thinker_config")) places.push_back(*thinker);
  places.insert(text.path() == "decoder." ? places.begin() : places.end(), text);
  for (const Fields& place : places)
    for (const std::string_view key :
         {"tie_word_embeddings", "tie_embeddings", "share_input_output_layers", "weight_tying"})
      if (const auto stated = place.find_bool(key)) return stated;
  return std::nullopt;
}

static bool head_is_tied(const Inventory& inventory) {
  if (const auto stated = stated_tied(inventory)) return *stated;
  if (inventory.traits.stores_head) return false;
  if (const auto usual = inventory.text.find_bool("tie_word_embeddings")) return *usual;
  return inventory.traits.ties_by_default;
}

void write_ends(Inventory& out) {
  const Traits& traits = out.traits;
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  // Small OPT models have a narrower embedding table and a projection.
  const std::uint64_t narrow = text.count_or("word_embed_proj_dim", h);
  out.outside(Place::kFirst);
  if (out.vocab > 0) {
    out.table(Component::kEmbedding, "model.embed_tokens", out.vocab, narrow,
              traits.splits_embedding ? Split::kVocab : Split::kNone);
  } else {
    out.reader.model.unknown_tensors.push_back(
        {Component::kEmbedding, "the vocabulary's size", Elements(0), Elements(128000) * h, Elements(512000) * h});
  }
  if (narrow != h) {
    out.linear(Component::kEmbedding, "model.project_in", h, narrow);
    out.linear(Component::kEmbedding, "model.project_out", narrow, h);
  }
  if (traits.has_position_table && out.reader.model.max_model_len > Tokens(0))
    out.table(Component::kEmbedding, "model.embed_positions",
              checked_add(out.reader.model.max_model_len.count(), traits.position_offset, "the positions"), h);
  out.outside(Place::kLast);
  // OPT-350m normalizes after each block and not at the end.
  const bool norms_after = !text.flag("do_layer_norm_before", true);
  if (traits.has_final_norm && !norms_after && traits.norm_style != NormStyle::kNoWeight)
    out.norms("model.norm", h, 1, traits.norm_style == NormStyle::kLayerNorm);
  if (out.vocab > 0 && has_head(out)) {
    TensorGroup& head = out.table(Component::kLmHead, "lm_head", out.vocab, narrow, Split::kVocab);
    head.role = TensorRole::kHead;
    head.is_tied = head_is_tied(out);
    if (out.on(traits.head_bias)) out.plain(Component::kLmHead, "lm_head.bias", out.vocab, Split::kVocab);
  }
}

namespace {

std::uint64_t norms_of(const Inventory& inventory, const Layer& layer, const Ffn& ffn) {
  const Traits& traits = inventory.traits;
  const bool mixes = !std::holds_alternative<None>(layer.mixers.front());
  const bool has_ffn = ffn.dense > 0 || ffn.experts > 0;
  if (traits.norms <= 1 || !traits.has_mlps) return traits.norms;
  const std::uint64_t norms = (mixes ? traits.norms / 2 : 0) + (has_ffn ? traits.norms / 2 : 0);
  if (inventory.family.norms != nullptr) return inventory.family.norms(inventory, norms);
  return inventory.on(traits.sandwich_norms) ? 2 * norms : norms;
}

// Layers with equal tensors, as indices into the list of layers.
struct Alike {
  std::uint64_t first = 0;
  std::vector<std::uint64_t> indices;
};

bool same_tensors(const Layer& a, const Layer& b) {
  if (a == b) return true;
  if (a.mixers.size() != b.mixers.size()) return false;
  // Layers that read different caches have the same projections.
  for (std::size_t i = 0; i < a.mixers.size(); ++i) {
    const auto* left = std::get_if<Shared>(&a.mixers[i]);
    const auto* right = std::get_if<Shared>(&b.mixers[i]);
    if (left != nullptr && right != nullptr ? !(left->heads == right->heads) : a.mixers[i] != b.mixers[i]) return false;
  }
  return true;
}

std::vector<Alike> alike_layers(const ModelSpec& model, const std::vector<Ffn>& ffns, std::uint64_t count) {
  std::vector<Alike> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto same = [&](const Alike& group) {
      return ffns[group.first] == ffns[i] && same_tensors(model.layers[group.first], model.layers[i]);
    };
    const auto found = std::find_if(out.begin(), out.end(), same);
    if (found == out.end())
      out.push_back({i, {i}});
    else
      found->indices.push_back(i);
  }
  return out;
}

// Adds an estimate for layers whose MLP size the config does not give.
void note_missing_width(Inventory& out, const std::vector<Ffn>& ffns) {
  const Traits& traits = out.traits;
  if (!traits.has_mlps || traits.may_lack_mlps || traits.alternates) return;
  std::uint64_t missing = 0;
  for (const Ffn& ffn : ffns) {
    const bool routed = ffn.experts > 0 && ffn.width > 0;
    if (ffn.dense == 0 && !routed) ++missing;
  }
  if (missing == 0) return;
  const Elements square = Elements(out.hidden) * out.hidden * missing;
  out.reader.model.unknown_tensors.push_back(
      {Component::kMlp, "the width of " + std::to_string(missing) + " MLPs", square * 4, square * 10, square * 24});
}

void widen_unchecked(Inventory& out) {
  ModelSpec& model = out.reader.model;
  const bool is_generic = model.family == "generic";
  if (!is_generic && !out.traits.may_have_more) return;
  Elements all;
  for (const TensorGroup& group : model.tensors) all += group.stored();
  // The estimate stays the same; only its range widens.
  model.unknown_tensors.push_back({Component::kOther,
                                   model.model_type.empty() ? "every tensor of a model without a model_type"
                                                            : "every tensor of the model_type " + model.model_type,
                                   Elements(0), Elements(0), Elements(all.count() / (is_generic ? 5 : 20))});
}

}  // namespace

void build_inventory(Reader& reader) {
  ModelSpec& model = reader.model;
  Inventory inventory = inventory_of(reader, reader.text, reader.text.class_name());
  if (inventory.hidden == 0) {
    reader.warn("unknown_weights", "the config has no hidden_size: the weights are not known");
    return;
  }
  const Family& family = inventory.family;
  if (family.all != nullptr && family.all(inventory)) return;
  const std::uint64_t layers = num_stored_layers(inventory);
  const std::vector<Ffn> ffns = read_ffns(inventory, layers);
  note_missing_width(inventory, ffns);
  for (const Alike& group : alike_layers(model, ffns, layers)) {
    const Layer& layer = model.layers[group.first];
    const Ffn& ffn = ffns[group.first];
    inventory.in_layers(runs_of(group.indices), std::string(inventory.traits.layer) + ".");
    for (const Mixer& mixer : layer.mixers) write_mixer(inventory, mixer);
    write_ffn(inventory, ffn);
    inventory.norms("input_layernorm", inventory.hidden, norms_of(inventory, layer, ffn),
                    inventory.traits.norm_style == NormStyle::kLayerNorm);
  }
  write_ends(inventory);
  if (family.extras != nullptr) family.extras(inventory);
  widen_unchecked(inventory);
  write_mtp(inventory, ffns);
  write_towers(inventory);
}

}  // namespace kvplan
