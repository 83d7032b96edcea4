// The projections of a mixer: the matrices, convolutions and vectors of one layer. The attention kind adds them. The
// model's family decides what the sizes leave open: biases, gates, norms, names.
#pragma once

#include <cstdint>
#include <string_view>

#include "formulas/tensor_writer.h"

namespace kvplan {

struct Heads;   // formulas/heads.h
struct Linear;  // formulas/linear.h
struct Ssm;     // formulas/ssm.h

enum class QkNorm : std::uint8_t {
  kNone,
  kHead,       // one vector of head_dim each for queries and keys
  kHeadBias,   // the same with biases
  kWide,       // as wide as all heads
  kEveryHead,  // a separate vector for each head (StableLM, Cohere)
};
enum class Gate : std::uint8_t {
  kNone,
  kDoubledQuery,  // q_proj also yields the gate
  kWide,          // a projection to all heads' widths
  kHead,          // a projection to one number a head
  kLowRank,       // computed with the queries from a low-rank latent, before and after its norm
};

// For heads with keys and values. A Llama has none of these.
struct AttentionProjections {
  bool qkv_bias = false, o_bias = false;
  bool fuses_qkv = false;     // one matrix for q, k and v
  bool shares_value = false;  // the checkpoint has no matrix for the values, which are the keys
  bool has_sinks = false;     // one number a head
  Gate gate = Gate::kNone;
  QkNorm qk_norm = QkNorm::kNone;
};

// For latent attention.
struct LatentProjections {
  bool bias = false;  // on the projections down, and on the output
  Gate gate = Gate::kNone;
  bool has_output_gate = false;  // as wide as all heads' values
  bool has_one_scale = false;    // a scalar that serving engines keep (Kimi)
};

struct SsmProjections {
  std::string_view module = "mamba";
  bool bias = false, conv_bias = true, out_bias = false;
  bool has_norm = true;
  bool has_mup_vector = false;  // per-channel factors of the projection, a buffer in vLLM (Falcon-H1)
};

struct LinearProjections {
  bool bias = false;
  bool has_full_rank_decay = false, has_full_rank_gate = false;  // otherwise two low-rank matrices each (KDA)
  bool repeats_conv = false;  // a second copy in decoding order, in float32 (Kimi in vLLM)
  bool has_qk_norm = false;
};

// A kind adds its tensors here. It only calls the queries that it needs, so that every config key that counts as read
// is used.
class Projections : public TensorWriter {
 public:
  Projections(ModelSpec& model, std::uint64_t hidden_size) : TensorWriter(model), hidden(hidden_size) {}
  virtual ~Projections() = default;

  virtual AttentionProjections attention_of(const Heads& heads, bool has_own_kv) const = 0;
  virtual LatentProjections latent_projections() const = 0;
  virtual SsmProjections ssm_projections(const Ssm& ssm) const = 0;
  virtual LinearProjections linear_projections(const Linear& linear) const = 0;
  virtual bool has_short_conv_bias() const = 0;

  std::uint64_t hidden;  // hidden_size
};

}  // namespace kvplan
