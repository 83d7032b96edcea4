// Drafts that are not a whole model: EAGLE's layer and Medusa's heads, which read the model's hidden states.
//
//   EAGLE    one decoder layer without its first norm, and a projection of embedding and hidden state (2h -> h); the
//            embedding, the final norm and the head are the model's
//   EAGLE-3  queries, keys and values read embedding and hidden state (2h); a projection of three hidden states
//            (3h -> h); a head over the most frequent tokens and their numbers; the embedding is the model's
//   DFlash   layers that draft a block at a time: their keys and values also come from several hidden states of the
//            model, through a projection (n*h -> h) and a norm; the embedding and the head are the model's
//   DSpark   the same with a Markov head, two tables of the vocabulary by a rank, and a confidence head
//   Domino   DFlash with a recurrent unit and a projection back to the vocabulary
//   Medusa   for each head, residual blocks (h x h) and an output projection over the vocabulary
//
// Source: vLLM, model_executor/models/llama_eagle.py, llama_eagle3.py, qwen3_dflash.py, qwen3_dspark.py and medusa.py;
// SGLang models/dflash.py; the published 2.249 B parameters of Kimi-K3's DSpark draft; the EAGLE paper's trainable
// parameters (0.24 B for a 7B, 0.37 B for a 13B, 0.99 B for a 70B model) equal those of the layer here.
#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/read.h"
#include "models/reader.h"

