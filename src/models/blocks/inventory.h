// The tensors of a model, from its config and the layers that its family gave it. The family's traits say how it
// differs from a Llama; mixers of other kinds have functions of their own.
#ifndef KVPLAN_MODELS_BLOCKS_INVENTORY_H_
#define KVPLAN_MODELS_BLOCKS_INVENTORY_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/blocks/builder.h"
#include "models/family.h"
#include "models/reader.h"

namespace kvplan {

// What stands behind the mixer of one layer.
struct Ffn {
  std::uint64_t dense = 0;    // width of a plain MLP; 0: none
  std::uint64_t experts = 0;  // 0: none
  std::uint64_t top_k = 0;
  std::uint64_t width = 0;   // of one expert
  std::uint64_t shared = 0;  // of all shared experts together
  std::uint64_t latent = 0;  // experts work in this width instead of the hidden size
  bool hashed = false;       // experts chosen by the token's hash: no bias on the choice
  friend bool operator==(const Ffn&, const Ffn&) = default;
};

struct Inventory {
  Reader& reader;
  const Fields& text;
  const Traits& traits;
  void (*extras)(Inventory& inventory) = nullptr;
  Builder out;
  std::uint64_t hidden = 0;
  std::uint64_t vocab = 0;

  bool on(std::string_view key) const { return key == "+" || (!key.empty() && text.flag(key, false)); }
  std::string_view type() const { return text.class_name(); }
  bool is(std::string_view types) const;  // one of these words
};

Inventory inventory_of(Reader& reader, const Fields& text, std::string_view model_type);

// The per-layer plan of MLPs and experts.
std::vector<Ffn> read_ffns(const Inventory& inventory, std::uint64_t layers);

// Writers; the builder stands in the layers already.
void write_attention(Inventory& inventory, const Heads& heads, bool has_own_kv, std::string_view block = "self_attn.");
void write_mixer(Inventory& inventory, const Mixer& mixer);
void write_latent(Inventory& inventory, const Latent& latent);
void write_ffn(Inventory& inventory, const Ffn& ffn);
void write_dense_mlp(Inventory& inventory, Component component, std::string_view module, std::uint64_t width,
                     std::uint64_t hidden, bool gated, bool bias);
void write_ssm(Inventory& inventory, const Ssm& ssm);
void write_linear_mixer(Inventory& inventory, const Linear& linear);
void write_compressed(Inventory& inventory, const Compressed& layer);
void write_rwkv(Inventory& inventory, const Rwkv& rwkv);
void write_rg_lru(Inventory& inventory, const RgLru& lru);

// What several families have beside mixers and MLPs.
// Several residual streams, mixed before and after each block. `weighs`: each alone, not every one with every other.
struct HyperConnections {
  bool weighs = false;
  bool has_head = true;
};
void write_hyper_connections(Inventory& inventory, const HyperConnections& form);
void write_ngrams(Inventory& inventory);

std::uint64_t times(std::uint64_t a, std::uint64_t b);  // of sizes of tensors; Error where it overflows
std::vector<LayerRun> all_layers(const Inventory& inventory);
// The layers whose first mixer is of this kind.
template <class Kind>
std::vector<LayerRun> layers_of(const Inventory& inventory) {
  const ModelSpec& model = inventory.reader.model;
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < model.layers.size(); ++i)
    if (std::holds_alternative<Kind>(model.layers[i].mixers.front())) out.push_back(i);
  return runs_of(out);
}

// BERT and its kin; false for one that no row knows.
bool write_encoder_only(Inventory& inventory);
// The encoder of a pair of two configs ("encoder" and "decoder"), where a row knows it.
bool write_pair_encoder(Inventory& inventory, const Fields& encoder);
// Encoder and decoder of a known family; false where it is none.
bool write_encoder_decoder(Inventory& inventory);
void write_towers(Inventory& inventory);
void write_mtp(Inventory& inventory, const std::vector<Ffn>& ffns);

// Gives the tensors the names that the family's files and class have for them.
void name_modules(ModelSpec& model, std::string_view class_name);

// Fills model.tensors. Where the config says too little, a note, and nothing pretended.
void build_inventory(Reader& reader);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_BLOCKS_INVENTORY_H_
