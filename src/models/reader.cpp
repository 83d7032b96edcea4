#include "models/reader.h"

#include <algorithm>
#include <span>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/class_defaults.h"

namespace kvplan {

void Reader::warn(std::string_view code, std::string message) const {
  model.notes.push_back({NoteLevel::kWarning, std::string(code), Template::quoted(std::move(message))});
}

void Reader::inform(std::string_view code, std::string message) const {
  model.notes.push_back({NoteLevel::kInfo, std::string(code), Template::quoted(std::move(message))});
}

std::uint64_t check_layers(std::uint64_t layers, std::string_view key) {
  if (layers > kMaxLayers)
    fail("\"" + std::string(key) + "\" is " + std::to_string(layers),
         "a model has at most " + std::to_string(kMaxLayers));
  return layers;
}

std::uint64_t scaled_width(double factor, std::uint64_t width, std::string_view key) {
  const double out = factor * static_cast<double>(width);
  if (!(factor > 0 && factor <= 1024 && out < 9.0e18))
    fail("\"" + std::string(key) + "\" is out of range", "correct the config");
  return static_cast<std::uint64_t>(out);
}

void check_heads(const Heads& heads, bool whole_groups) {
  if (heads.num_heads == 0 || heads.num_kv_heads == 0 || heads.head_dim == 0)
    fail("the heads are " + std::to_string(heads.num_heads) + ", the KV heads " + std::to_string(heads.num_kv_heads) +
             ", head_dim " + std::to_string(heads.head_dim),
         "all must be positive: check num_attention_heads, num_key_value_heads and head_dim");
  if (heads.num_kv_heads > heads.num_heads || (whole_groups && heads.num_heads % heads.num_kv_heads != 0))
    fail("\"num_key_value_heads\" is " + std::to_string(heads.num_kv_heads) + ", which does not divide " +
             std::to_string(heads.num_heads) + " heads",
         "correct num_key_value_heads or num_attention_heads");
}

std::uint64_t Reader::num_layers() const {
  // Nemotron-H may leave out the number of layers, because its pattern shows it.
  const Fields bare = text.bare();
  if (!bare.find_count("num_hidden_layers")) {
    std::uint64_t named = 0;
    for (const std::string_view key : {"layers_block_type", "layer_types"})
      if (named == 0) named = text.list_size(key).value_or(0);
    const std::string letters = text.find_string("hybrid_override_pattern").value_or("");
    if (named == 0)
      for (const char letter : letters) named += letter == '|' ? 0 : 1;
    if (named > 0) {
      text.derived("num_hidden_layers", named);
      return named;
    }
  }
  return text.count("num_hidden_layers");
}

// Some classes have such sizes and round down (GLM-4.5: 96 heads in 4096).
static bool is_shape_of_class(const Fields& config, std::uint64_t hidden_size, std::uint64_t num_heads) {
  const Fields of_class = with_class(Fields::empty(), config.class_name());
  return of_class.find_count("hidden_size") == hidden_size && of_class.find_count("num_attention_heads") == num_heads;
}

static std::uint64_t derived_head_dim(const Fields& config, std::uint64_t num_heads) {
  const std::uint64_t hidden_size = config.count("hidden_size");
  if (num_heads == 0 || hidden_size < num_heads)
    fail("\"num_attention_heads\" is " + std::to_string(num_heads) + " over a hidden_size of " +
             std::to_string(hidden_size),
         "correct the config, or name head_dim");
  if (hidden_size % num_heads != 0 && !is_shape_of_class(config, hidden_size, num_heads))
    fail("\"num_attention_heads\" is " + std::to_string(num_heads) + ", which does not divide a hidden_size of " +
             std::to_string(hidden_size),
         "correct the config, or name head_dim");
  config.derived("head_dim", hidden_size / num_heads);
  return hidden_size / num_heads;
}

static std::uint64_t positive(const Fields& config, std::string_view key, std::optional<std::uint64_t> value) {
  if (value && *value == 0)
    fail("\"" + config.path() + std::string(key) + "\" is 0, not a positive number", "correct the config");
  return *value;
}

Heads read_heads(const Fields& config) {
  Heads heads;
  heads.num_heads = config.count("num_attention_heads");
  const auto kv = config.find_count("num_key_value_heads");
  heads.num_kv_heads = kv ? positive(config, "num_key_value_heads", kv) : heads.num_heads;
  const auto dim = config.find_count("head_dim");
  heads.head_dim = dim && *dim > 0 ? *dim : derived_head_dim(config, heads.num_heads);
  const auto value_dim = config.find_count("v_head_dim");
  heads.v_head_dim = value_dim && *value_dim > 0 ? *value_dim : heads.head_dim;
  check_heads(heads, !config.is_translated());
  return heads;
}

Heads read_heads(const Fields& config, const HeadKeys& keys, const Heads& base) {
  const auto pick = [&](std::string_view key, std::uint64_t fallback) {
    const auto value = key.empty() ? std::nullopt : config.find_count(key);
    return value && *value > 0 ? *value : fallback;
  };
  Heads heads;
  heads.num_heads = pick(keys.num_heads, base.num_heads);
  heads.num_kv_heads = pick(keys.num_kv_heads, base.num_kv_heads);
  heads.head_dim = pick(keys.head_dim, base.head_dim);
  const bool same = base.v_head_dim == base.head_dim;
  heads.v_head_dim = pick(keys.v_head_dim, same ? heads.head_dim : base.v_head_dim);
  check_heads(heads, !config.is_translated());
  return heads;
}

std::uint64_t first_count(const Fields& config, std::initializer_list<std::string_view> keys, std::uint64_t fallback) {
  for (const std::string_view key : keys)
    if (const std::uint64_t value = config.count_or(key, 0); value > 0) return value;
  return fallback;
}

Tokens read_window(const Fields& config) {
  return Tokens(config.count_or("sliding_window", 0));
}

std::vector<bool> listed_layers(const Fields& config, std::string_view key, std::uint64_t layers) {
  std::vector<bool> out(layers, false);
  if (const auto list = config.counts(key))
    for (const std::uint64_t i : *list)
      if (i < layers) out[i] = true;
  return out;
}

std::string first_named(const std::vector<std::string>& keys) {
  constexpr std::size_t kMost = 32;
  const auto named = [](const std::string& key) { return one_line(key, 60); };
  if (keys.size() <= kMost) return join(keys, ", ", named);
  return join(std::span(keys).first(kMost), ", ", named) + " and " + std::to_string(keys.size() - kMost) + " more";
}

std::optional<Fields> layer_config(const Fields& config, std::uint64_t layer) {
  const auto all = config.child("per_layer_config");
  if (!all) return std::nullopt;
  config.touch("per_layer_config");
  // transformers pads the names with zeros: "05" for one of 30 layers.
  std::string name = std::to_string(layer);
  for (; name.size() < 6; name.insert(name.begin(), '0'))
    if (auto own = all->child(name)) return own;
  return std::nullopt;
}

LayerHeads::LayerHeads(const Fields& config)
    : config_(config),
      queries_(config.counts("num_attention_heads_per_layer")),
      keys_(config.counts("num_key_value_heads_per_layer")) {}

Heads LayerHeads::of(std::uint64_t layer, Heads heads) const {
  if (const auto own = layer_config(config_, layer))
    heads = read_heads(*own, {"num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim"}, heads);
  if (queries_ && layer < queries_->size()) heads.num_heads = (*queries_)[layer];
  if (keys_ && layer < keys_->size()) heads.num_kv_heads = (*keys_)[layer];
  if (queries_ || keys_) check_heads(heads, !config_.is_translated());
  return heads;
}

// The longest context that the file itself gives. A default of the class may be older than the file's window.
static Tokens declared_length(const Reader& reader) {
  for (const Fields& place : {reader.text.bare(), reader.root})
    if (const auto longest = place.find_count("max_position_embeddings")) return Tokens(*longest);
  return Tokens(0);
}

void repeat_layers(Reader& reader, std::uint64_t first, std::uint64_t last, std::uint64_t passes) {
  std::vector<Layer>& layers = reader.model.layers;
  if (passes == 0 || first > last || last > layers.size())
    fail("the loop over layers " + std::to_string(first) + " to " + std::to_string(last) + " is not part of this model",
         "correct the config");
  const std::uint64_t further = checked_mul(last - first, passes - 1, "the passes of a looped model");
  check_layers(checked_add(layers.size(), further, "the passes of a looped model"), "num_hidden_layers");
  reader.model.stored_layers = layers.size();
  for (std::uint64_t i = 0; i < further; ++i) layers.push_back(layers[first + i % (last - first)]);
}

Mixer attention_mixer(const Reader& reader, Label label, const Heads& heads, Tokens window) {
  if (label == Label::kFull) return FullAttention{heads};
  const Tokens longest = declared_length(reader);
  const auto covers_all = [&](Tokens kept) { return longest > Tokens(0) && kept >= longest; };
  const bool covers = window == Tokens(0) || covers_all(window);
  switch (label) {
    case Label::kSliding:
    case Label::kHybridSliding:
      if (covers) return FullAttention{heads};
      return SlidingWindow{heads, window};
    case Label::kChunked: {
      const Tokens chunk(reader.text.count_or("attention_chunk_size", 8192));
      if (chunk == Tokens(0) || covers_all(chunk)) return FullAttention{heads};
      return Chunked{heads, chunk};
    }
    case Label::kSparse:
    case Label::kSparseGqa: {
      const std::uint64_t index_head_dim = reader.text.count_or("index_head_dim", 0);
      if (index_head_dim == 0) return FullAttention{heads};
      return SparseGqa{heads, index_head_dim, reader.text.count_or("index_n_heads", 4)};
    }
    case Label::kSink: {
      const Tokens sink(reader.text.count_or("attention_sink_size", 0));
      if (covers || covers_all(window + sink)) return FullAttention{heads};
      if (sink == Tokens(0)) return SlidingWindow{heads, window};
      return AttentionSink{heads, sink, window};
    }
    default: return FullAttention{heads};
  }
}

static bool slides(Label label) {
  return label == Label::kSliding || label == Label::kHybridSliding || label == Label::kChunked;
}

void push_attention(Reader& reader, const std::vector<Label>& labels, const Heads& full, const Heads& sliding) {
  const Tokens window = read_window(reader.text);
  const LayerHeads own(reader.text);
  // If all layers have a window as long as the maximum context, they are planned as full attention. If the model also
  // has full layers, the window stays.
  const bool stays = window > Tokens(0) && std::find(labels.begin(), labels.end(), Label::kFull) != labels.end();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == Label::kRecurrent || labels[i] == Label::kHybrid)
      fail(Exit::kUnknownArchitecture,
           "\"" + reader.model.model_type + "\" has recurrent layers that kvplan has no rule for",
           "open an issue with the config; --assume cannot size an unknown state");
    if (labels[i] == Label::kNone)
      reader.add({{None{}}});
    else if (labels[i] == Label::kSliding && stays)
      reader.add({{SlidingWindow{own.of(i, sliding), window}}});
    else
      reader.add({{attention_mixer(reader, labels[i], own.of(i, slides(labels[i]) ? sliding : full), window)}});
  }
}

