// Architectures of developers that have only one or two here. Source: transformers' modelling files of the types named,
// or the checkpoints' own.
#include "models/blocks/blocks.h"
#include "models/towers/tower.h"

namespace kvplan {

static void write_beam(Inventory& out) {
  const std::uint64_t heads = out.text.count_or("num_attention_heads", 0);
  out.in_layers(all_layers(out));
  out.plain(Component::kAttention, "self_attn.gate_bias", heads, Split::kRows, heads);
}

static void write_jetmoe(Inventory& out) {
  out.in_layers(all_layers(out));
  out.plain(Component::kOther, "expert_biases", times(2, out.hidden));
}

static void write_modernbert_decoder(Inventory& out) {
  out.outside(Place::kLast);
  out.linear(Component::kLmHead, "lm_head.dense", out.hidden, out.hidden);
  out.norms("lm_head.norm", out.hidden);
}

// Keys and values are shared. Queries and outputs belong to the experts of a mixture, so a token's two experts attend
// to the same keys.
static bool write_mixture_of_attention(Inventory& out, const Mixer& mixer) {
  const Heads* heads = heads_of(mixer);
  if (heads == nullptr) return false;
  const std::uint64_t experts = out.text.count_or("num_experts", 8);
  const std::uint64_t wide = times(heads->num_kv_heads, heads->head_dim);
  out.linear(Component::kAttention, "self_attention.kv_proj", times(2, wide), out.hidden, Split::kRows,
             heads->num_kv_heads);
  out.linear(Component::kRouter, "self_attention.experts.router", experts, out.hidden);
  for (const bool in : {true, false}) {
    TensorGroup& matrix = out.linear(
        Component::kAttention, in ? "self_attention.experts.input_linear" : "self_attention.experts.output",
        in ? wide : out.hidden, in ? out.hidden : wide, in ? Split::kRows : Split::kColumns, heads->num_kv_heads);
    matrix.copies = experts;
    matrix.used = std::min(experts, out.text.count_or("num_experts_per_tok", 2));
  }
  return true;
}

// One router weights both the shared expert and the routed ones.
static bool write_klear(Inventory& out, const Ffn& ffn) {
  if (ffn.shared > 0) out.linear(Component::kSharedExperts, "mlp.coefficient", 2, out.hidden, Split::kNone, 0, true);
  return false;
}

// GigaChat 3.5: gated delta nets, and latent attention in the layers of full_attention_layers (counted from 0), which
// take precedence over layer_types. If linear_attention_type is null all layers are latent. Source: vLLM
// configs/gigachat3_5.py.
static void read_gigachat(Reader& reader) {
  const Fields& text = reader.text;
  if (text.is_null("linear_attention_type")) return read_mla(reader);
  std::vector<Label> labels(reader.num_layers(), Label::kRecurrent);
  if (const auto full = text.counts("full_attention_layers")) {
    for (const std::uint64_t i : *full)
      if (i < labels.size()) labels[i] = Label::kFull;
  } else if (text.is_list("layer_types")) {
    labels = layer_labels(text, labels.size(), {});
  }
  push_linear_and_latent(reader, labels, read_delta_net(text));
}

// OpenELM: the number of heads grows from layer to layer.
static void read_openelm(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const auto queries = reader.text.counts("num_query_heads");
  const auto keys = reader.text.counts("num_kv_heads");
  const std::uint64_t head_dim = reader.text.count("head_dim");
  if (!queries || !keys || queries->size() < layers || keys->size() < layers)
    fail("\"num_query_heads\" and \"num_kv_heads\" do not name every layer", "give one entry for each layer");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads heads{(*queries)[i], (*keys)[i], head_dim, head_dim};
    check_heads(heads);
    reader.add({{FullAttention{heads}}});
  }
}

