// ggml's graph allocator. A tensor is placed in the smallest gap that is large enough, or else at the end. A gap is
// freed memory before the end. A tensor is freed after the last node that reads it. An operation that can work in place
// reuses the memory of a source that has the same layout and no other reader. The memory of a view is never reused, and
// an output is never freed.
//
// Source: ggml-alloc.c (ggml_dyn_tallocr_alloc, ggml_gallocr_alloc_graph_impl) of v0.5.0, unchanged in v0.6.0;
//   ggml-cuda.cu (get_alloc_size), fattn.cu (copies of K and V that are not in 16 bit).
#include <algorithm>

#include "engines/llama_cpp/graph_memory.h"
#include "kvplan/quantity.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kGpuAlignment = 128;
constexpr std::uint64_t kHostAlignment = 32;

bool is_16_or_32_bit_float(const ElementType& type) {
  return !type.quantized();
}

// CUDA's attention for a few tokens reads every type. Its attention for batches only reads float16.
std::uint64_t attention_bytes(const ComputeGraph& graph, const GraphTensor& tensor) {
  const GraphTensor& query = graph.at(tensor.src[0]);
  const GraphTensor& key = graph.at(tensor.src[1]);
  const GraphTensor& value = graph.at(tensor.src[2]);
  const bool has_vector_kernel =
      query.ne[0] <= 256 && query.ne[0] % 64 == 0 && query.ne[0] != 192 && key.ne[1] % 256 == 0;
  const bool plain = is_16_or_32_bit_float(key.type) && is_16_or_32_bit_float(value.type);
  const bool vector = has_vector_kernel && (plain ? query.ne[1] == 1 && query.ne[3] == 1 : query.ne[1] <= 2);
  const auto is_copied = [vector](const ElementType& type) {
    return vector ? type == kElementF32 : !(type == kElementF16);
  };
  const auto end = [](std::uint64_t bytes) { return (bytes + kGpuAlignment - 1) / kGpuAlignment * kGpuAlignment; };
  std::uint64_t out = tensor.bytes();
  // A latent's value is part of its key.
  const bool shared = value.is_view() && (value.view_of == tensor.src[1] || value.view_of == key.view_of);
  if (is_copied(key.type)) out = end(out) + key.elements() * 2;
  if (is_copied(value.type) && !shared) out = end(out) + value.elements() * 2;
  return out;
}

struct State {
  std::uint32_t children = 0, views = 0;
  std::int32_t device = 0;
  std::uint64_t offset = 0;
  bool allocated = false;
};

class Allocator {
 public:
  Allocator(const ComputeGraph& graph, const Devices& devices) : graph_(graph), devices_(devices) {
    states_.resize(graph.size());
    for (int i = 0; i < devices.count(); ++i)
      blocks_.emplace_back(i == devices.host() ? kHostAlignment : kGpuAlignment);
  }

  std::vector<std::uint64_t> run(const std::vector<PlacedNode>& leafs, const std::vector<PlacedNode>& nodes) {
    for (const PlacedNode& leaf : leafs) place(leaf.tensor, leaf.device);
    for (const PlacedNode& node : nodes) {
      const GraphTensor& tensor = graph_.at(node.tensor);
      if (node.keeps_source) {
        ++state(node.tensor).children;
        continue;
      }
      if (tensor.is_view()) ++state(tensor.view_of).views;
      if (tensor.is_input) place(node.tensor, node.device);
      for (std::size_t i = 0; i < tensor.num_src; ++i) {
        ++state(tensor.src[i]).children;
        if (graph_.at(tensor.src[i]).is_input) place(tensor.src[i], node.device);
      }
    }
    for (const PlacedNode& node : nodes) {
      if (node.keeps_source) {
        place(node.tensor, node.device);
        release(node.tensor);
        continue;
      }
      const GraphTensor& tensor = graph_.at(node.tensor);
      for (std::size_t i = 0; i < tensor.num_src; ++i) place(tensor.src[i], node.device);
      place(node.tensor, node.device);
      for (std::size_t i = 0; i < tensor.num_src; ++i) release(tensor.src[i]);
    }
    std::vector<std::uint64_t> out;
    for (const MemoryBlocks& blocks : blocks_) out.push_back(blocks.peak());
    return out;
  }

 private:
  State& state(TensorId id) { return states_[static_cast<std::size_t>(id)]; }
  MemoryBlocks& blocks(const State& of) { return blocks_[static_cast<std::size_t>(of.device)]; }
  std::uint64_t bytes(const GraphTensor& tensor, int device) const {
    return allocated_bytes(graph_, tensor, device != devices_.host());
  }