void read_decoder(Reader& reader, const PatternRule& rule) {
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(reader.text);
  const Heads sliding = read_heads(reader.text, {"", "", "swa_head_dim", "swa_v_head_dim"}, heads);
  const std::vector<Label> labels = layer_labels(reader.text, layers, rule);
  push_attention(reader, labels, heads, sliding);
}

ExpertShape read_experts(const Fields& text, std::uint64_t intermediate_size) {
  // Lists with an entry for each layer (Hunyuan) are read with the layers. Here the first entry is used for all.
  const auto number = [&text](std::string_view key) -> std::uint64_t {
    if (const auto list = text.counts(key)) return list->empty() ? 0 : list->front();
    return text.is_object(key) ? 0 : text.count_or(key, 0);
  };
  ExpertShape out;
  out.count = number("num_experts");
  if (out.count < 2) return {};
  out.used = number("num_experts_per_tok");
  out.width = number("moe_intermediate_size");
  if (out.width == 0) out.width = intermediate_size;
  out.dense_layers = number("first_k_dense_replace");
  return out;
}

Ssm read_mamba1(const Fields& config, bool is_alone) {
  Ssm ssm;
  ssm.version = Ssm::Version::kMamba1;
  const std::uint64_t hidden_size = config.count("hidden_size");
  // If the file gives the mixer's size, "expand" is ignored (Falcon-Mamba's says 16 and means 2). In hybrids this key
  // is the MLP's.
  const std::string_view width = config.has("mamba_d_ssm") ? "mamba_d_ssm" : "intermediate_size";
  const auto own = is_alone || config.has("mamba_d_ssm") ? config.bare().find_count(width) : std::nullopt;
  ssm.d_inner = own && *own > 0 ? *own : scaled_width(config.find_real("expand").value_or(2.0), hidden_size, "expand");
  config.derived("d_inner", ssm.d_inner);
  ssm.d_state = positive(config, "state_size", config.count_or("state_size", 16));
  ssm.conv_kernel = positive(config, "conv_kernel", config.count_or("conv_kernel", 4));
  for (const std::string_view key : {"time_step_rank", "mamba_dt_rank"})
    if (config.is_string(key)) config.touch(key);  // "auto"
  ssm.dt_rank = config.is_string("time_step_rank") || config.is_string("mamba_dt_rank")
                    ? ceil_div(hidden_size, 16)
                    : config.count_or("dt_rank", ceil_div(hidden_size, 16));
  return ssm;
}

