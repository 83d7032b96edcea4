// Older decoders with their own names for KV heads.
#include "kvplan/error.h"
#include "models/families.h"

namespace kvplan {

namespace {
void push_full(Reader& reader, const Heads& heads) {
  check_heads(heads);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{FullAttention{heads}}});
}

Heads heads_of_width(const Fields& config, std::uint64_t num_heads, std::uint64_t num_kv_heads) {
  const std::uint64_t hidden_size = config.count("hidden_size");
  const std::uint64_t head_dim = config.count_or("head_dim", hidden_size / num_heads);
  if (head_dim == 0) fail("there are more heads than the hidden size is wide", "correct the config");
  config.derived("head_dim", head_dim);
  return {num_heads, num_kv_heads, head_dim, head_dim};
}
}  // namespace

// Falcon: num_kv_heads counts only in the new decoder; the old one has one KV head with multi_query.
void read_falcon(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  // Falcon-40B's first config ("RefinedWeb") names KV heads and no architecture; 7B is a "RefinedWebModel".
  const bool first_40b = reader.model.model_type == "RefinedWeb" && reader.text.has("n_head_kv");
  const bool newer = reader.text.contains("new_decoder_architecture")
                         ? reader.text.flag("new_decoder_architecture", false)
                         : first_40b;
  const bool multi_query = reader.text.flag("multi_query", true);
  const std::uint64_t named = reader.text.count_or("num_key_value_heads", num_heads);
  push_full(reader, heads_of_width(reader.text, num_heads, newer ? named : multi_query ? 1 : num_heads));
}

void read_gpt_bigcode(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  push_full(reader, heads_of_width(reader.text, num_heads, reader.text.flag("multi_query", true) ? 1 : num_heads));
}

void read_attn_config(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  // DBRX's class has one KV head where attn_config names none, MPT's as many as heads.
  const std::uint64_t fallback = reader.text.class_name() == "dbrx" ? 1 : num_heads;
  std::uint64_t num_kv_heads = fallback;
  if (const auto attention = reader.text.child("attn_config")) {
    const bool multi_query = attention->find_string("attn_type").value_or("") == "multiquery_attention";
    num_kv_heads = attention->count_or("kv_n_heads", multi_query ? 1 : fallback);
  }
  push_full(reader, heads_of_width(reader.text, num_heads, num_kv_heads));
}

// PLaMo: n_shared_head query heads share one head of keys and values.
void read_plamo(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  const std::uint64_t shared = reader.text.count_or("n_shared_head", 8);
  if (shared == 0) fail("\"n_shared_head\" is 0", "correct the config");
  push_full(reader, heads_of_width(reader.text, num_heads, ceil_div(num_heads, shared)));
}

// ChatGLM: groups count only with multi_query_attention.
void read_chatglm(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  const bool grouped = reader.text.flag("multi_query_attention", false);
  const std::uint64_t groups = reader.text.count_or("multi_query_group_num", 1);
  push_full(reader, heads_of_width(reader.text, num_heads, grouped ? groups : num_heads));
}

}  // namespace kvplan