// Widths rounded to the nearest multiple, but never down by more than a tenth.
static void plan_openelm(const Inventory& inventory, MlpPlan& plan) {
  const auto factors = inventory.text.reals("ffn_multipliers");
  const std::uint64_t divisor = inventory.text.count_or("ffn_dim_divisor", 256);
  if (!factors || factors->empty()) return;
  plan.widths.emplace();
  for (const double factor : *factors) {
    if (!(factor > 0 && factor < 1000) || divisor == 0)
      fail("\"ffn_multipliers\" is out of range", "correct the config");
    const std::uint64_t wanted = whole_width(factor * static_cast<double>(inventory.hidden), "ffn_multipliers");
    std::uint64_t width = std::max(divisor, checked_add(wanted, divisor / 2, "ffn_multipliers") / divisor * divisor);
    if (static_cast<double>(width) < 0.9 * static_cast<double>(wanted)) width += divisor;
    plan.widths->push_back(width);
  }
}

// xLSTM: every layer is an mLSTM; queries and keys are narrower than values.
static void read_xlstm(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t blocks = check_layers(text.count_or("num_blocks", 0), "num_blocks");
  const std::uint64_t layers = blocks > 0 ? blocks : reader.num_layers();
  const std::uint64_t hidden_size = text.count("hidden_size");
  const std::uint64_t num_heads = text.count_or("num_heads", 8);
  if (num_heads == 0 || hidden_size < num_heads) fail("\"num_heads\" is out of range", "correct the config");
  for (const std::string_view key : {"inference_state_dtype", "return_last_states"}) text.touch(key);
  const double qk = text.find_real("qk_dim_factor").value_or(0.5);
  const double v = text.find_real("v_dim_factor").value_or(1.0);
  Linear linear;
  linear.rule = Linear::Rule::kMlstm;
  linear.num_key_heads = linear.num_value_heads = num_heads;
  linear.key_head_dim = scaled_width(qk, hidden_size, "qk_dim_factor") / num_heads;
  linear.value_head_dim = scaled_width(v, hidden_size, "v_dim_factor") / num_heads;
  reader.model.layers.assign(layers, Layer{{linear}});
}

static std::uint64_t xlstm_width(const Inventory& inventory, std::uint64_t) {
  const double factor = inventory.text.find_real("ffn_proj_factor").value_or(2.667);
  if (!(factor > 0 && factor < 1000)) fail("\"ffn_proj_factor\" is out of range", "correct the config");
  return round_to(whole_width(factor * static_cast<double>(inventory.hidden), "ffn_proj_factor"),
                  inventory.text.count_or("ffn_round_up_to_multiple_of", 64));
}

// IDEFICS: before every n-th layer a gated block attends to the image. Additional tokens have separate tables. Source:
// transformers modeling_idefics.py, perceiver.py.
static void write_idefics(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const Fields vision = out.reader.root.child("vision_config").value_or(Fields::empty());
  const std::uint64_t seen = first_count(vision, {"embed_dim", "hidden_size"}, 768);
  const std::uint64_t heads = std::max<std::uint64_t>(1, text.count_or("num_attention_heads", 32));
  const std::uint64_t inner = text.count_or("intermediate_size", 11008);
  const std::uint64_t gates = text.find_string("alpha_type").value_or("float") == "vector" ? h : 1;
  const std::uint64_t every = std::max<std::uint64_t>(1, text.count_or("cross_layer_interval", 1));
  const std::uint64_t blocks = out.reader.model.layers.size() / every;
  const bool norms_qk = text.flag("qk_layer_norms", false);
  out.outside(Place::kEach);
  const Tower looks{out, Component::kAttention};
  const std::string at = "model.gated_cross_attn_layers.";
  if (blocks > 0) {
    looks.linear(at + "cross_attn.qo_proj", times(2, h), h, false, blocks);
    looks.linear(at + "cross_attn.kv_proj", times(2, h), seen, false, blocks);
    looks.linear(at + "mlp.gate_up_proj", times(2, inner), h, false, blocks);
    looks.linear(at + "mlp.down_proj", h, inner, false, blocks);
    looks.plain(at + "norms", times(2, h) + (norms_qk ? times(2, h / heads) : 0), blocks);
    looks.plain(at + "alphas", times(2, gates), blocks);
  }
  if (norms_qk) looks.plain("model.layers.qk_norm", times(2, h / heads), out.reader.model.layers.size());
  out.outside(Place::kFirst);
  if (const std::uint64_t more = text.count_or("additional_vocab_size", 0); more > 0)
    out.table(Component::kEmbedding, "model.embed_tokens.additional_embedding", times(2, more), h);
  if (!text.flag("use_resampler", false)) return;
  const Fields own = out.reader.root.child("perceiver_config").value_or(Fields::empty());
  const std::uint64_t depth = own.count_or("resampler_depth", 6);
  const std::uint64_t d = own.count_or("resampler_head_dim", 96);
  const std::uint64_t wide = times(own.count_or("resampler_n_heads", 16), d);
  const std::uint64_t qk = own.flag("qk_layer_norms_perceiver", false) ? times(4, d) : 0;
  const Tower queries{out, Component::kProjector};
  queries.plain("model.perceiver_resampler.latents", times(own.count_or("resampler_n_latents", 64), seen));
  queries.linear("model.perceiver_resampler.qkv_proj", times(3, wide), seen, false, depth);
  queries.linear("model.perceiver_resampler.output_proj", seen, wide, false, depth);
  queries.linear("model.perceiver_resampler.mlp", times(8, seen), seen, false, depth);
  queries.plain("model.perceiver_resampler.norms", times(6, seen) + qk, depth);
  queries.plain("model.perceiver_resampler.layer_norm", times(2, seen));
}

