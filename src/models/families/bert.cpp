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
  bool has_classifier_dense = false;   // the classifier has its own dense layer in place of the pooler
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
constexpr EncoderForm kBigBird{.keeps_pooler = true};
constexpr EncoderForm kDeberta{.has_pooler = false};
constexpr EncoderForm kGte{.has_positions = false, .has_pooler = false, .has_output_bias_alone = true};
constexpr EncoderForm kEurobert{.has_positions = false,
                                .has_types = false,
                                .has_pooler = false,
                                .has_biases = false,
                                .has_norm_bias = false,
                                .gated = true,
                                .has_final_norm = true,
                                .has_embedding_norm = false,
                                .head = Head::kBare};
constexpr EncoderForm kMegatron{.has_final_norm = true, .has_embedding_norm = false, .predicts_next = true};
constexpr EncoderForm kRobertaPrelayernorm{.has_final_norm = true, .has_classifier_dense = true};
constexpr EncoderForm kXlmRobertaXl{.has_final_norm = true, .has_embedding_norm = false, .has_classifier_dense = true};
constexpr EncoderForm kBertGeneration{.has_types = false, .has_pooler = false, .head = Head::kBias};
constexpr EncoderForm kElectra{.has_pooler = false, .has_classifier_dense = true, .narrow_embedding = true};
constexpr EncoderForm kRembert{.narrow_ends = true};
constexpr EncoderForm kBlip{.has_types = false, .has_pooler = false, .is_masked = true};
constexpr EncoderForm kMpnet{.has_types = false, .relative = true, .has_classifier_dense = true};
constexpr EncoderForm kDistilbert{.has_types = false, .has_pooler = false, .has_classifier_dense = true};
constexpr EncoderForm kAlbert{.is_shared = true, .predicts_next = true, .narrow_embedding = true};
constexpr EncoderForm kRoformer{.has_positions = false, .has_pooler = false, .stores_sines = true};
constexpr EncoderForm kModernbert{.has_positions = false,
                                  .has_types = false,
                                  .has_pooler = false,
                                  .has_biases = false,
                                  .has_norm_bias = false,
                                  .gated = true,
                                  .has_final_norm = true,
                                  .has_classifier_dense = true,
                                  .first_is_unnormed = true};
constexpr EncoderForm kNomic{.has_positions = false, .has_pooler = false, .has_biases = false, .is_nomic = true};

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

template <const EncoderForm& kForm>
static bool write_encoder(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t e = kForm.narrow_ends        ? text.count_or("input_embedding_size", 256)
                          : kForm.narrow_embedding ? text.count_or("embedding_size", 128)
                                                   : h;
  const std::uint64_t layers = out.reader.model.layers.size();
  const std::uint64_t inner = first_count(text, {"intermediate_size", "hidden_dim", "n_inner"}, 4 * h);
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "embeddings.word_embeddings", out.vocab, e, Split::kVocab);
  // In place of the table Jina's BERT has slopes, its XLM-RoBERTa a rotation.
  const std::string positions = text.find_string("position_embedding_type").value_or("");
  if (kForm.has_positions && positions != "alibi" && positions != "rotary" && text.flag("position_biased_input", true))
    out.table(Component::kEmbedding, "embeddings.position_embeddings", text.count_or("max_position_embeddings", 512),
              e);
  const std::uint64_t types = kForm.has_types ? text.count_or("type_vocab_size", 2) : 0;
  if (types > 0) out.table(Component::kEmbedding, "embeddings.token_type_embeddings", types, e);
  if (kForm.has_embedding_norm) out.norms("embeddings.LayerNorm", e, 1, kForm.has_norm_bias);
  if (kForm.stores_sines)
    out.table(Component::kEmbedding, "encoder.embed_positions", text.count_or("max_position_embeddings", 1536),
              h / std::max<std::uint64_t>(1, text.count_or("num_attention_heads", 12)));
  if (e != h) out.linear(Component::kEmbedding, "embeddings_project", h, e, Split::kNone, 0, true);
  if (kForm.relative)
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
  out.in_layers({{0, kForm.is_shared ? 1 : layers, 1}}, "encoder.layer.*.");
  const std::uint64_t heads = text.count_or("num_attention_heads", 12);
  const std::uint64_t kv_heads = text.count_or("num_key_value_heads", heads);
  const std::uint64_t kv = heads > 0 && kv_heads < heads ? h / heads * kv_heads : h;
  const bool bias = kForm.is_nomic ? text.flag("qkv_proj_bias", false) : kForm.has_biases;
  out.linear(Component::kAttention, "attention.q_proj", h, h, Split::kRows, 0, bias);
  for (const char* const name : {"attention.k_proj", "attention.v_proj"})
    out.linear(Component::kAttention, name, kv, h, Split::kRows, 0, bias);
  out.linear(Component::kAttention, "attention.o_proj", h, h, Split::kColumns, 0, bias);
  const bool jina = text.find_string("feed_forward_type").value_or("").ends_with("glu") || kForm.has_output_bias_alone;
  if (kForm.is_nomic) {
    write_nomic_mlps(out, layers, inner);
    out.in_layers({{0, layers, 1}}, "encoder.layer.*.");
  } else {
    write_dense_mlp(out, Component::kMlp, "mlp.", inner, h, kForm.gated || jina, kForm.has_biases && !jina);
    if (jina) out.plain(Component::kMlp, "mlp.wo.bias", h);
  }
  out.norms("LayerNorm", h, 2, kForm.has_norm_bias);
  if (attends_across(out)) {
    for (const char* const name : {"crossattention.q_proj", "crossattention.k_proj", "crossattention.v_proj"})
      out.linear(Component::kAttention, name, h, h, Split::kRows, 0, bias);
    out.linear(Component::kAttention, "crossattention.o_proj", h, h, Split::kColumns, 0, bias);
    out.norms("crossattention.LayerNorm", h, 1, kForm.has_norm_bias);
  }
  if (kForm.first_is_unnormed) {
    TensorGroup& norms = out.reader.model.tensors.back();
    norms.copies = norms.used = 1;
    if (layers > 1) {
      out.in_layers({{1, layers - 1, 1}}, "encoder.layer.*.");
      out.norms("attn_norm", h);
    }
  }
  out.outside(Place::kLast);
  if (kForm.has_final_norm) out.norms("final_norm", h, 1, kForm.has_norm_bias);
  write_heads(out, kForm, kForm.narrow_ends ? text.count_or("output_embedding_size", 1664) : e);
  write_towers(out);
  return true;
}

