// Inkling: attention with short convolutions. Source: transformers modeling_inkling*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Inkling: four convolutions in a layer, over keys, values, and the outputs of attention and MLP.
static Layer inkling_layer(const Reader& reader, Label label, const Heads& heads, Tokens window) {
  const std::uint64_t kernel = reader.text.count_or("conv_kernel_size", 4);
  if (kernel == 0) fail("\"conv_kernel_size\" is 0", "correct the config");
  const std::uint64_t keys = channels_of(heads.num_kv_heads, heads.head_dim);
  const std::uint64_t residual = reader.text.count("hidden_size");
  const std::uint64_t channels =
      checked_mul(checked_add(keys, residual, "the channels of a convolution"), 2, "the channels of a convolution");
  return {{attention_mixer(reader, label, heads, window), ShortConv{channels, kernel}}};
}

struct Loop {
  std::uint64_t first = 0, last = 0, passes = 1, gate_rank = 0;
};
static Loop read_loop(const Fields& text) {
  Loop out{text.count_or("loop_layer_index_start", 6), text.count_or("loop_layer_index_end", 18),
           text.count_or("loop_num_passes", 3), text.count_or("loop_gate_rank", 64)};
  if (const auto loop = text.child("loop_config"))
    out = {loop->count_or("core_start", out.first), loop->count_or("core_end", out.last),
           loop->count_or("num_passes", out.passes), loop->count_or("gate_rank", out.gate_rank)};
  return out;
}

static void read_inkling(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(text);
  const Heads sliding =
      read_heads(text, {"swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", ""}, full);
  std::vector<Label> labels(layers, Label::kHybrid);
  if (text.is_list("layer_types")) {
    labels = layer_labels(text, layers, {});
  } else if (const auto local = text.counts("local_layer_ids")) {
    for (const std::uint64_t i : *local)
      if (i < layers) labels[i] = Label::kHybridSliding;
  } else {
    for (std::uint64_t i = 0; i < layers; ++i)
      if ((i + 1) % 6 != 0) labels[i] = Label::kHybridSliding;
  }
  text.touch("number_of_conv_states");
  const Tokens window = read_window(text);
  for (const Label label : labels) {
    const bool slides = label == Label::kHybridSliding || label == Label::kSliding;
    reader.add(inkling_layer(reader, label, slides ? sliding : full, window));
  }
}

// Inkling 2 with loops: some layers run several times, each time with separate caches.
static void read_inkling2_loop(Reader& reader) {
  read_inkling(reader);
  const Loop loop = read_loop(reader.text);
  repeat_layers(reader, loop.first, loop.last, loop.passes);
}

// One vector for each distance that the layer can attend over.
static void write_distances(Inventory& out) {
  const Fields& text = out.text;
  std::uint64_t distances = 0;
  for (std::uint64_t i = 0; i < num_stored_layers(out); ++i) {
    const auto* window = std::get_if<SlidingWindow>(&out.reader.model.layers[i].mixers.front());
    distances = checked_add(distances, window != nullptr ? window->window.count() : text.count_or("rel_extent", 1024),
                            "the distances");
  }
  out.outside(Place::kFirst);
  out.plain(Component::kAttention, "model.rel_logits_proj", times(distances, text.count_or("d_rel", 16)));
  out.norms("model.embed_norm", out.hidden);
}

static void write_inkling(Inventory& out) {
  out.in_layers(all_layers(out));
  out.plain(Component::kMlp, "mlp.global_scale", 1);
  write_distances(out);
}

