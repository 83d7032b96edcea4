// Source: ggml.c (ggml_new_tensor_impl, ggml_nbytes, ggml_visit_parents_graph) of v0.5.0.
#include "engines/llama_cpp/compute_graph.h"

#include <stdexcept>

#include "kvplan/quantity.h"

namespace kvplan {

constexpr std::string_view kTensor = "a tensor of the graph";

static std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b, kTensor);
}

Dims contiguous(ElementType type, const Dims& ne) {
  Dims nb{};
  nb[0] = type.bytes;
  nb[1] = product(nb[0], ne[0] / type.block);
  nb[2] = product(nb[1], ne[1]);
  nb[3] = product(nb[2], ne[2]);
  return nb;
}

std::uint64_t GraphTensor::bytes() const {
  for (const std::uint64_t count : ne)
    if (count == 0) return 0;
  std::uint64_t out = type.block == 1 ? checked_add(type.bytes, product(ne[0] - 1, nb[0]), kTensor)
                                      : product(ne[0], nb[0]) / type.block;
  for (std::size_t i = 1; i < ne.size(); ++i) out = checked_add(out, product(ne[i] - 1, nb[i]), kTensor);
  return out;
}

std::uint64_t GraphTensor::elements() const {
  return product(ne[0], rows());
}

std::uint64_t GraphTensor::rows() const {
  return product(product(ne[1], ne[2]), ne[3]);
}

TensorId ComputeGraph::add_tensor(const GraphTensor& tensor) {
  tensors_.push_back(tensor);
  visited_.push_back(false);
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId ComputeGraph::input(ElementType type, Dims ne) {
  GraphTensor out;
  out.type = type;
  out.ne = ne;
  out.nb = contiguous(type, ne);
  out.is_input = true;
  return add_tensor(out);
}

TensorId ComputeGraph::cache(ElementType type, Dims ne, int place) {
  GraphTensor out;
  out.type = type;
  out.ne = ne;
  out.nb = contiguous(type, ne);
  out.place = static_cast<std::int8_t>(place);
  return add_tensor(out);
}

TensorId ComputeGraph::weight(ElementType type, Dims ne, int place) {
  const TensorId made = cache(type, ne, place);
  at(made).is_weight = true;
  return made;
}

TensorId ComputeGraph::make(Op op, ElementType type, Dims ne, std::initializer_list<TensorId> sources) {
  GraphTensor out;
  out.op = op;
  out.type = type;
  out.ne = ne;
  out.nb = contiguous(type, ne);
  for (const TensorId id : sources)
    if (id != kNoTensor) out.src[out.num_src++] = id;
  return add_tensor(out);
}

TensorId ComputeGraph::write_rows(TensorId target, TensorId rows, TensorId ids) {
  GraphTensor out = at(target);
  if (!out.is_view()) out.view_of = target;
  out.place = kNowhere;
  out.is_weight = out.is_input = out.is_output = false;
  out.op = Op::kSetRows;
  out.src = {rows, ids, target};
  out.num_src = 3;
  return add_tensor(out);
}

TensorId ComputeGraph::add_view(TensorId of, const Dims& ne, const Dims& nb) {
  GraphTensor out;
  out.op = Op::kView;
  out.type = at(of).type;
  out.ne = ne;
  out.nb = nb;
  out.src[out.num_src++] = of;
  out.view_of = at(of).is_view() ? at(of).view_of : of;
  return add_tensor(out);
}

// ggml refuses a view that is larger than its tensor (GGML_ASSERT in ggml_new_tensor_impl), so the model's shapes do
// not match its blocks. The elements of a row are contiguous.
TensorId ComputeGraph::view(TensorId of, Dims ne, Dims nb) {
  const TensorId out = add_view(of, ne, nb);
  if (nb[0] != at(of).type.bytes || at(out).bytes() > at(at(out).view_of).bytes())
    throw std::out_of_range("a view beyond its tensor");
  return out;
}

TensorId ComputeGraph::reshape(TensorId of, Dims ne) {
  GraphTensor reshaped;
  reshaped.ne = ne;
  if (reshaped.elements() != at(of).elements()) throw std::out_of_range("a tensor is reshaped to another size");
  return view(of, ne, contiguous(at(of).type, ne));
}

TensorId ComputeGraph::permute(TensorId of, std::array<int, 4> axes) {
  Dims ne{}, nb{};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ne[static_cast<std::size_t>(axes[i])] = at(of).ne[i];
    nb[static_cast<std::size_t>(axes[i])] = at(of).nb[i];
  }
  return add_view(of, ne, nb);
}

TensorId ComputeGraph::like(Op op, TensorId a, TensorId b) {
  return make(op, at(a).type, at(a).ne, {a, b});
}

TensorId ComputeGraph::matrix(TensorId weight, TensorId x) {
  return make(Op::kMatrix, kElementF32, {at(weight).ne[1], at(x).ne[1], at(x).ne[2], at(x).ne[3]}, {weight, x});
}

TensorId ComputeGraph::experts(TensorId weight, TensorId x, TensorId ids) {
  return make(Op::kMatrixOfExperts, kElementF32, {at(weight).ne[1], at(ids).ne[0], at(x).ne[2], 1}, {weight, x, ids});
}

TensorId ComputeGraph::rows(TensorId table, TensorId ids) {
  const GraphTensor& chosen = at(ids);
  return make(Op::kGetRows, at(table).type == kElementI32 ? kElementI32 : kElementF32,
              {at(table).ne[0], chosen.ne[0], chosen.ne[1], chosen.ne[2]}, {table, ids});
}

TensorId ComputeGraph::cont(TensorId a, Dims ne) {
  return make(Op::kOther, at(a).type, ne, {a});
}

TensorId ComputeGraph::concat(TensorId a, TensorId b, std::size_t axis) {
  Dims ne = at(a).ne;
  ne[axis] += at(b).ne[axis];
  return make(Op::kOther, at(a).type, ne, {a, b});
}

TensorId ComputeGraph::sum_rows(TensorId a) {
  Dims ne = at(a).ne;
  ne[0] = 1;
  return make(Op::kOther, at(a).type, ne, {a});
}

TensorId ComputeGraph::first_of_sorted(TensorId a, std::uint64_t count) {
  const TensorId sorted = make(Op::kOther, kElementI32, at(a).ne, {a});
  Dims ne = at(sorted).ne;
  ne[0] = count;
  return view(sorted, ne, at(sorted).nb);
}

void ComputeGraph::visit(TensorId id) {
  const auto index = static_cast<std::size_t>(id);
  if (visited_[index]) return;
  visited_[index] = true;
  for (std::size_t i = 0; i < tensors_[index].num_src; ++i) visit(tensors_[index].src[i]);
  (tensors_[index].op == Op::kNone ? leafs_ : nodes_).push_back(id);
}

void ComputeGraph::expand(TensorId id) {
  visit(id);
}

}  // namespace kvplan
