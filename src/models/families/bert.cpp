// BERT and similar models: they decode nothing and have no cache. Word, position and type tables share a norm; the
// blocks normalise after themselves; the head depends on the architecture's name. Source: transformers' modelling files
// of the types named.
#include "models/blocks/blocks.h"

namespace kvplan {

enum class Head : std::uint8_t { kTransformed, kBias, kBare };

// How a class differs from BERT.
struct EncoderForm {
  bool has_positions = true;  // a learned table
  bool has_types = true;      // a table of token types
  bool has_pooler = true;     // in the bare model
  bool has_biases = true;     // in the linear layers
  bool has_norm_bias = true;
  bool gated = false;           // MLPs have three matrices
  bool is_shared = false;       // all layers run the weights of one block
  bool has_final_norm = false;  // after the last block
  bool relative = false;        // all layers share a table of relative positions
  bool has_embedding_norm = true;
  bool predicts_next = false;          // pretrained to tell whether one sentence follows another
  bool has_classifier_dense = false;   // the classifier has its own dense layer instead of the pooler
  bool keeps_pooler = false;           // in addition to the head for masked words
  Head head = Head::kTransformed;      // for masked words
  bool narrow_embedding = false;       // embedding_size wide, with a projection
  bool narrow_ends = false;            // two widths, with a different one at the head
  bool stores_sines = false;           // keeps the rotation's sines
  bool has_output_bias_alone = false;  // only the gated MLP's output has a bias
  bool first_is_unnormed = false;      // the first block follows the embedding's norm without another
  bool is_masked = false;              // has the head for masked words under any architecture's name
  bool is_nomic = false;               // experts in some layers, and separate keys for biases
};

constexpr EncoderForm kBert{.predicts_next = true};
constexpr EncoderForm kRoberta{.has_classifier_dense = true};
constexpr EncoderForm kBlip{.has_types = false, .has_pooler = false, .is_masked = true};

static bool says(const Inventory& inventory, std::string_view word) {
  return inventory.reader.model.architecture.find(word) != std::string::npos;
}

// Whether it is the decoder of an encoder-decoder pair.
static bool attends_across(const Inventory& inventory) {
  const std::vector<Mixer>& mixers = inventory.reader.model.layers.front().mixers;
  return std::any_of(mixers.begin(), mixers.end(), [](const Mixer& m) { return std::holds_alternative<Cross>(m); });
}

// The heads of architectures: for masked words, for labels.
static void write_heads(Inventory& out, const EncoderForm& row, std::uint64_t e) {
  const std::uint64_t h = out.hidden;
  const bool masked = row.is_masked || says(out, "ForMaskedLM") || says(out, "ForPreTraining") ||
                      says(out, "LMHeadModel") || says(out, "ForCausalLM") || says(out, "GenerationDecoder") ||
                      attends_across(out);
  const bool labels = says(out, "Classification") || says(out, "ForMultipleChoice");
  out.outside(Place::kLast);
  if (masked && row.head == Head::kBare) {
    out.table(Component::kLmHead, "lm_head", out.vocab, e, Split::kVocab).role = TensorRole::kHead;
  } else if (masked) {
    if (row.head != Head::kBias) {
      out.linear(Component::kLmHead, "lm_head.dense", e, h, Split::kNone, 0, row.has_biases);
      out.norms("lm_head.layer_norm", e, 1, row.has_norm_bias);
    }
    out.plain(Component::kLmHead, "lm_head.bias", out.vocab);
    TensorGroup& head = out.table(Component::kLmHead, "lm_head", out.vocab, e, Split::kVocab);
    head.role = TensorRole::kHead;
    head.is_tied = !row.narrow_ends;
  }
  const bool own_dense = labels && row.has_classifier_dense;
  const bool pooled = row.has_pooler && !own_dense && (!masked || says(out, "ForPreTraining") || row.keeps_pooler) &&
                      !says(out, "TokenClassification");
  if (pooled || own_dense) out.linear(Component::kOther, "pooler.dense", h, h, Split::kNone, 0, row.has_biases);
  if (says(out, "ForPreTraining") && row.predicts_next)
    out.linear(Component::kOther, "seq_relationship", 2, h, Split::kNone, 0, true);
  if (labels) {
    std::uint64_t classes = out.text.list_size("labels").value_or(0);
    if (const auto names = out.text.child("id2label")) classes = names->keys().size();
    if (classes == 0) classes = out.text.count_or("num_labels", 2);
    out.linear(Component::kOther, "classifier", classes, h, Split::kNone, 0, true);
  }
}

// nomic-embed: gated for swiglu and geglu, separate keys for biases, and in every n-th layer experts whose two matrices
// share a bias. Checked against: nomic-embed-text-v2-moe's total.
static void write_nomic_mlps(Inventory& out, std::uint64_t layers, std::uint64_t inner) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const bool gated = text.find_string("activation_function").value_or("swiglu").ends_with("glu");
  const std::uint64_t experts = text.count_or("num_experts", 0);
  const std::uint64_t every = experts > 1 ? text.count_or("moe_every_n_layers", 0) : 0;
  std::vector<std::uint64_t> dense;
  std::vector<std::uint64_t> routed;
  for (std::uint64_t i = 0; i < layers; ++i) (every > 0 && i % every == 1 ? routed : dense).push_back(i);
  out.in_layers(runs_of(dense), "encoder.layer.*.");
  write_dense_mlp(out, Component::kMlp, "mlp.", inner, h, gated, false);
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

static void write_attention(Inventory& out, const std::string& at, std::uint64_t keys, std::uint64_t seen, bool bias) {
  const std::uint64_t h = out.hidden;
  out.linear(Component::kAttention, at + "q_proj", h, h, Split::kRows, 0, bias);
  for (const char* const name : {"k_proj", "v_proj"})
    out.linear(Component::kAttention, at + name, keys, seen, Split::kRows, 0, bias);
  out.linear(Component::kAttention, at + "o_proj", h, h, Split::kColumns, 0, bias);
}

static bool write_encoder(Inventory& out, const EncoderForm& form) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t e = form.narrow_ends        ? text.count_or("input_embedding_size", 256)
                          : form.narrow_embedding ? text.count_or("embedding_size", 128)
                                                  : h;
  const std::uint64_t layers = out.reader.model.layers.size();
  const std::uint64_t inner = first_count(text, {"intermediate_size", "hidden_dim", "n_inner"}, 4 * h);
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "embeddings.word_embeddings", out.vocab, e, Split::kVocab);
  // Instead of the table Jina's BERT has slopes, and its XLM-RoBERTa a rotation.
  const std::string positions = text.find_string("position_embedding_type").value_or("");
  if (form.has_positions && positions != "alibi" && positions != "rotary" && text.flag("position_biased_input", true))
    out.table(Component::kEmbedding, "embeddings.position_embeddings", text.count_or("max_position_embeddings", 512),
              e);
  const std::uint64_t types = form.has_types ? text.count_or("type_vocab_size", 2) : 0;
  if (types > 0) out.table(Component::kEmbedding, "embeddings.token_type_embeddings", types, e);
  if (form.has_embedding_norm) out.norms("embeddings.LayerNorm", e, 1, form.has_norm_bias);
  if (form.stores_sines)
    out.table(Component::kEmbedding, "encoder.embed_positions", text.count_or("max_position_embeddings", 1536),
              h / std::max<std::uint64_t>(1, text.count_or("num_attention_heads", 12)));
  if (e != h) out.linear(Component::kEmbedding, "embeddings_project", h, e, Split::kNone, 0, true);
  if (form.relative)
    out.table(Component::kAttention, "relative_attention_bias", text.count_or("relative_attention_num_buckets", 32),
              text.count_or("num_attention_heads", 12))
        .role = TensorRole::kPlain;
  if (text.flag("relative_attention", false)) {
    const std::uint64_t buckets = text.find_real("position_buckets").value_or(-1) > 0
                                      ? text.count_or("position_buckets", 256)
                                      : text.count_or("max_position_embeddings", 512);
    out.table(Component::kAttention, "rel_embeddings", checked_mul(2, buckets, "the relative positions"), h).role =
        TensorRole::kPlain;
    if (text.find_string("norm_rel_ebd").value_or("none") == "layer_norm")
      out.norms("rel_embeddings.LayerNorm", h, 1, true);
  }
  out.in_layers({{0, form.is_shared ? 1 : layers, 1}}, "encoder.layer.*.");
  const std::uint64_t heads = text.count_or("num_attention_heads", 12);
  const std::uint64_t kv_heads = text.count_or("num_key_value_heads", heads);
  const std::uint64_t kv = heads > 0 && kv_heads < heads ? h / heads * kv_heads : h;
  const bool bias = form.is_nomic ? text.flag("qkv_proj_bias", false) : form.has_biases;
  write_attention(out, "attention.", kv, h, bias);
  const bool jina = text.find_string("feed_forward_type").value_or("").ends_with("glu") || form.has_output_bias_alone;
  if (form.is_nomic) {
    write_nomic_mlps(out, layers, inner);
    out.in_layers({{0, layers, 1}}, "encoder.layer.*.");
  } else {
    write_dense_mlp(out, Component::kMlp, "mlp.", inner, h, form.gated || jina, form.has_biases && !jina);
    if (jina) out.plain(Component::kMlp, "mlp.wo.bias", h);
  }
  out.norms("LayerNorm", h, 2, form.has_norm_bias);
  if (attends_across(out)) {
    write_attention(out, "crossattention.", h, h, bias);
    out.norms("crossattention.LayerNorm", h, 1, form.has_norm_bias);
  }
  if (form.first_is_unnormed) {
    TensorGroup& norms = out.reader.model.tensors.back();
    norms.copies = norms.used = 1;
    if (layers > 1) {
      out.in_layers({{1, layers - 1, 1}}, "encoder.layer.*.");
      out.norms("attn_norm", h);
    }
  }
  out.outside(Place::kLast);
  if (form.has_final_norm) out.norms("final_norm", h, 1, form.has_norm_bias);
  write_heads(out, form, form.narrow_ends ? text.count_or("output_embedding_size", 1664) : e);
  write_towers(out);
  return true;
}

