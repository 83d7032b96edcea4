// Parameters and bytes of a model's tensors, for the whole model or one rank of a layout.
#pragma once

#include <cstdint>
#include <map>
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

// A rank's place in the layout.
struct WeightShare {
  std::uint64_t tensor_parallel = 1;
  // How many of these ranks split attention (with states and towers) and the embedding; 0: all of them.
  std::uint64_t attention_parallel = 0, embedding_parallel = 0;
  std::uint64_t expert_parallel = 1;         // ranks that hold whole experts; 1: tensor parallelism splits every expert
  std::uint64_t redundant_experts = 0;       // copies of routed experts in each layer, over all ranks
  std::uint64_t expert_tensor_parallel = 0;  // ranks that split each expert; 0: all tensor parallel ranks
  std::uint64_t first_layer = 0;
  std::optional<std::uint64_t> layers;  // those of the pipeline stage; absent: all
  bool first_stage = true;              // has the embedding
  bool last_stage = true;               // has the head
  bool cuts_towers = false;             // tensor parallelism splits the towers too
  Mxfp4Layout mxfp4;
  bool keeps_types = false;        // applies TensorGroup::kept, and counts derived tensors
  bool pads_vocab = false;         // to a multiple of 64, even on one rank
  bool refines_blocks = false;     // of FP8 experts, if they do not divide the split width
  bool embedding_on_host = false;  // the table is in host memory; a tied head is a copy of it
};

struct WeightRequest {
  std::optional<std::string> type;  // --weights; absent: as the checkpoint declares
  std::optional<Dtype> dtype;       // --dtype, for what is not quantized
  WeightShare share;
  bool with_mtp = false;
  bool with_towers = true;  // vision and audio encoders with their projectors
};

class StoredSizes;

struct WeightLine {
  Component component = Component::kOther;
  Bytes bytes, low, high;
  Template formula;
  std::string source;
};

struct WeightReport {
  bool is_known = true;  // false: nothing is known about the weights
  std::string type;      // for reports: "bfloat16", "gptq-int4", "q4_k_m", "as stored"
  std::vector<WeightLine> lines;
  Bytes total, low, high;
  std::vector<Note> notes;
};

// A model with a settled weight type: the type of each tensor is determined once, for any number of ranks and layouts.
// What `model` views must outlive it.
class Weigher {
 public:
  // Throws Error(kBadInput) for an unknown type (and lists the known ones). `like`: one for a model whose quantization
  // names the same modules; its parsed rules are reused.
  Weigher(const WeightModel& model, const std::optional<std::string>& type, std::optional<Dtype> dtype,
          const Weigher* like = nullptr);
  ~Weigher();
  Weigher(const Weigher&) = delete;
  Weigher& operator=(const Weigher&) = delete;

  // Bytes on one rank, for requests with this type.
  WeightReport weigh(const WeightRequest& request) const;
  // Rules of the quantization that match nothing. Finding them takes long, so it is not part of each weighing.
  const std::vector<Note>& notes() const;
  // The groups on a rank, with the bytes of all their layers and copies there.
  std::vector<std::pair<const TensorGroup*, Bytes>> groups(const WeightRequest& request) const;
  // Bytes of each part in a checkpoint of this config, MTP layers and towers included.
  static std::map<Component, Bytes> declared_bytes(const WeightModel& model);

 private:
  class Storer;
  std::unique_ptr<const Storer> storer_;
  std::unique_ptr<const StoredSizes> files_;  // null: no sizes of files are known, or another type is requested
};

// The same for a single question.
WeightReport weigh(const WeightModel& model, const WeightRequest& request);

// Checks a type's name without a model. Throws Error(kBadInput) that names the option.
void check_weight_type(std::string_view name, std::string_view option = "--weights");
// The type that a checkpoint declares, by its name in reports.
std::string declared_weight_type(const WeightModel& model);

}  // namespace kvplan
