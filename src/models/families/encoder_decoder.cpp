// T5, BART, Whisper and kin: each decoder layer keeps its own tokens, and the encoder's output once more. Source:
// transformers' modelling files of the types named.
#include "models/blocks/blocks.h"
#include "models/class_defaults.h"
#include "models/registry.h"

namespace kvplan {

// The first of `keys` that the file itself names. The class's defaults come later: T5's six decoder layers must not
// stand beside the 24 layers that a file names for both sides.
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

// Patches of an image at the size that the encoder's config names; 0 where it names none. A Swin encoder merges four
// patches into one between its stages and has no class token.
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

// Frames or tokens of the source: the encoder's own maximum, else as many as the decoder's.
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
  if (reader.model.architecture.ends_with("EncoderModel")) {  // of T5, as image generators use it
    reader.inform("encoder_only", "an encoder reads its input at once: it keeps no cache");
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
  text.touch("attention_window");  // of LED's encoder
  // TrOCR's decoder by itself has nothing to attend to across.
  if (text.class_name() == "trocr" && !reader.root.child("encoder")) {
    reader.inform("decoder_alone", "the config is a decoder's without its encoder: no cross attention is kept");
    for (std::uint64_t i = 0; i < layers; ++i) reader.model.layers.push_back({{FullAttention{heads}}});
    return;
  }

  if (!reader.root.child("encoder")) {
    std::uint64_t encoder_layers = own_count(
        text, {"encoder_layers", "num_encoder_layers", "encoder_num_hidden_layers", "num_layers", "num_hidden_layers"});
    if (encoder_layers == 0) encoder_layers = text.count_or("encoder_layers", 0);
    reader.model.sides.push_back({SideKind::kEncoder, std::string(text.class_name()), encoder_layers});
  }
  reader.model.source_tokens = Tokens(source_length(reader));

  const PatternRule rule = pattern_of(reader, {});
  const std::vector<Label> labels =
      rule.period > 0 ? layer_labels(text, layers, rule) : std::vector<Label>(layers, Label::kFull);
  const Tokens window = rule.period > 0 ? read_window(text) : Tokens(0);
  for (const Label label : labels)
    reader.model.layers.push_back({{attention_mixer(reader, label, heads, window), Cross{cross}}});
}

enum class Positions : std::uint8_t { kNone, kLearned, kFixed, kRelative, kRelativeEverywhere };

// How a class differs from BART.
struct StackForm {
  bool is_t5 = false;  // RMS norms, no biases
  Positions positions = Positions::kLearned;
  std::uint64_t offset = 0;  // rows of a learned table beyond the positions
  bool embedding_norm = false;
  bool final_norm = false;
  bool key_bias = true;
  bool hears = false;  // two convolutions over a spectrum
};
constexpr StackForm kT5{.is_t5 = true, .positions = Positions::kRelative, .final_norm = true};
constexpr StackForm kUmt5{.is_t5 = true, .positions = Positions::kRelativeEverywhere, .final_norm = true};
constexpr StackForm kBart{.offset = 2, .embedding_norm = true};
constexpr StackForm kMbart{.offset = 2, .embedding_norm = true, .final_norm = true};
constexpr StackForm kPegasus{.positions = Positions::kFixed, .final_norm = true};
constexpr StackForm kMarian{.positions = Positions::kFixed};
constexpr StackForm kM2m100{.positions = Positions::kNone, .final_norm = true};
constexpr StackForm kBlenderbot{.final_norm = true};
constexpr StackForm kBlenderbotSmall{.embedding_norm = true};
constexpr StackForm kWhisper{.final_norm = true, .key_bias = false, .hears = true};

struct Stack {
  Inventory& out;
  const StackForm& row;
  std::uint64_t h, heads, head_dim, inner, layers;
  bool gated;

