#include "formulas/tensor_writer.h"

#include <utility>

#include "formulas/model.h"
#include "kvplan/quantity.h"

namespace kvplan {

void TensorWriter::in_layers(std::vector<LayerRun> layers, std::string_view prefix) {
  layers_ = std::move(layers);
  place_ = Place::kLayers;
  prefix_ = prefix;
}

void TensorWriter::outside(Place place) {
  layers_.clear();
  place_ = place;
  prefix_.clear();
}

TensorGroup& TensorWriter::add(Component own, TensorRole role, std::string_view module, std::uint64_t rows,
                               std::uint64_t columns, Split split, std::uint64_t units) {
  TensorGroup group;
  group.component = component(own);
  group.role = role;
  group.module = prefix_ + std::string(module);
  group.layers = layers_;
  group.place = place_;
  group.rows = rows;
  group.columns = columns;
  group.split = split;
  group.units = units;
  model_.tensors.push_back(std::move(group));
  return model_.tensors.back();
}

TensorGroup& TensorWriter::linear(Component own, std::string_view module, std::uint64_t rows, std::uint64_t columns,
                                  Split split, std::uint64_t units, bool bias) {
  // The bias comes first, so that the reference returned is the matrix's.
  if (bias) {
    const Split cut = split == Split::kRows ? Split::kRows : Split::kNone;
    add(own, TensorRole::kPlain, std::string(module) + ".bias", rows, 1, cut, units);
  }
  return add(own, TensorRole::kLinear, module, rows, columns, split, units);
}

TensorGroup& TensorWriter::table(Component own, std::string_view module, std::uint64_t rows, std::uint64_t columns,
                                 Split split) {
  return add(own, TensorRole::kEmbedding, module, rows, columns, split, 0);
}

TensorGroup& TensorWriter::conv(Component own, std::string_view module, std::uint64_t rows, std::uint64_t columns,
                                Split split) {
  return add(own, TensorRole::kConv, module, rows, columns, split, 0);
}

TensorGroup& TensorWriter::plain(Component own, std::string_view module, std::uint64_t elements, Split split,
                                 std::uint64_t units) {
  return add(own, TensorRole::kPlain, module, elements, 1, split, units);
}

void TensorWriter::norms(std::string_view module, std::uint64_t width, std::uint64_t count, bool bias) {
  if (count == 0 || width == 0) return;
  TensorGroup& group = add(Component::kNorms, TensorRole::kPlain, module, width, 1, Split::kNone, 0);
  group.copies = group.used = bias ? 2 * count : count;
}

void TensorWriter::unknown(UnknownTensors part) {
  model_.unknown_tensors.push_back(std::move(part));
}

std::vector<LayerRun> runs_of(const std::vector<std::uint64_t>& indices) {
  std::vector<LayerRun> out;
  for (const std::uint64_t i : indices) {
    if (!out.empty()) {
      LayerRun& run = out.back();
      if (run.count == 1 && i > run.first) {
        run.step = i - run.first;
        run.count = 2;
        continue;
      }
      if (i == run.first + run.count * run.step) {
        ++run.count;
        continue;
      }
    }
    out.push_back({i, 1, 1});
  }
  return out;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b, "the size of a tensor");
}

}  // namespace kvplan
