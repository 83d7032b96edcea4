// Source: vLLM 0.30, transformers_utils/configs/mistral.py (adapt_config_dict).
#include <array>

#include "formats/document.h"

namespace kvplan {

namespace {

using Json = nlohmann::json;

struct MistralKey {
  std::string_view own, key;
};
constexpr std::array kMistralKeys{
    MistralKey{"dim", "hidden_size"},
    MistralKey{"n_layers", "num_hidden_layers"},
    MistralKey{"n_heads", "num_attention_heads"},
    MistralKey{"n_kv_heads", "num_key_value_heads"},
    MistralKey{"hidden_dim", "intermediate_size"},
    MistralKey{"norm_eps", "rms_norm_eps"},
    MistralKey{"max_seq_len", "max_position_embeddings"},
    MistralKey{"tied_embeddings", "tie_word_embeddings"},
    MistralKey{"moe.num_experts", "num_experts"},
    MistralKey{"moe.num_experts_per_tok", "num_experts_per_tok"},
    MistralKey{"moe.expert_hidden_dim", "moe_intermediate_size"},
    MistralKey{"moe.first_k_dense_replace", "first_k_dense_replace"},
    MistralKey{"moe.num_shared_experts", "n_shared_experts"},
    MistralKey{"moe.route_every_n", "moe_layer_freq"},
    MistralKey{"moe.num_expert_groups", "n_group"},
    MistralKey{"moe.num_expert_groups_per_tok", "topk_group"},
};

// The value of "moe.num_experts"; null if there is none.
const Json* find(const Json& root, std::string_view path) {
  const std::size_t dot = path.find('.');
  if (!root.is_object()) return nullptr;
  const auto found = root.find(path.substr(0, dot));
  if (found == root.end() || found->is_null()) return nullptr;
  if (dot == std::string_view::npos) return &*found;
  return find(*found, path.substr(dot + 1));
}

std::uint64_t number(const Json& root, std::string_view path) {
  const Json* value = find(root, path);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

// A list of windows, with null for layers without one, is repeated over the layers.
void translate_windows(Json& root, OwnKeys& own) {
  const Json* windows = find(root, "sliding_window");
  const std::uint64_t layers = number(root, "num_hidden_layers");
  if (windows == nullptr || !windows->is_array() || windows->empty() || layers > 10000) return;
  Json words = Json::array();
  Json window = nullptr;
  for (std::size_t i = 0; i < layers; ++i) {
    const Json& each = (*windows)[i % windows->size()];
    words.push_back(each.is_null() ? "full_attention" : "sliding_attention");
    if (!each.is_null()) window = each;
  }
  own["layer_types"] =
      own["sliding_window"] = {"sliding_window", windows->dump(-1, ' ', false, Json::error_handler_t::replace)};
  root["layer_types"] = words;
  root["sliding_window"] = window;
}

void translate(Json& root, OwnKeys& own) {
  for (const auto& [key, value] : root.items()) own[key] = {key};
  for (const MistralKey& row : kMistralKeys) {
    own[std::string(row.key)] = {std::string(row.own)};
    const Json* value = find(root, row.own);
    if (value == nullptr) continue;
    root[std::string(row.key)] = Json(*value);
  }
  for (const MistralKey& row : kMistralKeys) root.erase(std::string(row.own));
  translate_windows(root, own);
  const bool latent = number(root, "kv_lora_rank") > 0;
  root["model_type"] = latent ? "deepseek_v3" : number(root, "num_experts") > 0 ? "mixtral" : "mistral";
  root.erase("moe");
  if (!root.contains("tie_word_embeddings")) {
    root["tie_word_embeddings"] = false;
    own["tie_word_embeddings"].origin = Origin::kClassDefault;
  }
  if (const Json* quantization = find(root, "quantization"); quantization != nullptr &&
                                                             find(*quantization, "qformat_weight") != nullptr &&
                                                             *find(*quantization, "qformat_weight") == "fp8_e4m3") {
    root["quantization_config"] = {{"quant_method", "fp8"}};
    root.erase("quantization");
  }
}

void override_members(Json& config, const Json& overrides) {
  for (const auto& [key, value] : overrides.items()) {
    Json& member = config[key];
    if (key.ends_with("_config") && member.is_object() && value.is_object())
      override_members(member, value);
    else
      member = value;
  }
}

}  // namespace

Fields parse_config(std::string_view text, std::string_view overrides) {
  auto document = parse_document(text);
  Json& root = document->root;
  const auto has_number = [&](const char* key) { return root.contains(key) && root[key].is_number(); };
  const bool of_mistral = has_number("dim") && has_number("n_layers") && has_number("n_heads") &&
                          has_number("hidden_dim") && !root.contains("model_type");
  if (of_mistral) translate(root, document->own);
  if (!overrides.empty()) override_members(root, parse_document(overrides)->root);
  return Fields::of(std::move(document));
}

}  // namespace kvplan
