#include "models/blocks/inventory.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/registry.h"

namespace kvplan {

bool Inventory::is(std::string_view types) const {
  return has_word(types, text.class_name());
}

Inventory inventory_of(Reader& reader, const Fields& text, std::string_view model_type) {
  static constexpr Traits kLlama;
  const Family* family = find_family(model_type);
  return {reader,
          text,
          family == nullptr ? kLlama : family->tensors,
          family == nullptr ? nullptr : family->extras,
          Builder(reader.model),
          reader.model.hidden_size,
          reader.model.vocab_size};
}

namespace {

// Embedders and classifiers are decoders without the words' head; the score of labels in its place is a few rows.
bool has_head(const Inventory& inventory) {
  constexpr std::string_view kBodies =
      "LlamaModel MistralModel MixtralModel Qwen2Model Qwen3Model Qwen3MoeModel GemmaModel Gemma2Model Gemma3TextModel "
      "PhiModel Phi3Model LlamaBidirectionalModel GPTNeoXModel";
  if (inventory.is("higgs_audio_v2")) return false;  // its head speaks
  const std::string_view name = inventory.reader.model.architecture;
  for (const std::string_view end :
       {"ForSequenceClassification", "ForTokenClassification", "RewardModel", "EncoderModel"})
    if (name.ends_with(end)) return false;
  return !has_word(kBodies, name);
}

// What the file says: the config of the class that owns the head decides, which is the outermost one (transformers'
// PreTrainedModel.get_expanded_tied_weights_keys). The decoder of a pair is a whole model, and owns its head.
std::optional<bool> told_tied(const Inventory& inventory) {
  const Fields root = inventory.reader.root.bare(), text = inventory.text.bare();
  std::vector<Fields> places = {root};
  if (const auto thinker = root.child("thinker_config")) places.push_back(*thinker);
  places.insert(text.path() == "decoder." ? places.begin() : places.end(), text);
  for (const Fields& place : places)
    for (const std::string_view key :
         {"tie_word_embeddings", "tie_embeddings", "share_input_output_layers", "weight_tying"})
      if (const auto told = place.find_bool(key)) return told;
  return std::nullopt;
}

bool head_is_tied(const Inventory& inventory) {
  if (const auto told = told_tied(inventory)) return *told;
  // Falcon's and Qwen2.5-Omni's files hold their head whatever the class says.
  if (inventory.is("falcon refinedweb refinedwebmodel qwen2_5_omni_text")) return false;
  if (const auto usual = inventory.text.find_bool("tie_word_embeddings")) return *usual;
  return inventory.traits.ties_by_default;
}

void write_ends(Inventory& inventory) {
  Builder& out = inventory.out;
  const Traits& traits = inventory.traits;
  const Fields& text = inventory.text;
  const std::uint64_t h = inventory.hidden;
  // OPT's small members look words up in a narrower table and project.
  const std::uint64_t narrow = inventory.is("opt") ? text.count_or("word_embed_proj_dim", h) : h;
  out.outside(Place::kFirst);
  if (inventory.vocab > 0) {
    // Whisper's is a plain nn.Embedding in the engine that cuts it (vLLM models/whisper.py): whole on every rank.
    out.table(Component::kEmbedding, "model.embed_tokens", inventory.vocab, narrow,
              inventory.is("whisper") ? Split::kNone : Split::kVocab);
  } else {
    inventory.reader.model.unknown_tensors.push_back(
        {Component::kEmbedding, "the vocabulary's size", Elements(0), Elements(128000) * h, Elements(512000) * h});
  }
  if (narrow != h) {
    out.linear(Component::kEmbedding, "model.project_in", h, narrow);
    out.linear(Component::kEmbedding, "model.project_out", narrow, h);
  }
  if (traits.has_position_table && inventory.reader.model.max_model_len > Tokens(0))
    out.table(Component::kEmbedding, "model.embed_positions",
              checked_add(inventory.reader.model.max_model_len.count(), traits.position_offset, "the positions"), h);
  if (inventory.is("bloom")) out.norms("model.word_embeddings_layernorm", h, 1, true);
  out.outside(Place::kLast);
  // OPT-350m norms after each block and has none at the end.
  const bool norms_after = inventory.is("opt") && !text.flag("do_layer_norm_before", true);
  if (traits.has_final_norm && !norms_after && inventory.reader.model.family != "encoder_decoder" &&
      traits.norm_style != NormStyle::kNoWeight)
    out.norms("model.norm", h, 1, traits.norm_style == NormStyle::kLayerNorm);
  if (inventory.vocab > 0 && has_head(inventory)) {
    TensorGroup& head = out.table(Component::kLmHead, "lm_head", inventory.vocab, narrow, Split::kVocab);
    head.role = TensorRole::kHead;
    head.is_tied = head_is_tied(inventory);
    if (inventory.on(traits.head_bias)) out.plain(Component::kLmHead, "lm_head.bias", inventory.vocab, Split::kVocab);
  }
}

std::uint64_t norms_of(const Inventory& inventory, const Layer& layer, const Ffn& ffn) {
  const Traits& traits = inventory.traits;
  const bool mixes = !std::holds_alternative<None>(layer.mixers.front());
  const bool has_ffn = ffn.dense > 0 || ffn.experts > 0;
  if (traits.norms <= 1 || inventory.is("rwkv rwkv5 rwkv6 rwkv7")) return traits.norms;
  std::uint64_t norms = (mixes ? traits.norms / 2 : 0) + (has_ffn ? traits.norms / 2 : 0);
  if (inventory.is("falcon refinedweb refinedwebmodel")) {
    // Falcon-40B's first files have the newer blocks under the older name.
    const bool first_40b = inventory.reader.model.model_type == "RefinedWeb" && inventory.text.has("n_head_kv");
    const bool newer = inventory.text.bare().find_bool("new_decoder_architecture").value_or(first_40b);
    const bool parallel = inventory.text.flag("parallel_attn", true);
    const auto named = inventory.text.find_count("num_ln_in_parallel_attn");
    norms = newer ? named.value_or(2) : parallel ? 1 : 2;
  }
  if (inventory.is("stablelm stablelm_epoch") && inventory.text.flag("use_parallel_residual", false)) norms = 1;
  if (inventory.is("hyperclovax") && inventory.text.flag("use_post_norm", false)) norms *= 2;
  if (inventory.is("pangu_ultra_moe") && inventory.text.flag("sandwich_norm", false)) norms *= 2;
  if (inventory.is("lfm3") && inventory.text.flag("use_sandwich_norm", true)) norms *= 2;
  return norms;
}

std::string layer_prefix(const Inventory& inventory) {
  if (inventory.is("nemotron_h nemotron_h_puzzle mamba mamba2 falcon_mamba")) return "backbone.layers.*.";
  return "model.layers.*.";
}

// Layers whose tensors are alike, as indices into the list of layers.
struct Alike {
  std::uint64_t first = 0;
  std::vector<std::uint64_t> indices;
};

bool same_tensors(const Layer& a, const Layer& b) {
  if (a == b) return true;
  if (a.mixers.size() != b.mixers.size()) return false;
  // Layers that read different caches still have the same projections.
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

// Looped models run the same weights several times.
std::uint64_t layers_with_weights(const Inventory& inventory) {
  const std::uint64_t all = inventory.reader.model.layers.size();
  if (!inventory.is("hrm_text iquestloopcoder ouro nanbeige")) return all;
  if (inventory.is("hrm_text"))
    return std::min(all, 2 * inventory.text.count_or("num_layers_per_stack",
                                                     inventory.text.count_or("num_hidden_layers", all) / 2));
  return std::min(all, inventory.text.count_or("num_hidden_layers", all));
}

// Layers whose MLP the config does not size.
void note_missing_width(Inventory& inventory, const std::vector<Ffn>& ffns) {
  if (inventory.is(
          "mamba mamba2 falcon_mamba rwkv rwkv5 rwkv6 rwkv7 zamba zamba2 nemotron_h nemotron_h_puzzle nemotron-nas "
          "deci xlstm"))
    return;
  std::uint64_t missing = 0;
  for (const Ffn& ffn : ffns) {
    const bool routed = ffn.experts > 0 && ffn.width > 0;
    if (ffn.dense == 0 && !routed) ++missing;
  }
  if (missing == 0) return;
  const Elements square = Elements(inventory.hidden) * inventory.hidden * missing;
  inventory.reader.model.unknown_tensors.push_back(
      {Component::kMlp, "the width of " + std::to_string(missing) + " MLPs", square * 4, square * 10, square * 24});
}

void widen_unchecked(Inventory& inventory) {
  ModelSpec& model = inventory.reader.model;
  const bool is_generic = model.family == "generic";
  if (!is_generic && !inventory.traits.may_have_more) return;
  Elements all;
  for (const TensorGroup& group : model.tensors) all += group.stored();
  // Nothing is added to the estimate itself: the range alone widens.
  model.unknown_tensors.push_back({Component::kOther,
                                   model.model_type.empty() ? "every tensor of a model without a model_type"
                                                            : "every tensor of the model_type " + model.model_type,
                                   Elements(0), Elements(0), Elements(all.count() / (is_generic ? 5 : 20))});
}

}  // namespace

namespace {

// Encoder and decoder of a class whose tensors no row lists: attention of 4 h^2 and MLPs of 8 h^2, the latter once for
// every expert in the layers that have them.
Elements guessed_stacks(const Inventory& inventory) {
  const Fields text = inventory.text.quietly();
  const std::uint64_t square = checked_mul(inventory.hidden, inventory.hidden, "a layer");
  const std::uint64_t step = std::max<std::uint64_t>(1, text.count_or("encoder_sparse_step", 4));
  const std::uint64_t experts = text.is_list("num_experts") ? 0 : text.count_or("num_experts", 0);
  const std::uint64_t mlps = experts > 1 ? checked_add(1, experts / step, "the experts") : 1;
  return Elements(square) * checked_add(4, checked_mul(8, mlps, "a layer"), "a layer") *
         inventory.reader.model.layers.size() * 2;
}

}  // namespace

void build_inventory(Reader& reader) {
  ModelSpec& model = reader.model;
  Inventory inventory = inventory_of(reader, reader.text, reader.text.class_name());
  if (inventory.hidden == 0) {
    reader.warn("unknown_weights", "the config names no hidden_size: the weights are not known");
    return;
  }
  if (model.family == "encoder_decoder") {
    if (write_encoder_decoder(inventory)) {
      write_ends(inventory);
      write_towers(inventory);
    } else {
      write_ends(inventory);
      const Elements guess = guessed_stacks(inventory);
      model.unknown_tensors.push_back({Component::kMlp, "the encoder and decoder of " + model.model_type,
                                       Elements(guess.count() / 2), guess, guess * 3});
    }
    return;
  }
  if (model.family == "encoder") {
    if (write_encoder_only(inventory)) return write_towers(inventory);
    // Its blocks have a form of their own; what stands below counts no attention.
    const Elements blocks =
        Elements(checked_mul(4, checked_mul(inventory.hidden, inventory.hidden, "a layer"), "a layer")) *
        model.layers.size();
    model.unknown_tensors.push_back({Component::kAttention, "the attention of " + model.model_type,
                                     Elements(blocks.count() / 2), blocks, blocks * 2});
  }
  const std::uint64_t layers = layers_with_weights(inventory);
  const std::vector<Ffn> ffns = read_ffns(inventory, layers);
  note_missing_width(inventory, ffns);
  for (const Alike& group : alike_layers(model, ffns, layers)) {
    const Layer& layer = model.layers[group.first];
    const Ffn& ffn = ffns[group.first];
    inventory.out.in_layers(runs_of(group.indices), layer_prefix(inventory));
    for (const Mixer& mixer : layer.mixers) {
      // Zamba's attention is a block that all hybrid layers share.
      if (inventory.is("zamba zamba2") && std::holds_alternative<FullAttention>(mixer)) continue;
      write_mixer(inventory, mixer);
    }
    write_ffn(inventory, ffn);
    inventory.out.norms("input_layernorm", inventory.hidden, norms_of(inventory, layer, ffn),
                        inventory.traits.norm_style == NormStyle::kLayerNorm);
  }
  write_ends(inventory);
  if (inventory.extras != nullptr) inventory.extras(inventory);
  widen_unchecked(inventory);
  write_mtp(inventory, ffns);
  write_towers(inventory);
}

}  // namespace kvplan
