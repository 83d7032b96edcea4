// Rules of GGUF architectures whose layers attend: whole, in windows, through a latent, or not at all.
// Source: llama.cpp v0.5.0, load_arch_hparams of src/models/*.cpp and llama_model::create_memory.
#include <algorithm>

#include "kvplan/error.h"
#include "models/gguf_archs.h"

namespace kvplan {

namespace {

constexpr std::string_view kWindowKey = "attention.sliding_window";
constexpr std::string_view kPatternKey = "attention.sliding_window_pattern";

void note(const GgufReader& reader, std::string code, std::string message) {
  reader.model().notes.push_back({NoteLevel::kInfo, std::move(code), std::move(message)});
}

void push(const GgufReader& reader, Mixer mixer) {
  reader.model().layers.push_back({{std::move(mixer)}});
}

// Which layers have a window: the file's list, or every layer but one of each pattern.
std::vector<bool> windowed_layers(const GgufReader& reader, const GgufWindow& rule) {
  const std::uint64_t layers = reader.num_layers();
  std::vector<bool> out(layers);
  if (reader.is_array(kPatternKey)) {
    const auto listed = *reader.pattern(kPatternKey);
    for (std::uint64_t i = 0; i < layers; ++i) out[i] = listed[i] != 0;
    return out;
  }
  if (rule.pattern == GgufWindow::kByLayer)
    fail("the array \"" + reader.full(kPatternKey) + "\" is missing",
         "it says which layers have a window: convert the model again");
  auto pattern = reader.find(kPatternKey);
  if (!pattern) {
    pattern = rule.pattern;
    reader.fallback(kPatternKey, *pattern);
  }
  for (std::uint64_t i = 0; i < layers; ++i)
    out[i] = *pattern == 0 || (rule.full_first ? i % *pattern != 0 : i % *pattern < *pattern - 1);
  return out;
}

std::uint64_t window_of(const GgufReader& reader, const GgufWindow& rule) {
  const auto named = reader.find(kWindowKey);
  if (named) return *named;
  if (rule.fallback > 0) reader.fallback(kWindowKey, rule.fallback);
  return rule.fallback;
}

void push_windowed(const GgufReader& reader, std::uint64_t window, const std::vector<bool>& windowed) {
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i)
    push(reader, windowed[i] && reader.kv_heads(i) > 0 ? gguf_window(reader, reader.heads(i, true), window)
                                                       : gguf_full(reader, i));
}

}  // namespace

Mixer gguf_full(const GgufReader& reader, std::uint64_t layer) {
  if (reader.kv_heads(layer) == 0) return None{};
  return FullAttention{reader.heads(layer)};
}

Mixer gguf_window(const GgufReader& reader, const Heads& heads, std::uint64_t window) {
  const Tokens longest = reader.model().max_model_len;
  if (longest > Tokens(0) && Tokens(window) >= longest) return FullAttention{heads};
  return SlidingWindow{heads, Tokens(window)};
}

bool gguf_has_latent(const GgufReader& reader) {
  return reader.value_or("attention.key_length_mla", 0) > 0 && reader.value_or("attention.value_length_mla", 0) > 0;
}

// The file's key_length is what is cached, latent and rotated part; key_length_mla is a head's after expansion.
Latent gguf_latent_of(const GgufReader& reader, std::uint64_t layer) {
  const Heads heads = reader.heads(layer);
  Latent out;
  out.num_heads = heads.num_heads;
  out.kv_lora_rank = reader.positive("attention.kv_lora_rank");
  out.q_lora_rank = reader.value_or("attention.q_lora_rank", 0);
  out.v_head_dim = reader.positive("attention.value_length_mla");
  const std::uint64_t key = reader.positive("attention.key_length_mla");
  if (heads.head_dim < out.kv_lora_rank || heads.head_dim - out.kv_lora_rank > key)
    fail("\"" + reader.full("attention.key_length") + "\" is " + std::to_string(heads.head_dim) +
             ", which is no latent of " + std::to_string(out.kv_lora_rank) + " and a rotated key",
         "convert the model again");
  out.qk_rope_head_dim = heads.head_dim - out.kv_lora_rank;
  out.qk_nope_head_dim = key - out.qk_rope_head_dim;
  return out;
}

void gguf_plain(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) push(reader, gguf_full(reader, i));
  if (reader.contains(kWindowKey) && reader.value_or(kWindowKey, 0) > 0)
    note(reader, "window_ignored",
         "the file names a sliding window, which llama.cpp does not use for this architecture: full attention");
}

void gguf_windowed(GgufReader& reader, const GgufArch& arch) {
  const std::uint64_t window = window_of(reader, arch.window);
  if (window == 0) return gguf_plain(reader, arch);
  reader.read_heads();
  push_windowed(reader, window, windowed_layers(reader, arch.window));
}