// Unusual blocks: their attention is an estimate, and everything else is written as usual.
static bool write_unknown_encoder(Inventory& out) {
  ModelSpec& model = out.reader.model;
  const Elements blocks = Elements(checked_mul(4, times(out.hidden, out.hidden), "a layer")) * model.layers.size();
  model.unknown_tensors.push_back({Component::kAttention, "the attention of " + model.model_type,
                                   Elements(blocks.count() / 2), blocks, blocks * 2});
  return false;
}

// Encoders read a text in one pass and have no cache; some are also used as decoders.
void read_encoder(Reader& reader) {
  const bool decodes =
      reader.text.flag("is_decoder", false) || reader.model.architecture.ends_with("GenerationDecoder");
  if (decodes) return read_decoder(reader, {});
  reader.inform("encoder_only", "an encoder reads its whole input at once and has no KV cache");
  reader.model.layers.assign(reader.num_layers(), Layer{{None{}}});
}

// RoCBERT: BERT with tables of the words' shape and sound.
static bool write_roc_bert(Inventory& out) {
  const bool more = write_encoder(out, kBert);
  const Fields& text = out.text;
  out.outside(Place::kFirst);
  std::uint64_t wide = out.hidden;
  const auto add = [&](std::string_view flag, std::string_view name, std::string_view words, std::string_view width) {
    if (!text.flag(flag, true)) return;
    out.table(Component::kEmbedding, name, text.count_or(words, 0), text.count_or(width, 0));
    wide = checked_add(wide, text.count_or(width, 0), "the widths of the embeddings");
  };
  add("enable_pronunciation", "embeddings.pronunciation_embed", "pronunciation_vocab_size", "pronunciation_embed_dim");
  add("enable_shape", "embeddings.shape_embed", "shape_vocab_size", "shape_embed_dim");
  if (text.flag("concat_input", true))
    out.linear(Component::kEmbedding, "embeddings.map_inputs_layer", out.hidden, wide, Split::kNone, 0, true);
  return more;
}

