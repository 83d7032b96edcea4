// The memory of a graph on each device. ggml's scheduler assigns nodes to devices and copies the tensors that another
// device reads. ggml's allocator places all tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/llama_cpp/compute_graph.h"

namespace kvplan {

// GPUs are devices 0, 1, ...; the last device is the host.
struct Devices {
  int gpus = 1;
  std::uint64_t copies = 1;           // copies of each input if GPUs run as a pipeline
  bool copies_unused_inputs = false;  // since v0.6.0 a pipeline also copies inputs that no node reads
  bool takes_over = true;             // a GPU computes large batches even if the weights are in host memory
  int host() const { return gpus; }
  int count() const { return gpus + 1; }
};

// Bytes that the tensor takes on the device, by the rules of ggml-cuda and ggml-cpu.
std::uint64_t allocated_bytes(const ComputeGraph& graph, const GraphTensor& tensor, bool on_gpu);

// Free memory of one device (best fit, or at the end), and the largest amount that was in use.
class MemoryBlocks {
 public:
  explicit MemoryBlocks(std::uint64_t alignment) : alignment_(alignment) {}
  std::uint64_t take(std::uint64_t bytes);
  void give(std::uint64_t offset, std::uint64_t bytes);
  std::uint64_t aligned(std::uint64_t bytes) const { return (bytes + alignment_ - 1) / alignment_ * alignment_; }
  std::uint64_t peak() const { return peak_; }

 private:
  struct Block {
    std::uint64_t offset = 0, bytes = 0;
  };
  std::uint64_t alignment_;
  std::uint64_t peak_ = 0;
  std::uint64_t end_ = 0;     // start of the last free block, which has no end
  std::vector<Block> holes_;  // gaps before that block, ordered by offset
};

struct PlacedNode {
  TensorId tensor = kNoTensor;
  int device = 0;
  bool keeps_source = false;  // not a computation, but marks that the tensor is read here
};

// The peak memory of each device for these nodes, in order. The leafs are allocated before them.
std::vector<std::uint64_t> allocate_graph(const ComputeGraph& graph, const Devices& devices,
                                          const std::vector<PlacedNode>& leafs, const std::vector<PlacedNode>& nodes);

// As above, for a graph whose nodes are not assigned to devices yet.
std::vector<std::uint64_t> reserve_graph(ComputeGraph& graph, const Devices& devices);

}  // namespace kvplan