// A draft model; those for DeepSeek-V4 have its attention.
void gguf_dflash(GgufReader& reader, const GgufArch& arch) {
  if (reader.value_or("hyper_connection.count", 0) > 0) return gguf_deepseek4(reader, arch);
  gguf_windowed(reader, arch);
}

// The 1.2B model of 30 layers has no windows, the 32B one of 64 has.
void gguf_exaone4(GgufReader& reader, const GgufArch& arch) {
  if (reader.num_layers() != 64) return gguf_plain(reader, arch);
  gguf_windowed(reader, arch);
}

// The key only switches the window on.
void gguf_smallthinker(GgufReader& reader, const GgufArch& arch) {
  if (reader.value_or(kWindowKey, 0) == 0) return gguf_plain(reader, arch);
  reader.read_heads();
  reader.fallback("window", arch.window.fixed);
  push_windowed(reader, arch.window.fixed, windowed_layers(reader, arch.window));
}

void gguf_llama4(GgufReader& reader, const GgufArch& arch) {
  const auto window = reader.find(kWindowKey);
  if (window && *window == 0) return gguf_plain(reader, arch);
  reader.read_heads();
  reader.fallback("attention.chunk_size", arch.window.fixed);
  const std::vector<bool> chunked = windowed_layers(reader, arch.window);
  const Tokens chunk(arch.window.fixed);
  const Tokens longest = reader.model().max_model_len;
  const bool covers = longest > Tokens(0) && chunk >= longest;
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i)
    push(reader, chunked[i] && !covers && reader.kv_heads(i) > 0 ? Mixer(Chunked{reader.heads(i, true), chunk})
                                                                 : gguf_full(reader, i));
}

// Gemma 3n and 4: the last layers read the cache of the last layer of their sort that has one.
void gguf_shared(GgufReader& reader, const GgufArch& arch) {
  gguf_windowed(reader, arch);
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t shared = reader.value_or("attention.shared_kv_layers", 0);
  if (shared > layers)
    fail("\"" + reader.full("attention.shared_kv_layers") + "\" is " + std::to_string(shared) + " of " +
             std::to_string(layers) + " layers",
         "correct the metadata");
  const std::uint64_t own = layers - shared;
  if (shared == 0) return;
  if (own < 2)
    fail("\"" + reader.full("attention.shared_kv_layers") + "\" leaves " + std::to_string(own) + " layers with a cache",
         "correct the metadata");
  for (std::uint64_t i = own; i < layers; ++i) {
    Mixer& mixer = reader.model().layers[i].mixers.front();
    if (const auto* window = std::get_if<SlidingWindow>(&mixer))
      mixer = Shared{own - 2, window->heads, window->window};
    else if (const auto* full = std::get_if<FullAttention>(&mixer))
      mixer = Shared{own - 1, full->heads, Tokens(0)};
  }
}

void gguf_latent(GgufReader& reader, const GgufArch& arch) {
  if (!gguf_has_latent(reader)) {
    if (reader.value_or("attention.kv_lora_rank", 0) > 0)
      note(reader, "expanded_mla",
           "the file was converted without the latent's keys (key_length_mla): llama.cpp caches expanded keys and "
           "values");
    return gguf_plain(reader, arch);
  }
  reader.read_heads();
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i)
    push(reader, reader.kv_heads(i) > 0 ? Mixer(Mla{gguf_latent_of(reader, i)}) : Mixer(None{}));
}

void gguf_sparse_latent(GgufReader& reader, const GgufArch& arch) {
  const std::uint64_t topk = reader.value_or("attention.indexer.top_k", 0);
  if (topk == 0 || !gguf_has_latent(reader)) return gguf_latent(reader, arch);
  reader.read_heads();
  const std::uint64_t layers = reader.num_layers();
  // Which layers have an indexer of their own. GLM-5.2 (context of 1M) was first converted without the list.
  std::vector<std::uint64_t> own(layers, 1);
  if (reader.is_array("attention.indexer.types")) {
    own = *reader.pattern("attention.indexer.types");
  } else if (reader.contains("attention.indexer.types")) {
    own = *reader.per_layer("attention.indexer.types");
  } else if (reader.model().model_type == "glm-dsa" && reader.model().max_model_len >= Tokens(1048576)) {
    for (std::uint64_t i = 0; i < layers; ++i) own[i] = i < 2 || (i - 2) % 4 == 0 ? 1 : 0;
    reader.fallback("attention.indexer.types", 4);
  }
  std::vector<bool> windowed(layers, false);
  const std::uint64_t window = reader.value_or(kWindowKey, 0);
  if (window > 0 && reader.contains(kPatternKey)) windowed = windowed_layers(reader, {.pattern = GgufWindow::kByLayer});
  const std::uint64_t index_dim = reader.positive("attention.indexer.key_length");
  const std::uint64_t index_heads = reader.positive("attention.indexer.head_count");
  for (std::uint64_t i = 0; i < layers; ++i) {
    if (windowed[i]) {
      // A latent of its own width, kept for the window: one key for all heads, no value.
      Heads latent = reader.heads(i, true);
      latent.v_head_dim = 0;
      push(reader, SlidingWindow{latent, Tokens(window)});
    } else {
      push(reader, SparseMla{gguf_latent_of(reader, i), own[i] != 0 ? index_dim : 0, index_heads, topk});
    }
  }
}

