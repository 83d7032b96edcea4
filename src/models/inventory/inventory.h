// The tensors of a model, from its config and the layers that its family gave it. One row of the table of traits
// says how a model_type differs from a Llama; mixers of other kinds have functions of their own.
#ifndef KVPLAN_MODELS_INVENTORY_INVENTORY_H_
#define KVPLAN_MODELS_INVENTORY_INVENTORY_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/inventory/builder.h"
#include "models/reader.h"

namespace kvplan {

enum class NormStyle : std::uint8_t { kRms, kLayerNorm, kNoWeight };
enum class QkNorm : std::uint8_t {
  kNone,
  kHead,       // one vector of head_dim each for queries and keys
  kHeadBias,   // the same with biases
  kWide,       // as wide as all heads
  kEveryHead,  // a vector of its own for each head (StableLM, Cohere)
};
enum class Gate : std::uint8_t {
  kNone,
  kDoubledQuery,  // q_proj yields the gate too
  kWide,          // a projection to all heads' widths
  kHead,          // a projection to one number a head
};

// A key of the config that switches something on; "+" is always, "" never.
using Switch = std::string_view;

struct Traits {
  std::string_view model_types;  // separated by spaces
  Switch qkv_bias = "attention_bias";
  Switch o_bias = "attention_bias";
  Switch mlp_bias = "mlp_bias";
  Switch head_bias = "";
  QkNorm qk_norm = QkNorm::kNone;
  Switch qk_norm_key = "+";
  Gate gate = Gate::kNone;
  Switch gate_key = "+";
  bool has_sinks = false;
  std::uint64_t norms = 2;  // of a layer with a mixer and an MLP
  NormStyle norm_style = NormStyle::kRms;
  bool has_final_norm = true;
  bool has_gated_mlp = true;
  bool fuses_qkv = false;  // one matrix for q, k and v
  bool fuses_gate_up = false;
  bool has_position_table = false;
  std::uint64_t position_offset = 0;  // rows of the table beyond the positions
  bool ties_by_default = false;
  std::uint64_t dense_first = 0;   // layers without experts where the config names none
  bool has_router_bias = false;    // one float32 for each expert, added for the choice only
  Switch router_bias_key = "";     // the same, where the config says so
  bool has_expert_biases = false;  // of router and experts alike (gpt-oss)
  bool has_gated_experts = true;
  Switch shared_gate = "";       // a sigmoid gate on the shared expert
  std::string_view moe = "mlp";  // the block's name in checkpoints
};

const Traits& traits_of(std::string_view model_type);

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
  Builder out;
  std::uint64_t hidden = 0;
  std::uint64_t vocab = 0;

  bool on(std::string_view key) const { return key == "+" || (!key.empty() && text.flag(key, false)); }
  std::string_view type() const { return text.class_name(); }
  bool is(std::string_view types) const;  // one of these words
};

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

// What a family has beside its layers, or in them beside mixer and MLP: per-layer embeddings, hyper-connections.
void write_extras(Inventory& inventory);
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

#endif  // KVPLAN_MODELS_INVENTORY_INVENTORY_H_