// Inkling 2: a query chooses each block's input among the residual streams. In layers of full attention queries, keys
// and values choose separately and have separate norms, and the convolutions are per token. Source: transformers
// modeling_inkling2.py.
static void write_inkling2(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t heads = text.count_or("num_attention_heads", 0);
  const std::uint64_t d = text.count_or("head_dim", 0);
  out.in_layers(all_layers(out));
  out.linear(Component::kAttention, "self_attn.sink_proj", heads, h, Split::kRows, heads);
  out.plain(Component::kAttention, "self_attn.l2_clips",
            times(heads, checked_add(d, text.count_or("d_rel", 16), "a clip")), Split::kRows, heads);
  out.plain(Component::kOther, "mlp_input.query", h);
  const std::vector<LayerRun> full = layers_of<FullAttention>(out);
  out.in_layers(full);
  const std::uint64_t kernels = times(text.count_or("num_key_value_heads", 0), text.count_or("conv_kernel_size", 4));
  TensorGroup& dynamic = out.linear(Component::kStateMixer, "self_attn.sconv.weight_proj", kernels, h);
  dynamic.copies = dynamic.used = 2;
  out.norms("qkv_input_layernorm", h, 2);  // in addition to the one that all layers have
  out.plain(Component::kOther, "attention_input.query", times(2, h));
  // The first layer can only choose the embedding.
  if (num_stored_layers(out) > 1) {
    out.in_layers({{1, num_stored_layers(out) - 1, 1}});
    out.plain(Component::kOther, "attention_input.query", h);
  }
  out.outside(Place::kLast);
  out.plain(Component::kOther, "model.final_input.query", h);
  write_distances(out);
}

// Gates pass messages from the previous pass to queries, keys, values and MLPs. Source: modeling_inkling2_loop.py.
static void write_inkling2_loop(Inventory& out) {
  write_inkling2(out);
  const Loop loop = read_loop(out.text);
  const std::uint64_t h = out.hidden;
  const std::uint64_t layers = loop.last - loop.first;
  constexpr std::uint64_t kMessages = 4;
  out.in_layers({{loop.first, layers, 1}});
  TensorGroup& down = out.linear(Component::kOther, "message_gate.down_proj", loop.gate_rank, times(2, h));
  down.copies = down.used = kMessages;
  TensorGroup& up = out.plain(Component::kOther, "message_gate.gate_proj", times(loop.gate_rank, h));
  up.copies = up.used = 2 * kMessages;
  up.is_float32 = true;
  out.outside(Place::kLast);
  out.plain(Component::kOther, "model.message_input.query", times(times(kMessages, layers), h)).is_float32 = true;
  // The class pads only the embedding.
  for (TensorGroup& group : out.reader.model.tensors)
    if (group.role == TensorRole::kHead) group.rows = out.text.count_or("unpadded_vocab_size", group.rows);
}

// The first version of the files calls the experts' width intermediate_size.
static std::uint64_t dense_width(const Inventory& inventory, std::uint64_t named) {
  return inventory.text.count_or("dense_intermediate_size", named);
}

static bool write_inkling_mixer(Inventory& out, const Mixer& mixer) {
  if (const Heads* heads = heads_of(mixer))
    out.linear(Component::kAttention, "self_attn.r_proj", times(heads->num_heads, out.text.count_or("d_rel", 16)),
               out.hidden, Split::kRows, heads->num_heads);
  const auto* conv = std::get_if<ShortConv>(&mixer);
  if (conv != nullptr)
    out.conv(Component::kStateMixer, "self_attn.sconv", conv->channels, conv->conv_kernel, Split::kRows);
  return conv != nullptr;
}

// clang-format off
std::span<const Family> inkling_family() {
  static constexpr Family kRows[] = {
    {.is = {"inkling_text", kExecutedClass, Arch::kInkling}, .layers = read_inkling, .rule = "conv_attention",
     .tensors = {.qk_norm = QkNorm::kHead, .routes_shared = "shared_expert_sink", .has_router_bias = true},
     .extras = write_inkling, .mixer = write_inkling_mixer, .mlp_width = dense_width, .modules = "self_attn.q_proj=attn.wq_du "
     "self_attn.k_proj=attn.wk_dv self_attn.v_proj=attn.wv_dv self_attn.o_proj=attn.wo_ud self_attn.r_proj=attn.wr_du "
     "mlp.gate_proj=mlp.w13_dn mlp.up_proj=mlp.w13_dn mlp.down_proj=mlp.w2_md | ="},
    {.is = {"inkling2_text", kExecutedClass, Arch::kInkling2}, .layers = read_inkling, .rule = "conv_attention",
     .tensors = {.gate = Gate::kWide, .has_router_bias = true}, .extras = write_inkling2, .mixer = write_inkling_mixer},
    {.is = {"inkling2_loop_text", kExecutedClass, Arch::kInkling2}, .layers = read_inkling2_loop,
     .rule = "conv_attention", .tensors = {.gate = Gate::kWide, .has_router_bias = true},
     .extras = write_inkling2_loop, .mixer = write_inkling_mixer},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
