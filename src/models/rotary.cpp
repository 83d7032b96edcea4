// Engines compute the cosines and sines of all positions once and store them: positions x width elements for each
// distinct setting. The number of positions depends on the setting's type:
//
//   default, llama3          max_position_embeddings
//   linear, dynamic          max_position_embeddings * factor
//   yarn, deepseek_yarn      original_max_position_embeddings * factor
//   longrope, su             original_max_position_embeddings + max_position_embeddings: a short and a long table
//
// Source: vllm/model_executor/layers/rotary_embedding (get_rope and the classes that it makes).
#include "models/reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

// Classes without rotary positions: relative biases, slopes, sinusoids, or none at all.
constexpr std::string_view kWithout =
    "biogpt bloom ctrl flaubert jais jamba kimi_linear mamba mamba2 falcon_mamba mpt nemotron_h nemotron_h_puzzle "
    "rwkv rwkv5 rwkv6 rwkv7 t5 mt5 umt5 xglm xlnet zamba";

// The rotated fraction of a head if the config does not give it.
struct ClassShare {
  std::string_view model_types;
  double share;
};
constexpr std::array kShares{
    ClassShare{"gpt_neox qwen3_next qwen3_5_text qwen3_5_moe_text stablelm stablelm_epoch", 0.25},
    ClassShare{"chatglm glm glm4 glm4_moe glm4v_text glm_ocr_text nemotron persimmon phi", 0.5},
};

constexpr double kMostPositions = 1e10;  // larger than any model's; a larger product is not a table

bool rotates(const Reader& reader) {
  const Fields& text = reader.text;
  const Fields bare = text.bare();
  if (has_word(kWithout, text.class_name()) || reader.model.family == "encoder_decoder") return false;
  if (bare.flag("alibi", false)) return false;
  const std::string named = bare.find_string("position_embedding_type").value_or("");
  if (!named.empty()) return named == "rope";
  if (text.class_name() == "granitemoehybrid") return false;
  if (text.class_name() == "zamba2" && !text.flag("use_mem_rope", false)) return false;
  if (text.class_name() == "baichuan" && reader.model.hidden_size > 4096) return false;
  for (const std::string_view key :
       {"rope_theta", "rope_scaling", "rope_parameters", "rotary_pct", "rotary_dim", "rotary_emb_base"})
    if (bare.contains(key)) return true;
  // Learned positions have their own table, which the inventory has.
  return !text.class_name().empty() &&
         std::none_of(reader.model.tensors.begin(), reader.model.tensors.end(),
                      [](const TensorGroup& group) { return group.module == "model.embed_positions"; });
}

std::string type_of(const std::optional<Fields>& settings) {
  if (!settings) return "default";
  const std::string type = settings->find_string("rope_type").value_or("");
  return type.empty() ? settings->find_string("type").value_or("default") : type;
}

// The settings for full attention and for windows: one object for both, or one for each.
struct Settings {
  std::optional<Fields> full, window;
  bool apart = false;  // windows have separate settings
};

Settings settings_of(const Fields& text) {
  Settings out;
  const auto given = text.child("rope_parameters");
  if (given && (given->child("full_attention") || given->child("sliding_attention"))) {
    out.full = given->child("full_attention");
    out.window = given->child("sliding_attention");
    const auto theta = [](const std::optional<Fields>& of) { return of ? of->find_real("rope_theta") : std::nullopt; };
    out.apart =
        type_of(out.full) != "default" || type_of(out.window) != "default" || theta(out.full) != theta(out.window);
    return out;
  }
  out.full = given ? given : text.child("rope_scaling");
  out.window = out.full;
  out.apart = text.contains("swa_rope_theta");
  // In these models windows have a separate unscaled rotation. In OLMo 3 they do only if the rotation of full layers is
  // scaled.
  const bool is_olmo3 = text.class_name() == "olmo3" && type_of(out.full) != "default";
  if (text.contains("rope_local_base_freq") || has_word("gemma3_text gemma3n_text", text.class_name()) || is_olmo3) {
    out.window.reset();
    out.apart = true;
  }
  return out;
}

std::optional<double> real_of(const std::optional<Fields>& settings, const Fields& text, std::string_view key) {
  if (settings && settings->is_number(key)) return settings->find_real(key);
  return text.is_number(key) ? text.find_real(key) : std::nullopt;
}

double positions_of(const std::optional<Fields>& settings, const Fields& text, double longest) {
  if (!settings) return longest;
  const std::string type = type_of(settings);
  const double factor = settings->is_number("factor") ? settings->find_real("factor").value_or(1) : 1;
  const double original = real_of(settings, text, "original_max_position_embeddings").value_or(longest);
  if (type == "linear" || (type == "dynamic" && !settings->has("alpha"))) return longest * factor;
  if (type == "yarn" || type == "deepseek_yarn") return original * factor;
  if (type == "longrope" || type == "su") return original + longest;
  return longest;
}