// A.X-K2's norms have low-rank gates, except the norm before a dense MLP.
static void write_axk(Inventory& out, std::uint64_t gate) {
  const std::uint64_t layers = out.reader.model.layers.size();
  const std::uint64_t dense = std::min(layers, out.text.count_or("first_k_dense_replace", out.traits.dense_first));
  out.in_layers(all_layers(out));
  if (gate > 0) out.plain(Component::kNorms, "input_layernorm.mlp", gate);
  out.in_layers({{dense, layers - dense, 1}});
  if (gate > 0) out.plain(Component::kNorms, "post_attention_layernorm.mlp", gate);
  if (gate == 0) out.norms("post_mlp_layernorm", out.hidden);
}

// The vision-language models have experts for text and narrower ones for images, each with a router.
static bool write_image_experts(Inventory& out, const Ffn& ffn) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t seen = entry_of(out.text, "num_experts", 1, ffn.experts);
  const std::uint64_t width = entry_of(out.text, "moe_intermediate_size", 1, 512);
  out.linear(Component::kRouter, "mlp.vision_gate", seen, h);
  out.plain(Component::kRouter, "mlp.vision_gate.bias", seen).is_float32 = true;
  // These are not used for a text token.
  for (const bool up : {true, true, false})
    routed(out.linear(Component::kExperts, "mlp.vision_experts.*", up ? width : h, up ? h : width,
                      up ? Split::kRows : Split::kColumns),
           seen, 0);
  return false;
}

// Three norms and two residual gates in a layer.
static void write_muse_spark(Inventory& out) {
  out.in_layers(all_layers(out));
  out.norms("post_feedforward_layernorm", out.hidden);
  out.plain(Component::kOther, "post_attention_residual_gate.gate", out.hidden);
  out.plain(Component::kOther, "post_feedforward_residual_gate.gate", out.hidden);
  if (const std::uint64_t latent = out.text.count_or("moe_hidden_size", 0); latent > 0)
    out.norms("mlp.expert_norms", latent, 2);
}