  void attention(const std::string& at) const {
    const std::uint64_t wide = checked_mul(heads, head_dim, "the width of an attention");
    const bool bias = !row.is_t5;
    out.linear(Component::kAttention, at + "q_proj", wide, h, Split::kRows, heads, bias);
    out.linear(Component::kAttention, at + "k_proj", wide, h, Split::kRows, heads, bias && row.key_bias);
    // Queries, keys and values are one matrix in vLLM, with a bias for all (models/whisper.py).
    if (bias && !row.key_bias)
      out.plain(Component::kAttention, at + "k_proj.bias", wide, Split::kRows, heads).is_derived = true;
    out.linear(Component::kAttention, at + "v_proj", wide, h, Split::kRows, heads, bias);
    out.linear(Component::kAttention, at + "o_proj", h, wide, Split::kColumns, heads, bias);
  }

  void write(const std::string& name, bool is_decoder, std::uint64_t positions) const {
    out.in_layers({{0, layers, 1}}, "model." + name + ".layers.*.");
    const std::size_t before = out.model().tensors.size();
    attention("self_attn.");
    if (is_decoder) attention("encoder_attn.");
    write_dense_mlp(out, Component::kMlp, "mlp.", inner, h, gated, !row.is_t5);
    out.norms("layer_norm", h, is_decoder ? 3 : 2, !row.is_t5);
    if (row.positions == Positions::kRelativeEverywhere)
      out.table(Component::kAttention, "relative_attention_bias", buckets(), heads).role = TensorRole::kPlain;
    if (!is_decoder) make_encoder(std::span(out.model().tensors).subspan(before));
    out.outside(is_decoder ? Place::kLast : Place::kFirst);
    const Component own = is_decoder ? Component::kEmbedding : Component::kEncoder;
    if (row.positions == Positions::kRelative)
      out.table(own, "model." + name + ".relative_attention_bias", buckets(), heads).role = TensorRole::kPlain;
    if (row.positions == Positions::kLearned || row.positions == Positions::kFixed)
      out.table(own, "model." + name + ".embed_positions", checked_add(positions, row.offset, "the positions"), h);
    const std::uint64_t norms = (row.embedding_norm ? 1U : 0U) + (row.final_norm ? 1U : 0U);
    out.norms("model." + name + ".layer_norm", h, norms, !row.is_t5);
  }

  std::uint64_t buckets() const { return out.text.count_or("relative_attention_num_buckets", 32); }
};

template <const StackForm& kForm>
static bool write_stacks(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const bool gated = kForm.is_t5 && text.find_string("feed_forward_proj").value_or("relu").starts_with("gated");
  const auto heads_of = [&](std::string_view own) {
    return std::max<std::uint64_t>(1, first_count(text, {own, "num_heads", "num_attention_heads"}));
  };
  Stack encoder{out,
                kForm,
                h,
                heads_of("encoder_attention_heads"),
                0,
                first_count(text, {"encoder_ffn_dim", "d_ff", "intermediate_size"}),
                first_count(text, {"encoder_layers", "num_layers", "num_hidden_layers"}),
                gated};
  Stack decoder{out,
                kForm,
                h,
                heads_of("decoder_attention_heads"),
                0,
                first_count(text, {"decoder_ffn_dim", "d_ff", "intermediate_size"}),
                out.reader.model.layers.size(),
                gated};
  encoder.head_dim = kForm.is_t5 ? text.count_or("d_kv", h / encoder.heads) : h / encoder.heads;
  decoder.head_dim = kForm.is_t5 ? text.count_or("d_kv", h / decoder.heads) : h / decoder.heads;
  const std::uint64_t targets = first_count(text, {"max_target_positions", "max_position_embeddings"});
  const std::uint64_t sources = first_count(text, {"max_source_positions", "max_position_embeddings"});
  // Donut and its like pair the decoder with an encoder of another class.
  if (!out.reader.root.child("encoder")) encoder.write("encoder", false, sources);
  if (!out.reader.model.architecture.ends_with("EncoderModel")) decoder.write("decoder", true, targets);
  if (kForm.hears) {
    out.outside(Place::kFirst);
    const std::uint64_t mel = text.count_or("num_mel_bins", 80);
    out.conv(Component::kEncoder, "model.encoder.conv1", h, checked_mul(3, mel, "a convolution"));
    out.conv(Component::kEncoder, "model.encoder.conv2", h, checked_mul(3, h, "a convolution"));
    out.plain(Component::kEncoder, "model.encoder.conv.bias", checked_mul(2, h, "a bias"));
  }
  write_ends(out);
  write_towers(out);
  return true;
}

// Beside T5's stacks an embedding of composers, and a head that its class ties to nothing. Source: transformers
// modeling_pop2piano.py.
static bool write_pop2piano(Inventory& out) {
  write_stacks<kT5>(out);
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "mel_conditioner.embedding", out.text.count_or("composer_vocab_size", 21),
            out.hidden);
  for (TensorGroup& group : out.model().tensors) group.is_tied = false;
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
  Reader reader{Fields::empty(), text, model};  // by itself: the towers are the pair's
  Inventory inner = inventory_of(reader, text, type);
  if (type == "vit")
    write_image_encoder(inner);
  else if (inner.family.layers != read_encoder || !inner.family.all(inner))
    return false;
  make_encoder(model.tensors);
  for (TensorGroup& group : model.tensors) out.reader.model.tensors.push_back(std::move(group));
  return true;
}