// X-MOD: RoBERTa with an adapter for each language at the end of each layer.
static bool write_xmod(Inventory& out) {
  const bool more = write_encoder(out, kRoberta);
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t inner = h / std::max<std::uint64_t>(1, text.count_or("adapter_reduction_factor", 2));
  const std::uint64_t languages = text.list_size("languages").value_or(1);
  out.in_layers({{0, out.reader.model.layers.size(), 1}}, "encoder.layer.*.");
  for (const bool up : {false, true}) {
    const std::string name = up ? "adapter_modules.*.dense2" : "adapter_modules.*.dense1";
    TensorGroup& matrix = out.linear(Component::kMlp, name, up ? h : inner, up ? inner : h);
    matrix.copies = languages;
    TensorGroup& bias = out.plain(Component::kMlp, name + ".bias", up ? h : inner);
    bias.copies = languages;
  }
  if (text.flag("adapter_layer_norm", false)) out.norms("adapter_layer_norm", h, 1, true);
  return more;
}

// BLIP's captioner: BERT's blocks, each with cross attention to the tower's output. That output is not cached. Source:
// transformers modeling_blip_text.py.
static bool write_blip_text(Inventory& out) {
  const bool more = write_encoder(out, kBlip);
  const std::uint64_t h = out.hidden;
  const std::uint64_t seen = out.text.count_or("encoder_hidden_size", h);
  out.in_layers({{0, out.reader.model.layers.size(), 1}}, "encoder.layer.*.");
  write_attention(out, "crossattention.", h, seen, true);
  out.norms("crossattention.LayerNorm", h, 1, true);
  return more;
}