namespace kvplan {

constexpr std::uint64_t kHiddenStates = 3;  // read by EAGLE-3
constexpr std::uint64_t kBlockStates = 5;   // DFlash's default, if its config names none
constexpr std::uint64_t kMostHeads = 64;

static bool says(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

// The keys of DFlash and DSpark are in a separate config, or among the others.
static Fields block_config(const Fields& root) {
  const auto nested = root.child("dflash_config");
  return nested ? *nested : root;
}
static std::uint64_t block_count(const Fields& root, std::string_view key, std::uint64_t otherwise = 0) {
  return block_config(root).count_or(key, root.count_or(key, otherwise));
}

// The method, from the architecture's name or the model's: "LlamaForCausalLMEagle3",
// "yuhuili/EAGLE-LLaMA3-Instruct-8B".
static std::optional<DraftMethod> heads_of(const ModelSpec& model, const Fields& root) {
  std::string source = model.source;
  while (!source.empty() && source.back() == '/') source.pop_back();
  const auto slash = source.rfind(
      '/', source.size() > 12 && source.ends_with("/config.json") ? source.size() - 13 : std::string::npos);
  const std::string words = lower(model.architecture + " " + model.model_type + " " +
                                  (slash == std::string::npos ? source : source.substr(slash + 1)));
  const Fields block = block_config(root);
  if (says(words, "dspark") || block.contains("markov_rank") || root.contains("markov_rank"))
    return DraftMethod::kDspark;
  if (says(words, "dflash") || root.contains("dflash_config")) return DraftMethod::kDflash;
  if (says(words, "eagle3") || says(words, "peagle") || says(words, "eagle-3") || root.contains("draft_vocab_size") ||
      root.contains("eagle_aux_hidden_state_layer_ids"))
    return DraftMethod::kEagle3;
  if (says(words, "eagle")) return DraftMethod::kEagle;
  return std::nullopt;
}

static TensorGroup outside(Component component, std::string module, std::uint64_t rows, std::uint64_t columns) {
  TensorGroup group;
  group.component = component;
  group.module = std::move(module);
  group.place = Place::kLast;
  group.rows = rows;
  group.columns = columns;
  return group;
}

static TensorGroup own_head(std::uint64_t vocab, std::uint64_t hidden) {
  TensorGroup head = outside(Component::kLmHead, "lm_head", vocab, hidden);
  head.role = TensorRole::kHead;
  head.split = Split::kVocab;
  return head;
}

static TensorGroup plain_vector(Component component, std::string module, std::uint64_t elements) {
  TensorGroup group = outside(component, std::move(module), elements, 1);
  group.role = TensorRole::kPlain;
  return group;
}

// The model's token id for each of the draft's token ids: int64, counted as two float32.
static TensorGroup token_map(std::uint64_t vocab) {
  TensorGroup map = plain_vector(Component::kOther, "d2t", checked_mul(vocab, 2, "the draft's tokens"));
  map.is_float32 = true;
  return map;
}

// DFlash, DSpark and Domino. Their layers are those of the config.
static void adapt_block_draft(const Fields& root, DraftMethod method, ModelSpec& model) {
  const std::uint64_t hidden = model.hidden_size;
  const std::uint64_t vocab = model.vocab_size;
  const std::uint64_t from = std::max<std::uint64_t>(block_count(root, "target_hidden_size", hidden), 1);
  std::erase_if(model.tensors, [&](const TensorGroup& group) {
    return group.component == Component::kEmbedding || group.component == Component::kMtp ||
           group.component == Component::kLmHead;
  });
  std::uint64_t states = 0;
  for (const Fields& part : {block_config(root), root})
    for (const std::string_view key : {"target_layer_ids", "aux_hidden_state_layer_ids"})
      if (states == 0) states = part.list_size(key).value_or(0);
  if (states == 0) states = kBlockStates;
  model.draft_head = {method, from, root.count_or("target_vocab_size", vocab)};
  const auto add = [&](TensorGroup group) { model.tensors.push_back(std::move(group)); };
  add(outside(Component::kOther, "fc", hidden, checked_mul(from, states, "the width of a draft")));
  add(plain_vector(Component::kNorms, "hidden_norm", hidden));
  const std::uint64_t words = root.count_or("draft_vocab_size", vocab);
  if (words < vocab) {
    add(own_head(words, hidden));
    add(token_map(words));
  }
  if (const std::uint64_t rank = block_count(root, "markov_rank"); rank > 0) {
    add(outside(Component::kOther, "markov_head.markov_w1", vocab, rank));
    add(outside(Component::kOther, "markov_head.markov_w2", words, rank));
    TensorGroup confidence =
        plain_vector(Component::kOther, "confidence_head.proj", checked_add(hidden, rank + 1, "a head"));
    confidence.is_float32 = true;
    add(confidence);
  }
  if (const std::uint64_t unit = block_count(root, "gru_hidden_dim"); unit > 0) {
    const std::uint64_t inner = block_count(root, "emb_dim");
    const std::uint64_t both = checked_add(hidden, unit, "the width of a draft");
    add(outside(Component::kOther, "prefix_gru", checked_mul(unit, 3, "a recurrent unit"), both));
    add(outside(Component::kOther, "embed_proj.0", inner, both));
    add(outside(Component::kOther, "embed_proj.2", vocab, inner));
  }
}

bool is_medusa(const Fields& root) {
  if (root.find_string("model_type").value_or("") == "medusa" || root.contains("medusa_num_heads")) return true;
  const auto names = root.strings("architectures");
  return names && !names->empty() && lower(names->front()).starts_with("medusa");
}

ModelSpec read_medusa(const Fields& root, std::string_view source, const DraftRole& role) {
  ModelSpec model;
  model.source = source;
  model.model_type = model.family = "medusa";
  model.architecture = "MedusaModel";
  model.hidden_size = root.count_or("hidden_size", role.hidden_size);
  const std::uint64_t target_vocab_size = root.count_or("vocab_size", role.vocab_size);
  model.draft_head = {DraftMethod::kMedusa, 0, target_vocab_size};
  model.vocab_size = root.count_or("truncated_vocab_size", target_vocab_size);
  const std::uint64_t heads = root.count_or("medusa_num_heads", root.count_or("num_heads", 5));
  const std::uint64_t blocks = root.count_or(
      "medusa_num_layers", root.contains("num_hidden_layers") ? root.count_or("num_hidden_layers", 1) : 1);
  if (model.hidden_size == 0 || model.vocab_size == 0)
    fail("neither the Medusa heads' config nor the model has hidden_size and vocab_size",
         "give the model's own config.json");
  if (heads == 0 || heads > kMostHeads || blocks == 0 || blocks > kMostHeads)
    fail("Medusa heads: " + std::to_string(heads) + " heads of " + std::to_string(blocks) + " blocks",
         "medusa_num_heads and medusa_num_layers are 1 to " + std::to_string(kMostHeads));
  TensorGroup block = outside(Component::kMtp, "blocks", model.hidden_size, model.hidden_size);
  block.component = Component::kOther;
  block.copies = block.used = heads * blocks;
  model.tensors.push_back(block);
  TensorGroup head = own_head(model.vocab_size, model.hidden_size);
  head.module = "lm_heads";
  if (!root.flag("original_lm_head", false)) head.copies = head.used = heads;
  model.tensors.push_back(head);
  model.facts = root.facts();
  return model;
}

void adapt_draft(const Fields& root, const DraftRole& role, ModelSpec& model) {
  std::optional<DraftMethod> method = heads_of(model, root);
  if (role.method && *role.method <= DraftMethod::kDspark) method = role.method;
  if (!method || method == DraftMethod::kModel) return;
  if (method == DraftMethod::kDflash || method == DraftMethod::kDspark) return adapt_block_draft(root, *method, model);
  const bool third = *method == DraftMethod::kEagle3;
  const std::uint64_t hidden = model.hidden_size;
  std::erase_if(model.tensors, [&](const TensorGroup& group) {
    if (group.component == Component::kEmbedding || group.component == Component::kMtp) return true;
    if (group.component == Component::kLmHead) return true;
    return !third && group.component == Component::kNorms && group.place == Place::kLast;
  });
  for (TensorGroup& group : model.tensors) {
    // Only the first layer is read. More than one layer is rare, and all have the same tensors.
    const bool reads_both = group.module.ends_with(".q_proj") || group.module.ends_with(".k_proj") ||
                            group.module.ends_with(".v_proj") || group.module.ends_with(".qkv_proj");
    if (third && reads_both && group.columns == hidden) group.columns = checked_mul(hidden, 2, "the width of a draft");
    if (!third && group.component == Component::kNorms && group.place == Place::kLayers && group.copies == 2)
      group.copies = group.used = 1;
  }
  const std::uint64_t from = root.count_or("target_hidden_size", hidden);
  model.draft_head = {*method, from, root.count_or("target_vocab_size", model.vocab_size)};
  const std::uint64_t inputs =
      third ? checked_mul(from, kHiddenStates, "the width of a draft") : checked_mul(hidden, 2, "the width of a draft");
  model.tensors.push_back(outside(Component::kProjector, "fc", hidden, inputs));
  model.tensors.back().component = Component::kOther;
  if (third) {
    const std::uint64_t vocab = root.count_or("draft_vocab_size", model.vocab_size);
    model.tensors.push_back(own_head(vocab, hidden));
    model.tensors.push_back(plain_vector(Component::kNorms, "hidden_norm", hidden));
    model.tensors.push_back(token_map(vocab));
    model.vocab_size = vocab;
  }
}

}  // namespace kvplan
