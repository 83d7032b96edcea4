#include "weights/loaded.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "weights/share.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kMostBlocks = 1024;  // of a tower, whose config may contain any number

// The fused matrix that contains these projections, by its parts' names in checkpoints.
std::string_view fused_name(std::string_view module) {
  const std::string_view name = module.substr(module.rfind('.') + 1);
  for (const std::string_view part : {"q_proj", "k_proj", "v_proj"})
    if (name == part) return "qkv";
  for (const std::string_view part : {"gate_proj", "up_proj", "w1", "w3"})
    if (name == part) return "gate_up";
  return {};
}

constexpr std::size_t kSeparate = std::numeric_limits<std::size_t>::max();

struct Tensor {
  std::size_t fused;  // the number of the fused matrix that contains it, or kSeparate
  Bytes bytes;
};

// Numbers the fused matrices of a model by their names.
class FusedMatrices {
 public:
  std::size_t of(std::string_view module) {
    const std::string_view fused = fused_name(module);
    if (fused.empty()) return kSeparate;
    std::string name(module.substr(0, module.rfind('.') + 1));
    name += fused;
    return numbers_.emplace(std::move(name), numbers_.size()).first->second;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

// The tensors of one layer. The parts of a fused tensor are joined where the first part is.
class LayerTensors {
 public:
  // `beside`: scales and zero points of a packed matrix, which are separate tensors.
  void add(std::size_t fused, Bytes packed, Bytes beside) {
    join(fused == kSeparate ? fused : 2 * fused, packed);
    if (beside > Bytes(0)) join(fused == kSeparate ? fused : 2 * fused + 1, beside);
  }
  const std::vector<Tensor>& all() const { return tensors_; }

 private:
  void join(std::size_t fused, Bytes bytes) {
    if (fused != kSeparate)
      for (Tensor& tensor : tensors_) {
        if (tensor.fused != fused) continue;
        tensor.bytes += bytes;
        return;
      }
    tensors_.push_back({fused, bytes});
  }

  std::vector<Tensor> tensors_;
};

// The packed part of a matrix with less than 16 bits per element: the whole bits (of 4.16 bits, 4; the rest are
// scales).
Bytes packed_part(Bytes bytes, double elements) {
  const double bits = std::floor(8 * static_cast<double>(bytes.count()) / std::max(elements, 1.0));
  if (bits < 1 || bits >= 16) return bytes;
  return std::min(bytes, Bytes(static_cast<std::uint64_t>(elements / 8 * bits)));
}

}  // namespace

LoadedWeights loaded_weights(const WeightModel& model, const Weigher& weigher, const WeightRequest& request,
                             bool copies_latents, std::span<const Bytes> tables, TorchPieces pieces) {
  LoadedWeights out;
  const std::uint64_t element = plain_bytes(request.dtype.value_or(model.dtype));
  std::vector<Bytes> copies_of_latents;
  LayerTensors first, last;
  const std::uint64_t first_layer = std::min(request.share.first_layer, model.num_layers);
  std::vector<LayerTensors> layers(
      std::min(request.share.layers.value_or(model.num_layers), model.num_layers - first_layer));
  FusedMatrices matrices;
  for (const auto& held_group : weigher.groups(request)) {
    const TensorGroup* const group = held_group.first;  // clang 14 allows no structured bindings in lambdas
    const Bytes bytes = held_group.second;
    const HeldLayers held{*group, request.share};
    const std::uint64_t count = held.count();
    if (count == 0 || bytes == Bytes(0)) continue;
    out.tensors += bytes;
    // All experts of a layer are one tensor; each block of a tower has its own.
    const bool is_one = group->is_expert || group->copies == 0 || group->copies > kMostBlocks;
    const std::uint64_t copies = is_one ? 1 : group->copies;
    const Bytes each(bytes.count() / count / copies);
    const Piece piece = piece_of(*group, request.share);
    const double elements = static_cast<double>(piece.rows) * static_cast<double>(piece.columns) *
                            static_cast<double>(is_one ? piece.copies : 1);
    const Bytes packed = packed_part(each, elements);
    out.is_packed = out.is_packed || static_cast<double>(each.count()) < 2 * elements;
    if (group->module.ends_with(".kv_b_proj")) {
      const Bytes again = Bytes(piece.rows) * piece.columns * element;
      if (copies_latents || each != again) copies_of_latents.insert(copies_of_latents.end(), count, again);
    }
    const std::size_t fused = matrices.of(group->module);
    if (group->place != Place::kLayers) {
      LayerTensors& end = group->place == Place::kFirst ? first : last;
      for (std::uint64_t i = 0; i < copies; ++i) end.add(fused, packed, each - packed);
      continue;
    }
    held.each([&](std::uint64_t layer) {
      // MTP layers come after the others.
      LayerTensors& here = layer < model.num_layers ? layers[layer - first_layer] : last;
      for (std::uint64_t i = 0; i < copies; ++i) here.add(fused, packed, each - packed);
    });
  }
  if (out.tensors == Bytes(0)) return out;
  const auto take = [&](const LayerTensors& tensors) {
    for (const Tensor& tensor : tensors.all()) pieces.take(tensor.bytes);
  };
  take(first);
  for (const Bytes table : tables) {
    out.rotary += table;
    pieces.take(table);
  }
  for (const LayerTensors& layer : layers) take(layer);
  take(last);
  for (const Bytes again : copies_of_latents) {
    out.absorbed += again;
    pieces.take(again);
  }
  out.allocated = pieces.allocated;
  out.reserved = pieces.reserved;
  out.segments = std::move(pieces.segments);
  return out;
}

}  // namespace kvplan