Ssm read_mamba2(const Fields& config) {
  Ssm ssm;
  ssm.version = Ssm::Version::kMamba2;
  ssm.d_state = positive(config, "state_size", config.count_or("state_size", 128));
  ssm.conv_kernel = positive(config, "conv_kernel", config.count_or("conv_kernel", 4));
  ssm.conv_over_groups = config.class_name() != "plamo2";
  ssm.n_groups = config.count_or("n_groups", 1);
  if (ssm.conv_over_groups) positive(config, "n_groups", ssm.n_groups);
  ssm.num_heads = config.count("mamba_num_heads");
  // "auto" if the width is computed from the expansion.
  const auto head_dim = config.is_string("mamba_d_head") ? std::nullopt : config.find_count("mamba_head_dim");
  if (head_dim && *head_dim > 0) {
    ssm.head_dim = *head_dim;
  } else if (const auto width = config.find_count("mamba_d_ssm"); width && *width > 0) {
    ssm.head_dim = *width / ssm.num_heads;
    if (*width % ssm.num_heads != 0)
      fail("\"mamba_d_ssm\" is " + std::to_string(*width) + ", not a multiple of \"mamba_num_heads\", " +
               std::to_string(ssm.num_heads),
           "correct the config");
  } else {
    ssm.head_dim =
        scaled_width(config.find_real("expand").value_or(2.0), config.count("hidden_size"), "expand") / ssm.num_heads;
  }
  ssm.d_inner = checked_mul(ssm.num_heads, ssm.head_dim, "the inner width of a Mamba layer");
  config.derived("d_inner", ssm.d_inner);
  return ssm;
}

