// T5, BART, Whisper and similar models: each decoder layer caches its own tokens and the encoder's output. Source:
// transformers' modelling files of the types named.
#include "models/blocks/blocks.h"
#include "models/blocks/stacks.h"
#include "models/class_defaults.h"
#include "models/family.h"
#include "models/towers/tower.h"

namespace kvplan {

// The first of `keys` that the file itself has. It takes precedence over defaults of the class: a file that gives 24
// layers for both sides must not get T5's default of six decoder layers.
static std::uint64_t own_count(const Fields& text, std::initializer_list<std::string_view> keys) {
  const Fields own = text.bare();
  for (const std::string_view key : keys)
    if (const auto value = own.contains(key) ? own.find_count(key) : std::nullopt; value && *value > 0) return *value;
  return 0;
}

static std::uint64_t decoder_layers(const Reader& reader) {
  const Fields& text = reader.text;
  std::uint64_t layers = own_count(text, {"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"});
  if (layers == 0) layers = own_count(text, {"num_hidden_layers", "num_layers"});
  for (const std::string_view key : {"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"})
    if (layers == 0) layers = text.count_or(key, 0);
  return layers == 0 ? reader.num_layers() : check_layers(layers, "decoder_layers");
}

static Heads decoder_heads(const Fields& text) {
  Heads heads;
  heads.num_heads =
      own_count(text, {"decoder_attention_heads", "decoder_num_attention_heads", "num_decoder_attention_heads"});
  if (heads.num_heads == 0) heads.num_heads = own_count(text, {"num_attention_heads", "num_heads"});
  for (const std::string_view key : {"decoder_attention_heads", "decoder_num_attention_heads"})
    if (heads.num_heads == 0) heads.num_heads = text.count_or(key, 0);
  if (heads.num_heads == 0) heads.num_heads = text.count("num_attention_heads");
  heads.num_kv_heads = own_count(text, {"decoder_num_key_value_heads", "num_key_value_heads"});
  if (heads.num_kv_heads == 0) heads.num_kv_heads = text.count_or("num_key_value_heads", heads.num_heads);
  heads.head_dim = text.count_or("head_dim", 0);  // T5: d_kv
  if (heads.head_dim == 0) heads.head_dim = text.count("hidden_size") / heads.num_heads;
  heads.v_head_dim = heads.head_dim;
  check_heads(heads);
  return heads;
}

// Patches of an image at the size in the encoder's config; 0 if it gives none. A Swin encoder merges four patches
// into one between stages, and has no class token.
static std::uint64_t image_tokens(const Fields& vision) {
  const auto sides = [&](std::string_view key) -> std::vector<std::uint64_t> {
    if (vision.is_number(key)) return {vision.count_or(key, 0), vision.count_or(key, 0)};
    const auto list = vision.counts(key).value_or(std::vector<std::uint64_t>{});
    return list.size() == 2 ? list : std::vector<std::uint64_t>{0, 0};
  };
  const auto image = sides("image_size");
  std::uint64_t patch = sides("patch_size").front();
  const bool swin = vision.find_string("model_type").value_or("").find("swin") != std::string::npos;
  if (swin)
    for (std::uint64_t stage = 1; stage < vision.list_size("depths").value_or(4) && stage < 8; ++stage) patch *= 2;
  if (patch == 0 || image[0] / patch > 4096 || image[1] / patch > 4096) return 0;
  const std::uint64_t patches = image[0] / patch * (image[1] / patch);
  return patches == 0 ? 0 : patches + (swin ? 0 : 1);
}

// Frames or tokens of the source: the encoder's maximum, or else the decoder's.
static std::uint64_t source_length(const Reader& reader) {
  const Fields& text = reader.text;
  std::uint64_t source = 0;
  if (const auto encoder = reader.root.child("encoder")) {
    source = encoder->count_or("max_source_positions", 0);
    if (source == 0) source = image_tokens(*encoder);
    if (source == 0) source = encoder->count_or("max_position_embeddings", 0);
    if (source == 0)
      if (const auto nested = encoder->child("text_config")) source = nested->count_or("max_position_embeddings", 0);
  }
  if (source == 0) source = text.count_or("max_source_positions", 0);
  // Speech-to-text counts the frames before its convolutions, each of which halves them.
  if (text.class_name() == "speech_to_text")
    for (std::uint64_t i = 0; i < text.count_or("num_conv_layers", 2) && source > 1; ++i) source = ceil_div(source, 2);
  for (const std::string_view key : {"max_encoder_position_embeddings", "max_position_embeddings"})
    if (source == 0) source = text.count_or(key, 0);
  return source == 0 ? 512 : source;
}

void read_encoder_decoder(Reader& reader) {
  if (reader.model.architecture.ends_with("EncoderModel")) {  // only T5's encoder, for image generators
    reader.inform("encoder_only", "an encoder reads its whole input at once and has no KV cache");
    std::uint64_t blocks = own_count(reader.text, {"encoder_layers", "num_layers", "num_hidden_layers"});
    if (blocks == 0) blocks = reader.num_layers();
    reader.model.layers.assign(check_layers(blocks, "num_layers"), Layer{{None{}}});
    return;
  }
  const Fields& text = reader.text;
  const std::uint64_t layers = check_layers(decoder_layers(reader), "decoder_layers");
  const Heads heads = decoder_heads(text);
  const Heads cross =
      read_heads(text, {"cross_num_attention_heads", "cross_num_key_value_heads", "cross_head_dim", ""}, heads);
  text.derived("decoder_layers", layers);
  text.touch("attention_window");  // LED's encoder has windows
  // TrOCR's decoder by itself has no encoder to attend to.
  if (text.class_name() == "trocr" && !reader.root.child("encoder")) {
    reader.inform("decoder_alone", "the config has a decoder without its encoder: no cross attention is planned");
    reader.model.layers.assign(layers, Layer{{FullAttention{heads}}});
    return;
  }

  if (!reader.root.child("encoder")) {
    std::uint64_t encoder_layers = own_count(
        text, {"encoder_layers", "num_encoder_layers", "encoder_num_hidden_layers", "num_layers", "num_hidden_layers"});
    if (encoder_layers == 0) encoder_layers = text.count_or("encoder_layers", 0);
    reader.model.towers.push_back({TowerKind::kEncoder, std::string(text.class_name()), encoder_layers});
  }
  reader.model.source_tokens = Tokens(source_length(reader));

  const PatternRule rule = pattern_of(reader, {});
  const std::vector<Label> labels =
      rule.period > 0 ? layer_labels(text, layers, rule) : std::vector<Label>(layers, Label::kFull);
  const Tokens window = rule.period > 0 ? read_window(text) : Tokens(0);
  for (const Label label : labels) reader.add({{attention_mixer(reader, label, heads, window), Cross{cross}}});
}

constexpr StackForm kT5{.is_t5 = true, .positions = Positions::kRelative, .final_norm = true};
constexpr StackForm kPegasusX{
    .positions = Positions::kNone, .final_norm = true, .attention_bias = AttentionBias::kNever, .encoder_norms = 3};
constexpr StackForm kMarian{.positions = Positions::kFixed};
// Its position tables start after the padding index.
constexpr StackForm kFsmt{.positions = Positions::kFixed, .offset = 2};
constexpr StackForm kM2m100{.positions = Positions::kNone, .final_norm = true};
constexpr StackForm kBlenderbotSmall{.embedding_norm = true};
// In addition to T5's stacks: an embedding of composers, and a head that its class never ties. Source: transformers
// modeling_pop2piano.py.
static bool write_pop2piano(Inventory& out) {
  write_stacks(out, kT5);
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "mel_conditioner.embedding", out.text.count_or("composer_vocab_size", 21),
            out.hidden);
  for (TensorGroup& group : out.model().tensors) group.is_tied = false;
  return true;
}

