// Encoder-decoders: T5 and its kin, BART and its kin, Whisper.
#include <algorithm>
#include <array>

#include "kvplan/strings.h"
#include "models/blocks/inventory.h"

namespace kvplan {

namespace {

enum class Positions : std::uint8_t { kNone, kLearned, kFixed, kRelative, kRelativeEverywhere };

struct SeqRow {
  std::string_view model_types;
  bool is_t5 = false;  // RMS norms, no biases
  Positions positions = Positions::kLearned;
  std::uint64_t offset = 0;  // rows of a learned table beyond the positions
  bool embedding_norm = false;
  bool final_norm = false;
  bool key_bias = true;
};

constexpr std::array kRows{
    SeqRow{.model_types = "t5 mt5 ul2 longt5", .is_t5 = true, .positions = Positions::kRelative, .final_norm = true},
    SeqRow{.model_types = "umt5", .is_t5 = true, .positions = Positions::kRelativeEverywhere, .final_norm = true},
    SeqRow{.model_types = "bart mvp plbart", .offset = 2, .embedding_norm = true},
    SeqRow{.model_types = "mbart", .offset = 2, .embedding_norm = true, .final_norm = true},
    SeqRow{.model_types = "pegasus", .positions = Positions::kFixed, .final_norm = true},
    SeqRow{.model_types = "marian", .positions = Positions::kFixed},
    SeqRow{.model_types = "m2m_100", .positions = Positions::kNone, .final_norm = true},
    SeqRow{.model_types = "blenderbot", .final_norm = true},
    SeqRow{.model_types = "blenderbot-small", .embedding_norm = true},
    SeqRow{.model_types = "whisper", .final_norm = true, .key_bias = false},
};

struct Stack {
  Inventory& inventory;
  const SeqRow& row;
  std::uint64_t h, heads, head_dim, inner, layers;
  bool gated;

  void attention(const std::string& at) const {
    const std::uint64_t wide = checked_mul(heads, head_dim, "the width of an attention");
    const bool bias = !row.is_t5;
    Builder& out = inventory.out;
    out.linear(Component::kAttention, at + "q_proj", wide, h, Split::kRows, heads, bias);
    out.linear(Component::kAttention, at + "k_proj", wide, h, Split::kRows, heads, bias && row.key_bias);
    out.linear(Component::kAttention, at + "v_proj", wide, h, Split::kRows, heads, bias);
    out.linear(Component::kAttention, at + "o_proj", h, wide, Split::kColumns, heads, bias);
  }

  void write(const std::string& name, bool is_decoder, std::uint64_t positions) const {
    Builder& out = inventory.out;
    out.in_layers({{0, layers, 1}}, "model." + name + ".layers.*.");
    // An encoder is one block before the decoder's first stage: its layers are no layers of the plan.
    const std::size_t before = out.model().tensors.size();
    attention("self_attn.");
    if (is_decoder) attention("encoder_attn.");
    write_dense_mlp(inventory, Component::kMlp, "mlp.", inner, h, gated, !row.is_t5);
    out.norms("layer_norm", h, is_decoder ? 3 : 2, !row.is_t5);
    if (row.positions == Positions::kRelativeEverywhere)
      out.table(Component::kAttention, "relative_attention_bias", buckets(), heads).role = TensorRole::kPlain;
    if (!is_decoder) {
      for (std::size_t i = before; i < out.model().tensors.size(); ++i) {
        TensorGroup& group = out.model().tensors[i];
        group.component = Component::kEncoder;
        group.copies *= layers;
        group.used *= layers;
        group.place = Place::kFirst;
        group.layers.clear();
      }
    }
    out.outside(is_decoder ? Place::kLast : Place::kFirst);
    const Component own = is_decoder ? Component::kEmbedding : Component::kEncoder;
    if (row.positions == Positions::kRelative)
      out.table(own, "model." + name + ".relative_attention_bias", buckets(), heads).role = TensorRole::kPlain;
    if (row.positions == Positions::kLearned || row.positions == Positions::kFixed)
      out.table(own, "model." + name + ".embed_positions", checked_add(positions, row.offset, "the positions"), h);
    const std::uint64_t norms = (row.embedding_norm ? 1U : 0U) + (row.final_norm ? 1U : 0U);
    out.norms("model." + name + ".layer_norm", h, norms, !row.is_t5);
  }

  std::uint64_t buckets() const { return inventory.text.count_or("relative_attention_num_buckets", 32); }
};

std::uint64_t first_of(const Fields& text, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const std::uint64_t value = text.count_or(key, 0); value > 0) return value;
  return 0;
}

}  // namespace

bool write_encoder_decoder(Inventory& inventory) {
  const SeqRow* row = nullptr;
  for (const SeqRow& each : kRows)
    if (inventory.is(each.model_types)) row = &each;
  if (row == nullptr) return false;
  const Fields& text = inventory.text;
  const std::uint64_t h = inventory.hidden;
  const bool gated = row->is_t5 && text.find_string("feed_forward_proj")
                                       .value_or(inventory.is("t5 longt5 ul2") ? "relu" : "gated-gelu")
                                       .starts_with("gated");
  const auto heads_of = [&](std::string_view own) {
    return std::max<std::uint64_t>(1, first_of(text, {own, "num_heads", "num_attention_heads"}));
  };
  Stack encoder{inventory,
                *row,
                h,
                heads_of("encoder_attention_heads"),
                0,
                first_of(text, {"encoder_ffn_dim", "d_ff", "intermediate_size"}),
                first_of(text, {"encoder_layers", "num_layers", "num_hidden_layers"}),
                gated};
  Stack decoder{inventory,
                *row,
                h,
                heads_of("decoder_attention_heads"),
                0,
                first_of(text, {"decoder_ffn_dim", "d_ff", "intermediate_size"}),
                inventory.reader.model.layers.size(),
                gated};
  encoder.head_dim = row->is_t5 ? text.count_or("d_kv", h / encoder.heads) : h / encoder.heads;
  decoder.head_dim = row->is_t5 ? text.count_or("d_kv", h / decoder.heads) : h / decoder.heads;
  const std::uint64_t targets = first_of(text, {"max_target_positions", "max_position_embeddings"});
  const std::uint64_t sources = first_of(text, {"max_source_positions", "max_position_embeddings"});
  // Donut and its like pair the decoder with an encoder of another class.
  if (!inventory.reader.root.child("encoder")) encoder.write("encoder", false, sources);
  if (!inventory.reader.model.architecture.ends_with("EncoderModel")) decoder.write("decoder", true, targets);
  if (inventory.is("whisper")) {
    inventory.out.outside(Place::kFirst);
    const std::uint64_t mel = text.count_or("num_mel_bins", 80);
    inventory.out.conv(Component::kEncoder, "model.encoder.conv1", h, checked_mul(3, mel, "a convolution"));
    inventory.out.conv(Component::kEncoder, "model.encoder.conv2", h, checked_mul(3, h, "a convolution"));
    inventory.out.plain(Component::kEncoder, "model.encoder.conv.bias", checked_mul(2, h, "a bias"));
  }
  return true;
}

}  // namespace kvplan
