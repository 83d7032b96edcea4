// The projections of a mixer: the matrices, convolutions and vectors of one layer, which its kind writes beside its
// cache. What a kind's sizes leave open (biases, gates, norms, names) the model's family decides.
#ifndef KVPLAN_FORMULAS_PROJECTIONS_H_
#define KVPLAN_FORMULAS_PROJECTIONS_H_

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
  kEveryHead,  // a vector of its own for each head (StableLM, Cohere)
};
enum class Gate : std::uint8_t {
  kNone,
  kDoubledQuery,  // q_proj yields the gate too
  kWide,          // a projection to all heads' widths
  kHead,          // a projection to one number a head
  kLowRank,       // made with the queries, of a latent's low rank before and behind its norm
};

// Of heads with keys and values. A Llama's have none of it.
struct AttentionProjections {
  bool qkv_bias = false, o_bias = false;
  bool fuses_qkv = false;     // one matrix for q, k and v
  bool shares_value = false;  // the values are the keys: no matrix in the checkpoint
  bool has_sinks = false;     // one number a head
  Gate gate = Gate::kNone;
  QkNorm qk_norm = QkNorm::kNone;
};

// Of latent attention.
struct LatentProjections {
  bool bias = false;  // of the projections down, and of the output
  Gate gate = Gate::kNone;
  bool has_output_gate = false;  // as wide as all heads' values
  bool has_one_scale = false;    // a scale that serving engines keep (Kimi)
};

struct SsmProjections {
  std::string_view module = "mamba";
  bool bias = false, conv_bias = true, out_bias = false;
  bool has_norm = true;
  bool has_mup_vector = false;  // factors of the projection, a buffer in vLLM (Falcon-H1)
};

struct LinearProjections {
  bool bias = false;
  bool has_full_rank_decay = false, has_full_rank_gate = false;  // else two matrices of a low rank each (KDA)
  bool repeats_conv = false;  // a second copy in the order of decoding, float32 (Kimi in vLLM)
  bool has_qk_norm = false;
};

// What a kind writes to. The questions are asked by the kinds that need an answer, so that no key of a config counts as
// read that nothing depends on.
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

#endif  // KVPLAN_FORMULAS_PROJECTIONS_H_
