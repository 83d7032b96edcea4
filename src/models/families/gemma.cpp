// Google's Gemma, RecurrentGemma and T5Gemma: windows in a pattern. In 3n and 4 the last layers read the cache of
// earlier ones. Source: transformers modeling_gemma*.py, modeling_recurrent_gemma.py, modeling_t5gemma*.py.
#include <map>

#include "models/blocks/blocks.h"
#include "models/blocks/stacks.h"
#include "models/class_defaults.h"
#include "models/towers/tower.h"

namespace kvplan {

// The last `num_shared` layers read the cache of the last earlier layer of the same type.
static void share_tail(Reader& reader, std::uint64_t num_shared) {
  auto& layers = reader.model.layers;
  if (num_shared == 0) return;
  // An assistant drafts for another model, and all its layers read that model's cache.
  const bool is_assistant = reader.model.root_type.ends_with("_assistant") && num_shared == layers.size();
  if (num_shared >= layers.size() && !is_assistant)
    fail("\"num_kv_shared_layers\" is " + std::to_string(num_shared) + " of " + std::to_string(layers.size()) +
             " layers",
         "at least one layer must hold a cache");
  const std::uint64_t first = layers.size() - num_shared;
  for (std::uint64_t i = first; i < layers.size(); ++i) {
    const bool slides = std::holds_alternative<SlidingWindow>(layers[i].mixers[0]);
    std::uint64_t source = first;
    while (source > 0 && std::holds_alternative<SlidingWindow>(layers[source - 1].mixers[0]) != slides) --source;
    if (source == 0 && !is_assistant) continue;  // there is no earlier layer of this type, so it has its own cache
    Shared shared{source == 0 ? i : source - 1, {}, Tokens(0)};
    if (slides) {
      shared.heads = std::get<SlidingWindow>(layers[i].mixers[0]).heads;
      shared.window = std::get<SlidingWindow>(layers[i].mixers[0]).window;
    } else {
      shared.heads = std::get<FullAttention>(layers[i].mixers[0]).heads;
    }
    layers[i].mixers[0] = shared;
  }
}

static void read_gemma3n(Reader& reader) {
  read_decoder(reader, full_every(5));
  share_tail(reader, reader.text.count_or("num_kv_shared_layers", 15));
}

static void read_gemma4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads sliding = read_heads(reader.text);
  // With attention_k_eq_v, K and V of full layers are one tensor, but both are cached. Only then do full layers have
  // their own number of KV heads.
  const bool k_eq_v = reader.text.flag("attention_k_eq_v", false);
  Heads full = sliding;
  full.head_dim = full.v_head_dim = reader.text.count_or("global_head_dim", 512);
  if (k_eq_v) full.num_kv_heads = reader.text.count_or("num_global_key_value_heads", sliding.num_kv_heads);
  reader.text.touch("num_global_key_value_heads");
  check_heads(full);
  const std::vector<Label> labels =
      layer_labels(reader.text, layers, {PatternRule::Default::kFullEvery, 6, Label::kSliding, "", true});
  push_attention(reader, labels, full, sliding);
  share_tail(reader, reader.text.count_or("num_kv_shared_layers", 0));
}

// Griffin: two recurrent layers, then one with windowed attention.
static void read_recurrent_gemma(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const RgLru lru = read_rg_lru(text);
  if (text.is_list("block_types") || text.is_list("layer_types")) return read_hybrid(reader, {}, lru);
  const Heads heads = read_heads(text);
  const Tokens window = read_window(text);
  for (std::uint64_t i = 0; i < layers; ++i) {
    if (i % 3 == 2)
      reader.add({{attention_mixer(reader, Label::kSliding, heads, window)}});
    else
      reader.add({{lru}});
  }
}

// Buffers in the classes of serving engines: scalars for layers and for the embedding, and vectors of ones for norms
// without weights (vLLM models/gemma*.py).
static void keep(Inventory& out, std::string_view module, std::uint64_t elements) {
  out.plain(Component::kOther, module, elements).is_derived = true;
}

static void keep_scale_of_embedding(Inventory& out) {
  out.outside(Place::kFirst);
  keep(out, "model.normalizer", 1);
}

