// A family's file: rows of architectures that are read in the same way, and the functions that read them. To add an
// architecture, write its model_type in a row of its family's file; to add a family, write a file and its name in
// registry.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "formulas/model.h"
#include "formulas/projections.h"
#include "kvplan/architecture.h"
#include "models/pattern.h"

namespace kvplan {

struct Reader;     // models/reader.h
struct Inventory;  // models/blocks/inventory.h
struct Ffn;
struct MlpPlan;

enum class NormStyle : std::uint8_t { kRms, kLayerNorm, kNoWeight };

// The config key that switches a feature on, such as "attention_bias". "+" means always on, "" means never, and
// "+use_qk_norm" means on unless the key says otherwise.
using Switch = std::string_view;

// How the tensors differ from Llama's, which has two RMS norms, a gated MLP, and no biases unless the config says so.
struct Traits {
  bool may_have_more =
      false;  // blocks may have tensors that no known field describes, so the weights get a wider range
  std::optional<Switch> biases{};  // one key for all biases; otherwise each kind has its own
  Switch qkv_bias = "attention_bias";
  Switch o_bias = "attention_bias";
  Switch mlp_bias = "mlp_bias";
  Switch head_bias = "";
  QkNorm qk_norm = QkNorm::kNone;
  Switch qk_norm_key = "+";
  Gate gate = Gate::kNone;
  Switch gate_key = "+";
  Switch shares_values = "";  // if heads have another width than the config's, the keys are also the values
  bool has_sinks = false;
  std::uint64_t norms = 2;     // in a layer with a mixer and an MLP
  Switch sandwich_norms = "";  // twice as many norms
  NormStyle norm_style = NormStyle::kRms;
  bool has_final_norm = true;
  bool has_gated_mlp = true;
  bool fuses_qkv = false;  // one matrix for q, k and v
  bool fuses_gate_up = false;
  bool has_mlps = true;  // false: the family has none (Mamba), its mixers include them (RWKV), or `mlps` adds them
  bool may_lack_mlps = false;                        // some layers have none
  bool alternates = false;                           // a layer has either a mixer or an MLP
  bool halves_mlp_width = false;                     // the width is the sum of gate and up
  std::uint64_t mlp_ratio = 0;                       // width / hidden size, if the config gives no width
  std::string_view mlp_width = "intermediate_size";  // the key of the width
  bool splits_embedding = true;                      // over the ranks
  bool has_position_table = false;
  std::uint64_t position_offset = 0;  // more rows in the table of positions
  bool ties_by_default = false;
  bool has_lm_head = true;
  bool stores_head = false;       // files contain the head even if the class ties it
  bool mtp_repeats_ends = false;  // files contain a copy of embedding and head for the MTP layers
  Switch has_experts = "+";
  bool has_image_experts = false;  // lists of two: experts for text and for images
  std::string_view expert_width = "moe_intermediate_size";
  std::uint64_t dense_first = 0;     // number of first layers without experts, if the config gives none
  std::uint64_t shared_experts = 0;  // number of shared experts, if the config gives none
  std::string_view shared_width = "shared_expert_intermediate_size";
  Switch routes_shared = "";        // the router also weights the shared experts
  bool has_router_bias = false;     // one float32 for each expert, which only affects the choice
  Switch router_bias_key = "";      // as has_router_bias, if this key of the config is true
  bool has_float32_router = false;  // in serving engines' classes
  bool has_expert_biases = false;   // for router and experts (gpt-oss)
  bool has_gated_experts = true;
  Switch shared_gate = "";  // a sigmoid gate on the shared expert
  Switch ssm_norm = "+";
  Switch ssm_out_bias = "";          // key for the bias of Mamba 2's last projection
  bool has_mup_vector = false;       // factors of Mamba 2's channels, which serving engines keep
  bool has_full_rank_gates = false;  // in KDA
  bool repeats_conv = false;         // serving engines keep KDA's convolution twice
  bool has_latent_scale = false;     // serving engines keep a scalar with each latent
  bool plain_latent_moe = false;     // the projections to and from the experts' width are never quantized
  // Names of the blocks in checkpoints.
  std::string_view layer = "model.layers.*";
  std::string_view ssm = "mamba";
  std::string_view mlp = "mlp";
  std::string_view moe = "mlp";

  friend bool operator==(const Traits&, const Traits&) = default;
};

void read_plain(Reader& reader);  // every layer has full attention: models/blocks/layers.h

struct Family {
  Architecture is;
  void (*layers)(Reader& reader) = read_plain;
  std::string_view rule{};  // the function that reads the layers, and its name in reports; empty: the name of a shared
                            // reader (rule_of)
  Traits tensors{};
  std::optional<PatternRule> pattern{};            // of the layers, if the file has none
  void (*extras)(Inventory& inventory) = nullptr;  // tensors besides mixers, MLPs and norms
  // Functions for families with an unusual form. They return false if the usual tensors must be added too.
  bool (*all)(Inventory& inventory) = nullptr;
  bool (*mixer)(Inventory& inventory, const Mixer& mixer) = nullptr;
  bool (*experts)(Inventory& inventory, const Ffn& ffn) = nullptr;
  std::uint64_t (*mlp_width)(const Inventory& inventory, std::uint64_t named) = nullptr;
  void (*mlps)(const Inventory& inventory, MlpPlan& plan) = nullptr;
  std::uint64_t (*norms)(const Inventory& inventory, std::uint64_t usual) = nullptr;
  // Names of the modules in its files and its class, if they are not Llama's: lists of modules in a quantization config
  // use either. Each word is "ours=theirs", and the words are applied one after another: "self_attn=attn
  // o_proj=out_proj" turns "self_attn.o_proj" into "attn.out_proj". " | " separates several spellings, and "=" means
  // our own spelling.
  std::string_view modules{};
};

// All architectures, one file for each family, found by model_type or by a class's name.

// Null for an unknown model_type.
const Family* find_family(std::string_view model_type);
// The function that reads a family's layers, by the name that reports show ("plain", "mla").
std::string_view rule_of(const Family& family);
// The row whose layers are read by this function; null if there is none.
const Family* find_family(void (*layers)(Reader& reader));
// The model_type that an architecture's name implies ("DeepseekV4ForCausalLM" -> "deepseek_v4"); empty for none.
std::string_view model_type_of(std::string_view class_name);
// The rows of every family's file.
std::span<const std::span<const Family>> families();

// The layer pattern of the decoder's class, or `otherwise` if it has none.
PatternRule pattern_of(const Reader& reader, const PatternRule& otherwise);

}  // namespace kvplan
