// T5, BART, Whisper and kin: each decoder layer keeps its own tokens, and the encoder's output once more. Source:
// transformers' modelling files of the types named.
#include "kvplan/error.h"
#include "models/blocks/layers.h"
#include "models/family.h"
#include "models/registry.h"

namespace kvplan {

namespace {

// The first of `keys` that the file itself names. The class's defaults come later: T5's six decoder layers must not
// stand beside the 24 layers that a file names for both sides.
std::uint64_t own_count(const Fields& text, std::initializer_list<std::string_view> keys) {
  const Fields own = text.bare();
  for (const std::string_view key : keys)
    if (const auto value = own.contains(key) ? own.find_count(key) : std::nullopt; value && *value > 0) return *value;
  return 0;
}

std::uint64_t decoder_layers(const Reader& reader) {
  const Fields& text = reader.text;
  std::uint64_t layers = own_count(text, {"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"});
  if (layers == 0) layers = own_count(text, {"num_hidden_layers", "num_layers"});
  for (const std::string_view key : {"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"})
    if (layers == 0) layers = text.count_or(key, 0);
  return layers == 0 ? reader.num_layers() : check_layers(layers, "decoder_layers");
}

Heads decoder_heads(const Fields& text) {
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
std::uint64_t image_tokens(const Fields& vision) {
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
std::uint64_t source_length(const Reader& reader) {
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

// clang-format off
constexpr Family kRows[] = {
    {.is = {"t5 mt5 umt5 longt5", "encoder_decoder", Arch::kT5, "executed class"}, .layers = read_encoder_decoder,
     .tensors = {.ties_by_default = true}},
    {.is = {"switch_transformers", "encoder_decoder", Arch::kT5}, .layers = read_encoder_decoder},
    {.is = {"ul2 bart plbart mvp blenderbot blenderbot-small whisper", "encoder_decoder", Arch::kOther,
     "executed class"}, .layers = read_encoder_decoder, .tensors = {.ties_by_default = true}},
    {.is = {"mbart pegasus marian m2m_100", "encoder_decoder", Arch::kMarian, "executed class"},
     .layers = read_encoder_decoder, .tensors = {.ties_by_default = true}},
    {.is = {"pegasus_x", "encoder_decoder", Arch::kMarian}, .layers = read_encoder_decoder},
    {.is = {"nllb-moe speech_to_text moonshine moonshine_streaming fsmt bigbird_pegasus seamless_m4t "
            "seamless_m4t_v2 led prophetnet xlm-prophetnet speecht5 trocr pop2piano udop dia_decoder cohere_asr "
            "pix2struct_text_model nllb_moe", "encoder_decoder"}, .layers = read_encoder_decoder},
};
// clang-format on

}  // namespace

// T5, BART, Whisper and kin: each decoder layer keeps its own tokens, and the encoder's output once more.
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
    reader.model.sides.push_back({"encoder", std::string(text.class_name()), encoder_layers});
  }
  reader.model.source_tokens = Tokens(source_length(reader));

  const PatternRule rule = pattern_of(reader, {});
  const std::vector<Label> labels =
      rule.period > 0 ? layer_labels(text, layers, rule) : std::vector<Label>(layers, Label::kFull);
  const Tokens window = rule.period > 0 ? read_window(text) : Tokens(0);
  for (const Label label : labels)
    reader.model.layers.push_back({{attention_mixer(reader, label, heads, window), Cross{cross}}});
}

std::span<const Family> encoder_decoder_family() {
  return kRows;
}

}  // namespace kvplan
