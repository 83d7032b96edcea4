// The fallback, for a config of an unknown class or one that names its kind in attention_type. Each layer's kind comes
// from its word in layer_types, or from attention_type, or from the fields that the config has.
#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/blocks/layers.h"

namespace kvplan {

namespace {

// The values of attention_type, and the field that each value needs.
struct KindRow {
  std::string_view words, kind, needs;
};
constexpr KindRow kKinds[] = {
    {"mha multi_head multi_head_attention", "mha", ""},
    {"gqa grouped_query grouped_query_attention", "gqa", ""},
    {"mqa multi_query multi_query_attention", "mqa", ""},
    {"mla multi_head_latent_attention", "mla", "kv_lora_rank"},
    {"sparse_mla", "sparse_mla", "kv_lora_rank"},
    {"sliding_window sliding_window_attention sliding_attention swa", "sliding_window", "sliding_window"},
    {"attention_sink streaming_llm", "attention_sink", "attention_sink_size"},
    {"chunked chunked_attention", "chunked", "attention_chunk_size"},
    {"ssm", "ssm", "state_size"},
    {"mamba", "mamba", "state_size"},
    {"mamba1", "mamba1", "state_size"},
    {"mamba2", "mamba2", "state_size"},
    {"linear linear_attention", "linear", ""},
    {"gated_delta_net gated_deltanet", "gated_delta_net", "linear_num_value_heads"},
    {"kda", "kda", "linear_attn_config"},
    {"lightning lightning_attention", "lightning", ""},
    {"short_conv", "short_conv", "conv_L_cache"},
    {"rwkv", "rwkv", ""},
    {"rg_lru", "rg_lru", ""},
    {"sparse_gqa", "sparse_gqa", "index_head_dim"},
    {"cross cross_attention", "cross", ""},
    {"none", "none", ""},
    {"hybrid", "hybrid", ""},
};

const KindRow* find_kind(std::string_view word) {
  for (const KindRow& row : kKinds)
    if (has_word(row.words, word)) return &row;
  return nullptr;
}

bool has_state_size(const Fields& config) {
  for (const std::string_view key : {"state_size", "ssm_state_size", "mamba_d_state", "d_state"})
    if (config.has(key)) return true;
  return false;
}

// The recurrence that a word means. If the word leaves it open, the fields in the config decide.
Mixer recurrent_mixer(const Reader& reader, std::string_view word) {
  const Fields& text = reader.text;
  if (word == "mamba2" && !text.has("num_heads")) return read_mamba2(text);
  if (word == "mamba1") return read_mamba1(text);
  if (has_word("ssm mamba mamba2", word)) return read_ssm(text);
  if (has_word("conv short_conv", word)) return read_short_conv(text);
  if (word == "rwkv") return read_rwkv_mixer(text);
  if (word == "rg_lru") return read_rg_lru(text);
  if (const auto settings = text.child("linear_attn_config")) {
    text.touch("linear_attn_config");
    return read_kda(*settings);
  }
  if (text.has("linear_num_value_heads")) return read_delta_net(text);
  if (has_word("lightning lightning_attention", word)) return read_matrix_state(read_heads(text));
  if (text.has("lru_width")) return read_rg_lru(text);
  if (has_state_size(text)) return read_ssm(text);
  if (text.has("conv_L_cache")) return read_short_conv(text);
  if (has_word("linear linear_attention", word)) return read_matrix_state(read_heads(text));
  fail(Exit::kUnknownArchitecture,
       "\"" + reader.model.model_type + "\" has recurrent layers, and no known key gives the size of their state",
       "open an issue with the config");
}

Tokens needed_window(const Reader& reader, std::string_view word) {
  const Tokens window = read_window(reader.text);
  if (window == Tokens(0))
    fail("layers of kind \"" + one_line(word, 40) + "\" need \"sliding_window\"", "name it in the config");
  return window;
}

// One layer of the kind that `word` names.
Layer layer_of(const Reader& reader, const LayerHeads& own, std::uint64_t index, std::string_view word, Label label) {
  const Fields& text = reader.text;
  switch (label) {
    case Label::kNone: return {{None{}}};
    case Label::kMla: return {{latent_mixer(text)}};
    case Label::kSparse: return {{text.has("kv_lora_rank") ? sparse_latent_mixer(text) : sparse_gqa_mixer(text)}};
    case Label::kSparseGqa: return {{sparse_gqa_mixer(text)}};
    case Label::kRecurrent: return {{recurrent_mixer(reader, word)}};
    default: break;
  }
  Heads heads = own.of(index, read_heads(text));
  switch (label) {
    case Label::kMha: heads.num_kv_heads = heads.num_heads; return {{FullAttention{heads}}};
    case Label::kMqa: heads.num_kv_heads = 1; return {{FullAttention{heads}}};
    case Label::kCross: return {{Cross{heads}}};
    case Label::kShared: return {{Shared{index == 0 ? 0 : index - 1, heads, Tokens(0)}}};
    case Label::kSliding:
    case Label::kSink: return {{attention_mixer(reader, label, heads, needed_window(reader, word))}};
    case Label::kChunked:
      text.count("attention_chunk_size");
      return {{attention_mixer(reader, label, heads, Tokens(0))}};
    case Label::kHybrid:
    case Label::kHybridSliding: {
      const Tokens window = label == Label::kHybrid ? Tokens(0) : needed_window(reader, word);
      return {{attention_mixer(reader, label, heads, window), recurrent_mixer(reader, word)}};
    }
    default: return {{FullAttention{heads}}};
  }
}

// The first Mamba configs have no model_type, and an ssm_cfg {"layer": "Mamba2", "d_state": 128} that is mostly empty.
Ssm read_ssm_cfg(const Fields& text, const Fields& settings) {
  text.touch("ssm_cfg");
  Ssm ssm;
  const std::uint64_t width = text.count("hidden_size");
  const bool second = settings.find_string("layer").value_or("Mamba1") == "Mamba2";
  ssm.version = second ? Ssm::Version::kMamba2 : Ssm::Version::kMamba1;
  ssm.d_state = settings.count_or("d_state", second ? 128 : 16);
  ssm.conv_kernel = settings.find_count("d_conv") ? settings.count("d_conv") : 4;
  ssm.d_inner = scaled_width(settings.find_real("expand").value_or(2.0), width, "ssm_cfg.expand");
  ssm.dt_rank = second ? 0 : ceil_div(width, 16);
  if (second) {
    ssm.head_dim = settings.count_or("headdim", 64);
    ssm.n_groups = settings.count_or("ngroups", 1);
    if (ssm.head_dim == 0 || ssm.d_inner % ssm.head_dim != 0)
      fail("\"ssm_cfg.headdim\" does not divide the inner width", "correct the config");
    ssm.num_heads = ssm.d_inner / ssm.head_dim;
  }
  return ssm;
}

// The kind of the layers if neither a pattern nor attention_type gives it.
PatternRule rule_of_fields(const Fields& text) {
  using Default = PatternRule::Default;
  if (text.count_or("attention_sink_size", 0) > 0) return in_all_layers(Label::kSink);
  if (read_window(text) == Tokens(0)) {
    for (const std::string_view key : {"use_sliding_window", "max_window_layers"}) text.touch(key);
    return {};
  }
  if (text.has("use_sliding_window")) return {Default::kQwen};
  return {Default::kWindowEverywhere};
}

}  // namespace

std::string_view kind_of_word(std::string_view word) {
  const KindRow* row = find_kind(word);
  return row == nullptr ? std::string_view() : row->kind;
}

bool names_a_kind(const Reader& reader, std::string_view word) {
  const KindRow* row = find_kind(word);
  if (row == nullptr) return false;
  const Fields own = reader.text.bare();
  if (row->kind == "hybrid") return own.is_list("layer_types") || own.is_list("layers_block_type");
  if (row->kind == "linear" || row->kind == "cross" || row->kind == "rwkv" || row->kind == "rg_lru") return false;
  if (row->kind == "mha" || row->kind == "mqa") {
    const auto kv = own.find_count("num_key_value_heads");
    return !kv || *kv == (row->kind == "mqa" ? 1 : own.count_or("num_attention_heads", 0));
  }
  if (row->kind == "gqa") return false;  // the heads show it
  if (row->kind == "kda") return own.is_object("linear_attn_config");
  return row->needs.empty() || own.count_or(row->needs, 0) > 0;
}

static void read_kinds(Reader& reader) {
  const Fields& text = reader.text;
  const std::string named = text.find_string("attention_type").value_or("");
  const KindRow* kind = named.empty() ? nullptr : find_kind(named);
  if (!named.empty() && kind == nullptr)
    reader.warn("unknown_attention_type",
                "attention_type \"" + one_line(named, 40) + "\" is not a known kind; kvplan uses the other fields");
  const std::uint64_t layers = reader.num_layers();
  const LayerHeads own(text);

  const auto settings = text.child("ssm_cfg");
  if (settings && text.list_size("attn_layer_idx").value_or(0) == 0) {
    const Ssm ssm = read_ssm_cfg(text, *settings);
    reader.model.layers.assign(layers, Layer{{ssm}});
    return;
  }

  const auto words = text.strings("layer_types");
  const bool patterned = words || kind == nullptr || kind->kind == "hybrid";
  if (!patterned) {
    const Label label = parse_label(kind->kind, "attention_type");
    const Layer layer = layer_of(reader, own, 0, kind->kind, label);
    for (std::uint64_t i = 0; i < layers; ++i)
      reader.add(text.is_object("per_layer_config") ? layer_of(reader, own, i, kind->kind, label) : layer);
    return;
  }
  if (!words && kind == nullptr && text.count_or("kv_lora_rank", 0) > 0)
    return text.has("index_head_dim") ? read_sparse_mla(reader) : read_mla(reader);
  if (!words && kind == nullptr && !text.has("num_attention_heads") && !text.has("n_head") && has_state_size(text)) {
    if (text.has("num_heads")) return read_mamba2_model(reader);
    return reader.model.layers.assign(layers, Layer{{read_mamba1(text)}});
  }
  const std::vector<Label> labels = layer_labels(text, layers, rule_of_fields(text));
  if (kind != nullptr && std::all_of(labels.begin(), labels.end(), [](Label l) { return l == Label::kFull; }))
    reader.warn(
        "pattern_missing",
        "attention_type is hybrid, but no key gives the kind of each layer: planned with full attention in all");
  for (std::uint64_t i = 0; i < layers; ++i)
    reader.add(layer_of(reader, own, i, words ? std::string_view((*words)[i]) : "", labels[i]));
}

void read_generic(Reader& reader) {
  read_kinds(reader);
  for (const Layer& layer : reader.model.layers)
    for (const Mixer& mixer : layer.mixers)
      if (std::holds_alternative<Cross>(mixer) && reader.model.source_tokens == Tokens(0)) {
        const std::uint64_t source = reader.text.count_or("max_source_positions", 0);
        reader.model.source_tokens = source > 0 ? Tokens(source) : reader.model.max_model_len;
      }
}

}  // namespace kvplan