// For layers that have their own keys and values.
static void keep_value_norms(Inventory& out) {
  std::map<std::uint64_t, std::vector<std::uint64_t>> by_width;
  const std::vector<Layer>& layers = out.reader.model.layers;
  for (std::uint64_t i = 0; i < layers.size(); ++i)
    if (const Heads* heads = heads_of(layers[i].mixers.front());
        heads != nullptr && !std::holds_alternative<Shared>(layers[i].mixers.front()))
      by_width[heads->head_dim].push_back(i);
  for (const auto& [width, indices] : by_width) {
    out.in_layers(runs_of(indices));
    keep(out, "self_attn.v_norm", width);
  }
}

// Gemma 3n and 4 have a second embedding for every layer, with a gate.
static void write_per_layer_embedding(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t p = text.count_or("hidden_size_per_layer_input", 0);
  if (p == 0) return;
  const std::uint64_t h = out.hidden;
  const std::uint64_t layers = out.reader.model.layers.size();
  out.outside(Place::kFirst);
  keep(out, "model.embed_scale_per_layer, per_layer_input_scale, per_layer_projection_scale", 3);
  out.table(Component::kEmbedding, "model.embed_tokens_per_layer",
            text.count_or("vocab_size_per_layer_input", out.vocab), times(layers, p), Split::kVocab);
  out.linear(Component::kOther, "model.per_layer_model_projection", times(layers, p), h);
  out.norms("model.per_layer_projection_norm", p);
  out.in_layers(all_layers(out));
  out.linear(Component::kOther, "per_layer_input_gate", p, h);
  out.linear(Component::kOther, "per_layer_projection", h, p);
  out.norms("post_per_layer_input_norm", h);
}

static void write_altup(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t n = text.count_or("altup_num_inputs", 4);
  const std::uint64_t rank = text.count_or("laurel_rank", 64);
  out.in_layers(all_layers(out));
  out.plain(Component::kOther, "altup.coefs", times(n, times(n, n)) + times(n, n));
  out.plain(Component::kOther, "altup.correct_output_scale", h).kept = Kept::kFloat32;
  keep(out, "altup.router_input_scale", 1);
  out.linear(Component::kOther, "altup.modality_router", n, h).role = TensorRole::kConv;
  out.norms("altup.router_norm", h);
  out.linear(Component::kOther, "laurel.linear_left", rank, h).role = TensorRole::kConv;
  out.linear(Component::kOther, "laurel.linear_right", h, rank).role = TensorRole::kConv;
  out.norms("laurel.post_laurel_norm", h);
  out.outside(Place::kFirst);
  if (n > 1) {
    TensorGroup& in = out.linear(Component::kOther, "model.altup_projections", h, h);
    in.copies = in.used = 2 * (n - 1);
    in.role = TensorRole::kConv;
  }
}

static void write_gemma3n(Inventory& out) {
  write_per_layer_embedding(out);
  write_altup(out);
  keep_scale_of_embedding(out);
  keep_value_norms(out);
}

// The router of Gemma's experts, and the norms around it.
static void write_moe_scales(Inventory& out) {
  out.in_layers(all_layers(out));
  out.plain(Component::kRouter, "router.scale", out.hidden);
  out.plain(Component::kRouter, "router.per_expert_scale", out.text.count_or("num_experts", 0));
  out.norms("moe_norms", out.hidden, 3);
}

static void keep_scalars(Inventory& out) {
  keep_scale_of_embedding(out);
  keep_value_norms(out);
  out.in_layers(all_layers(out));
  keep(out, "layer_scalar", 1);
}

static void write_gemma4(Inventory& out) {
  write_per_layer_embedding(out);
  if (const Fields& root = out.reader.root; out.reader.model.root_type.ends_with("_assistant")) {
    const std::uint64_t target = root.count_or("backbone_hidden_size", out.hidden);
    out.outside(Place::kFirst);
    out.linear(Component::kOther, "pre_projection", out.hidden, times(2, target));
    out.outside(Place::kLast);
    out.linear(Component::kOther, "post_projection", target, out.hidden);
    if (root.flag("use_ordered_embeddings", false))
      out.linear(Component::kOther, "masked_embedding.centroids", root.count_or("num_centroids", 2048), out.hidden);
  }
  if (out.text.flag("enable_moe_block", false)) {
    write_moe_scales(out);
    keep(out, "router.norm", out.hidden);
    keep(out, "router.root_size", 1);
  }
  keep_scalars(out);
}

// An engine runs a whole canvas of tokens in one step.
static void read_diffusion(Reader& reader) {
  reader.root.count_or("canvas_length", 256);
  read_windowed(reader);
}