// The row of a class that differs from BERT only in its form.
template <EncoderForm kForm>
static constexpr Family encoder(std::string_view names) {
  return {.is = {names, kExecutedClass}, .layers = read_encoder, .all = [](Inventory& out) {
            return write_encoder(out, kForm);
          }};
}

// clang-format off
std::span<const Family> bert_family() {
  static constexpr Family kRows[] = {
    encoder<kBert>("bert ernie"),
    encoder<kRoberta>("roberta xlm-roberta camembert data2vec-text"),
    encoder<EncoderForm{.keeps_pooler = true}>("big_bird"),
    encoder<EncoderForm{.has_pooler = false}>("deberta-v2"),
    encoder<EncoderForm{.has_positions = false, .has_pooler = false, .has_output_bias_alone = true}>("new gte"),
    encoder<EncoderForm{.has_positions = false, .has_types = false, .has_pooler = false, .has_biases = false,
     .has_norm_bias = false, .gated = true, .has_final_norm = true, .has_embedding_norm = false,
     .head = Head::kBare}>("eurobert"),
    {.is = {"roc_bert", kExecutedClass}, .layers = read_encoder, .all = write_roc_bert},
    encoder<EncoderForm{.has_final_norm = true, .has_embedding_norm = false, .predicts_next = true}>("megatron-bert"),
    encoder<EncoderForm{.has_final_norm = true, .has_classifier_dense = true}>("roberta-prelayernorm"),
    encoder<EncoderForm{.has_final_norm = true, .has_embedding_norm = false,
     .has_classifier_dense = true}>("xlm-roberta-xl"),
    encoder<EncoderForm{.has_types = false, .has_pooler = false, .head = Head::kBias}>("bert-generation"),
    encoder<EncoderForm{.has_pooler = false, .has_classifier_dense = true, .narrow_embedding = true}>("electra"),
    encoder<EncoderForm{.has_types = false, .relative = true, .has_classifier_dense = true}>("mpnet"),
    encoder<EncoderForm{.has_types = false, .has_pooler = false, .has_classifier_dense = true}>("distilbert"),
    encoder<EncoderForm{.is_shared = true, .predicts_next = true, .narrow_embedding = true}>("albert"),
    encoder<EncoderForm{.has_positions = false, .has_pooler = false, .stores_sines = true}>("roformer"),
    encoder<EncoderForm{.has_positions = false, .has_types = false, .has_pooler = false, .has_biases = false,
     .has_norm_bias = false, .gated = true, .has_final_norm = true, .has_classifier_dense = true,
     .first_is_unnormed = true}>("modernbert"),
    encoder<EncoderForm{.has_positions = false, .has_pooler = false, .has_biases = false,
     .is_nomic = true}>("nomic_bert"),
    encoder<EncoderForm{.narrow_ends = true}>("rembert"),
    {.is = {"blip_text_model", kExecutedClass}, .layers = read_encoder, .all = write_blip_text},
    {.is = {"xmod", kExecutedClass}, .layers = read_encoder, .all = write_xmod},
    {.is = {"deberta jina_embeddings_v3 mobilebert squeezebert", kExecutedClass}, .layers = read_encoder,
     .all = write_unknown_encoder},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