void read_hybrid(Reader& reader, const PatternRule& rule, const Mixer& recurrent) {
  const std::uint64_t layers = reader.num_layers();
  const std::vector<Label> labels = layer_labels(reader.text, layers, rule);
  const Tokens window = read_window(reader.text);
  const LayerHeads own(reader.text);
  Heads sliding;
  std::optional<Heads> heads;  // absent for a model with only recurrent layers
  for (std::uint64_t i = 0; i < layers; ++i) {
    if (labels[i] == Label::kNone) {
      reader.add({{None{}}});
      continue;
    }
    if (labels[i] == Label::kRecurrent) {
      reader.add({{recurrent}});
      continue;
    }
    if (!heads) {
      heads = read_heads(reader.text);
      sliding = read_heads(reader.text, {"", "", "swa_head_dim", "swa_v_head_dim"}, *heads);
    }
    Layer layer{{attention_mixer(reader, labels[i], own.of(i, slides(labels[i]) ? sliding : *heads), window)}};
    if (labels[i] == Label::kHybrid || labels[i] == Label::kHybridSliding) layer.mixers.push_back(recurrent);
    reader.add(std::move(layer));
  }
}

// Keys whose entries are layer indices; those in linear_attn_config count from 1.
constexpr std::string_view kIndices =
    "attn_layer_indices cross_attention_layers full_attention_idx full_attn_idxs global_attn_idx hybrid_layer_ids "
    "local_layer_ids mlp_only_layers moe_layers sliding_window_layers";
constexpr std::string_view kLinearIndices = "kda_layers full_attn_layers";

// Keys that, as lists, have an entry for each layer. An empty list is ignored, except under the last key.
constexpr std::string_view kEntries =
    "is_moe_layer mlp_layer_types no_rope_layers num_attention_heads_per_layer num_key_value_heads_per_layer "
    "sparse_attention_freq sliding_window moe_layer_freq";
constexpr std::string_view kMustNameAll = "moe_layer_freq";

