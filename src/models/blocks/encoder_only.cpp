// Encoders alone: BERT and its kin. The word table, positions and types behind one norm, blocks that norm after
// themselves, and the head that the architecture's name promises.
#include <algorithm>
#include <array>
#include <vector>

#include "kvplan/strings.h"
#include "models/blocks/inventory.h"
#include "models/class_defaults.h"

namespace kvplan {

namespace {

// How a class differs from BERT.
struct EncoderRow {
  std::string_view model_types;
  bool has_positions = true;  // a learned table
  bool has_types = true;      // a table of token types
  bool has_pooler = true;     // with the bare model
  bool has_biases = true;     // of the linear layers
  bool has_norm_bias = true;
  bool gated = false;           // an MLP of three matrices
  bool is_shared = false;       // one block's weights run in every layer
  bool has_final_norm = false;  // behind the last block
  bool relative = false;        // a table of relative positions that all layers share
  bool has_embedding_norm = true;
};

constexpr std::array kRows{
    EncoderRow{.model_types = "bert roberta xlm-roberta camembert data2vec-text ernie big_bird"},
    EncoderRow{.model_types = "deberta-v2", .has_pooler = false},
    EncoderRow{.model_types = "new gte", .has_positions = false, .has_pooler = false},
    EncoderRow{.model_types = "eurobert",
               .has_positions = false,
               .has_types = false,
               .has_pooler = false,
               .has_biases = false,
               .has_norm_bias = false,
               .gated = true,
               .has_final_norm = true,
               .has_embedding_norm = false},
    EncoderRow{.model_types = "megatron-bert", .has_final_norm = true, .has_embedding_norm = false},
    EncoderRow{.model_types = "roberta-prelayernorm", .has_final_norm = true},
    EncoderRow{.model_types = "xlm-roberta-xl", .has_final_norm = true, .has_embedding_norm = false},
    EncoderRow{.model_types = "bert-generation", .has_types = false, .has_pooler = false},
    EncoderRow{.model_types = "electra", .has_pooler = false},
    EncoderRow{.model_types = "mpnet", .has_types = false, .relative = true},
    EncoderRow{.model_types = "distilbert", .has_types = false, .has_pooler = false},
    EncoderRow{.model_types = "albert", .is_shared = true},
    EncoderRow{.model_types = "roformer", .has_positions = false, .has_pooler = false},
    EncoderRow{.model_types = "modernbert",
               .has_positions = false,
               .has_types = false,
               .has_pooler = false,
               .has_biases = false,
               .has_norm_bias = false,
               .gated = true,
               .has_final_norm = true},
    EncoderRow{.model_types = "nomic_bert", .has_positions = false, .has_pooler = false, .has_biases = false},
};

bool says(const Inventory& inventory, std::string_view word) {
  return inventory.reader.model.architecture.find(word) != std::string::npos;
}

// The decoder of an encoder-decoder pair.
bool attends_across(const Inventory& inventory) {
  const std::vector<Mixer>& mixers = inventory.reader.model.layers.front().mixers;
  return std::any_of(mixers.begin(), mixers.end(), [](const Mixer& m) { return std::holds_alternative<Cross>(m); });
}

std::uint64_t of(const Fields& text, std::initializer_list<std::string_view> keys, std::uint64_t fallback) {
  for (const std::string_view key : keys)
    if (const auto value = text.find_count(key); value && *value > 0) return *value;
  return fallback;
}

// The heads that architectures add: for masked words, for labels.
void write_heads(Inventory& inventory, const EncoderRow& row, std::uint64_t e) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const bool masked = says(inventory, "ForMaskedLM") || says(inventory, "ForPreTraining") ||
                      says(inventory, "LMHeadModel") || says(inventory, "ForCausalLM") ||
                      says(inventory, "GenerationDecoder") || attends_across(inventory);
  const bool labels = says(inventory, "Classification") || says(inventory, "ForMultipleChoice");
  out.outside(Place::kLast);
  if (masked && inventory.is("eurobert")) {
    out.table(Component::kLmHead, "lm_head", inventory.vocab, e, Split::kVocab).role = TensorRole::kHead;
  } else if (masked) {
    if (!inventory.is("bert-generation")) {
      out.linear(Component::kLmHead, "lm_head.dense", e, h, Split::kNone, 0, row.has_biases);
      out.norms("lm_head.layer_norm", e, 1, row.has_norm_bias);
    }
    out.plain(Component::kLmHead, "lm_head.bias", inventory.vocab);
    TensorGroup& head = out.table(Component::kLmHead, "lm_head", inventory.vocab, e, Split::kVocab);
    head.role = TensorRole::kHead;
    head.is_tied = true;
  }
  // RoBERTa's classifier brings a layer of its own in place of the pooler.
  const bool own_dense = labels && inventory.is(
                                       "roberta xlm-roberta camembert xlm-roberta-xl roberta-prelayernorm "
                                       "electra mpnet distilbert modernbert data2vec-text");
  const bool pooled = row.has_pooler && !own_dense &&
                      (!masked || says(inventory, "ForPreTraining") || inventory.is("big_bird")) &&
                      !says(inventory, "TokenClassification");
  if (pooled || own_dense) out.linear(Component::kOther, "pooler.dense", h, h, Split::kNone, 0, row.has_biases);
  if (says(inventory, "ForPreTraining") && inventory.is("bert albert ernie megatron-bert"))
    out.linear(Component::kOther, "seq_relationship", 2, h, Split::kNone, 0, true);
  if (labels) {
    std::uint64_t classes = inventory.text.list_size("labels").value_or(0);
    if (const auto names = inventory.text.child("id2label")) classes = names->keys().size();
    if (classes == 0) classes = inventory.text.count_or("num_labels", 2);
    out.linear(Component::kOther, "classifier", classes, h, Split::kNone, 0, true);
  }
}

}  // namespace

