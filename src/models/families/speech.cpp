// Speech in, text or speech out: a decoder and an audio encoder. Source: transformers' modelling files of the types
// named.
#include "models/blocks/blocks.h"
#include "models/blocks/stacks.h"
#include "models/class_defaults.h"
#include "models/towers/tower.h"

namespace kvplan {

static Stack decoder_of(const Inventory& out) {
  const Heads* first = heads_of(out.reader.model.layers.front().mixers.front());
  const Heads heads = first == nullptr ? Heads{} : *first;
  Stack stack;
  stack.width = out.hidden;
  stack.inner = first_count(out.text, {"decoder_ffn_dim", "intermediate_size"});
  stack.layers = out.reader.model.layers.size();
  stack.heads = heads.num_heads;
  stack.kv_heads = heads.num_kv_heads;
  stack.head_dim = heads.head_dim;
  stack.norms = 3;
  stack.attends_across = true;
  return stack;
}

// Moonshine: three convolutions over the waveform, norms without biases, and gated MLPs only in the decoder.
static bool write_moonshine(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  Stack decoder = decoder_of(out);
  decoder.qkv_bias = text.flag("attention_bias", false);
  decoder.o_bias = decoder.norm_bias = false;
  decoder.gated = true;
  Stack encoder = decoder;
  encoder.gated = encoder.attends_across = false;
  encoder.norms = 2;
  encoder.layers = check_layers(text.count_or("encoder_num_hidden_layers", 6), "encoder_num_hidden_layers");
  encoder.heads = std::max<std::uint64_t>(1, text.count_or("encoder_num_attention_heads", 8));
  encoder.kv_heads = text.count_or("encoder_num_key_value_heads", encoder.heads);
  encoder.head_dim = h / encoder.heads;
  write_stack(out, "encoder", encoder);
  write_stack(out, "decoder", decoder);
  out.outside(Place::kFirst);
  const Tower ears{out, Component::kEncoder};
  ears.linear("model.encoder.conv1", h, 127, false);
  ears.linear("model.encoder.conv2", times(2, h), times(7, h), true);
  ears.linear("model.encoder.conv3", h, times(6, h), true);
  ears.plain("model.encoder.norms", times(3, h));
  out.outside(Place::kLast);
  out.norms("model.decoder.norm", h);
  write_ends(out);
  return true;
}

// Dia: bytes of text in, several codebooks out, with one table and one head for all of them.
static bool write_dia(Inventory& out) {
  const std::uint64_t rows = times(out.vocab, out.text.count_or("num_channels", 9));
  Stack decoder = decoder_of(out);
  decoder.qkv_bias = decoder.o_bias = decoder.mlp_bias = decoder.norm_bias = false;
  decoder.gated = true;
  decoder.source_width = out.text.count_or("cross_hidden_size", 1024);
  decoder.cross_heads = out.text.count_or("cross_num_attention_heads", 16);
  decoder.cross_kv_heads = out.text.count_or("cross_num_key_value_heads", decoder.cross_heads);
  decoder.cross_head_dim = out.text.count_or("cross_head_dim", 128);
  out.reader.root.touch("encoder_config");
  const Fields own = with_class(out.reader.root.child("encoder_config").value_or(Fields::empty()), "dia_encoder");
  Stack encoder = decoder;
  encoder.attends_across = false;
  encoder.norms = 2;
  encoder.width = own.count_or("hidden_size", 1024);
  encoder.inner = own.count_or("intermediate_size", 4096);
  encoder.layers = check_layers(own.count_or("num_hidden_layers", 12), "encoder_config.num_hidden_layers");
  encoder.heads = own.count_or("num_attention_heads", 16);
  encoder.kv_heads = own.count_or("num_key_value_heads", encoder.heads);
  encoder.head_dim = own.count_or("head_dim", 128);
  write_stack(out, "encoder", encoder);
  write_stack(out, "decoder", decoder);
  out.outside(Place::kFirst);
  out.table(Component::kEncoder, "model.encoder.embedding", own.count_or("vocab_size", 256), encoder.width);
  out.plain(Component::kEncoder, "model.encoder.norm", encoder.width);
  out.table(Component::kEmbedding, "model.decoder.embeddings", rows, out.hidden);
  out.outside(Place::kLast);
  out.norms("model.decoder.norm", out.hidden);
  out.table(Component::kLmHead, "logits_dense", rows, out.hidden).role = TensorRole::kHead;
  return true;
}

// Cohere's transcriber and Canary: Parakeet's Conformer, and a decoder. Canary's decoder has sinusoidal positions.
static bool write_transcriber(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  Stack decoder = decoder_of(out);
  decoder.qkv_bias = decoder.o_bias = text.flag("attention_bias", true);
  write_stack(out, "decoder", decoder);
  out.outside(Place::kFirst);
  out.reader.root.touch("encoder_config");
  const Fields own = with_class(out.reader.root.child("encoder_config").value_or(Fields::empty()), "parakeet_encoder");
  write_encoder_part("parakeet", {out, Component::kEncoder}, own);
  out.norms("model.decoder.embedding_layernorm", h, 1, true);
  if (text.class_name() == "cohere_asr") {
    out.table(Component::kEmbedding, "model.decoder.pos_emb", text.count_or("max_position_embeddings", 1024), h);
    out.linear(Component::kProjector, "model.decoder.proj", h, own.count_or("hidden_size", 1280), Split::kNone, 0,
               true);
  }
  out.outside(Place::kLast);
  out.norms("model.decoder.norm", h, 1, true);
  write_ends(out);
  return true;
}

// SpeechT5 for speech to text: wav2vec 2.0 with relative positions, and a decoder whose positions are not a tensor.
static bool write_speecht5(Inventory& out) {
  if (!out.reader.model.architecture.ends_with("ForSpeechToText")) return write_unknown_stacks(out);
  const Fields& text = out.text;
  const std::uint64_t heads = std::max<std::uint64_t>(1, text.count_or("encoder_attention_heads", 12));
  write_stack(out, "decoder", decoder_of(out));
  out.outside(Place::kFirst);
  write_wave_encoder({out, Component::kEncoder}, text);
  out.plain(Component::kEncoder, "encoder.embed_positions",
            times(times(2, text.count_or("encoder_max_relative_position", 160)), out.hidden / heads));
  write_ends(out);
  return true;
}

// SeamlessM4T: the class decides which encoders there are. The part that turns text into speech is not counted.
static bool write_seamless(Inventory& out) {
  const std::string& name = out.reader.model.architecture;
  const bool has_audio = name.find("ForTextTo") == std::string::npos;
  const bool reads = name.find("ForSpeechTo") == std::string::npos;
  const Fields& text = out.text;
  write_stack(out, "decoder", decoder_of(out));
  if (reads) {
    Stack encoder = decoder_of(out);
    encoder.attends_across = false;
    encoder.norms = 2;
    encoder.inner = text.count_or("encoder_ffn_dim", 8192);
    encoder.layers = check_layers(text.count_or("encoder_layers", 24), "encoder_layers");
    write_stack(out, "encoder", encoder);
    out.outside(Place::kFirst);
    out.plain(Component::kEncoder, "text_encoder.layer_norm", times(2, out.hidden));
  }
  out.outside(Place::kFirst);
  if (has_audio) write_encoder_part("seamless", {out, Component::kEncoder}, text);
  if (!name.ends_with("ToText"))
    out.reader.inform("uncounted_part", "the part that turns text into speech is not counted");
  out.outside(Place::kLast);
  out.norms("text_decoder.layer_norm", out.hidden, 1, true);
  write_ends(out);
  return true;
}

// clang-format off
std::span<const Family> speech_family() {
  // The functions for both sides also add the final norms.
  static constexpr Traits kTied{.has_final_norm = false, .ties_by_default = true};
  static constexpr Traits kBiased{.head_bias = "+", .has_final_norm = false};
  static constexpr Family kRows[] = {
    {.is = {"moonshine", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied, .all = write_moonshine},
    {.is = {"dia_decoder", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied, .all = write_dia},
    {.is = {"cohere_asr canary_decoder", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kBiased,
     .all = write_transcriber},
    {.is = {"speecht5", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied, .all = write_speecht5},
    {.is = {"seamless_m4t seamless_m4t_v2", kExecutedClass}, .layers = read_encoder_decoder, .tensors = kTied,
     .all = write_seamless},
    {.is = {"moonshine_streaming"}, .layers = read_encoder_decoder, .tensors = {.has_final_norm = false},
     .all = write_unknown_stacks},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