// LED: tokens with global attention have separate queries, keys and values. Source: transformers modeling_led.py.
static bool write_led(Inventory& out) {
  write_stacks(out, kBlenderbotSmall);
  out.outside(Place::kFirst);
  Tower{out, Component::kEncoder}.linear("model.encoder.layers.global_qkv", times(3, out.hidden), out.hidden, true,
                                         out.text.count_or("encoder_layers", 12));
  return true;
}

// Pegasus-X: additional global tokens, with their own embedding rows. Source: transformers modeling_pegasus_x.py.
static bool write_pegasus_x(Inventory& out) {
  write_stacks(out, kPegasusX);
  out.outside(Place::kFirst);
  out.table(Component::kEncoder, "model.encoder.embed_global", out.text.count_or("num_global_tokens", 32), out.hidden);
  return true;
}

// Speech-to-text: convolutions over frames with gates, each of which halves the length. Source: transformers
// modeling_speech_to_text.py.
static bool write_speech_to_text(Inventory& out) {
  write_stacks(out, kM2m100);
  const Fields& text = out.text;
  const auto kernels = text.counts("conv_kernel_sizes").value_or(std::vector<std::uint64_t>{5, 5});
  const std::uint64_t layers = text.count_or("num_conv_layers", 2);
  const std::uint64_t channels = text.count_or("conv_channels", 1024);
  std::uint64_t from = times(text.count_or("input_feat_per_channel", 80), text.count_or("input_channels", 1));
  out.outside(Place::kFirst);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Tower{out, Component::kEncoder}.linear("model.encoder.conv." + std::to_string(i),
                                           i + 1 < layers ? channels : times(2, out.hidden), times(from, kernels[i]),
                                           true);
    from = channels / 2;
  }
  return true;
}