// nomic-embed: gated for swiglu and geglu, biases by keys of their own, and experts in every n-th layer whose two
// matrices have one bias for all. Checked against: nomic-embed-text-v2-moe's total.
void write_nomic_mlps(Inventory& inventory, std::uint64_t layers, std::uint64_t inner) {
  const Fields& text = inventory.text;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const bool gated = text.find_string("activation_function").value_or("swiglu").ends_with("glu");
  const std::uint64_t experts = text.count_or("num_experts", 0);
  const std::uint64_t every = experts > 1 ? text.count_or("moe_every_n_layers", 0) : 0;
  std::vector<std::uint64_t> dense;
  std::vector<std::uint64_t> routed;
  for (std::uint64_t i = 0; i < layers; ++i) (every > 0 && i % every == 1 ? routed : dense).push_back(i);
  out.in_layers(runs_of(dense), "encoder.layer.*.");
  write_dense_mlp(inventory, Component::kMlp, "mlp.", inner, h, gated, false);
  if (text.flag("mlp_fc1_bias", false)) out.plain(Component::kMlp, "mlp.fc1.bias", gated ? 2 * inner : inner);
  if (text.flag("mlp_fc2_bias", false)) out.plain(Component::kMlp, "mlp.fc2.bias", h);
  if (routed.empty()) return;
  out.in_layers(runs_of(routed), "encoder.layer.*.");
  out.linear(Component::kRouter, "mlp.router", experts, h);
  for (const bool up : {true, false}) {
    TensorGroup& matrix = out.linear(Component::kExperts, up ? "mlp.experts.*.w1" : "mlp.experts.*.w2", up ? inner : h,
                                     up ? h : inner, up ? Split::kRows : Split::kColumns);
    matrix.copies = experts;
    matrix.used = std::min(experts, text.count_or("moe_top_k", 1));
    matrix.is_expert = true;
  }
  out.plain(Component::kExperts, "mlp.experts.bias", h);
}

