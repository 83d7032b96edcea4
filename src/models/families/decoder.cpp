// Decoders of plain attention: every layer alike, or windows and chunks in a pattern.
#include <algorithm>
#include <array>
#include <string>

#include "kvplan/error.h"
#include "models/families.h"

namespace kvplan {

namespace {

using Default = PatternRule::Default;

struct WindowRow {
  std::string_view model_types;
  PatternRule rule;
};

// The pattern of each class where the file spells none. Source: the config classes of transformers 5.16.
constexpr std::array kWindowRules{
    WindowRow{"gemma2 vaultgemma", {Default::kFullEvery, 2}},
    WindowRow{"gemma3_text t5gemma2_text diffusion_gemma_text", {Default::kFullEvery, 6}},
    WindowRow{"cohere2 cohere2_moe olmo3 exaone4 exaone_moe", {Default::kFullEvery, 4}},
    WindowRow{"afmoe", {Default::kFullEvery, 4, false, Label::kSliding, "global_attn_every_n_layers"}},
    WindowRow{"gpt_oss", {Default::kFullEvery, 2}},
    WindowRow{"cwm granite_swa granitemoe_swa", {Default::kFullFirstOf, 4}},
    WindowRow{"modernbert-decoder", {Default::kFullFirstOf, 3, false, Label::kSliding, "global_attn_every_n_layers"}},
    WindowRow{"plamo3", {Default::kFullEvery, 8}},
    WindowRow{"laguna mellum smollm3 smallthinker spark2_5", {Default::kAllFull, 0}},
    WindowRow{"gpt_neo", {Default::kFullEvery, 2}},  // replaced by attention_types in real files
};

bool lists(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const bool starts = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (starts && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

void read_plain(Reader& reader) {
  read_decoder(reader, {});
}

void read_windowed(Reader& reader) {
  PatternRule rule{Default::kWindowEverywhere};
  for (const WindowRow& row : kWindowRules)
    if (lists(row.model_types, reader.text.class_name())) rule = row.rule;
  // EXAONE-4's small model and others switch the window off with a null.
  for (const std::string_view key : {"use_sliding_window", "max_window_layers", "sliding_window_pattern",
                                     "_sliding_window_pattern", "prefix_dense_sliding_window_pattern"})
    reader.text.touch(key);
  if (read_window(reader.text) == Tokens(0)) rule = {};
  read_decoder(reader, rule);
}

void read_qwen(Reader& reader) {
  for (const std::string_view key : {"sliding_window", "max_window_layers"}) reader.text.touch(key);
  read_decoder(reader, {Default::kQwen});
}

// Llama 4: chunks in the layers with rotary embedding, every fourth layer attends to everything.
void read_llama4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t interval = reader.text.count_or("no_rope_layer_interval", 4);
  const Heads heads = read_heads(reader.text);
  const auto rope = reader.text.counts("no_rope_layers");
  if (reader.text.is_list("layer_types")) return read_decoder(reader, {});
  for (std::uint64_t i = 0; i < layers; ++i) {
    const bool full = rope && i < rope->size() ? (*rope)[i] == 0 : interval > 0 && (i + 1) % interval == 0;
    reader.model.layers.push_back({{attention_mixer(reader, full ? Label::kFull : Label::kChunked, heads, Tokens(0))}});
  }
}

// MiMo-V2: sliding layers have their own heads (swa_*), twice the KV heads where the file names none, and keys are
// wider than values. Source: transformers modeling_mimo_v2_flash.py, and its config's default: full are the first layer
// and every sixth.
void read_mimo_v2(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(reader.text);
  Heads doubled = full;
  doubled.num_kv_heads = std::min(full.num_heads, checked_mul(full.num_kv_heads, 2, "the KV heads"));
  const Heads sliding = read_heads(
      reader.text, {"swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim"}, doubled);
  reader.text.touch("sliding_window_size");   // the same number again
  reader.text.touch("attention_chunk_size");  // present in the file, used by no layer
  const Tokens window = read_window(reader.text);
  std::vector<Label> labels = layer_labels(reader.text, layers, {Default::kFullEvery, 6});
  if (!reader.text.is_list("layer_types") && !reader.text.is_list("hybrid_layer_pattern") && !labels.empty())
    labels.front() = Label::kFull;
  const LayerHeads own(reader.text);
  for (std::uint64_t i = 0; i < layers; ++i) {
    const bool slides = labels[i] == Label::kSliding;
    reader.model.layers.push_back({{attention_mixer(reader, labels[i], own.of(i, slides ? sliding : full), window)}});
  }
}

// Step-3.5 and 3.7: one full layer in four; the sliding ones have more query heads over the same KV heads.
void read_step3p5(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(reader.text);
  Heads sliding = full;
  if (const auto other = reader.text.child("attention_other_setting")) {
    reader.text.touch("attention_other_setting");
    sliding = read_heads(*other, {"num_attention_heads", "num_attention_groups", "head_dim", ""}, full);
  }
  const std::vector<Label> labels = layer_labels(reader.text, layers, {Default::kFullFirstOf, 4});
  const Tokens window = read_window(reader.text);
  const LayerHeads own(reader.text);
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads& base = labels[i] == Label::kSliding ? sliding : full;
    reader.model.layers.push_back({{attention_mixer(reader, labels[i], own.of(i, base), window)}});
  }
}

// Models found by architecture search: each block has its own KV heads, a window, or no attention at all.
void read_nemotron_nas(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  const auto blocks = reader.text.objects("block_configs");
  // DeciLM-6B and 7B: blocks alike but for their KV heads.
  if (!blocks && reader.text.is_list("num_key_value_heads_per_layer")) return read_decoder(reader, {});
  if (!blocks || blocks->size() < layers)
    fail("\"block_configs\" does not name every layer", "give one block for each layer");
  const std::uint64_t hidden_size = reader.text.count("hidden_size");
  const std::uint64_t head_dim = reader.text.count_or("head_dim", hidden_size / num_heads);
  reader.text.touch("num_key_value_heads");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const auto attention = (*blocks)[i].child("attention");
    if (!attention || attention->flag("no_op", false) || attention->flag("replace_with_linear", false)) {
      reader.model.layers.push_back({{None{}}});
      continue;
    }
    Heads heads{num_heads, num_heads, head_dim, head_dim};
    if (const auto group = attention->find_count("n_heads_in_group"); group && *group > 0) {
      if (num_heads % *group != 0) fail("\"n_heads_in_group\" does not divide the heads", "correct block_configs");
      heads.num_kv_heads = num_heads / *group;
    } else {
      heads.num_kv_heads = attention->count_or("num_key_value_heads", num_heads);
    }
    check_heads(heads);
    const std::uint64_t window = attention->count_or("window_length", 0);
    reader.model.layers.push_back(
        {{attention_mixer(reader, window > 0 ? Label::kSliding : Label::kFull, heads, Tokens(window))}});
  }
}

// OpenELM: heads grow from layer to layer.
void read_openelm(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const auto queries = reader.text.counts("num_query_heads");
  const auto keys = reader.text.counts("num_kv_heads");
  const std::uint64_t head_dim = reader.text.count("head_dim");
  if (!queries || !keys || queries->size() < layers || keys->size() < layers)
    fail("\"num_query_heads\" and \"num_kv_heads\" do not name every layer", "give one entry for each layer");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads heads{(*queries)[i], (*keys)[i], head_dim, head_dim};
    check_heads(heads);
    reader.model.layers.push_back({{FullAttention{heads}}});
  }
}

}  // namespace kvplan