// FSMT: each language has a vocabulary, and the head may share neither. Source: transformers modeling_fsmt.py.
static bool write_fsmt(Inventory& out) {
  write_stacks(out, kFsmt);
  if (out.text.flag("tie_word_embeddings", false)) return true;
  out.outside(Place::kFirst);
  out.table(Component::kEncoder, "model.encoder.embed_tokens", out.text.count_or("src_vocab_size", out.vocab),
            out.hidden);
  return true;
}

// ProphetNet: it predicts several tokens at once, and relative positions depend on the attending token. Source:
// transformers modeling_prophetnet.py.
static bool write_prophetnet(Inventory& out) {
  write_stacks(out, kBlenderbotSmall);
  const Fields& text = out.text;
  const std::uint64_t heads = first_count(text, {"num_decoder_attention_heads", "num_attention_heads"}, 16);
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "model.decoder.ngram_embeddings", text.count_or("ngram", 2), out.hidden);
  out.in_layers({{0, out.reader.model.layers.size(), 1}}, "model.decoder.layers.*.");
  out.linear(Component::kAttention, "self_attn.relative_pos_embeddings", times(text.count_or("num_buckets", 32), heads),
             out.hidden, Split::kNone, 0, true);
  return true;
}

// TrOCR: separate keys for positions and for the norm after them. Source: transformers modeling_trocr.py.
static bool write_trocr(Inventory& out) {
  StackForm form{.offset = 2, .is_alone = true};
  form.embedding_norm = out.text.flag("layernorm_embedding", true);
  if (!out.text.flag("use_learned_position_embeddings", true)) form.positions = Positions::kNone;
  return write_stacks(out, form);
}

// UDOP: a T5 that reads a page: its patches, the position of words on it, and horizontal and vertical distances.
// Source: transformers modeling_udop.py.
static bool write_udop(Inventory& out) {
  write_stacks(out, kT5);
  const Fields& text = out.text;
  const std::uint64_t patch = text.count_or("patch_size", 16);
  const std::uint64_t heads = text.count_or("num_attention_heads", 16);
  const std::uint64_t distances = std::max<std::uint64_t>(1, text.list_size("relative_bias_args").value_or(3)) - 1;
  out.outside(Place::kFirst);
  // Both sides have the patches' embedding; the decoder's is never used.
  Tower{out, Component::kEncoder}.linear("patch_embed.proj", out.hidden,
                                         times(text.count_or("num_channels", 3), square(patch)), true, 2);
  out.table(Component::kEncoder, "encoder.cell_2d_embedding",
            times(2, text.count_or("max_2d_position_embeddings", 1024)), out.hidden);
  out.plain(Component::kEncoder, "relative_bias",
            times(times(2, distances), times(text.count_or("relative_attention_num_buckets", 32), heads)));
  return true;
}

// A ViT with its pooler. Source: transformers modeling_vit.py.
static void write_image_encoder(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t image = text.count_or("image_size", 224);
  const std::uint64_t patch = std::max<std::uint64_t>(1, text.count_or("patch_size", 16));
  out.outside(Place::kFirst);
  out.linear(Component::kEncoder, "encoder.patch_embeddings", h,
             times(text.count_or("num_channels", 3), times(patch, patch)), Split::kNone, 0, true);
  out.plain(Component::kEncoder, "encoder.cls_token", h);
  out.plain(Component::kEncoder, "encoder.position_embeddings",
            times(checked_add(times(image / patch, image / patch), 1, "an image encoder"), h));
  out.norms("encoder.layernorm", h, 1, true);
  out.linear(Component::kEncoder, "encoder.pooler", h, h, Split::kNone, 0, true);
  out.in_layers({{0, out.reader.model.layers.size(), 1}}, "encoder.layers.*.");
  for (const char* const name : {"q_proj", "k_proj", "v_proj"})
    out.linear(Component::kEncoder, name, h, h, Split::kRows, 0, text.flag("qkv_bias", true));
  out.linear(Component::kEncoder, "o_proj", h, h, Split::kColumns, 0, true);
  write_dense_mlp(out, Component::kEncoder, "mlp.", text.count_or("intermediate_size", times(4, h)), h, false, true);
  out.norms("layernorm", h, 2, true);
}