void gguf_minimax_m3(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  const std::uint64_t dense = reader.value_or("leading_dense_block_count", 0);
  const std::uint64_t index_dim = reader.positive("attention.indexer.key_length");
  const std::uint64_t index_heads = reader.positive("attention.indexer.head_count");
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i)
    push(reader, i < dense ? gguf_full(reader, i) : Mixer(SparseGqa{reader.heads(i), index_dim, index_heads}));
}

void gguf_deepseek4(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  std::vector<std::uint64_t> ratios(reader.num_layers(), 0);
  if (const auto named = reader.pattern("attention.compress_ratios")) ratios = *named;
  constexpr std::uint64_t kIndexedRatio = 4;  // layers that compress this little choose what to read with an indexer
  Compressed layer;
  layer.num_heads = reader.num_heads();
  layer.head_dim = reader.heads(0).head_dim;
  layer.qk_rope_head_dim = reader.value_or("rope.dimension_count", 0);
  if (layer.qk_rope_head_dim > layer.head_dim)
    fail("\"" + reader.full("rope.dimension_count") + "\" is larger than key_length", "correct the metadata");
  layer.window = Tokens(reader.positive(kWindowKey));
  layer.q_lora_rank = reader.value_or("attention.q_lora_rank", 0);
  layer.o_lora_rank = reader.value_or("attention.output_lora_rank", 0);
  layer.o_groups = reader.value_or("attention.output_group_count", 0);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) {
    layer.compress_ratio = ratios[i];
    const bool indexed = ratios[i] == kIndexedRatio;
    layer.index_head_dim = indexed ? reader.positive("attention.indexer.key_length") : 0;
    layer.index_n_heads = indexed ? reader.positive("attention.indexer.head_count") : 0;
    push(reader, layer);
  }
}

void gguf_encoder(GgufReader& reader, const GgufArch&) {
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) push(reader, None{});
  note(reader, "no_cache", "a model of this architecture keeps no cache of its own");
}

void gguf_projector(GgufReader& reader, const GgufArch&) {
  fail("the file is a projector of images or sound (" + one_line(reader.model().architecture, 40) +
           "), no language model",
       "give the model's own *.gguf file, and this one with --mmproj");
}

void gguf_t5(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  ModelSpec& model = reader.model();
  const std::uint64_t decoder = reader.value_or("decoder_block_count", reader.num_layers());
  if (decoder == 0 || decoder > reader.num_layers())
    fail("\"" + reader.full("decoder_block_count") + "\" is " + std::to_string(decoder), "correct the metadata");
  model.sides.push_back({"encoder", model.model_type, reader.num_layers()});
  model.source_tokens = model.max_model_len > Tokens(0) ? model.max_model_len : Tokens(512);
  for (std::uint64_t i = 0; i < decoder; ++i) {
    if (reader.kv_heads(i) == 0)
      push(reader, None{});
    else
      model.layers.push_back({{FullAttention{reader.heads(i)}, Cross{reader.heads(i)}}});
  }
}

// Llama 3.2 Vision as Ollama writes it: the listed layers attend to the image alone.
void gguf_mllama(GgufReader& reader, const GgufArch& arch) {
  gguf_plain(reader, arch);
  const auto indices = reader.array("attention.cross_attention_layers");
  for (const std::uint64_t i : indices.value_or(std::vector<std::uint64_t>{}))
    if (i < reader.num_layers() && reader.kv_heads(i) > 0) reader.model().layers[i].mixers = {Cross{reader.heads(i)}};
  // One image at its largest: 4 tiles of 40 x 40 patches and a class token.
  reader.model().source_tokens = Tokens(4 * 1601);
}

// The same layers several times over: a cache for each pass.
void gguf_looped(GgufReader& reader, const GgufArch& arch) {
  gguf_plain(reader, arch);
  constexpr std::uint64_t kMaxLoops = 100;
  const std::uint64_t loops = reader.value_or("num_loops", 1);
  if (loops == 0 || loops > kMaxLoops)
    fail("\"" + reader.full("num_loops") + "\" is " + std::to_string(loops), "correct the metadata");
  const std::vector<Layer> once = reader.model().layers;
  for (std::uint64_t i = 1; i < loops; ++i)
    reader.model().layers.insert(reader.model().layers.end(), once.begin(), once.end());
}

// Granite Switch: one more attention of a single head behind the layers routes to adapters.
void gguf_router_layer(GgufReader& reader, const GgufArch& arch) {
  gguf_plain(reader, arch);
  Heads heads = reader.heads(0);
  heads.num_heads = 1;
  heads.num_kv_heads = 1;
  push(reader, FullAttention{heads});
}

}  // namespace kvplan