  bool take_over(TensorId id, const GraphTensor& tensor) {
    for (std::size_t i = 0; i < tensor.num_src; ++i) {
      const GraphTensor& parent = graph_.at(tensor.src[i]);
      State& known = state(tensor.src[i]);
      if (!known.allocated || parent.is_view() || parent.is_output) continue;
      if (!(parent.type == tensor.type) || parent.ne != tensor.ne || parent.nb != tensor.nb) continue;
      if (known.children != 1 || known.views != 0) continue;
      State& own = state(id);
      own.device = known.device;
      own.offset = known.offset;
      known.allocated = false;
      MemoryBlocks& memory = blocks(own);
      const std::uint64_t had = memory.aligned(bytes(parent, own.device));
      const std::uint64_t needs = memory.aligned(bytes(tensor, own.device));
      if (had > needs) memory.give(own.offset + needs, had - needs);
      return true;
    }
    return false;
  }

  void place(TensorId id, int device) {
    const GraphTensor& tensor = graph_.at(id);
    State& own = state(id);
    if (own.allocated || tensor.place != kNowhere || tensor.is_view()) return;
    own.allocated = true;
    if ((tensor.op == Op::kInPlace || tensor.op == Op::kRope) && take_over(id, tensor)) return;
    own.device = device;
    own.offset = blocks(own).take(bytes(tensor, device));
  }

  void release(TensorId id) {
    State& own = state(id);
    if (--own.children > 0 || own.views > 0) return;
    const GraphTensor& tensor = graph_.at(id);
    if (!tensor.is_view()) {
      free(id);
      return;
    }
    State& root = state(tensor.view_of);
    if (--root.views == 0 && root.children == 0) free(tensor.view_of);
  }

  void free(TensorId id) {
    State& own = state(id);
    const GraphTensor& tensor = graph_.at(id);
    if (!own.allocated || tensor.is_output) return;
    own.allocated = false;
    blocks(own).give(own.offset, bytes(tensor, own.device));
  }

  const ComputeGraph& graph_;
  const Devices& devices_;
  std::vector<State> states_;
  std::vector<MemoryBlocks> blocks_;
};

}  // namespace

std::uint64_t allocated_bytes(const ComputeGraph& graph, const GraphTensor& tensor, bool on_gpu) {
  if (!on_gpu) return tensor.bytes();
  std::uint64_t out = tensor.op == Op::kFlashAttention ? attention_bytes(graph, tensor) : tensor.bytes();
  if (tensor.type.quantized() && tensor.ne[0] % kCudaRow != 0)
    out += (kCudaRow - tensor.ne[0] % kCudaRow) / tensor.type.block * tensor.type.bytes;
  return out;
}

std::uint64_t MemoryBlocks::take(std::uint64_t bytes) {
  bytes = aligned(bytes);
  auto best = holes_.end();
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole)
    if (hole->bytes >= bytes && (best == holes_.end() || hole->bytes <= best->bytes)) best = hole;
  if (best == holes_.end()) {
    const std::uint64_t offset = end_;
    end_ = checked_add(end_, bytes, "a compute buffer");
    peak_ = std::max(peak_, end_);
    return offset;
  }
  const std::uint64_t offset = best->offset;
  best->offset += bytes;
  best->bytes -= bytes;
  if (best->bytes == 0) holes_.erase(best);
  return offset;
}

void MemoryBlocks::give(std::uint64_t offset, std::uint64_t bytes) {
  bytes = aligned(bytes);
  if (bytes == 0) return;
  auto next = std::lower_bound(holes_.begin(), holes_.end(), offset,
                               [](const Block& hole, std::uint64_t at) { return hole.offset < at; });
  const bool joins_next = next != holes_.end() && offset + bytes == next->offset;
  if (next != holes_.begin() && std::prev(next)->offset + std::prev(next)->bytes == offset) {
    const auto before = std::prev(next);
    before->bytes += bytes;
    if (joins_next) {
      before->bytes += next->bytes;
      holes_.erase(next);
    }
  } else if (joins_next) {
    next->offset = offset;
    next->bytes += bytes;
  } else {
    holes_.insert(next, {offset, bytes});
  }
  if (!holes_.empty() && holes_.back().offset + holes_.back().bytes == end_) {
    end_ = holes_.back().offset;
    holes_.pop_back();
  }
}

std::vector<std::uint64_t> allocate_graph(const ComputeGraph& graph, const Devices& devices,
                                          const std::vector<PlacedNode>& leafs, const std::vector<PlacedNode>& nodes) {
  return Allocator(graph, devices).run(leafs, nodes);
}

}  // namespace kvplan
