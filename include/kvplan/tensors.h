// The weights of a model as a short list of groups of equal tensors. Parameters, active parameters, bytes and a rank's
// part all come from this list. Weight types turn it into bytes, and nothing else multiplies parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

enum class Component : std::uint8_t {
  kEmbedding,
  kAttention,
  kMlp,
  kExperts,
  kSharedExperts,
  kRouter,
  kStateMixer,  // Mamba, delta net, KDA, convolutions, RWKV
  kNorms,
  kLmHead,
  kEncoder,  // of an encoder-decoder
  kVision,
  kAudio,
  kProjector,
  kMtp,
  kOther,
};
std::string_view name(Component component);
// Vision and audio towers, and the layers that pass their tokens to the decoder.
constexpr bool is_tower(Component component) {
  return component == Component::kVision || component == Component::kAudio || component == Component::kProjector;
}

enum class TensorRole : std::uint8_t {
  kLinear,     // the matrix of a linear layer: what quantization packs
  kEmbedding,  // a look-up table
  kHead,       // the output projection
  kConv,       // a convolution's kernel
  kPlain,      // norms, biases, gates, decay rates: never packed
};

// How tensor parallelism splits a tensor of rows (outputs) x columns (inputs).
enum class Split : std::uint8_t {
  kNone,     // every rank has all of it
  kRows,     // by output
  kColumns,  // by input
  kVocab,    // by output, the vocabulary padded to 64 first
};

// How serving engines store a tensor, whatever the checkpoint declares.
enum class Kept : std::uint8_t {
  kAsDeclared,
  kPlain,     // never quantized: an indexer's keys
  kFloat32,   // A of Mamba, some routers
  kEightBit,  // 8 bit if --weights names one of MLX's types
  kTwoBit,    // four ternary weights in a byte
  kPacked     // quantized although it belongs to a tower
};

// `count` layers: first, first + step, ... If `count` is 0, the tensor is outside of the layers.
struct LayerRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t step = 1;
  friend bool operator==(const LayerRun&, const LayerRun&) = default;
};

// Where a tensor is in a pipeline. kEach: on every stage.
enum class Place : std::uint8_t { kLayers, kFirst, kLast, kEach };

struct TensorGroup {
  Component component = Component::kOther;
  TensorRole role = TensorRole::kLinear;
  std::string module;  // as Llama names it, with "*" for the layer: "model.layers.*.self_attn.q_proj"
  // Other names of the module in this family's files and classes, which lists of modules may use. If empty, there is
  // only `module`.
  std::vector<std::string> names;
  std::vector<LayerRun> layers;
  Place place = Place::kLayers;
  std::uint64_t copies = 1;  // in one layer: experts
  std::uint64_t used = 1;    // copies that one token passes through
  std::uint64_t rows = 0;    // outputs; for a vector, all its elements
  std::uint64_t columns = 1;
  Split split = Split::kNone;
  // Heads, which a split must not divide. If there are fewer than ranks, they are replicated. 0: no such limit.
  std::uint64_t units = 0;
  bool is_expert = false;   // expert parallelism distributes whole copies
  bool is_float32 = false;  // stays float32 whatever the model's type (a router's correction bias)
  Kept kept = Kept::kAsDeclared;
  bool is_derived = false;  // in no checkpoint, because serving engines compute it: a table, or a copy in another order
  bool is_tied = false;     // a head that shares the embedding: it has no parameters, but it takes bytes where the
                            // pipeline's last stage is not its first

  std::string stored_type;           // as a file's header spells it ("q6_k"); empty if a weight type decides
  Bytes stored_bytes;                // of one copy, from a file's header
  std::uint64_t num_layers() const;  // 1 for a tensor outside of the layers
  Elements elements_of_one() const;  // rows * columns
  Elements stored() const;           // of all layers and copies; 0 for a tied head
  Elements active() const;           // the same over `used` copies
};

// A part that the config does not determine.
struct UnknownTensors {
  Component component = Component::kOther;
  std::string what;  // "vision tower (siglip2_navit)"
  Elements low, estimate, high;
};

// Bytes from a checkpoint's own headers, which replace the bytes computed from the groups.
struct StoredTensors {
  Component component = Component::kOther;
  std::string type;  // as the header spells it: "BF16", "q4_K"
  std::uint64_t tensors = 0;
  Elements elements;
  Bytes bytes;
};

struct Parameters {
  std::uint64_t total = 0;   // unique parameters of the main model, without its MTP layers
  std::uint64_t active = 0;  // parameters that one token uses, including embedding and head
  std::uint64_t mtp = 0;
  bool is_known = false;  // false: a part is an estimate or missing
};

}  // namespace kvplan