// clang-format off
std::span<const Family> others_family() {
  static constexpr Family kRows[] = {
    {.is = {"aquila xverse skywork", kExecutedClass}},
    {.is = {"idefics", kExecutedClass}, .extras = write_idefics},
    {.is = {"klear"}, .tensors = {.qk_norm = QkNorm::kHead, .has_router_bias = true}, .experts = write_klear},
    {.is = {"jetmoe", kExecutedClass}, .tensors = {.ties_by_default = true}, .extras = write_jetmoe,
     .mixer = write_mixture_of_attention, .modules = "mlp.gate=mlp.router.layer experts.*.gate_proj=input_linear "
     "experts.*.up_proj=input_linear experts.*.down_proj=output_linear "
     "self_attention.experts.router=self_attention.experts.router.layer "
     "self_attention.experts.output=self_attention.experts.output_linear"},
    {.is = {"mellum", kExecutedClass, Arch::kMellum}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead},
     .pattern = PatternRule{}},
    {.is = {"modernbert-decoder", kExecutedClass}, .layers = read_windowed, .tensors = {.head_bias = "decoder_bias",
     .ties_by_default = true}, .pattern = full_first_of(3, Label::kSliding, "global_attn_every_n_layers"),
     .extras = write_modernbert_decoder},
    {.is = {"smallthinker", kExecutedClass, Arch::kSmallthinker}, .layers = read_windowed, .pattern = PatternRule{}},
    {.is = {"spark2_5", kUnchecked, Arch::kSpark2p5}, .layers = read_windowed, .tensors = {.gate = Gate::kHead,
     .gate_key = "headwise_attn_output_gate"}, .pattern = PatternRule{}},
    {.is = {"beam", kExecutedClass}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kWide,
     .norms = 4, .dense_first = 3, .has_router_bias = true},
     .pattern = PatternRule{PatternRule::Default::kFullEveryAndLast, 6}, .extras = write_beam},
    {.is = {"flint", kExecutedClass}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead, .has_sinks = true,
     .dense_first = 2}, .pattern = PatternRule{PatternRule::Default::kFullSecondOf, 4}},
    {.is = {"kolibri1", kExecutedClass}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead, .norms = 4,
     .has_router_bias = true}, .pattern = full_every(5)},
    // Named as in llama.cpp: a decoder and a draft with windows, and latent attention that is cached expanded.
    {.is = {"maple", kExecutedClass, Arch::kMaple}, .layers = read_windowed},
    {.is = {"dflash", kExecutedClass, Arch::kDflash}, .layers = read_windowed},
    {.is = {"plm", kExecutedClass, Arch::kPlm}, .layers = read_mla},
    // xAI's Grok. Source: SGLang models/grok.py.
    {.is = {"grok-1 grok", kPublishedTotal, Arch::kGrok}, .tensors = {.norms = 4}},
    // Poolside's Laguna. Source: transformers modeling_laguna.py.
    {.is = {"laguna", kExecutedClass, Arch::kLaguna}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead,
     .gate = Gate::kHead, .gate_key = "gating", .dense_first = 1, .has_router_bias = true}, .pattern = PatternRule{}},
    // Sarvam. Source: the checkpoints' modeling_sarvam*.py.
    {.is = {"sarvam_moe", kPublishedTotal}, .tensors = {.qk_norm = QkNorm::kHead, .qk_norm_key = "use_qk_norm",
     .dense_first = 1, .has_router_bias = true}},
    {.is = {"sarvam_mla", kExecutedClass, Arch::kSarvamMla}, .layers = read_mla, .tensors = {.dense_first = 1, .has_router_bias = true}},
    // Stability's StableLM. Source: transformers modeling_stablelm.py.
    {.is = {"stablelm stablelm_epoch", kExecutedClass}, .tensors = {.qkv_bias = "use_qkv_bias", .o_bias = "",
     .qk_norm = QkNorm::kEveryHead, .qk_norm_key = "qk_layernorm", .norm_style = NormStyle::kLayerNorm},
     .norms = [](const Inventory& inventory, std::uint64_t usual) {
     return inventory.text.flag("use_parallel_residual", false) ? 1 : usual; }},
    // China Telecom's TeleChat. Source: the checkpoints' modeling_telechat*.py.
    {.is = {"telechat telechat2", kExecutedClass}},
    {.is = {"telechat3"}, .tensors = {.may_have_more = true}},
    // Sber's GigaChat 3.5. Source: vLLM configs/gigachat3_5.py.
    {.is = {"gigachat3_5"}, .layers = read_gigachat, .rule = "gigachat", .tensors = {.may_have_more = true, .norms = 4,
     .dense_first = 3, .has_router_bias = true}},
    // Apple's OpenELM: heads and widths grow from layer to layer. Source: its modeling_openelm.py.
    {.is = {"openelm"}, .layers = read_openelm, .rule = "openelm", .tensors = {.qkv_bias = "", .o_bias = "",
     .qk_norm = QkNorm::kHead, .qk_norm_key = "normalize_qk_projections", .fuses_qkv = true, .fuses_gate_up = true,
     .ties_by_default = true}, .mlps = plan_openelm},
    // NXAI's xLSTM. Source: transformers modeling_xlstm.py.
    {.is = {"xlstm", kExecutedClass, Arch::kXlstm}, .layers = read_xlstm, .rule = "xlstm", .mlp_width = xlstm_width},
    // SK Telecom's A.X K. Source: transformers modeling_axk*.py.
    {.is = {"axk1", kExecutedClass, Arch::kAxk1}, .layers = read_mla, .tensors = {.dense_first = 1,
     .has_router_bias = true}, .extras = [](Inventory& out) { write_axk(out, 0); }},
    {.is = {"axk2", kExecutedClass}, .layers = read_sparse_mla, .tensors = {.gate = Gate::kLowRank, .dense_first = 1,
     .has_router_bias = true}, .extras = [](Inventory& out) {
     write_axk(out, times(2, times(out.text.count_or("gated_norm_rank", 16), out.hidden))); }},
    // Cohere's Command. Source: transformers modeling_cohere*.py.
    {.is = {"cohere", kExecutedClass}, .tensors = {.qk_norm = QkNorm::kEveryHead, .qk_norm_key = "use_qk_norm",
     .norms = 1}},
    {.is = {"cohere_compass_text", kExecutedClass}, .tensors = {.norms = 1}},
    {.is = {"cohere2 cohere2_moe", kExecutedClass, Arch::kCohere2}, .layers = read_windowed, .tensors = {.norms = 1},
     .pattern = full_every(4)},
    // Baidu's ERNIE 4.5 and PaddleOCR-VL. Source: transformers modeling_ernie4_5*.py.
    {.is = {"ernie4_5", kExecutedClass}, .tensors = {.biases = "use_bias"}},
    {.is = {"ernie4_5_moe", kExecutedClass}, .tensors = {.biases = "use_bias", .dense_first = 1,
     .has_router_bias = true, .has_float32_router = true}},
    {.is = {"ernie4_5_vl_moe_text", kExecutedClass}, .tensors = {.biases = "use_bias", .has_image_experts = true,
     .dense_first = 1, .has_router_bias = true}, .experts = write_image_experts},
    {.is = {"ernie4_5_moe_vl paddleocr_vl_text", kExecutedClass}},
    // LG's EXAONE; the fourth generation has windows. Source: transformers modeling_exaone4.py, modeling_exaone_moe.py.
    {.is = {"exaone", kExecutedClass, Arch::kExaone}, .tensors = {.biases = ""}, .modules = "layers.*=h.* "
     "self_attn=attn.attention o_proj=out_proj mlp.gate_proj=mlp.c_fc_0 mlp.up_proj=mlp.c_fc_1 "
     "mlp.down_proj=mlp.c_proj embed_tokens=wte"},
    {.is = {"exaone4 exaone4_5_text", kExecutedClass, Arch::kExaone4}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead,
     .has_router_bias = true}, .pattern = full_every(4)},
    {.is = {"exaone_moe", kExecutedClass, Arch::kExaoneMoe}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .has_router_bias = true}, .pattern = full_every(4)},
    // Muse Glimmer and Spark. Source: transformers modeling_muse_*.py.
    {.is = {"muse_glimmer_text", kExecutedClass, Arch::kMuseGlimmer}, .layers = read_windowed,
     .tensors = {.gate = Gate::kWide, .norms = 4}},
    {.is = {"muse_glimmer_assistant", kExecutedClass, Arch::kMuseGlimmer}, .layers = read_windowed},
    {.is = {"muse_spark_text", kExecutedClass}, .layers = read_windowed, .tensors = {.gate = Gate::kWide,
     .has_router_bias = true}, .pattern = PatternRule{PatternRule::Default::kFullFromLast, 4},
     .extras = write_muse_spark},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
