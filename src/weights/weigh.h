// Parameters and bytes of a model's tensors, of the whole model or of one rank of a layout.
#ifndef KVPLAN_WEIGHTS_WEIGH_H_
#define KVPLAN_WEIGHTS_WEIGH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvplan/note.h"
#include "kvplan/template.h"
#include "kvplan/weight_model.h"

namespace kvplan {

Parameters count_parameters(const WeightModel& model);

// Where a rank stands.
struct WeightShare {
  std::uint64_t tensor_parallel = 1;
  // Ranks among those that cut attention (with states and towers) and the embedding; 0: all of them.
  std::uint64_t attention_parallel = 0, embedding_parallel = 0;
  std::uint64_t expert_parallel = 1;  // ranks that deal out whole experts; 1: tensor parallelism cuts each expert
  std::uint64_t expert_tensor_parallel = 0;  // ranks that cut each expert; 0: as the rest
  std::uint64_t first_layer = 0;
  std::optional<std::uint64_t> layers;  // of the pipeline's stage; absent: all
  bool first_stage = true;              // holds the embedding
  bool last_stage = true;               // holds the head
  bool cuts_towers = false;             // tensor parallelism shares out the towers too
  Mxfp4Layout mxfp4;
  bool keeps_types = false;        // of TensorGroup::kept, and makes what is derived
  bool pads_vocab = false;         // to a multiple of 64, on one rank too
  bool refines_blocks = false;     // of FP8 experts whose cut width they do not divide
  bool embedding_on_host = false;  // the table is looked up in host memory; a tied head is a copy of it
};

struct WeightRequest {
  std::optional<std::string> type;  // --weights; absent: as the checkpoint declares
  std::optional<Dtype> dtype;       // --dtype: of what is not quantized
  WeightShare share;
  bool with_mtp = false;
  bool with_towers = true;  // vision and audio, their projectors
};

struct WeightLine {
  Component component = Component::kOther;
  Bytes bytes, low, high;
  Template formula;
  std::string source;
};

struct WeightReport {
  bool is_known = true;  // false: nothing can be said of the weights
  std::string type;      // as reports name it: "bfloat16", "gptq-int4", "q4_k_m", "as stored"
  std::vector<WeightLine> lines;
  Bytes total, low, high;
  std::vector<Note> notes;
};

// A model whose weight type is settled: which tensor has which type is found out once, for however many ranks and
// layouts. What `model` views must outlive it.
class Weigher {
 public:
  // Throws Error(kBadInput) for an unknown type (and lists the known ones).
  // `like`: one of a model whose quantization names the same modules, which are then not read again.
  Weigher(const WeightModel& model, const std::optional<std::string>& type, std::optional<Dtype> dtype,
          const Weigher* like = nullptr);
  ~Weigher();
  Weigher(const Weigher&) = delete;
  Weigher& operator=(const Weigher&) = delete;

  // Bytes of one rank, for requests of this type.
  WeightReport weigh(const WeightRequest& request) const;
  // The groups that a rank holds, with the bytes of all their layers and copies there.
  std::vector<std::pair<const TensorGroup*, Bytes>> groups(const WeightRequest& request) const;

 private:
  class Storer;
  std::unique_ptr<const Storer> storer_;
};

// The same for one question.
WeightReport weigh(const WeightModel& model, const WeightRequest& request);

// Checks the name of a type without a model. Throws Error(kBadInput) that names the option.
void check_weight_type(std::string_view name, std::string_view option = "--weights");
// The type that a checkpoint declares, as reports name it.
std::string declared_weight_type(const WeightModel& model);

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_WEIGH_H_