static void write_diffusion_gemma(Inventory& out) {
  write_moe_scales(out);
  keep(out, "router.norm", out.hidden);
  keep(out, "router.root_size", 1);
  keep_scalars(out);
  out.outside(Place::kLast);
  keep(out, "model.self_conditioning.post_norm", out.hidden);
  write_dense_mlp(out, Component::kMlp, "model.self_conditioning.", out.text.count_or("intermediate_size", 0),
                  out.hidden, true, false);
  out.norms("model.self_conditioning.pre_norm", out.hidden);
}

static void plan_gemma4(const Inventory& inventory, MlpPlan& plan) {
  plan.beside_experts = plan.width;
  if (inventory.text.flag("use_double_wide_mlp", false))
    plan.doubled = inventory.text.count_or("num_kv_shared_layers", 0);
}

// A stack of T5Gemma: Gemma 2's blocks with four norms, and two more for cross attention.
static Stack t5gemma_stack(const Fields& config, std::string_view layers_key) {
  Stack stack;
  stack.width = config.count("hidden_size");
  stack.inner = config.count("intermediate_size");
  stack.layers = check_layers(config.count("num_hidden_layers"), layers_key);
  const Heads heads = read_heads(config);
  stack.heads = heads.num_heads;
  stack.kv_heads = heads.num_kv_heads;
  stack.head_dim = heads.head_dim;
  stack.qkv_bias = stack.o_bias = config.flag("attention_bias", false);
  stack.mlp_bias = stack.norm_bias = false;
  stack.gated = true;
  stack.norms = 4;
  return stack;
}

// T5Gemma: the encoder has its own embedding table. Source: transformers modeling_t5gemma.py.
static bool write_t5gemma(Inventory& out) {
  const auto side = out.reader.root.child("encoder");
  if (!side || out.reader.model.architecture.ends_with("EncoderModel")) return write_unknown_stacks(out);
  out.reader.root.touch("encoder");
  const Fields own = with_class(*side, "t5_gemma_module");
  Stack decoder = t5gemma_stack(out.text, "decoder.num_hidden_layers");
  decoder.attends_across = true;
  decoder.norms = 6;
  decoder.source_width = out.text.count_or("cross_attention_hidden_size", own.count("hidden_size"));
  const Stack encoder = t5gemma_stack(own, "encoder.num_hidden_layers");
  write_stack(out, "encoder", encoder);
  write_stack(out, "decoder", decoder);
  out.outside(Place::kFirst);
  out.table(Component::kEncoder, "model.encoder.embed_tokens", own.count_or("vocab_size", out.vocab), encoder.width);
  out.plain(Component::kEncoder, "model.encoder.norm", encoder.width);
  out.outside(Place::kLast);
  out.norms("model.decoder.norm", out.hidden);
  write_ends(out);
  return true;
}

// T5Gemma 2: one attention over the decoder's tokens and the encoder's output, one embedding table, and Gemma 3's
// tower. Source: transformers modeling_t5gemma2.py.
static bool write_t5gemma2(Inventory& out) {
  const auto side = out.reader.root.child("encoder");
  if (!side || out.reader.model.architecture.ends_with("EncoderModel")) return write_unknown_stacks(out);
  out.reader.root.touch("encoder");
  const Fields own = with_class(side->child("text_config").value_or(*side), "t5gemma2_text");
  const Stack encoder = t5gemma_stack(own, "encoder.text_config.num_hidden_layers");
  const Stack decoder = t5gemma_stack(out.text, "decoder.num_hidden_layers");
  write_stack(out, "encoder", encoder);
  write_stack(out, "decoder", decoder);
  out.outside(Place::kFirst);
  const Tower extra{out, Component::kEncoder};
  extra.plain("model.encoder.layers.qk_norm", times(2, encoder.head_dim), encoder.layers);
  extra.plain("model.encoder.norm", encoder.width);
  extra.plain("model.encoder.embed_tokens.eoi_embedding", encoder.width);
  out.in_layers({{0, decoder.layers, 1}}, "model.decoder.layers.*.");
  out.norms("qk_norm", decoder.head_dim, 2);
  out.outside(Place::kLast);
  out.norms("model.decoder.norm", out.hidden);
  write_ends(out);
  out.outside(Place::kFirst);
  if (const auto vision = side->child("vision_config"))
    write_tower("tower", {{out, Component::kVision},
                          {out, Component::kProjector},
                          with_class(*vision, "siglip_vision_model"),
                          *side,
                          out.hidden,
                          "gemma3",
                          "siglip_vision_model"});
  return true;
}

