// A family's file: rows of architectures that are read alike, and what reads them. To add an architecture, write its
// model_type in a row of its family's file; to add a family, write a file and its line in registry.cpp.
#ifndef KVPLAN_MODELS_FAMILY_H_
#define KVPLAN_MODELS_FAMILY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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

// A key of the config that switches something on; "+" is always, "" never, "+key" unless the key says otherwise.
using Switch = std::string_view;

// How the tensors differ from a Llama's: two RMS norms, no biases unless the config says so, a gated MLP.
struct Traits {
  bool may_have_more = false;  // blocks with tensors that the plain fields do not show: the range of the weights widens
  Switch qkv_bias = "attention_bias";
  Switch o_bias = "attention_bias";
  Switch mlp_bias = "mlp_bias";
  Switch head_bias = "";
  QkNorm qk_norm = QkNorm::kNone;
  Switch qk_norm_key = "+";
  Gate gate = Gate::kNone;
  Switch gate_key = "+";
  Switch shares_values = "";  // the keys are the values too, where heads have another width than the config's
  bool has_sinks = false;
  std::uint64_t norms = 2;     // of a layer with a mixer and an MLP
  Switch sandwich_norms = "";  // twice as many
  NormStyle norm_style = NormStyle::kRms;
  bool has_final_norm = true;
  bool has_gated_mlp = true;
  bool fuses_qkv = false;  // one matrix for q, k and v
  bool fuses_gate_up = false;
  bool has_mlps = true;           // false: Mamba has none, RWKV's are in its mixers, or `mlps` makes them
  bool may_lack_mlps = false;     // in some layers
  bool alternates = false;        // a layer holds a mixer or an MLP, never both
  bool halves_mlp_width = false;  // the width is that of gate and up together
  std::uint64_t mlp_ratio = 0;    // of the hidden size, where the config names no width
  std::string_view mlp_width = "intermediate_size";  // its key
  bool splits_embedding = true;                      // over the ranks
  bool has_position_table = false;
  std::uint64_t position_offset = 0;  // rows of the table beyond the positions
  bool ties_by_default = false;
  bool has_lm_head = true;
  bool stores_head = false;       // in its files, even where its class ties it
  bool mtp_repeats_ends = false;  // files hold embedding and head again with the layers that predict further tokens
  Switch has_experts = "+";
  bool has_image_experts = false;  // lists of two: experts for text, and for images
  std::string_view expert_width = "moe_intermediate_size";
  std::uint64_t dense_first = 0;     // layers without experts where the config names none
  std::uint64_t shared_experts = 0;  // where the config counts none
  std::string_view shared_width = "shared_expert_intermediate_size";
  Switch routes_shared = "";        // the router weighs the shared experts, too
  bool has_router_bias = false;     // one float32 for each expert, added for the choice only
  Switch router_bias_key = "";      // the same, where the config says so
  bool has_float32_router = false;  // in the classes of serving engines
  bool has_expert_biases = false;   // of router and experts alike (gpt-oss)
  bool has_gated_experts = true;
  Switch shared_gate = "";  // a sigmoid gate on the shared expert
  Switch ssm_norm = "+";
  Switch ssm_out_bias = "";          // where the last projection of Mamba 2 has a key of its own
  bool has_full_rank_gates = false;  // of KDA
  // The blocks' names in checkpoints.
  std::string_view layer = "model.layers.*";
  std::string_view ssm = "mamba";
  std::string_view mlp = "mlp";
  std::string_view moe = "mlp";

  friend bool operator==(const Traits&, const Traits&) = default;
};

struct Family {
  Architecture is;
  void (*layers)(Reader& reader);
  Traits tensors{};
  std::optional<PatternRule> pattern{};            // of the layers, where the file spells none
  void (*extras)(Inventory& inventory) = nullptr;  // tensors beside mixers, MLPs and norms
  // What a family has in a form of its own. Writers return false where what others have is to be written as well.
  bool (*all)(Inventory& inventory) = nullptr;
  bool (*mixer)(Inventory& inventory, const Mixer& mixer) = nullptr;
  bool (*experts)(Inventory& inventory, const Ffn& ffn) = nullptr;
  std::uint64_t (*mlp_width)(const Inventory& inventory, std::uint64_t named) = nullptr;
  void (*mlps)(const Inventory& inventory, MlpPlan& plan) = nullptr;
  std::uint64_t (*norms)(const Inventory& inventory, std::uint64_t usual) = nullptr;
  std::uint64_t (*stored_layers)(const Inventory& inventory) = nullptr;  // looped models run them several times
  // What its files and its class call the modules, where that is not as Llama's: lists of modules in a quantization
  // config name the one or the other. Each entry is one way to call all of them, in words "ours=theirs", each on what
  // those before it left; one that changes no word of a module stands for our own name.
  std::span<const std::string_view> modules{};
};

}  // namespace kvplan

#endif  // KVPLAN_MODELS_FAMILY_H_
