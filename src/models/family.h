// A family's file: rows of architectures that are read alike, and what reads them. To add an architecture, write its
// model_type in a row of its family's file; to add a family, write a file and its line in registry.cpp.
#ifndef KVPLAN_MODELS_FAMILY_H_
#define KVPLAN_MODELS_FAMILY_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "kvplan/architecture.h"
#include "models/pattern.h"

namespace kvplan {

struct Reader;     // models/reader.h
struct Inventory;  // models/blocks/inventory.h

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

  friend bool operator==(const Traits&, const Traits&) = default;
};

struct Family {
  Architecture is;
  void (*layers)(Reader& reader);
  Traits tensors{};
  std::optional<PatternRule> pattern{};            // of the layers, where the file spells none
  void (*extras)(Inventory& inventory) = nullptr;  // tensors beside mixers, MLPs and norms
};

}  // namespace kvplan

#endif  // KVPLAN_MODELS_FAMILY_H_