// Unusual blocks: their attention is an estimate, everything else is written as usual.
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
  reader.inform("encoder_only", "an encoder reads its input at once: it keeps no cache");
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{None{}}});
}

// RoCBERT: BERT with tables of the words' shape and sound.
static bool write_roc_bert(Inventory& out) {
  const bool more = write_encoder<kBert>(out);
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
  const bool more = write_encoder<kRoberta>(out);
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

// BLIP's captioner: BERT's blocks, each with cross attention to the tower's output, which is not cached. Source:
// transformers modeling_blip_text.py.
static bool write_blip_text(Inventory& out) {
  const bool more = write_encoder<kBlip>(out);
  const std::uint64_t h = out.hidden;
  const std::uint64_t seen = out.text.count_or("encoder_hidden_size", h);
  out.in_layers({{0, out.reader.model.layers.size(), 1}}, "encoder.layer.*.");
  out.linear(Component::kAttention, "crossattention.q_proj", h, h, Split::kRows, 0, true);
  for (const char* const name : {"crossattention.k_proj", "crossattention.v_proj"})
    out.linear(Component::kAttention, name, h, seen, Split::kRows, 0, true);
  out.linear(Component::kAttention, "crossattention.o_proj", h, h, Split::kColumns, 0, true);
  out.norms("crossattention.LayerNorm", h, 1, true);
  return more;
}

// clang-format off
std::span<const Family> bert_family() {
  static constexpr Family kRows[] = {
    {.is = {"bert ernie", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kBert>},
    {.is = {"roberta xlm-roberta camembert data2vec-text", "encoder", Arch::kOther, "executed class"},
     .layers = read_encoder, .all = write_encoder<kRoberta>},
    {.is = {"big_bird", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kBigBird>},
    {.is = {"deberta-v2", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kDeberta>},
    {.is = {"new gte", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder, .all = write_encoder<kGte>},
    {.is = {"eurobert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kEurobert>},
    {.is = {"roc_bert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder, .all = write_roc_bert},
    {.is = {"megatron-bert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kMegatron>},
    {.is = {"roberta-prelayernorm", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kRobertaPrelayernorm>},
    {.is = {"xlm-roberta-xl", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kXlmRobertaXl>},
    {.is = {"bert-generation", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kBertGeneration>},
    {.is = {"electra", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kElectra>},
    {.is = {"mpnet", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder, .all = write_encoder<kMpnet>},
    {.is = {"distilbert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kDistilbert>},
    {.is = {"albert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kAlbert>},
    {.is = {"roformer", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kRoformer>},
    {.is = {"modernbert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kModernbert>},
    {.is = {"nomic_bert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kNomic>},
    {.is = {"rembert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_encoder<kRembert>},
    {.is = {"blip_text_model", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder,
     .all = write_blip_text},
    {.is = {"xmod", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder, .all = write_xmod},
    {.is = {"deberta jina_embeddings_v3 mobilebert squeezebert", "encoder", Arch::kOther, "executed class"}, .layers = read_encoder, .all = write_unknown_encoder},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
