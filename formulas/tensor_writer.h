// Adds tensor groups: the functions with which kinds and families describe what a layer consists of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/tensors.h"

namespace kvplan {

struct ModelSpec;  // formulas/model.h

class TensorWriter {
 public:
  explicit TensorWriter(ModelSpec& model) : model_(model) {}

  // The groups that follow are in these layers; their module names are relative to "model.layers.*.".
  void in_layers(std::vector<LayerRun> layers, std::string_view prefix = "model.layers.*.");
  // The groups that follow are outside of the layers and have full names.
  void outside(Place place);
  // Every group that follows gets this component, whatever its caller passes (MTP layers, encoders, towers).
  void book_as(Component component) { booked_ = component; }
  void book_plainly() { booked_ = Component::kOther; }
  // The component of a group: the one set by book_as(), else `own`.
  Component component(Component own) const { return booked_ == Component::kOther ? own : booked_; }

  // A linear layer of rows x columns; `bias` adds its bias.
  TensorGroup& linear(Component component, std::string_view module, std::uint64_t rows, std::uint64_t columns,
                      Split split = Split::kNone, std::uint64_t units = 0, bool bias = false);
  TensorGroup& table(Component component, std::string_view module, std::uint64_t rows, std::uint64_t columns,
                     Split split = Split::kNone);
  TensorGroup& conv(Component component, std::string_view module, std::uint64_t rows, std::uint64_t columns,
                    Split split = Split::kNone);
  TensorGroup& plain(Component component, std::string_view module, std::uint64_t elements, Split split = Split::kNone,
                     std::uint64_t units = 0);
  // `count` norms of `width`, with or without a bias each.
  void norms(std::string_view module, std::uint64_t width, std::uint64_t count = 1, bool bias = false);

  // A part whose tensors are not listed anywhere.
  void unknown(UnknownTensors part);

  // The number of layers that the next group is in.
  std::uint64_t num_layers() const {
    std::uint64_t out = 0;
    for (const LayerRun& run : layers_) out += run.count;
    return out;
  }

  ModelSpec& model() { return model_; }

 private:
  TensorGroup& add(Component component, TensorRole role, std::string_view module, std::uint64_t rows,
                   std::uint64_t columns, Split split, std::uint64_t units);

  ModelSpec& model_;
  std::vector<LayerRun> layers_;
  Place place_ = Place::kFirst;
  std::string prefix_;
  Component booked_ = Component::kOther;
};

// Ascending indices as runs.
std::vector<LayerRun> runs_of(const std::vector<std::uint64_t>& indices);

std::uint64_t times(std::uint64_t a, std::uint64_t b);  // a * b for tensor sizes; Error if it overflows

}  // namespace kvplan