// clang-format off
std::span<const Family> encoder_decoder_family() {
  // The stacks write the norms of their ends.
  static constexpr Traits kTied{.has_final_norm = false, .ties_by_default = true};
  static constexpr Traits kHeard{.has_final_norm = false, .splits_embedding = false, .ties_by_default = true};
  static constexpr Traits kUntied{.has_final_norm = false};
  static constexpr Family kRows[] = {
    {.is = {"t5 mt5 longt5", "encoder_decoder", Arch::kT5, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kTied, .all = write_stacks<kT5>},
    {.is = {"umt5", "encoder_decoder", Arch::kT5, "executed class"}, .layers = read_encoder_decoder, .tensors = kTied,
     .all = write_stacks<kUmt5>},
    {.is = {"switch_transformers", "encoder_decoder", Arch::kT5}, .layers = read_encoder_decoder, .tensors = kUntied,
     .all = write_unknown_stacks},
    {.is = {"pop2piano", "encoder_decoder", Arch::kOther, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kUntied, .all = write_pop2piano},
    {.is = {"ul2", "encoder_decoder", Arch::kOther, "executed class"}, .layers = read_encoder_decoder, .tensors = kTied,
     .all = write_stacks<kT5>},
    {.is = {"bart plbart mvp", "encoder_decoder", Arch::kOther, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kTied, .all = write_stacks<kBart>},
    {.is = {"blenderbot", "encoder_decoder", Arch::kOther, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kTied, .all = write_stacks<kBlenderbot>},
    {.is = {"blenderbot-small", "encoder_decoder", Arch::kOther, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kTied, .all = write_stacks<kBlenderbotSmall>},
    // Its embedding is a plain nn.Embedding (vLLM models/whisper.py): whole on every rank.
    {.is = {"whisper", "encoder_decoder", Arch::kOther, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kHeard, .all = write_stacks<kWhisper>},
    {.is = {"mbart", "encoder_decoder", Arch::kMarian, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kTied, .all = write_stacks<kMbart>},
    {.is = {"pegasus", "encoder_decoder", Arch::kMarian, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kTied, .all = write_stacks<kPegasus>},
    {.is = {"marian", "encoder_decoder", Arch::kMarian, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kTied, .all = write_stacks<kMarian>},
    {.is = {"m2m_100", "encoder_decoder", Arch::kMarian, "executed class"}, .layers = read_encoder_decoder,
     .tensors = kTied, .all = write_stacks<kM2m100>},
    {.is = {"pegasus_x", "encoder_decoder", Arch::kMarian}, .layers = read_encoder_decoder, .tensors = kUntied,
     .all = write_unknown_stacks},
    {.is = {"nllb-moe speech_to_text moonshine moonshine_streaming fsmt bigbird_pegasus seamless_m4t "
            "seamless_m4t_v2 led prophetnet xlm-prophetnet speecht5 trocr udop dia_decoder cohere_asr "
            "pix2struct_text_model nllb_moe", "encoder_decoder"}, .layers = read_encoder_decoder, .tensors = kUntied,
     .all = write_unknown_stacks},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
