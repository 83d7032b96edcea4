// The graph that llama.cpp builds for one micro-batch, as far as it affects memory: tensors with their shapes and
// sources, in the order of computation. Names and rules are ggml's.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace kvplan {

// How elements are stored: the elements and bytes of a block.
struct ElementType {
  std::uint32_t id = 0;  // ggml's number
  std::uint32_t block = 1, bytes = 4;
  bool quantized() const { return block > 1; }
  friend bool operator==(const ElementType&, const ElementType&) = default;
};
inline constexpr std::uint64_t kFloat = 4;      // bytes
inline constexpr std::uint64_t kCudaRow = 512;  // elements that CUDA's matrix kernels read at once
inline constexpr ElementType kElementF32{0, 1, 4};
inline constexpr ElementType kElementF16{1, 1, 2};
inline constexpr ElementType kElementI32{26, 1, 4};
inline constexpr ElementType kElementI64{27, 1, 8};

enum class Op : std::uint8_t {
  kNone,     // a weight, a cache, an input
  kView,     // reshape, view, permute, transpose
  kInPlace,  // may overwrite its source (additions, products, scales, activations, RMS norms)
  kRope,     // may overwrite its source too
  kMatrix,
  kMatrixOfExperts,
  kGetRows,
  kSetRows,
  kFlashAttention,
  kOther,
};

using TensorId = std::int32_t;
inline constexpr TensorId kNoTensor = -1;
inline constexpr int kNowhere = -1;

using Dims = std::array<std::uint64_t, 4>;

struct GraphTensor {
  Op op = Op::kNone;
  ElementType type = kElementF32;
  Dims ne{1, 1, 1, 1};            // elements of each dimension
  Dims nb{};                      // bytes from one element to the next, for each dimension
  std::array<TensorId, 9> src{};  // the tensors that it is computed from
  std::uint8_t num_src = 0;
  TensorId view_of = kNoTensor;   // the tensor whose memory it is a view of
  std::int8_t place = kNowhere;   // the device that already stores it
  std::int8_t device = kNowhere;  // the device that computes it
  bool is_weight = false;         // operations run on the device of this tensor
  bool is_input = false;
  bool is_output = false;

  bool is_view() const { return view_of != kNoTensor; }
  std::uint64_t bytes() const;  // bytes from the first element to the end of the last one
  std::uint64_t elements() const;
  std::uint64_t rows() const;
};

class ComputeGraph {
 public:
  // Throws std::out_of_range for kNoTensor.
  const GraphTensor& at(TensorId id) const { return tensors_.at(static_cast<std::size_t>(id)); }
  GraphTensor& at(TensorId id) { return tensors_.at(static_cast<std::size_t>(id)); }
  std::size_t size() const { return tensors_.size(); }
  void reserve(std::uint64_t tensors) { tensors_.reserve(tensors); }
  const std::vector<TensorId>& nodes() const { return nodes_; }
  const std::vector<TensorId>& leafs() const { return leafs_; }

  TensorId add_tensor(const GraphTensor& tensor);
  TensorId input(ElementType type, Dims ne);
  // Tensors that exist before the graph runs. The scheduler places operations by their weights, not by caches and
  // states.
  TensorId cache(ElementType type, Dims ne, int place);
  TensorId weight(ElementType type, Dims ne, int place);
  // An operation with its own result tensor.
  TensorId make(Op op, ElementType type, Dims ne, std::initializer_list<TensorId> sources);
  // An operation that writes into a part of `target`.
  TensorId write_rows(TensorId target, TensorId rows, TensorId ids);

  // Both throw std::out_of_range if ggml would refuse the extents.
  TensorId view(TensorId of, Dims ne, Dims nb);
  TensorId reshape(TensorId of, Dims ne);
  TensorId permute(TensorId of, std::array<int, 4> axes);
  TensorId transpose(TensorId of) { return permute(of, {1, 0, 2, 3}); }

  TensorId like(Op op, TensorId a, TensorId b = kNoTensor);  // in a's shape
  TensorId unary(TensorId a) { return like(Op::kInPlace, a); }
  TensorId add(TensorId a, TensorId b) { return like(Op::kInPlace, a, b); }
  TensorId mul(TensorId a, TensorId b) { return like(Op::kInPlace, a, b); }
  TensorId matrix(TensorId weight, TensorId x);
  TensorId experts(TensorId weight, TensorId x, TensorId ids);
  TensorId rows(TensorId table, TensorId ids);
  TensorId cont(TensorId a, Dims ne);
  TensorId cont(TensorId a) { return cont(a, at(a).ne); }
  TensorId concat(TensorId a, TensorId b, std::size_t axis);
  TensorId sum_rows(TensorId a);
  TensorId first_of_sorted(TensorId a, std::uint64_t count);

  // Appends the tensor to the order of computation, after everything it depends on.
  void expand(TensorId id);

 private:
  void visit(TensorId id);
  TensorId add_view(TensorId of, const Dims& ne, const Dims& nb);

  std::vector<GraphTensor> tensors_;
  std::vector<bool> visited_;
  std::vector<TensorId> nodes_, leafs_;
};

Dims contiguous(ElementType type, const Dims& ne);

}  // namespace kvplan