namespace {

// A ViT with its pooler. Source: transformers modeling_vit.py.
void write_image_encoder(Inventory& inner) {
  const Fields& text = inner.text;
  Builder& out = inner.out;
  const std::uint64_t h = inner.hidden;
  const std::uint64_t image = text.count_or("image_size", 224);
  const std::uint64_t patch = std::max<std::uint64_t>(1, text.count_or("patch_size", 16));
  const auto times = [](std::uint64_t a, std::uint64_t b) { return checked_mul(a, b, "an image encoder"); };
  out.outside(Place::kFirst);
  out.linear(Component::kEncoder, "encoder.patch_embeddings", h,
             times(text.count_or("num_channels", 3), times(patch, patch)), Split::kNone, 0, true);
  out.plain(Component::kEncoder, "encoder.cls_token", h);
  out.plain(Component::kEncoder, "encoder.position_embeddings",
            times(checked_add(times(image / patch, image / patch), 1, "an image encoder"), h));
  out.norms("encoder.layernorm", h, 1, true);
  out.linear(Component::kEncoder, "encoder.pooler", h, h, Split::kNone, 0, true);
  out.in_layers({{0, inner.reader.model.layers.size(), 1}}, "encoder.layers.*.");
  for (const char* const name : {"q_proj", "k_proj", "v_proj"})
    out.linear(Component::kEncoder, name, h, h, Split::kRows, 0, text.flag("qkv_bias", true));
  out.linear(Component::kEncoder, "o_proj", h, h, Split::kColumns, 0, true);
  write_dense_mlp(inner, Component::kEncoder, "mlp.", text.count_or("intermediate_size", times(4, h)), h, false, true);
  out.norms("layernorm", h, 2, true);
}

}  // namespace

bool write_pair_encoder(Inventory& inventory, const Fields& encoder) {
  const std::string type = encoder.find_string("model_type").value_or("");
  const Fields text = with_class(encoder, type);
  ModelSpec model;
  model.model_type = type;
  model.hidden_size = text.count_or("hidden_size", 0);
  model.vocab_size = text.count_or("vocab_size", 0);
  const std::uint64_t layers = text.count_or("num_hidden_layers", 0);
  if (model.hidden_size == 0 || layers == 0) return false;
  model.layers.assign(check_layers(layers, "encoder.num_hidden_layers"), Layer{{None{}}});
  Reader reader{inventory.reader.root, text, model};
  Inventory inner = inventory_of(reader, text, type);
  if (type == "vit")
    write_image_encoder(inner);
  else if (!write_encoder_only(inner))
    return false;
  // One block before the decoder's first stage: its layers are no layers of the plan.
  for (TensorGroup& group : model.tensors) {
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
    inventory.reader.model.tensors.push_back(std::move(group));
  }
  return true;
}