// The width of a head that is rotated.
std::uint64_t width_of(const std::optional<Fields>& settings, const Fields& text, std::uint64_t head_dim) {
  const Fields bare = text.bare();
  if (bare.is_number("rotary_dim")) return std::min(head_dim, bare.count_or("rotary_dim", head_dim));
  if (settings && settings->find_string("rope_type").value_or("") == "proportional") return head_dim;
  auto share = real_of(settings, bare, "partial_rotary_factor");
  if (!share) share = real_of(settings, bare, "rotary_pct");
  if (!share)
    for (const ClassShare& row : kShares)
      if (has_word(row.model_types, text.class_name())) share = row.share;
  if (!share || !(*share > 0 && *share <= 1)) return head_dim;
  return static_cast<std::uint64_t>(*share * static_cast<double>(head_dim));
}

}  // namespace

std::vector<RotaryTable> read_rotary_tables(const Reader& reader) {
  std::vector<RotaryTable> out;
  const double longest = static_cast<double>(reader.model.max_model_len.count());
  if (longest == 0 || !rotates(reader)) return out;
  const Fields text = reader.text.quietly();
  const Settings settings = settings_of(text);
  const auto add = [&](const std::optional<Fields>& setting, std::uint64_t width, std::uint64_t which,
                       bool of_indexer = false) {
    const double positions = positions_of(setting, text, longest);
    if (!(positions >= 1 && positions <= kMostPositions) || width == 0) return;
    RotaryTable table;
    table.positions = static_cast<std::uint64_t>(positions);
    table.width = width;
    table.is_multimodal =
        setting && (setting->is_list("mrope_section") || setting->find_string("rope_type").value_or("") == "mrope" ||
                    setting->find_string("type").value_or("") == "mrope");
    table.setting = which;
    table.is_yarn = type_of(setting).find("yarn") != std::string::npos;
    table.of_indexer = of_indexer;
    if (std::find(out.begin(), out.end(), table) == out.end()) out.push_back(table);
  };
  const Layer* before = nullptr;
  for (const Layer& layer : reader.model.layers) {
    const bool repeats = before != nullptr && before->mixers == layer.mixers;
    before = &layer;
    if (repeats) continue;
    for (const Mixer& mixer : layer.mixers) {
      if (const auto* latent = std::get_if<Mla>(&mixer)) {
        add(settings.full, latent->latent.qk_rope_head_dim, 0);
      } else if (const auto* sparse = std::get_if<SparseMla>(&mixer)) {
        add(settings.full, sparse->latent.qk_rope_head_dim, 0);
        // The indexer pairs elements differently. If the config lets it pair them as attention does, GLM's classes
        // share one table.
        const bool is_alike = text.class_name() != "glm_moe_dsa" || text.flag("indexer_rope_interleave", false);
        add(settings.full, sparse->latent.qk_rope_head_dim, 1, is_alike);
      } else if (const auto* compressed = std::get_if<Compressed>(&mixer)) {
        // compress_rope_theta: compressed entries have their own base. A table that no plain layer uses is marked as an
        // indexer's, because vLLM does not create it.
        const bool has_plain =
            std::any_of(reader.model.layers.begin(), reader.model.layers.end(), [](const Layer& one) {
              const auto* other = std::get_if<Compressed>(&one.mixers.front());
              return other != nullptr && other->compress_ratio <= 1;
            });
        add(settings.full, compressed->qk_rope_head_dim, 0, !has_plain);
        add(settings.full, compressed->qk_rope_head_dim, 1);
      } else if (const auto* window = std::get_if<SlidingWindow>(&mixer); window != nullptr && settings.apart) {
        add(settings.window, width_of(settings.window, text, window->heads.head_dim), 2);
      } else {
        std::visit(
            [&](const auto& kind) {
              if constexpr (requires { kind.heads.head_dim; } && !std::is_same_v<std::decay_t<decltype(kind)>, Cross> &&
                            !std::is_same_v<std::decay_t<decltype(kind)>, Shared>)
                add(settings.full, width_of(settings.full, text, kind.heads.head_dim), 0);
            },
            mixer);
      }
    }
  }
  return out;
}

std::optional<PlainRotation> read_plain_rotation(const Reader& reader) {
  const std::vector<RotaryTable>& tables = reader.model.rotary_tables;
  if (tables.size() != 1 || tables.front().is_multimodal) return std::nullopt;
  const Fields text = reader.text.quietly();
  const Settings settings = settings_of(text);
  if (settings.apart) return std::nullopt;
  if (type_of(settings.full) != "default") return std::nullopt;
  const std::optional<double> theta = real_of(settings.full, text, "rope_theta");
  if (!theta) return std::nullopt;
  PlainRotation out;
  out.theta = *theta;
  out.share = real_of(settings.full, text.bare(), "partial_rotary_factor");
  if (reader.root.child("text_config")) out.section = "text_config";
  return out;
}

}  // namespace kvplan
