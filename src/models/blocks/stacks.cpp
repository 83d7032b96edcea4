#include "models/blocks/stacks.h"

#include <algorithm>
#include <string>
#include <vector>

namespace kvplan {

namespace {

struct Attention {
  std::uint64_t heads, kv_heads, head_dim, source;
};

void write_attention(Inventory& out, const std::string& at, const Stack& stack, const Attention& a) {
  const std::uint64_t wide = checked_mul(a.heads, a.head_dim, "the width of an attention");
  const std::uint64_t keys = checked_mul(a.kv_heads, a.head_dim, "the width of an attention");
  out.linear(Component::kAttention, at + "q_proj", wide, stack.width, Split::kRows, a.heads, stack.qkv_bias);
  out.linear(Component::kAttention, at + "k_proj", keys, a.source, Split::kRows, a.kv_heads,
             stack.qkv_bias && stack.key_bias);
  // vLLM stores queries, keys and values as one matrix with a bias for all three (models/whisper.py).
  if (stack.qkv_bias && !stack.key_bias)
    out.plain(Component::kAttention, at + "k_proj.bias", keys, Split::kRows, a.kv_heads).is_derived = true;
  out.linear(Component::kAttention, at + "v_proj", keys, a.source, Split::kRows, a.kv_heads, stack.qkv_bias);
  out.linear(Component::kAttention, at + "o_proj", stack.width, wide, Split::kColumns, a.heads, stack.o_bias);
}

void write_experts(Inventory& out, const Stack& stack) {
  out.linear(Component::kRouter, "mlp.router", stack.experts, stack.width, Split::kNone, 0, stack.router_bias);
  for (const bool up : {true, false}) {
    const std::uint64_t rows = up ? stack.inner : stack.width;
    const std::string name = up ? "mlp.experts.*.up_proj" : "mlp.experts.*.down_proj";
    routed(out.linear(Component::kExperts, name, rows, up ? stack.width : stack.inner,
                      up ? Split::kRows : Split::kColumns),
           stack.experts, stack.used);
    if (stack.mlp_bias)
      routed(out.plain(Component::kExperts, name + ".bias", rows, up ? Split::kRows : Split::kNone), stack.experts,
             stack.used);
  }
}

}  // namespace

void write_stack(Inventory& out, const std::string& side, const Stack& stack) {
  const std::string prefix = "model." + side + ".layers.*.";
  const std::size_t before = out.model().tensors.size();
  const std::uint64_t kv_heads = stack.kv_heads > 0 ? stack.kv_heads : stack.heads;
  out.in_layers({{0, stack.layers, 1}}, prefix);
  write_attention(out, "self_attn.", stack, {stack.heads, kv_heads, stack.head_dim, stack.width});
  if (stack.attends_across) {
    const std::uint64_t heads = stack.cross_heads > 0 ? stack.cross_heads : stack.heads;
    write_attention(
        out, "encoder_attn.", stack,
        {heads, stack.cross_kv_heads > 0 ? stack.cross_kv_heads : (stack.cross_heads > 0 ? heads : kv_heads),
         stack.cross_head_dim > 0 ? stack.cross_head_dim : stack.head_dim,
         stack.source_width > 0 ? stack.source_width : stack.width});
  }
  std::vector<std::uint64_t> dense;
  std::vector<std::uint64_t> routed_layers;
  for (std::uint64_t i = 0; i < stack.layers; ++i)
    (stack.step > 0 && i % stack.step == stack.routed % stack.step ? routed_layers : dense).push_back(i);
  if (!dense.empty()) {
    out.in_layers(runs_of(dense), prefix);
    write_dense_mlp(out, Component::kMlp, "mlp.", stack.inner, stack.width, stack.gated, stack.mlp_bias);
  }
  if (!routed_layers.empty()) {
    out.in_layers(runs_of(routed_layers), prefix);
    write_experts(out, stack);
  }
  out.in_layers({{0, stack.layers, 1}}, prefix);
  out.norms("layer_norm", stack.width, stack.norms, stack.norm_bias);
  if (side == "encoder") make_encoder(std::span(out.model().tensors).subspan(before));
}

// The tensors of a side that are not in its blocks.
static void write_side(Inventory& out, const std::string& side, const StackForm& form, const Stack& stack,
                       std::uint64_t positions) {
  const bool is_decoder = side == "decoder";
  const std::uint64_t buckets = out.text.count_or("relative_attention_num_buckets", 32);
  write_stack(out, side, stack);
  if (form.positions == Positions::kRelativeEverywhere) {
    out.in_layers({{0, stack.layers, 1}}, "model." + side + ".layers.*.");
    const std::size_t before = out.model().tensors.size();
    out.table(Component::kAttention, "relative_attention_bias", buckets, stack.heads).role = TensorRole::kPlain;
    if (!is_decoder) make_encoder(std::span(out.model().tensors).subspan(before));
  }
  out.outside(is_decoder ? Place::kLast : Place::kFirst);
  const Component own = is_decoder ? Component::kEmbedding : Component::kEncoder;
  if (form.positions == Positions::kRelative)
    out.table(own, "model." + side + ".relative_attention_bias", buckets, stack.heads).role = TensorRole::kPlain;
  if (form.positions == Positions::kLearned || form.positions == Positions::kFixed)
    out.table(own, "model." + side + ".embed_positions", checked_add(positions, form.offset, "the positions"),
              out.hidden);
  const std::uint64_t norms = (form.embedding_norm ? 1U : 0U) + (form.final_norm ? 1U : 0U);
  out.norms("model." + side + ".layer_norm", out.hidden, norms, !form.is_t5);
}

static Stack stack_of(const Inventory& out, const StackForm& form, bool is_decoder) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const auto of_side = [&](std::string_view encoder, std::string_view decoder) {
    return is_decoder ? decoder : encoder;
  };
  Stack stack;
  stack.width = h;
  stack.heads =
      std::max<std::uint64_t>(1, first_count(text, {of_side("encoder_attention_heads", "decoder_attention_heads"),
                                                    "num_heads", "num_attention_heads"}));
  stack.inner = first_count(text, {of_side("encoder_ffn_dim", "decoder_ffn_dim"), "d_ff", "intermediate_size"});
  stack.layers =
      is_decoder
          ? out.reader.model.layers.size()
          : check_layers(first_count(text, {"encoder_layers", "num_encoder_layers", "num_layers", "num_hidden_layers"}),
                         "encoder_layers");
  stack.head_dim = form.is_t5 ? text.count_or("d_kv", h / stack.heads) : h / stack.heads;
  const bool has_biases = !form.is_t5;
  stack.qkv_bias = stack.o_bias =
      has_biases && (form.attention_bias == AttentionBias::kAlways ||
                     (form.attention_bias == AttentionBias::kByUseBias && out.on("use_bias")));
  stack.key_bias = form.key_bias;
  stack.mlp_bias = stack.norm_bias = has_biases;
  stack.gated = form.is_always_gated ||
                (form.is_t5 && text.find_string("feed_forward_proj").value_or("relu").starts_with("gated"));
  stack.norms = is_decoder ? 3 : form.encoder_norms;
  stack.attends_across = is_decoder;
  if (is_decoder) stack.source_width = text.count_or("cross_attention_hidden_size", 0);
  if (form.routing == Routing::kNone) return stack;
  stack.experts = text.count_or("num_experts", 0);
  stack.router_bias = text.flag("router_bias", false);
  if (form.routing == Routing::kLast) {
    stack.step = text.count_or(of_side("encoder_sparse_step", "decoder_sparse_step"), 4);
    stack.routed = stack.step > 0 ? stack.step - 1 : 0;
    stack.used = 2;
  } else {
    // The class computes the step from the number of sparse layers and ignores the file's step.
    const std::uint64_t sparse = text.count_or(of_side("num_sparse_encoder_layers", "num_sparse_decoder_layers"), 3);
    stack.step = sparse > 0 ? stack.layers / sparse : stack.layers;
    stack.routed = stack.step > 1 ? 1 : 0;
  }
  if (stack.experts == 0) stack.step = 0;
  return stack;
}

bool write_stacks(Inventory& out, const StackForm& form) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t targets =
      first_count(text, {"max_decoder_position_embeddings", "max_target_positions", "max_position_embeddings"});
  const std::uint64_t sources =
      first_count(text, {"max_encoder_position_embeddings", "max_source_positions", "max_position_embeddings"});
  // Donut and similar models pair the decoder with an encoder of another class.
  if (!form.is_alone && !out.reader.root.child("encoder"))
    write_side(out, "encoder", form, stack_of(out, form, false), sources);
  if (!out.reader.model.architecture.ends_with("EncoderModel"))
    write_side(out, "decoder", form, stack_of(out, form, true), targets);
  if (form.has_audio) {
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

}  // namespace kvplan
