// Llama and the decoders of its shape: RMS norms, a gated MLP, heads in groups. Sources: transformers' modelling files
// of the types named, and the checkpoints' own if they have one.
#include <cmath>

#include "models/blocks/blocks.h"

namespace kvplan {

// Llama 4: chunks in layers with rotary embedding; every fourth layer attends to everything.
static void read_llama4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t interval = reader.text.count_or("no_rope_layer_interval", 4);
  const Heads heads = read_heads(reader.text);
  const auto rope = reader.text.counts("no_rope_layers");
  if (reader.text.is_list("layer_types")) return read_decoder(reader, {});
  for (std::uint64_t i = 0; i < layers; ++i) {
    const bool full = rope && i < rope->size() ? (*rope)[i] == 0 : interval > 0 && (i + 1) % interval == 0;
    reader.add({{attention_mixer(reader, full ? Label::kFull : Label::kChunked, heads, Tokens(0))}});
  }
}

// Llama 3.2 Vision: the layers in cross_attention_layers attend only to the image.
static void read_mllama(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(reader.text);
  std::vector<bool> cross = listed_layers(reader.text, "cross_attention_layers", layers);
  if (!reader.text.is_list("cross_attention_layers"))
    for (std::uint64_t i = 3; i < layers; i += 5) cross[i] = true;
  // One image of the largest size: tiles of (image / patch)^2 patches and a class token, 4 * 1601 in the released
  // models.
  std::uint64_t tiles = 4;
  std::uint64_t patches = 1601;
  if (const auto vision = reader.root.child("vision_config")) {
    tiles = vision->count_or("max_num_tiles", 4);
    const std::uint64_t image = vision->count_or("image_size", 560);
    const std::uint64_t patch = vision->count_or("patch_size", 14);
    if (patch > 0 && image / patch < 100000) patches = image / patch * (image / patch) + 1;
  }
  reader.model.source_tokens = Tokens(checked_mul(tiles, patches, "the image tokens"));
  for (std::uint64_t i = 0; i < layers; ++i)
    reader.add({{cross[i] ? Mixer(Cross{heads}) : Mixer(FullAttention{heads})}});
}

// The rows of the codebooks follow those of the text in one table (transformers modeling_kyutai_speech_to_text.py).
static void write_kyutai(Inventory& out) {
  const Fields& text = out.text;
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "model.embed_audio_tokens",
            times(text.count_or("num_codebooks", 32), text.count_or("codebook_vocab_size", 2049)) + 1, out.hidden);
}

static void write_apertus(Inventory& out) {
  out.in_layers(all_layers(out));
  out.plain(Component::kMlp, "mlp.act_fn", 2);
  out.plain(Component::kMlp, "mlp.act_fn.beta, eps", 2).is_derived = true;  // vLLM layers/activation.py XIELU
}

// Vectors of ones for the norms of queries and keys, which have no weights, in layers with rotation (vLLM
// models/llama4.py).
static void write_llama4(Inventory& out) {
  if (!out.text.flag("use_qk_norm", true)) return;
  const std::vector<LayerRun> layers = layers_of<Chunked>(out);
  if (layers.empty()) return;
  out.in_layers(layers);
  const Heads* heads = heads_of(out.reader.model.layers[layers.front().first].mixers.front());
  TensorGroup& ones = out.plain(Component::kAttention, "self_attn.qk_norm", heads->head_dim);
  ones.is_derived = ones.is_float32 = true;
}

static void write_arctic(Inventory& out) {
  if (!out.text.flag("use_residual", false)) return;
  out.in_layers(all_layers(out));
  out.norms("residual_layernorm", out.hidden);
}

static void write_bitnet(Inventory& out) {
  out.in_layers(all_layers(out));
  out.norms("self_attn.attn_sub_norm", out.hidden);
  out.norms("mlp.ffn_sub_norm", out.text.count_or("intermediate_size", 0));
}

static void write_diffllama(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t heads = std::max<std::uint64_t>(1, text.count_or("num_attention_heads", 32));
  out.in_layers(all_layers(out));
  out.plain(Component::kAttention, "self_attn.lambda", times(4, text.count_or("head_dim", out.hidden / heads)));
}

static void write_doge(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t keys = text.count_or("num_key_value_heads", 8);
  const std::uint64_t heads = std::max<std::uint64_t>(1, text.count_or("num_attention_heads", 8));
  out.in_layers(all_layers(out));
  out.linear(Component::kAttention, "self_attn.dt_proj", keys, times(keys, text.count_or("head_dim", h / heads)));
  out.plain(Component::kAttention, "self_attn.A", keys);
  out.plain(Component::kOther, "residual", times(2, h));
}

