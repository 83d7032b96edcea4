// The tensors of a model, from its config and the layers that its family found. The family's traits describe how it
// differs from Llama. Other kinds of mixers have their own functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formulas/projections.h"
#include "models/family.h"
#include "models/reader.h"

namespace kvplan {

// The MLP or experts of one layer.
struct Ffn {
  std::uint64_t dense = 0;    // width of a dense MLP; 0 without one
  std::uint64_t experts = 0;  // 0: none
  std::uint64_t top_k = 0;
  std::uint64_t width = 0;   // of one expert
  std::uint64_t shared = 0;  // of all shared experts together
  std::uint64_t latent = 0;  // the width of experts, if it is not the hidden size
  bool hashed = false;       // the token's hash chooses the experts, so the choice has no bias
  friend bool operator==(const Ffn&, const Ffn&) = default;
};

// The MLPs of the layers.
struct MlpPlan {
  std::uint64_t width = 0;                             // of a dense MLP
  std::optional<std::vector<std::uint64_t>> widths{};  // for each layer
  Ffn every{};                                         // for a family with its own keys
  std::uint64_t beside_experts = 0;                    // width of a dense MLP next to the experts of a layer
  std::uint64_t always = 0;                            // width of a dense MLP that every layer has in addition
  std::uint64_t hashed = 0;   // the number of first layers that choose experts by the token's hash
  std::uint64_t doubled = 0;  // the number of last layers that have dense MLPs of twice the width
  bool in_pairs = false;      // a dense MLP in every layer, experts in every second one
};

struct Inventory : Projections {
  Inventory(Reader& from, const Fields& fields, const Family& known);

  Reader& reader;
  const Fields& text;
  const Family& family;
  Traits traits;  // the family's
  std::uint64_t vocab = 0;

  bool on(Switch key) const;

  // Projections by family and config (blocks/projections.cpp).
  AttentionProjections attention_of(const Heads& heads, bool has_own_kv) const override;
  LatentProjections latent_projections() const override;
  SsmProjections ssm_projections(const Ssm& ssm) const override;
  LinearProjections linear_projections(const Linear& linear) const override;
  bool has_short_conv_bias() const override;
};

Inventory inventory_of(Reader& reader, const Fields& text, std::string_view model_type);

// The MLP or the experts of each layer.
std::vector<Ffn> read_ffns(const Inventory& inventory, std::uint64_t layers);
std::uint64_t whole_width(double width, std::string_view key);  // one width per layer
std::uint64_t round_to(std::uint64_t value, std::uint64_t multiple);
// The entry of a list, or the number that the config has instead of a list.
std::uint64_t entry_of(const Fields& text, std::string_view key, std::size_t entry, std::uint64_t fallback);

// Functions that add tensors to the current layers.
void write_mixer(Inventory& out, const Mixer& mixer);
void write_ffn(Inventory& out, const Ffn& ffn);
// The matrices of routed and shared experts, without the router.
void write_expert_matrices(Inventory& out, const Ffn& ffn, const std::string& at);
TensorGroup& routed(TensorGroup& group, std::uint64_t experts, std::uint64_t used);
void write_dense_mlp(Inventory& out, Component component, std::string_view module, std::uint64_t width,
                     std::uint64_t hidden, bool gated, bool bias);

// Tensors of several families besides mixers and MLPs. Here: several residual streams, mixed before and after each
// block. `weighs`: each stream is weighted separately. Otherwise every stream is mixed with every other one.
struct HyperConnections {
  bool weighs = false;
  bool has_head = true;
};
void write_hyper_connections(Inventory& out, const HyperConnections& form);
void write_ngrams(Inventory& out);

// Layers with weights. The further passes of a looped model have none.
std::uint64_t num_stored_layers(const Inventory& inventory);
std::vector<LayerRun> all_layers(const Inventory& inventory);
// The layers whose first mixer is of this kind.
template <class Kind>
std::vector<LayerRun> layers_of(const Inventory& inventory) {
  const ModelSpec& model = inventory.reader.model;
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < num_stored_layers(inventory); ++i)
    if (std::holds_alternative<Kind>(model.layers[i].mixers.front())) out.push_back(i);
  return runs_of(out);
}

// The encoder of a config with "encoder" and "decoder", for families that are known: families/encoder_decoder.cpp.
bool write_pair_encoder(Inventory& out, const Fields& encoder);
// Adds embedding, head and an estimate for an encoder and decoder whose class is not known. Returns true, because there
// is nothing else to add.
bool write_unknown_stacks(Inventory& out);
void write_ends(Inventory& out);
// Moves groups to an encoder in front of the decoder's first stage: its layers are not among the plan's layers.
void make_encoder(std::span<TensorGroup> groups);
void write_towers(Inventory& out);
void write_mtp(Inventory& out, const std::vector<Ffn>& ffns);

// Module names that several families share. Experts: Mixtral's w1, w3, w2 are gate, up and down. Indexers: lists that
// leave out some ".weight" have "indexers_proj".
inline constexpr std::string_view kIndexerModules = "self_attn.indexer.weights_proj=self_attn.indexers_proj | =";
inline constexpr std::string_view kMixtralModules =
    "experts.*.gate_proj=experts.*.w1 experts.*.up_proj=experts.*.w3 experts.*.down_proj=experts.*.w2 | "
    "block_sparse_moe=mlp";
inline constexpr std::string_view kBloomModules =
    "layers.*=h.* self_attn.qkv_proj=self_attention.query_key_value self_attn.o_proj=self_attention.dense "
    "mlp.up_proj=mlp.dense_h_to_4h mlp.down_proj=mlp.dense_4h_to_h embed_tokens=word_embeddings";
inline constexpr std::string_view kFeedForwardModules = "mlp=feed_forward";

// Gives the tensors the names of the family's files and class.
void name_modules(ModelSpec& model, std::string_view class_name);

// Fills model.tensors. If the config does not say enough, adds a note and no tensors.
void build_inventory(Reader& reader);

}  // namespace kvplan