constexpr std::string_view kDiffusionGemmaTextModules =
    "mlp.gate=router.proj mlp.experts=experts | "
    "mlp.gate=router.proj mlp.experts=moe.experts";

// clang-format off
std::span<const Family> gemma_family() {
  static constexpr Traits kGemma4{.qk_norm = QkNorm::kHead, .shares_values = "attention_k_eq_v", .norms = 4,
      .ties_by_default = true, .has_experts = "enable_moe_block"};
  static constexpr Family kRows[] = {
    {.is = {"gemma", kExecutedClass, Arch::kGemma, {.overflows_float16 = true}}, .tensors = {.ties_by_default = true}},
    {.is = {"gemma2", kExecutedClass, Arch::kGemma2, {.overflows_float16 = true}}, .layers = read_windowed,
     .tensors = {.norms = 4, .ties_by_default = true}, .pattern = full_every(2)},
    {.is = {"vaultgemma", kExecutedClass}, .layers = read_windowed, .tensors = {.ties_by_default = true},
     .pattern = full_every(2)},
    {.is = {"gemma3_text", kExecutedClass, Arch::kGemma3, {.overflows_float16 = true}}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .norms = 4, .ties_by_default = true}, .pattern = full_every(6)},
    {.is = {"t5gemma2_text", kExecutedClass, Arch::kT5Gemma}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .norms = 4, .ties_by_default = true}, .pattern = full_every(6)},
    {.is = {"diffusion_gemma_text", kExecutedClass}, .layers = read_diffusion, .rule = "windowed",
     .tensors = {.qk_norm = QkNorm::kHead, .shares_values = "+", .norms = 4, .ties_by_default = true},
     .pattern = full_every(6), .extras = write_diffusion_gemma,
     .mlps = [](const Inventory&, MlpPlan& plan) { plan.beside_experts = plan.width; },
     .modules = kDiffusionGemmaTextModules},
    // The class's list of widths has the same width for every layer.
    {.is = {"gemma3n_text", kExecutedClass, Arch::kGemma3n, {.overflows_float16 = true, .head_before_table = true}},
     .layers = read_gemma3n, .rule = "gemma3n", .tensors = {.qk_norm = QkNorm::kHead, .norms = 4,
     .ties_by_default = true}, .extras = write_gemma3n,
     .mlp_width = [](const Inventory&, std::uint64_t named) { return named == 0 ? 16384 : named; }},
    {.is = {"gemma4_text", kExecutedClass, Arch::kGemma4, {.overflows_float16 = true, .head_before_table = true}},
     .layers = read_gemma4, .rule = "gemma4", .tensors = kGemma4, .extras = write_gemma4, .mlps = plan_gemma4,
     .modules = kDiffusionGemmaTextModules},
    {.is = {"gemma4_unified_text", kExecutedClass, Arch::kGemma4Unified, {.overflows_float16 = true,
     .head_before_table = true}}, .layers = read_gemma4, .rule = "gemma4", .tensors = kGemma4, .extras = write_gemma4,
     .mlps = plan_gemma4, .modules = kDiffusionGemmaTextModules},
    {.is = {"recurrent_gemma", kExecutedClass, Arch::kRecurrentGemma}, .layers = read_recurrent_gemma,
     .rule = "recurrent_gemma", .tensors = {.o_bias = "+", .mlp_bias = "+", .halves_mlp_width = true,
     .ties_by_default = true}, .modules = "self_attn=temporal_block mlp=mlp_block"},
    {.is = {"t5gemma", kExecutedClass, Arch::kT5Gemma}, .layers = read_encoder_decoder,
     .tensors = {.has_final_norm = false, .ties_by_default = true}, .all = write_t5gemma},
    {.is = {"t5_gemma_module", kExecutedClass, Arch::kT5Gemma}, .layers = read_encoder_decoder,
     .tensors = {.has_final_norm = false, .ties_by_default = true}, .pattern = full_every(2), .all = write_t5gemma},
    {.is = {"t5gemma2_decoder t5gemma2_module", kExecutedClass, Arch::kT5Gemma}, .layers = read_encoder_decoder,
     .tensors = {.has_final_norm = false, .ties_by_default = true}, .pattern = full_every(6), .all = write_t5gemma2},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