static void check_entries(const Fields& place, std::uint64_t layers) {
  for (const std::string_view key : split(kEntries)) {
    const auto size = place.list_size(key);
    if (!size || *size >= layers || (*size == 0 && key != kMustNameAll)) continue;
    fail('"' + place.path() + std::string(key) + "\" has " + std::to_string(*size) + " entries for " +
             std::to_string(layers) + " layers",
         "give one entry for each layer");
  }
}

static void check_indices(const Reader& reader, const Fields& place, std::string_view keys, std::uint64_t first,
                          std::uint64_t layers) {
  for (const std::string_view key : split(keys)) {
    const auto list = place.quietly().counts(key);
    if (!list || list->empty()) continue;
    const std::uint64_t most = *std::max_element(list->begin(), list->end());
    if (most < layers + first) continue;
    reader.warn("layers_beyond", "\"" + place.path() + std::string(key) + "\" names layer " + std::to_string(most) +
                                     " of " + std::to_string(layers) + ": it is left out");
  }
}

void refuse_layers_that_are_no_list(const Fields& text) {
  const auto check = [](const Fields& place, std::string_view key) {
    if (place.has(key) && !place.is_list(key))
      fail('"' + place.path() + std::string(key) + "\" is not a list", "correct the config: it must list the layers");
  };
  for (const std::string_view key : {"layer_types", "block_types", "full_attn_idxs", "full_attention_idx",
                                     "cross_attention_layers", "attn_layer_indices", "mlp_layer_types"})
    check(text, key);
  if (const auto linear = text.child("linear_attn_config"))
    for (const std::string_view key : split(kLinearIndices)) check(*linear, key);
}

void check_layer_lists(const Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  check_entries(reader.text, layers);
  check_indices(reader, reader.text, kIndices, 0, layers);
  if (const auto linear = reader.text.child("linear_attn_config"))
    check_indices(reader, *linear, kLinearIndices, 1, layers);
  if (const auto sparse = reader.text.child("sparse_attention_config")) check_entries(*sparse, layers);
}

// The suffixes by which vLLM recognises pooling models (config/model.py, _SUFFIX_TO_DEFAULTS). A bare "Model" is one
// too, unless it is part of the name of a generating class.
static bool names_embedder(std::string_view architecture) {
  for (const std::string_view suffix :
       {"ForTextEncoding", "EmbeddingModel", "ForSequenceClassification", "ForTokenClassification",
        "ClassificationModel", "ForRewardModeling", "RewardModel", "BidirectionalModel"})
    if (architecture.ends_with(suffix)) return true;
  for (const std::string_view writes : {"Chat", "LMHead", "NVLM"})
    if (architecture.find(writes) != std::string_view::npos) return false;
  return architecture.ends_with("Model");
}

// Whether all tokens attend to each other. Then nothing of a token is used after its pass.
static bool attends_both_ways(const Reader& reader) {
  const Fields& text = reader.text;
  const auto says = [&](std::string_view key, bool value) { return text.is_bool(key) && text.find_bool(key) == value; };
  // PaliGemma's flag is only about its prompt. The model has a tower, and generates.
  return says("is_causal", false) || (says("use_bidirectional_attention", true) && reader.model.towers.empty()) ||
         reader.model.architecture.ends_with("BidirectionalModel");
}

void read_purpose(Reader& reader) {
  ModelSpec& model = reader.model;
  const auto all_are = [&](const auto& holds) {
    return std::all_of(model.layers.begin(), model.layers.end(), [&](const Layer& layer) {
      return std::all_of(layer.mixers.begin(), layer.mixers.end(), holds);
    });
  };
  if (all_are([](const Mixer& mixer) { return std::holds_alternative<None>(mixer); }))
    return;  // the class is known to be an encoder
  if (!all_are([](const Mixer& mixer) { return !std::holds_alternative<Cross>(mixer); })) return;  // has a decoder
  if (attends_both_ways(reader)) {
    model.embeds = true;
    for (Layer& layer : model.layers) layer.mixers = {None{}};
    reader.inform("encoder_only",
                  "bidirectional attention: the model reads its whole input at once and has no KV cache");
  } else if (names_embedder(model.architecture)) {
    model.embeds = true;
    reader.inform("embedding_model",
                  "this model returns embeddings or scores, not text; engines with chunked prefill or prefix caching "
                  "still allocate a KV cache");
  }
}

}  // namespace kvplan