// Audio tokens have a separate MLP, and one table and head for all codebooks.
static void write_higgs_audio(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  out.in_layers(all_layers(out));
  write_dense_mlp(out, Component::kMlp, "audio_mlp.", text.count_or("intermediate_size", 8192), h, true, false);
  out.norms("audio_layernorms", h, 2);
  const std::uint64_t codes = times(text.count_or("num_codebooks", 8), text.count_or("codebook_size", 1024));
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "model.embed_audio_tokens", codes, h, Split::kVocab);
  out.outside(Place::kLast);
  out.table(Component::kLmHead, "audio_lm_head", codes, h, Split::kVocab).role = TensorRole::kHead;
}

// Speech may continue beyond the number of positions. It then has a sliding window of that length.
static void read_moshi(Reader& reader) {
  const Heads heads = read_heads(reader.text);
  check_heads(heads);
  const Tokens window = read_window(reader.text);
  if (window == Tokens(0)) return push_full(reader, heads);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.add({{SlidingWindow{heads, window}}});
}

static void write_moshi(Inventory& out) {
  out.outside(Place::kFirst);
  out.plain(Component::kEmbedding, "model.embed_tokens.initial", out.hidden);
}

static void write_mllama(Inventory& out) {
  const std::vector<Layer>& layers = out.reader.model.layers;
  out.outside(Place::kFirst);
  out.plain(Component::kEmbedding, "model.embed_tokens.image", times(8, out.hidden));
  const std::vector<LayerRun> cross = layers_of<Cross>(out);
  if (cross.empty()) return;
  out.in_layers(cross);
  out.plain(Component::kAttention, "cross_attn.gates", 2);
  out.norms("cross_attn.qk_norm", std::get<Cross>(layers[cross.front().first].mixers.front()).heads.head_dim, 2);
}

// Patches are projected straight into the decoder; its config may be nested in Fuyu's.
static void write_fuyu(Inventory& out) {
  const Fields& root = out.reader.root;
  if (root.find_string("model_type") != "fuyu") return;
  const Fields& fuyu = out.text.path() == root.path() ? out.text : root;
  const std::uint64_t patch = fuyu.count_or("patch_size", 30);
  out.outside(Place::kFirst);
  out.linear(Component::kProjector, "vision_embed_tokens", out.hidden,
             times(fuyu.count_or("num_channels", 3), times(patch, patch)), Split::kNone, 0, true);
}

// Doge: an expert is a row in each of two tables. The two halves of a key find it. Source: transformers
// modeling_doge.py, DogeCDMoE.
static bool write_doge_experts(Inventory& out, const Ffn& ffn) {
  const std::uint64_t keys = whole_width(std::sqrt(static_cast<double>(ffn.experts)), "num_experts");
  out.linear(Component::kRouter, "mlp.router_gate", times(2, keys), out.hidden);
  for (const char* const name : {"mlp.down_embed", "mlp.up_embed"}) {
    TensorGroup& row = out.linear(Component::kExperts, name, 1, out.hidden);
    row.copies = ffn.experts;
    row.used = ffn.top_k;
  }
  return true;
}

static bool write_mllama_mixer(Inventory& out, const Mixer& mixer) {
  const auto* cross = std::get_if<Cross>(&mixer);
  if (cross != nullptr) project_heads(out, cross->heads, true, "cross_attn.");
  return cross != nullptr;
}

constexpr std::string_view kPersimmonModules =
    "self_attn.qkv_proj=self_attn.query_key_value "
    "self_attn.o_proj=self_attn.dense mlp.up_proj=mlp.dense_h_to_4h mlp.down_proj=mlp.dense_4h_to_h";

