// MLPs and experts: which layer has which, how wide, and their tensors.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "kvplan/error.h"
#include "models/blocks/inventory.h"

namespace kvplan {

namespace {

constexpr std::string_view kGranite = "granitemoe granitemoeshared granitemoehybrid granitemoe_swa";
// ERNIE's vision-language models: experts for text, and narrower ones for images, behind a router each.
constexpr std::string_view kTwoSorts = "ernie4_5_vl_moe_text";
constexpr std::string_view kFourTimes =
    "gpt2 gptj codegen gpt_bigcode gpt_neo bloom gpt_neox_japanese falcon refinedweb refinedwebmodel openai-gpt llada";

// A width that follows from a factor, rounded down.
std::uint64_t whole(double width, std::string_view key) {
  if (!(width >= 0 && width < 9.0e18)) fail("\"" + std::string(key) + "\" is out of range", "correct the config");
  return static_cast<std::uint64_t>(width);
}

std::uint64_t round_to(std::uint64_t value, std::uint64_t multiple) {
  return multiple == 0 ? value : round_up(value, multiple, "the width of an MLP");
}

// A key that is a number, or a list with one for each layer, under whatever name. Read once for all layers.
struct ByLayer {
  std::string_view key;
  std::optional<std::vector<std::uint64_t>> list;
  std::uint64_t number = 0;

  ByLayer(const Fields& text, std::string_view name)
      : key(name), list(text.counts(name)), number(list ? 0 : text.count_or(name, 0)) {}
  // Error where the list ends before the layer.
  std::uint64_t at(std::uint64_t layer) const {
    if (!list) return number;
    // A list of one stands for all layers (Skywork-MoE).
    if (list->size() == 1) return list->front();
    if (layer >= list->size())
      fail('"' + std::string(key) + "\" has " + std::to_string(list->size()) + " entries, and layer " +
               std::to_string(layer) + " has experts",
           "give one entry for each layer");
    return (*list)[layer];
  }
};

struct ExpertKeys {
  ByLayer top_k, width, shared;
  std::vector<ByLayer> other_top_k;  // where the first is there and says nothing

