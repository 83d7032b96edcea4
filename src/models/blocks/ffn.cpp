// MLPs and experts: which layers have which, how wide they are, and their tensors.
#include <algorithm>
#include <charconv>

#include "kvplan/error.h"
#include "models/blocks/inventory.h"

namespace kvplan {

std::uint64_t whole_width(double width, std::string_view key) {
  if (!(width >= 0 && width < 9.0e18)) fail("\"" + std::string(key) + "\" is out of range", "correct the config");
  return static_cast<std::uint64_t>(width);
}

std::uint64_t round_to(std::uint64_t value, std::uint64_t multiple) {
  return multiple == 0 ? value : round_up(value, multiple, "the width of an MLP");
}

std::uint64_t entry_of(const Fields& text, std::string_view key, std::size_t entry, std::uint64_t fallback) {
  if (const auto list = text.counts(key)) return entry < list->size() ? (*list)[entry] : fallback;
  return text.count_or(key, fallback);
}

namespace {

// A key that is a number or a list with one entry for each layer. It is read once for all layers.
struct ByLayer {
  std::string_view key;
  std::optional<std::vector<std::uint64_t>> list;
  std::uint64_t number = 0;

  ByLayer(const Fields& text, std::string_view name)
      : key(name), list(text.counts(name)), number(list ? 0 : text.count_or(name, 0)) {}
  // Throws if the list ends before the layer.
  std::uint64_t at(std::uint64_t layer) const {
    if (!list) return number;
    // A list with one entry is for all layers (Skywork-MoE).
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
  std::vector<ByLayer> other_top_k;  // used if the first key is there but empty

  explicit ExpertKeys(const Inventory& inventory)
      : top_k(inventory.text, "num_experts_per_tok"),
        width(inventory.text, inventory.traits.expert_width),
        shared(inventory.text, "n_shared_experts") {
    if (top_k.list || top_k.number > 0) return;
    for (const std::string_view key : {"moe_topk", "moe_top_k"}) other_top_k.emplace_back(inventory.text, key);
  }
};

// The width of the MLPs if all layers have the same one; 0 if the config does not say.
std::uint64_t plain_width(const Inventory& inventory) {
  const Traits& traits = inventory.traits;
  std::uint64_t width = inventory.text.is_list(traits.mlp_width) ? 0 : inventory.text.count_or(traits.mlp_width, 0);
  if (traits.halves_mlp_width) width /= 2;
  if (width == 0) width = times(traits.mlp_ratio, inventory.hidden);
  return inventory.family.mlp_width == nullptr ? width : inventory.family.mlp_width(inventory, width);
}

// Widths that differ from layer to layer.
std::optional<std::vector<std::uint64_t>> widths_by_layer(const Inventory& inventory, std::uint64_t layers) {
  const Fields& text = inventory.text;
  const std::uint64_t h = inventory.hidden;
  std::vector<std::uint64_t> out;
  if (const auto blocks = text.objects("block_configs")) {
    // Nemotron-NAS: a factor of the hidden size, rounded up to a multiple of 256.
    for (std::uint64_t i = 0; i < layers && i < blocks->size(); ++i) {
      const auto ffn = (*blocks)[i].child("ffn");
      if (!ffn || ffn->flag("no_op", false)) {
        out.push_back(0);
      } else if (const std::uint64_t width = ffn->count_or("intermediate_size", 0); width > 0) {
        out.push_back(width);
      } else {
        const double factor = ffn->find_real("ffn_mult").value_or(0);
        if (!(factor > 0 && factor < 1000)) fail("\"ffn_mult\" is out of range", "correct block_configs");
        out.push_back(round_to(whole_width(2 * factor * static_cast<double>(h) / 3, "ffn_mult"), 256));
      }
    }
    return out;
  }
  if (text.is_list("intermediate_size")) return text.counts("intermediate_size");
  return std::nullopt;
}

// Layers listed in a string: "3,4,5".
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
  if (text.is_list("moe_layers")) return listed_layers(text, "moe_layers", layers);
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
  const auto says = [&](std::string_view key) { return text.is_list(key) || text.find_count(key); };
  if (says("moe_layer_start_index") || says("moe_layer_interval")) {
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

std::uint64_t expert_width(const Inventory& inventory, const ExpertKeys& keys, std::uint64_t layer) {
  const Fields& text = inventory.text;
  if (inventory.traits.has_image_experts) return entry_of(text, keys.width.key, 0, 1536);
  if (const std::uint64_t width = keys.width.at(layer); width > 0) return width;
  if (text.is_number(keys.width.key))
    fail("\"" + std::string(keys.width.key) + "\" is 0", "give the width of an expert");
  return text.is_list("intermediate_size") ? 0 : text.count_or("intermediate_size", 0);
}

std::uint64_t shared_width(const Inventory& inventory, const ExpertKeys& keys, std::uint64_t layer,
                           std::uint64_t width) {
  const Fields& text = inventory.text;
  const Traits& traits = inventory.traits;
  std::uint64_t count = keys.shared.at(layer);
  if (count == 0) count = traits.shared_experts;
  if (traits.alternates) return text.count_or("moe_shared_expert_intermediate_size", times(count, width));
  if (const auto own = text.find_count(traits.shared_width); own && *own > 0) return *own;
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
    fail("\"num_experts_per_tok\" is 0", "at least one expert per token: correct the config");
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

// One letter per layer, for models whose layers have either a mixer or an MLP (Nemotron-H).
std::optional<std::vector<char>> single_letters(const Inventory& inventory, std::uint64_t layers) {
  if (!inventory.traits.alternates) return std::nullopt;
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
  const Traits& traits = inventory.traits;
  MlpPlan plan;
  const auto ask_family = [&] {
    if (inventory.family.mlps != nullptr) inventory.family.mlps(inventory, plan);
  };
  if (!traits.has_mlps) {
    ask_family();
    return std::vector<Ffn>(layers, plan.every);
  }
  std::vector<Ffn> out(layers);
  plan.width = plain_width(inventory);
  plan.widths = widths_by_layer(inventory, layers);
  const auto letters = single_letters(inventory, layers);
  const bool may_have_experts = inventory.on(traits.has_experts);
  const bool by_layer = may_have_experts && text.is_list("num_experts") && !traits.has_image_experts;
  std::uint64_t experts = 0;
  if (may_have_experts && !by_layer) {
    experts = traits.has_image_experts ? entry_of(text, "num_experts", 0, 64) : text.count_or("num_experts", 0);
    // jamba and ernie write one expert if there are none.
    if (experts == 1 && !letters) experts = 0;
  }
  const std::vector<bool> sparse =
      experts > 0 || by_layer ? expert_layers(inventory, layers) : std::vector<bool>(layers, false);
  ask_family();
  std::optional<Ffn> last;
  std::optional<ExpertKeys> keys;  // the key is read if a layer has experts
  const std::optional<ByLayer> counts =
      by_layer ? std::optional<ByLayer>(std::in_place, text, "num_experts") : std::nullopt;
  const bool each = by_layer || (!traits.has_image_experts && text.is_list(traits.expert_width));
  if (text.flag("residual_moe", false)) plan.beside_experts = plan.width;  // Grok-2
  for (std::uint64_t i = 0; i < layers; ++i) {
    Ffn& ffn = out[i];
    if (letters && (*letters)[i] != 'E' && (*letters)[i] != '-') continue;
    const bool routed = letters ? (*letters)[i] == 'E' : sparse[i];
    if (routed) {
      if (!keys) keys.emplace(inventory);
      if (each || !last) last = experts_of(inventory, *keys, i, counts ? counts->at(i) : experts);
      ffn = *last;
      if (plan.beside_experts > 0) ffn.dense = plan.beside_experts;
    } else {
      ffn.dense = plan.widths && i < plan.widths->size() ? (*plan.widths)[i] : plan.width;
    }
    ffn.hashed = i < plan.hashed;
    if (plan.always > 0) ffn.dense = plan.always;
    if (plan.in_pairs) {
      if (i % 2 == 1) ffn = Ffn{};
      ffn.dense = plan.width;
    }
    if (i + plan.doubled >= layers && plan.doubled > 0) ffn.dense = times(2, ffn.dense);
  }
  return out;
}

void write_dense_mlp(Inventory& out, Component component, std::string_view module, std::uint64_t width,
                     std::uint64_t hidden, bool gated, bool bias) {
  const std::string at(module);
  const bool fused = out.traits.fuses_gate_up;
  if (gated) out.linear(component, at + (fused ? "gate_up_proj" : "gate_proj"), width, hidden, Split::kRows, 0, bias);
  out.linear(component, at + (fused ? "gate_up_proj" : "up_proj"), width, hidden, Split::kRows, 0, bias);
  out.linear(component, at + "down_proj", hidden, width, Split::kColumns, 0, bias);
}

static void write_experts(Inventory& out, const Ffn& ffn, const std::string& at) {
  const Traits& traits = out.traits;
  const std::uint64_t h = out.hidden;
  const bool bias = traits.has_expert_biases;
  // LongCat also routes to experts that do nothing.
  const std::uint64_t choices = checked_add(ffn.experts, out.text.count_or("zero_expert_num", 0), "the experts");
  const std::uint64_t weighed = out.on(traits.routes_shared) && ffn.width > 0 ? ffn.shared / ffn.width : 0;
  TensorGroup& router =
      out.linear(Component::kRouter, at + (bias ? "router" : "gate"), checked_add(choices, weighed, "the experts"), h);
  // In an MTP layer the router belongs to the MTP component.
  if (out.component(Component::kRouter) != Component::kRouter) router.kept = Kept::kPlain;
  if (traits.has_float32_router) router.kept = Kept::kFloat32;
  if (ffn.hashed) {
    // For each token id, its experts. Engines store them in 32 bit.
    out.plain(Component::kRouter, at + "gate.tid2eid", times(out.vocab, ffn.top_k)).is_float32 = true;
  }
  if (bias) out.plain(Component::kRouter, at + "router.bias", choices);
  const bool usual = traits.has_router_bias && out.text.flag("use_expert_bias", true) &&
                     out.text.flag("use_moe_router_bias", true) && out.text.flag("moe_router_enable_expert_bias", true);
  if (!ffn.hashed && (usual || out.on(traits.router_bias_key)))
    out.plain(Component::kRouter, at + "gate.e_score_correction_bias", choices).is_float32 = true;
  write_expert_matrices(out, ffn, at);
}

TensorGroup& routed(TensorGroup& group, std::uint64_t experts, std::uint64_t used) {
  group.copies = experts;
  group.used = used;
  group.is_expert = true;
  return group;
}

void write_expert_matrices(Inventory& out, const Ffn& ffn, const std::string& at) {
  const Traits& traits = out.traits;
  const std::uint64_t h = out.hidden;
  const std::uint64_t x = ffn.latent > 0 ? ffn.latent : h;
  const auto expert = [&](const char* name, std::uint64_t rows, std::uint64_t columns, Split split) {
    routed(out.linear(Component::kExperts, at + "experts.*." + name, rows, columns, split), ffn.experts, ffn.top_k);
    if (!traits.has_expert_biases) return;
    routed(out.plain(Component::kExperts, at + "experts.*." + name + ".bias", rows,
                     split == Split::kRows ? Split::kRows : Split::kNone),
           ffn.experts, ffn.top_k);
  };
  if (traits.has_gated_experts) expert("gate_proj", ffn.width, x, Split::kRows);
  expert("up_proj", ffn.width, x, Split::kRows);
  expert("down_proj", x, ffn.width, Split::kColumns);
  if (ffn.latent > 0) {
    TensorGroup& down = out.linear(Component::kExperts, at + "fc1_latent_proj", x, h);
    if (traits.plain_latent_moe) down.kept = Kept::kPlain;
    const Kept kept = down.kept;
    if (out.text.flag("latent_moe_use_norm", false)) out.norms(at + "routed_expert_norm", x);
    out.linear(Component::kExperts, at + "fc2_latent_proj", h, x).kept = kept;
  }
  if (ffn.shared > 0) {
    write_dense_mlp(out, Component::kSharedExperts, at + "shared_experts.", ffn.shared, h, traits.has_gated_experts,
                    false);
    if (out.on(traits.shared_gate)) out.linear(Component::kSharedExperts, at + "shared_expert_gate", 1, h);
  }
}

void write_ffn(Inventory& out, const Ffn& ffn) {
  const Traits& traits = out.traits;
  if (ffn.dense > 0)
    write_dense_mlp(out, Component::kMlp, std::string(traits.mlp) + ".", ffn.dense, out.hidden, traits.has_gated_mlp,
                    out.on(traits.mlp_bias));
  const auto own = out.family.experts;
  if (ffn.experts > 0 && (own == nullptr || !own(out, ffn))) write_experts(out, ffn, std::string(traits.moe) + ".");
}

}  // namespace kvplan