// clang-format off
std::span<const Family> llama_family() {
  static constexpr Family kRows[] = {
    {.is = {"llama", kExecutedClass, Arch::kLlama}},
    {.is = {"code_llama yi decilm smollm csm_depth_decoder_model blt_global_transformer", kExecutedClass}},
    {.is = {"aria_text", kExecutedClass}, .modules = "mlp.gate=mlp.router experts.*.gate_proj=experts.fc1 "
     "experts.*.up_proj=experts.fc1 experts.*.down_proj=experts.fc2"},
    {.is = {"hyperclovax", kExecutedClass}, .tensors = {.sandwich_norms = "use_post_norm"}},
    {.is = {"emu3_text_model chameleon csm"}, .tensors = {.may_have_more = true}},
    {.is = {"bitnet", kExecutedClass}, .extras = write_bitnet},
    {.is = {"diffllama", kExecutedClass}, .extras = write_diffllama},
    {.is = {"moshi", kExecutedClass}, .layers = read_moshi, .rule = "windowed", .tensors = {.halves_mlp_width = true},
     .extras = write_moshi},
    // A dense MLP of the model's width in addition to the experts.
    {.is = {"arctic", kPublishedTotal}, .extras = write_arctic, .mlps = [](const Inventory& inventory, MlpPlan& plan) {
     if (inventory.text.flag("use_residual", false)) plan.beside_experts = inventory.hidden; },
     .modules = "mlp.gate_proj=residual_mlp.w1 mlp.up_proj=residual_mlp.w3 mlp.down_proj=residual_mlp.w2 "
     "mlp=block_sparse_moe experts.*.gate_proj=experts.*.w1 experts.*.up_proj=experts.*.w3 "
     "experts.*.down_proj=experts.*.w2"},
    // Its only head is for audio codes.
    {.is = {"higgs_audio_v2", kPublishedTotal}, .tensors = {.has_lm_head = false}, .extras = write_higgs_audio},
    {.is = {"internlm", kPublishedTotal}, .tensors = {.qkv_bias = "bias", .o_bias = "bias"}},
    {.is = {"internlm2", kPublishedTotal}, .tensors = {.qkv_bias = "bias", .o_bias = "bias"},
     .modules = "self_attn.q_proj=attention.wqkv self_attn.k_proj=attention.wqkv self_attn.v_proj=attention.wqkv "
     "self_attn.o_proj=attention.wo mlp=feed_forward gate_proj=w1 up_proj=w3 down_proj=w2 lm_head=output "
     "embed_tokens=tok_embeddings"},
    {.is = {"internlm3", kExecutedClass}, .tensors = {.qkv_bias = "qkv_bias", .o_bias = "bias", .mlp_bias = "bias"}},
    {.is = {"arcee", kExecutedClass}, .tensors = {.has_gated_mlp = false}},
    {.is = {"seed_oss", kExecutedClass}, .tensors = {.o_bias = "attention_out_bias"}},
    {.is = {"helium", kExecutedClass}, .tensors = {.o_bias = ""}},
    {.is = {"apertus apertus1p5_text", kExecutedClass}, .tensors = {.qk_norm = QkNorm::kHead, .has_gated_mlp = false},
     .extras = write_apertus},
    {.is = {"persimmon", kExecutedClass}, .tensors = {.biases = "+", .qk_norm = QkNorm::kHeadBias,
     .qk_norm_key = "qk_layernorm", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .fuses_qkv = true},
     .extras = write_fuyu, .modules = kPersimmonModules},
    {.is = {"fuyu", kPublishedTotal}, .tensors = {.biases = "+", .qk_norm = QkNorm::kHeadBias,
     .qk_norm_key = "qk_layernorm", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .fuses_qkv = true},
     .extras = write_fuyu, .modules = kPersimmonModules},
    {.is = {"solar", kExecutedClass, Arch::kSolar}},
    {.is = {"solar_open", kExecutedClass}, .tensors = {.o_bias = "", .has_router_bias = true}},
    {.is = {"nanochat", kExecutedClass}, .tensors = {.norms = 0, .has_final_norm = false, .has_gated_mlp = false}},
    {.is = {"orion"}, .tensors = {.norm_style = NormStyle::kLayerNorm}},
    {.is = {"doge", kExecutedClass}, .tensors = {.qk_norm = QkNorm::kHead, .has_experts = "is_moe"},
     .extras = write_doge, .experts = write_doge_experts,
     .mlps = [](const Inventory&, MlpPlan& plan) { plan.beside_experts = plan.width; }},
    {.is = {"lille-130m"}, .tensors = {.norms = 2, .fuses_qkv = true, .ties_by_default = true},
     .mlp_width = [](const Inventory& inventory, std::uint64_t) {
     return (times(8, inventory.hidden) / 3 + 128) / 256 * 256; }},
    {.is = {"cwm", kExecutedClass}, .layers = read_windowed, .pattern = full_first_of(4)},
    {.is = {"kyutai_speech_to_text", kExecutedClass}, .layers = read_windowed, .tensors = {.halves_mlp_width = true},
     .extras = write_kyutai},
    {.is = {"moshi_depth", kExecutedClass}, .layers = read_windowed},
    {.is = {"afmoe", kExecutedClass, Arch::kAfmoe}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead,
     .gate = Gate::kWide, .norms = 4, .has_router_bias = true, .has_float32_router = true},
     .pattern = full_every(4, Label::kSliding, "global_attn_every_n_layers"), .modules = "mlp.gate=mlp.router.gate"},
    {.is = {"smollm3", kExecutedClass}, .layers = read_windowed, .tensors = {.ties_by_default = true},
     .pattern = PatternRule{}},
    {.is = {"llama4_text llama4", kExecutedClass, Arch::kLlama4}, .layers = read_llama4, .rule = "llama4",
     .tensors = {.mlp_width = "intermediate_size_mlp", .shared_experts = 1}, .extras = write_llama4,
     .modules = "mlp.gate=feed_forward.router mlp.shared_experts=feed_forward.shared_expert mlp=feed_forward"},
    {.is = {"afm7 afm"}, .layers = read_cross_layer, .tensors = {.may_have_more = true}},
    {.is = {"mllama_text_model", kExecutedClass, Arch::kMllama}, .layers = read_mllama, .rule = "mllama",
     .extras = write_mllama, .mixer = write_mllama_mixer},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