bool write_encoder_only(Inventory& inventory) {
  const EncoderRow* row = nullptr;
  for (const EncoderRow& each : kRows)
    if (has_word(each.model_types, inventory.type())) row = &each;
  if (row == nullptr) return false;
  const Fields& text = inventory.text;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t e = inventory.is("albert electra") ? text.count_or("embedding_size", 128) : h;
  const std::uint64_t layers = inventory.reader.model.layers.size();
  const std::uint64_t inner = of(text, {"intermediate_size", "hidden_dim", "n_inner"}, 4 * h);
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "embeddings.word_embeddings", inventory.vocab, e, Split::kVocab);
  // Jina's BERT has slopes, its XLM-RoBERTa a rotation, in place of the table.
  const std::string positions = text.find_string("position_embedding_type").value_or("");
  const bool deberta = inventory.is("deberta-v2");
  if (row->has_positions && positions != "alibi" && positions != "rotary" &&
      (!deberta || text.flag("position_biased_input", true)))
    out.table(Component::kEmbedding, "embeddings.position_embeddings", text.count_or("max_position_embeddings", 512),
              e);
  const std::uint64_t types = row->has_types ? text.count_or("type_vocab_size", deberta ? 0 : 2) : 0;
  if (types > 0) out.table(Component::kEmbedding, "embeddings.token_type_embeddings", types, e);
  if (row->has_embedding_norm) out.norms("embeddings.LayerNorm", e, 1, row->has_norm_bias);
  // RoFormer's files hold the sines of its rotation.
  if (inventory.is("roformer"))
    out.table(Component::kEmbedding, "encoder.embed_positions", text.count_or("max_position_embeddings", 1536),
              h / std::max<std::uint64_t>(1, text.count_or("num_attention_heads", 12)));
  if (e != h) out.linear(Component::kEmbedding, "embeddings_project", h, e, Split::kNone, 0, true);
  if (row->relative)
    out.table(Component::kAttention, "relative_attention_bias", text.count_or("relative_attention_num_buckets", 32),
              text.count_or("num_attention_heads", 12))
        .role = TensorRole::kPlain;
  if (deberta && text.flag("relative_attention", false)) {
    const std::uint64_t buckets = text.find_real("position_buckets").value_or(-1) > 0
                                      ? text.count_or("position_buckets", 256)
                                      : text.count_or("max_position_embeddings", 512);
    out.table(Component::kAttention, "rel_embeddings", checked_mul(2, buckets, "the relative positions"), h).role =
        TensorRole::kPlain;
    if (text.find_string("norm_rel_ebd").value_or("none") == "layer_norm")
      out.norms("rel_embeddings.LayerNorm", h, 1, true);
  }
  out.in_layers({{0, row->is_shared ? 1 : layers, 1}}, "encoder.layer.*.");
  const std::uint64_t heads = text.count_or("num_attention_heads", 12);
  const std::uint64_t kv_heads = inventory.is("eurobert") ? text.count_or("num_key_value_heads", heads) : heads;
  const std::uint64_t kv = heads > 0 && kv_heads < heads ? h / heads * kv_heads : h;
  const bool nomic = inventory.is("nomic_bert");
  const bool bias = nomic ? text.flag("qkv_proj_bias", false) : row->has_biases;
  out.linear(Component::kAttention, "attention.q_proj", h, h, Split::kRows, 0, bias);
  for (const char* const name : {"attention.k_proj", "attention.v_proj"})
    out.linear(Component::kAttention, name, kv, h, Split::kRows, 0, bias);
  out.linear(Component::kAttention, "attention.o_proj", h, h, Split::kColumns, 0, bias);
  // Gated, with a bias behind it alone.
  const bool jina = text.find_string("feed_forward_type").value_or("").ends_with("glu") || inventory.is("new gte");
  if (nomic) {
    write_nomic_mlps(inventory, layers, inner);
    out.in_layers({{0, layers, 1}}, "encoder.layer.*.");
  } else {
    write_dense_mlp(inventory, Component::kMlp, "mlp.", inner, h, row->gated || jina, row->has_biases && !jina);
    if (jina) out.plain(Component::kMlp, "mlp.wo.bias", h);
  }
  out.norms("LayerNorm", h, 2, row->has_norm_bias);
  if (attends_across(inventory)) {
    for (const char* const name : {"crossattention.q_proj", "crossattention.k_proj", "crossattention.v_proj"})
      out.linear(Component::kAttention, name, h, h, Split::kRows, 0, bias);
    out.linear(Component::kAttention, "crossattention.o_proj", h, h, Split::kColumns, 0, bias);
    out.norms("crossattention.LayerNorm", h, 1, row->has_norm_bias);
  }
  if (inventory.is("modernbert")) {
    // The first block starts behind the embedding's norm.
    TensorGroup& norms = inventory.reader.model.tensors.back();
    norms.copies = norms.used = 1;
    if (layers > 1) {
      out.in_layers({{1, layers - 1, 1}}, "encoder.layer.*.");
      out.norms("attn_norm", h);
    }
  }
  out.outside(Place::kLast);
  if (row->has_final_norm) out.norms("final_norm", h, 1, row->has_norm_bias);
  write_heads(inventory, *row, e);
  return true;
}

}  // namespace kvplan