bool write_pair_encoder(Inventory& out, const Fields& encoder) {
  const std::string type = encoder.find_string("model_type").value_or("");
  const Fields text = with_class(encoder, type);
  ModelSpec model;
  model.model_type = type;
  model.hidden_size = text.count_or("hidden_size", 0);
  model.vocab_size = text.count_or("vocab_size", 0);
  const std::uint64_t layers = text.count_or("num_hidden_layers", 0);
  if (model.hidden_size == 0 || layers == 0) return false;
  model.layers.assign(check_layers(layers, "encoder.num_hidden_layers"), Layer{{None{}}});
  Reader reader{Fields::empty(), text, model};  // the towers belong to the pair, so this reader sees none
  Inventory inner = inventory_of(reader, text, type);
  if (type == "vit")
    write_image_encoder(inner);
  else if (type == "wav2vec2")
    write_wave_encoder({inner, Component::kEncoder}, text);
  else if (inner.family.layers != read_encoder || !inner.family.all(inner))
    return false;
  make_encoder(model.tensors);
  for (TensorGroup& group : model.tensors) out.reader.model.tensors.push_back(std::move(group));
  return true;
}

// The row of a class that differs from BART or T5 only in its form.
template <StackForm kForm>
static constexpr Family stacks(std::string_view names, const Traits& tensors, Arch arch = Arch::kOther) {
  return {.is = {names, kExecutedClass, arch},
          .layers = read_encoder_decoder,
          .tensors = tensors,
          .all = [](Inventory& out) { return write_stacks(out, kForm); }};
}

// clang-format off
std::span<const Family> encoder_decoder_family() {
  // The stacks write their own final norms.
  static constexpr Traits kTied{.has_final_norm = false, .ties_by_default = true};
  static constexpr Traits kHeard{.has_final_norm = false, .splits_embedding = false, .ties_by_default = true};
  static constexpr Traits kUntied{.has_final_norm = false};
  static constexpr Family kRows[] = {
    stacks<kT5>("t5 mt5 longt5", kTied, Arch::kT5),
    stacks<StackForm{.is_t5 = true, .positions = Positions::kRelativeEverywhere,
     .final_norm = true}>("umt5", kTied, Arch::kT5),
    stacks<StackForm{.is_t5 = true, .positions = Positions::kRelative, .final_norm = true,
     .routing = Routing::kSecond}>("switch_transformers", kTied, Arch::kT5),
    {.is = {"udop", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied, .all = write_udop},
    stacks<StackForm{.is_t5 = true, .positions = Positions::kRelative, .final_norm = true, .is_always_gated = true,
     .is_alone = true}>("pix2struct_text_model", kUntied),
    {.is = {"pop2piano", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kUntied, .all = write_pop2piano},
    stacks<kT5>("ul2", kTied),
    stacks<StackForm{.offset = 2, .embedding_norm = true}>("bart plbart mvp", kTied),
    stacks<StackForm{.final_norm = true}>("blenderbot", kTied),
    stacks<kBlenderbotSmall>("blenderbot-small", kTied),
    // Whisper's embedding is a plain nn.Embedding (vLLM models/whisper.py), so every rank stores all of it.
    stacks<StackForm{.final_norm = true, .key_bias = false, .has_audio = true}>("whisper", kHeard),
    stacks<StackForm{.offset = 2, .embedding_norm = true, .final_norm = true,
     .is_alone = true}>("pp_formulanet_text", kUntied),
    stacks<StackForm{.offset = 2, .embedding_norm = true, .final_norm = true}>("mbart", kTied, Arch::kMarian),
    stacks<StackForm{.positions = Positions::kFixed, .final_norm = true}>("pegasus", kTied, Arch::kMarian),
    stacks<kMarian>("marian", kTied, Arch::kMarian),
    stacks<kM2m100>("m2m_100", kTied, Arch::kMarian),
    stacks<StackForm{.positions = Positions::kNone, .final_norm = true,
     .routing = Routing::kLast}>("nllb-moe nllb_moe", kTied),
    stacks<StackForm{.embedding_norm = true, .attention_bias = AttentionBias::kByUseBias}>("bigbird_pegasus", kTied),
    {.is = {"pegasus_x", kExecutedClass, Arch::kMarian}, .layers = read_encoder_decoder, .tensors = kTied,
     .all = write_pegasus_x},
    {.is = {"led", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied, .all = write_led},
    {.is = {"prophetnet xlm-prophetnet", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied,
     .all = write_prophetnet},
    {.is = {"fsmt", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kUntied, .all = write_fsmt},
    {.is = {"speech_to_text", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied,
     .all = write_speech_to_text},
    {.is = {"trocr", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied, .all = write_trocr},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