  explicit ExpertKeys(const Fields& text)
      : top_k(text, "num_experts_per_tok"), width(text, "moe_intermediate_size"), shared(text, "n_shared_experts") {
    if (top_k.list || top_k.number > 0) return;
    for (const std::string_view key : {"moe_topk", "moe_top_k"}) other_top_k.emplace_back(text, key);
  }
};

// The width of the MLPs where all layers have the same one; 0 where the config does not say.
std::uint64_t plain_width(const Inventory& inventory) {
  const Fields& text = inventory.text;
  const std::uint64_t h = inventory.hidden;
  const auto named = [&](std::string_view key) { return text.is_list(key) ? 0 : text.count_or(key, 0); };
  if (inventory.is("llama4 llama4_text")) return named("intermediate_size_mlp");
  if (inventory.is("minimax_m3 minimax_m3_vl_text")) return named("dense_intermediate_size");
  if (inventory.is("dbrx mamba mamba2 falcon_mamba rwkv rwkv5 rwkv6 rwkv7")) return 0;
  if (inventory.is("mpt")) return times(named("expansion_ratio") > 0 ? named("expansion_ratio") : 4, h);
  if (inventory.is("ctrl")) return named("dff");
  if (inventory.is("cpmant")) return named("dim_ff");
  if (inventory.is("longcat_flash longcat_flash_ngram longcat_next")) return named("ffn_hidden_size");
  const std::uint64_t width = named("intermediate_size");
  if (inventory.is("qwen recurrent_gemma moshi molmo")) return width / 2;
  if (inventory.is("lille-130m")) return (times(8, h) / 3 + 128) / 256 * 256;
  if (inventory.is("gemma3n_text") && width == 0) return 16384;  // the class's list, in every layer
  if (inventory.is("lfm2 lfm2_moe")) {
    if (!text.flag("block_auto_adjust_ff_dim", inventory.is("lfm2"))) return width;
    std::uint64_t adjusted = times(2, width) / 3;
    if (const auto factor = text.find_real("block_ffn_dim_multiplier"); factor && *factor > 0 && *factor < 1000)
      adjusted = whole(*factor * static_cast<double>(adjusted), "block_ffn_dim_multiplier");
    return round_to(adjusted, text.count_or("block_multiple_of", 256));
  }
  if (width == 0 && (inventory.is(kFourTimes))) return times(4, h);
  if (inventory.is("xlstm")) {
    const double factor = text.find_real("ffn_proj_factor").value_or(2.667);
    if (!(factor > 0 && factor < 1000)) fail("\"ffn_proj_factor\" is out of range", "correct the config");
    return round_to(whole(factor * static_cast<double>(h), "ffn_proj_factor"),
                    text.count_or("ffn_round_up_to_multiple_of", 64));
  }
  return width;
}

// Widths that differ from layer to layer.
std::optional<std::vector<std::uint64_t>> widths_by_layer(const Inventory& inventory, std::uint64_t layers) {
  const Fields& text = inventory.text;
  const std::uint64_t h = inventory.hidden;
  std::vector<std::uint64_t> out;
  if (const auto blocks = text.objects("block_configs")) {
    // Nemotron-NAS: a factor of the hidden size, rounded up to 256.
    for (std::uint64_t i = 0; i < layers && i < blocks->size(); ++i) {
      const auto ffn = (*blocks)[i].child("ffn");
      if (!ffn || ffn->flag("no_op", false)) {
        out.push_back(0);
      } else if (const std::uint64_t width = ffn->count_or("intermediate_size", 0); width > 0) {
        out.push_back(width);
      } else {
        const double factor = ffn->find_real("ffn_mult").value_or(0);
        if (!(factor > 0 && factor < 1000)) fail("\"ffn_mult\" is out of range", "correct block_configs");
        out.push_back(round_to(whole(2 * factor * static_cast<double>(h) / 3, "ffn_mult"), 256));
      }
    }
    return out;
  }
  if (inventory.is("openelm")) {
    const auto list = text.reals("ffn_multipliers");
    const std::uint64_t divisor = text.count_or("ffn_dim_divisor", 256);
    for (std::uint64_t i = 0; list && i < layers && i < list->size(); ++i) {
      const double factor = (*list)[i];
      if (!(factor > 0 && factor < 1000) || divisor == 0)
        fail("\"ffn_multipliers\" is out of range", "correct the config");
      // Rounded to the nearest multiple, never down by more than a tenth.
      const std::uint64_t wanted = whole(factor * static_cast<double>(h), "ffn_multipliers");
      std::uint64_t width = std::max(divisor, checked_add(wanted, divisor / 2, "ffn_multipliers") / divisor * divisor);
      if (static_cast<double>(width) < 0.9 * static_cast<double>(wanted)) width += divisor;
      out.push_back(width);
    }
    if (!out.empty()) return out;
  }
  if (text.is_list("intermediate_size")) return text.counts("intermediate_size");
  return std::nullopt;
}

// Layers named in a string: "3,4,5".
std::vector<bool> named_layers(const std::string& words, std::uint64_t layers) {
  std::vector<bool> out(layers, false);
  const char* at = words.data();
  const char* const end = at + words.size();
  while (at < end) {
    std::uint64_t index = 0;
    const auto [next, error] = std::from_chars(at, end, index);
    if (error == std::errc() && index < layers) out[index] = true;
    at = error == std::errc() ? next : at + 1;
  }
  return out;
}

std::vector<bool> expert_layers(const Inventory& inventory, std::uint64_t layers) {
  const Fields& text = inventory.text;
  std::vector<bool> out(layers, true);
  const auto only = [&](auto&& rule) {
    for (std::uint64_t i = 0; i < layers; ++i) out[i] = rule(i);
    return out;
  };
  if (const auto types = text.strings("mlp_layer_types"); types && !types->empty())
    return only([&](std::uint64_t i) { return i < types->size() && (*types)[i] != "dense"; });
  if (text.is_string("moe_layers_enum")) return named_layers(*text.find_string("moe_layers_enum"), layers);
  if (text.is_list("moe_layers")) {
    const auto list = text.counts("moe_layers");
    out.assign(layers, false);
    for (const std::uint64_t i : *list)
      if (i < layers) out[i] = true;
    return out;
  }
  if (const auto step = text.find_count("interleave_moe_layer_step"); step && *step > 0)
    return only([&](std::uint64_t i) { return (i + 1) % *step == 0; });
  if (const auto period = text.find_count("expert_layer_period"); period && *period > 0) {
    const std::uint64_t offset = text.count_or("expert_layer_offset", 0);
    if (offset >= *period)
      fail("\"expert_layer_offset\" is " + std::to_string(offset) + " of a period of " + std::to_string(*period),
           "correct the config: no layer would have experts");
    return only([&](std::uint64_t i) { return i % *period == offset; });
  }
  if (text.is_list("is_moe_layer")) {
    const auto list = text.counts("is_moe_layer");
    return only([&](std::uint64_t i) { return i < list->size() && (*list)[i] != 0; });
  }
  if (const auto step = text.find_count("decoder_sparse_step"); step && *step > 0) {
    const auto dense = text.counts("mlp_only_layers").value_or(std::vector<std::uint64_t>{});
    return only([&](std::uint64_t i) {
      return (i + 1) % *step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
    });
  }
  if (inventory.is("ernie4_5_moe ernie4_5_vl_moe_text")) {
    const auto first_of = [&](std::string_view key, std::uint64_t fallback) {
      if (text.is_list(key)) {
        const auto list = text.counts(key);
        return list->empty() ? fallback : *std::min_element(list->begin(), list->end());
      }
      return text.count_or(key, fallback);
    };
    const std::uint64_t start = first_of("moe_layer_start_index", 1);
    const std::uint64_t end =
        text.is_list("moe_layer_end_index") ? layers - 1 : text.find_count("moe_layer_end_index").value_or(layers - 1);
    const std::uint64_t interval = std::max<std::uint64_t>(1, text.count_or("moe_layer_interval", 1));
    return only([&](std::uint64_t i) { return (i + 1) % interval == 0 && i >= start && i <= end; });
  }
  std::uint64_t dense = inventory.traits.dense_first;
  if (const auto named = text.find_count("first_k_dense_replace")) {
    dense = *named;
    if (dense > layers && text.is_number("first_k_dense_replace"))
      fail("\"first_k_dense_replace\" is " + std::to_string(dense) + " of " + std::to_string(layers) + " layers",
           "correct the config");
  } else if (const auto other = text.find_count("num_dense_layers")) {
    dense = *other;
  }
  if (text.is_list("moe_layer_freq")) {
    const auto list = text.counts("moe_layer_freq");
    return only([&](std::uint64_t i) { return i < list->size() && (*list)[i] != 0; });
  }
  const std::uint64_t every = std::max<std::uint64_t>(1, text.count_or("moe_layer_freq", 1));
  return only([&](std::uint64_t i) { return i >= dense && i % every == 0; });
}

// An entry of a list, or the number that stands in its place.
std::uint64_t entry_of(const Fields& text, std::string_view key, std::size_t entry, std::uint64_t fallback) {
  if (const auto list = text.counts(key)) return entry < list->size() ? (*list)[entry] : fallback;
  return text.count_or(key, fallback);
}

std::uint64_t expert_width(const Inventory& inventory, const ExpertKeys& keys, std::uint64_t layer) {
  const Fields& text = inventory.text;
  if (inventory.is("longcat_flash longcat_flash_ngram longcat_next")) return text.count_or("expert_ffn_hidden_size", 0);
  if (inventory.is(kTwoSorts)) return entry_of(text, "moe_intermediate_size", 0, 1536);
  if (const std::uint64_t width = keys.width.at(layer); width > 0) return width;
  if (text.is_number(keys.width.key)) fail("\"moe_intermediate_size\" is 0", "give the width of an expert");
  return text.is_list("intermediate_size") ? 0 : text.count_or("intermediate_size", 0);
}

std::uint64_t shared_width(const Inventory& inventory, const ExpertKeys& keys, std::uint64_t layer,
                           std::uint64_t width) {
  const Fields& text = inventory.text;
  if (inventory.is("llama4 llama4_text")) return width;
  if (inventory.is(kGranite)) return 0;  // its shared MLP is a block of its own, in every layer
  std::uint64_t count = keys.shared.at(layer);
  if (inventory.is("minimax_m3 minimax_m3_vl_text")) return text.count_or("shared_intermediate_size", 0);
  if (inventory.is("nemotron_h nemotron_h_puzzle"))
    return text.count_or("moe_shared_expert_intermediate_size", times(count, width));
  if (const auto own = text.find_count("shared_expert_intermediate_size"); own && *own > 0) return *own;
  if (const auto own = text.find_count("share_expert_dim"); own && *own > 0) return *own;
  if (const auto own = text.find_count("moe_shared_expert_intermediate_size"); own && *own > 0)
    return times(std::max<std::uint64_t>(count, 1), *own);
  if (count == 0 && text.flag("use_mixed_mlp_moe", false)) count = 1;
  return times(count, width);
}

Ffn experts_of(const Inventory& inventory, const ExpertKeys& keys, std::uint64_t layer, std::uint64_t experts) {
  const Fields& text = inventory.text;
  Ffn out;
  out.experts = experts;
  out.top_k = keys.top_k.at(layer);
  for (const ByLayer& other : keys.other_top_k)
    if (out.top_k == 0) out.top_k = other.at(layer);
  if (out.top_k == 0 && text.is_number(keys.top_k.key))
    fail("\"num_experts_per_tok\" is 0", "a token meets an expert at least: correct the config");
  if (out.top_k == 0) out.top_k = 1;
  if (out.top_k > experts)
    fail("\"num_experts_per_tok\" is " + std::to_string(out.top_k) + " of " + std::to_string(experts) + " experts",
         "correct the config");
  out.width = expert_width(inventory, keys, layer);
  out.shared = shared_width(inventory, keys, layer, out.width);
  for (const std::string_view key : {"moe_latent_size", "routed_expert_hidden_size", "moe_hidden_size"})
    if (out.latent == 0) out.latent = text.count_or(key, 0);
  return out;
}

// What each layer is where layers hold a mixer or an MLP, never both (Nemotron-H).
std::optional<std::vector<char>> single_letters(const Inventory& inventory, std::uint64_t layers) {
  if (!inventory.is("nemotron_h nemotron_h_puzzle")) return std::nullopt;
  std::vector<char> out;
  if (inventory.text.is_string("hybrid_override_pattern")) {
    const std::string pattern = inventory.text.find_string("hybrid_override_pattern").value_or("");
    for (const char letter : pattern)
      if (letter != '|') out.push_back(letter);
  } else if (const auto words = inventory.text.strings("layer_types")) {
    for (const std::string& word : *words) out.push_back(word == "moe" ? 'E' : word == "mlp" ? '-' : 'M');
  } else {
    return std::nullopt;
  }
  out.resize(layers, 'M');
  return out;
}

}  // namespace

std::vector<Ffn> read_ffns(const Inventory& inventory, std::uint64_t layers) {
  const Fields& text = inventory.text;
  std::vector<Ffn> out(layers);
  if (inventory.is("mamba mamba2 falcon_mamba rwkv rwkv5 rwkv6 rwkv7 zamba zamba2")) return out;
  if (inventory.is("dbrx")) {
    const auto ffn = text.child("ffn_config");
    Ffn row;
    row.experts = ffn ? ffn->count_or("moe_num_experts", 4) : 4;
    row.top_k = ffn ? ffn->count_or("moe_top_k", 1) : 1;
    row.width = ffn ? ffn->count_or("ffn_hidden_size", 3584) : 3584;
    if (row.top_k > row.experts)
      fail("\"moe_top_k\" is " + std::to_string(row.top_k) + " of " + std::to_string(row.experts) + " experts",
           "correct the config");
    out.assign(layers, row);
    return out;
  }
  const std::uint64_t width = plain_width(inventory);
  const auto widths = widths_by_layer(inventory, layers);
  const auto letters = single_letters(inventory, layers);
  const bool has_switch = inventory.is("gemma4_text gemma4_unified_text");
  const bool may_have_experts =
      has_switch ? text.flag("enable_moe_block", false) : !inventory.is("doge") || text.flag("is_moe", false);
  std::uint64_t experts = 0;
  const bool two_sorts = inventory.is(kTwoSorts);
  if (may_have_experts && (two_sorts || !text.is_list("num_experts"))) {
    experts = two_sorts ? entry_of(text, "num_experts", 0, 64) : text.count_or("num_experts", 0);
    // jamba and ernie name one expert where there is none.
    if (experts == 1 && !inventory.is("nemotron_h")) experts = 0;
  }
  const bool by_layer = may_have_experts && text.is_list("num_experts");
  const std::vector<bool> sparse =
      experts > 0 || by_layer ? expert_layers(inventory, layers) : std::vector<bool>(layers, false);
  const bool doubles = inventory.is("gemma4_text gemma4_unified_text") && text.flag("use_double_wide_mlp", false);
  const std::uint64_t readers = doubles ? text.count_or("num_kv_shared_layers", 0) : 0;
  const std::uint64_t hashed =
      inventory.is("deepseek_v4 deepseek_ref") ? text.count_or("num_hash_layers", 3) : std::uint64_t{0};
  std::optional<Ffn> last;
  std::optional<ExpertKeys> keys;  // read where a layer has experts
  const std::optional<ByLayer> counts =
      by_layer ? std::optional<ByLayer>(std::in_place, text, "num_experts") : std::nullopt;
  const bool each = by_layer || (!two_sorts && text.is_list("moe_intermediate_size"));
  // A dense MLP besides: Gemma 4, Grok-2, Doge; Arctic's is as wide as the model.
  const bool keeps_dense =
      has_switch || inventory.is("diffusion_gemma_text") || inventory.is("doge") || text.flag("residual_moe", false);
  const std::uint64_t beside = keeps_dense                                                  ? width
                               : inventory.is("arctic") && text.flag("use_residual", false) ? inventory.hidden
                                                                                            : 0;
  const bool granite = inventory.is(kGranite);
  const bool takes_shared = granite && !inventory.is("granitemoe granitemoe_swa");
  const std::uint64_t shared = granite ? text.count_or("shared_intermediate_size", 0) : 0;
  const bool doubles_layers = inventory.is("longcat_flash longcat_flash_ngram longcat_next");
  for (std::uint64_t i = 0; i < layers; ++i) {
    Ffn& ffn = out[i];
    if (letters && (*letters)[i] != 'E' && (*letters)[i] != '-') continue;
    const bool routed = letters ? (*letters)[i] == 'E' : sparse[i];
    if (routed) {
      if (!keys) keys.emplace(text);
      if (each || !last) last = experts_of(inventory, *keys, i, counts ? counts->at(i) : experts);
      ffn = *last;
      if (beside > 0) ffn.dense = beside;
    } else {
      ffn.dense = widths && i < widths->size() ? (*widths)[i] : width;
    }
    ffn.hashed = i < hashed;
    if (takes_shared && shared > 0) ffn.dense = shared;
    if (doubles_layers) {
      // Two dense MLPs around one block of experts: the second attention of a layer has the MLP alone.
      if (i % 2 == 1) ffn = Ffn{};
      ffn.dense = width;
    }
    if (i + readers >= layers && readers > 0) ffn.dense = times(2, ffn.dense);
  }
  return out;
}

void write_dense_mlp(Inventory& inventory, Component component, std::string_view module, std::uint64_t width,
                     std::uint64_t hidden, bool gated, bool bias) {
  const std::string at(module);
  Builder& out = inventory.out;
  const bool fused = inventory.traits.fuses_gate_up;
  if (gated) out.linear(component, at + (fused ? "gate_up_proj" : "gate_proj"), width, hidden, Split::kRows, 0, bias);
  out.linear(component, at + (fused ? "gate_up_proj" : "up_proj"), width, hidden, Split::kRows, 0, bias);
  out.linear(component, at + "down_proj", hidden, width, Split::kColumns, 0, bias);
}

namespace {

// ZAYA: an MLP of its own width chooses, among the experts and none of them.
void write_zaya_router(Inventory& inventory, std::uint64_t experts, const std::string& at) {
  Builder& out = inventory.out;
  const std::uint64_t width = inventory.text.count_or("router_hidden_size", 256);
  out.linear(Component::kRouter, at + "down_proj", width, inventory.hidden, Split::kNone, 0, true);
  out.norms(at + "router_mlp.norm", width);
  out.linear(Component::kRouter, at + "router_mlp.fc1", width, width, Split::kNone, 0, true);
  out.linear(Component::kRouter, at + "router_mlp.fc2", width, width, Split::kNone, 0, true);
  out.linear(Component::kRouter, at + "router_mlp.out_proj", checked_add(experts, 1, "the experts"), width);
}

void write_experts(Inventory& inventory, const Ffn& ffn, const std::string& at) {
  const Traits& traits = inventory.traits;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t x = ffn.latent > 0 ? ffn.latent : h;
  const bool bias = traits.has_expert_biases;
  // LongCat routes to experts that do nothing, too.
  std::uint64_t choices = checked_add(ffn.experts, inventory.text.count_or("zero_expert_num", 0), "the experts");
  // Inkling weighs its shared experts by the same router.
  if (inventory.is("inkling_text") && inventory.text.flag("shared_expert_sink", true) && ffn.width > 0)
    choices = checked_add(choices, ffn.shared / ffn.width, "the experts");
  if (inventory.is("zaya"))
    write_zaya_router(inventory, choices, at + "gate.");
  else
    out.linear(Component::kRouter, at + (bias ? "router" : "gate"), choices, h);
  if (bias) out.plain(Component::kRouter, at + "router.bias", choices);
  const bool usual = traits.has_router_bias && inventory.text.flag("use_expert_bias", true) &&
                     inventory.text.flag("use_moe_router_bias", true) &&
                     inventory.text.flag("moe_router_enable_expert_bias", true);
  if (!ffn.hashed && (usual || inventory.on(traits.router_bias_key)))
    out.plain(Component::kRouter, at + "gate.e_score_correction_bias",
              inventory.is("inkling_text") ? ffn.experts : choices)
        .is_float32 = true;
  const auto expert = [&](const char* name, std::uint64_t rows, std::uint64_t columns, Split split) {
    TensorGroup& matrix = out.linear(Component::kExperts, at + "experts.*." + name, rows, columns, split);
    matrix.copies = ffn.experts;
    matrix.used = ffn.top_k;
    matrix.is_expert = true;
    if (!bias) return;
    TensorGroup& vector = out.plain(Component::kExperts, at + "experts.*." + name + ".bias", rows,
                                    split == Split::kRows ? Split::kRows : Split::kNone);
    vector.copies = ffn.experts;
    vector.used = ffn.top_k;
    vector.is_expert = true;
  };
  if (traits.has_gated_experts) expert("gate_proj", ffn.width, x, Split::kRows);
  expert("up_proj", ffn.width, x, Split::kRows);
  expert("down_proj", x, ffn.width, Split::kColumns);
  if (inventory.is(kTwoSorts)) {
    const std::uint64_t seen = entry_of(inventory.text, "num_experts", 1, ffn.experts);
    const std::uint64_t width = entry_of(inventory.text, "moe_intermediate_size", 1, 512);
    out.linear(Component::kRouter, at + "vision_gate", seen, h);
    out.plain(Component::kRouter, at + "vision_gate.bias", seen).is_float32 = true;
    for (const bool up : {true, true, false}) {
      TensorGroup& matrix = out.linear(Component::kExperts, at + "vision_experts.*", up ? width : h, up ? h : width,
                                       up ? Split::kRows : Split::kColumns);
      matrix.copies = seen;
      matrix.used = 0;  // a token of text passes none of them
      matrix.is_expert = true;
    }
  }
  if (ffn.latent > 0) {
    out.linear(Component::kExperts, at + "fc1_latent_proj", x, h);
    out.linear(Component::kExperts, at + "fc2_latent_proj", h, x);
  }
  if (ffn.shared > 0) {
    write_dense_mlp(inventory, Component::kSharedExperts, at + "shared_experts.", ffn.shared, h,
                    traits.has_gated_experts, false);
    // Klear weighs the shared expert against the routed ones.
    if (inventory.is("klear")) out.linear(Component::kSharedExperts, at + "coefficient", 2, h, Split::kNone, 0, true);
    if (inventory.on(traits.shared_gate)) out.linear(Component::kSharedExperts, at + "shared_expert_gate", 1, h);
  }
}

// Doge: an expert is a row of two tables, found by two halves of a key. Source: transformers modeling_doge.py,
// DogeCDMoE.
void write_retrieved_experts(Inventory& inventory, const Ffn& ffn) {
  Builder& out = inventory.out;
  const std::uint64_t keys = whole(std::sqrt(static_cast<double>(ffn.experts)), "num_experts");
  out.linear(Component::kRouter, "mlp.router_gate", times(2, keys), inventory.hidden);
  for (const char* const name : {"mlp.down_embed", "mlp.up_embed"}) {
    TensorGroup& row = out.linear(Component::kExperts, name, 1, inventory.hidden);
    row.copies = ffn.experts;
    row.used = ffn.top_k;
  }
}

}  // namespace

void write_ffn(Inventory& inventory, const Ffn& ffn) {
  const Traits& traits = inventory.traits;
  if (ffn.dense > 0) {
    const bool mixer = inventory.is("nemotron_h nemotron_h_puzzle");
    write_dense_mlp(inventory, Component::kMlp, mixer ? "mixer." : "mlp.", ffn.dense, inventory.hidden,
                    traits.has_gated_mlp, inventory.on(traits.mlp_bias));
  }
  if (ffn.experts > 0 && inventory.is("doge")) return write_retrieved_experts(inventory, ffn);
  if (ffn.experts > 0) write_experts(inventory, ffn, std::string(traits.moe) + ".");
}

}  // namespace kvplan
