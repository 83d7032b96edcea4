// ggml's scheduler: it assigns a device to each node. Consecutive nodes on one device are a split. When a split starts,
// ggml copies the tensors that it reads from other devices. An operation goes to the device of its weights, or to a GPU
// if the weights are in host memory and the batch is large. Without weights it goes to the device of its neighbours.
//
// Source: ggml-backend.cpp (ggml_backend_sched_split_graph) of v0.5.0 and v0.6.0; ggml-cuda.cu (supports_op,
// offload_op).
#include <algorithm>

#include "engines/llama_cpp/graph_memory.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kLeastOffloaded = 32;  // rows of a batch

bool has_attention_kernel(const ComputeGraph& graph, const GraphTensor& node) {
  const GraphTensor& query = graph.at(node.src[0]);
  const GraphTensor& key = graph.at(node.src[1]);
  const GraphTensor& value = graph.at(node.src[2]);
  const std::uint64_t share = query.ne[2] / std::max<std::uint64_t>(1, key.ne[2]);
  const bool grouped = share >= 2 && node.num_src > 3 && key.ne[1] % 256 == 0;
  switch (key.ne[0]) {
    case 40:
    case 64:
    case 72:
    case 80:
    case 96:
    case 112:
    case 128:
    case 256: return value.ne[0] == key.ne[0];
    case 192: return value.ne[0] == 128 && grouped && share % 8 == 0;
    case 320: return value.ne[0] == 256 && grouped && share % 32 == 0;
    case 512:
    case 576: return value.ne[0] == 512 && grouped;
    default: return false;
  }
}

// Types of tables from which CUDA can look up rows.
bool looks_up(const ElementType& type) {
  constexpr std::uint32_t kTypes[] = {0, 1, 2, 3, 6, 7, 8, 26, 30};  // f32 f16 q4_0 q4_1 q5_0 q5_1 q8_0 i32 bf16
  return std::find(std::begin(kTypes), std::end(kTypes), type.id) != std::end(kTypes);
}

class Scheduler {
 public:
  Scheduler(ComputeGraph& graph, const Devices& devices) : graph_(graph), devices_(devices) {}

  std::vector<std::uint64_t> run() {
    assign();
    split();
    std::vector<PlacedNode> leafs;
    if (devices_.copies > 1) collect_inputs(leafs);
    for (const TensorId id : graph_.leafs()) leafs.push_back({id, device_of(id)});
    return allocate_graph(graph_, devices_, leafs, nodes_);
  }

 private:
  struct Copy {
    TensorId first = kNoTensor, others = kNoTensor;
  };

  // The device that already stores the tensor.
  int place_of(const GraphTensor& tensor) const {
    return tensor.is_view() ? graph_.at(tensor.view_of).place : tensor.place;
  }
  int device_of(TensorId id) const { return graph_.at(id).device; }

  bool supports(int device, const GraphTensor& node) const {
    if (device == devices_.host()) return true;
    for (std::size_t i = 0; i < node.num_src; ++i) {
      const int place = graph_.at(node.src[i]).place;
      if (place != kNowhere && place != device && place != devices_.host()) return false;
    }
    if (node.op == Op::kGetRows) return looks_up(graph_.at(node.src[0]).type);
    if (node.op == Op::kFlashAttention) return has_attention_kernel(graph_, node);
    return true;
  }

  // Whether a GPU computes the operation although its weight is in host memory.
  static bool offloads(const GraphTensor& node) {
    switch (node.op) {
      case Op::kGetRows: return false;
      case Op::kMatrix: return node.ne[1] >= kLeastOffloaded;
      case Op::kMatrixOfExperts:
      case Op::kRope: return node.ne[2] >= kLeastOffloaded;
      default: return node.rows() >= kLeastOffloaded;
    }
  }

  int device_for(int place, const GraphTensor& node) const {
    if (place == kNowhere) return kNowhere;
    if (place == devices_.host()) return place;
    return supports(place, node) ? place : kNowhere;
  }

  int first_device(const GraphTensor& node) const {
    if (const int there = device_for(place_of(node), node); there != kNowhere) return there;
    if (node.is_input) return devices_.host();
    if (node.op == Op::kRope || node.op == Op::kFlashAttention) return kNowhere;
    for (std::size_t i = 0; i < node.num_src; ++i) {
      const GraphTensor& source = graph_.at(node.src[i]);
      if (!source.is_weight) continue;
      const int there = device_for(source.place, node);
      if (there == devices_.host() && devices_.takes_over && offloads(node))
        for (int gpu = 0; gpu < devices_.gpus; ++gpu)
          if (supports(gpu, node)) return gpu;
      return there;
    }
    return kNowhere;
  }

  template <class Nodes>
  void expand(const Nodes& begin, const Nodes& end, bool gpus_only) {
    int current = kNowhere;
    for (auto at = begin; at != end; ++at) {
      GraphTensor& node = graph_.at(*at);
      if (node.op == Op::kView) continue;
      if (node.device != kNowhere)
        current = gpus_only && node.device == devices_.host() ? kNowhere : node.device;
      else if (current != kNowhere && supports(current, node))
        node.device = static_cast<std::int8_t>(current);
    }
  }

  bool reaches(TensorId id, int device) const {
    const GraphTensor& tensor = graph_.at(id);
    int place = place_of(tensor);
    if (place == kNowhere) place = tensor.device;
    if (place == kNowhere && tensor.is_view()) place = graph_.at(tensor.view_of).device;
    return place == device;
  }

  void assign() {
    for (const TensorId id : graph_.leafs()) set_first(id);
    for (const TensorId id : graph_.nodes()) set_first(id);
    const auto& nodes = graph_.nodes();
    for (const bool gpus_only : {true, false}) {
      expand(nodes.begin(), nodes.end(), gpus_only);
      expand(nodes.rbegin(), nodes.rend(), gpus_only);
    }
    for (const TensorId id : nodes) {
      GraphTensor& node = graph_.at(id);
      if (node.op == Op::kView || node.device != kNowhere) continue;
      int most = -1;
      for (int device = 0; device < devices_.count(); ++device) {
        if (!supports(device, node)) continue;
        int count = 0;
        for (std::size_t i = 0; i < node.num_src; ++i) count += reaches(node.src[i], device) ? 1 : 0;
        if (count > most) {
          most = count;
          node.device = static_cast<std::int8_t>(device);
        }
      }
    }
    for (const TensorId id : nodes) {
      GraphTensor& node = graph_.at(id);
      if (node.is_view() && node.device == kNowhere) node.device = graph_.at(node.view_of).device;
      for (std::size_t i = 0; i < node.num_src; ++i) {
        GraphTensor& source = graph_.at(node.src[i]);
        if (source.device != kNowhere) continue;
        source.device = source.is_view() ? graph_.at(source.view_of).device : node.device;
      }
      for (int device = 0; device < devices_.count() && node.device == kNowhere; ++device)
        if (supports(device, node)) node.device = static_cast<std::int8_t>(device);
    }
  }

  void set_first(TensorId id) {
    GraphTensor& tensor = graph_.at(id);
    if (tensor.device == kNowhere) tensor.device = static_cast<std::int8_t>(first_device(tensor));
  }

  Copy& copy_of(TensorId id, int device) {
    const std::size_t index =
        static_cast<std::size_t>(id) * static_cast<std::size_t>(devices_.count()) + static_cast<std::size_t>(device);
    if (index >= copies_.size()) copies_.resize(graph_.size() * static_cast<std::size_t>(devices_.count()));
    return copies_[index];
  }

  // A tensor with the same layout and no sources.
  TensorId duplicate(TensorId id, int device) {
    GraphTensor out = graph_.at(id);
    out.op = Op::kNone;
    out.num_src = 0;
    out.view_of = kNoTensor;
    out.place = kNowhere;
    out.is_weight = false;
    out.device = static_cast<std::int8_t>(device);
    out.is_input = out.is_output = devices_.copies > 1;
    return graph_.add_tensor(out);
  }

  bool copies_at_first_use() const { return devices_.copies > 1 && !devices_.copies_unused_inputs; }

  void copy_for_pipeline(TensorId id) {
    const int device = device_of(id);
    if (copy_of(id, device).first != kNoTensor) return;
    Copy made{id, kNoTensor};
    for (std::uint64_t i = 1; i < devices_.copies; ++i) {
      const TensorId copy = duplicate(id, device);
      if (i == 1) made.others = copy;
    }
    graph_.at(id).is_input = graph_.at(id).is_output = true;
    copy_of(id, device) = made;
    graph_inputs_.push_back(id);
  }

  TensorId copy_for_split(TensorId id, int device, std::vector<TensorId>& inputs) {
    if (copy_of(id, device).first == kNoTensor) {
      Copy made{duplicate(id, device), kNoTensor};
      for (std::uint64_t i = 1; i < devices_.copies; ++i) {
        const TensorId copy = duplicate(id, device);
        if (i == 1) made.others = copy;
      }
      copy_of(id, device) = made;
      inputs.push_back(id);
    }
    return copy_of(id, device).first;
  }

  bool reads_foreign_weight(const GraphTensor& node, int device) const {
    for (std::size_t i = 0; i < node.num_src; ++i) {
      const GraphTensor& source = graph_.at(node.src[i]);
      if (source.is_weight && source.device != device && !reaches(node.src[i], device)) return true;
    }
    return false;
  }

  void split() {
    const std::vector<TensorId> nodes = graph_.nodes();
    std::size_t at = 0;
    while (at < nodes.size() && graph_.at(nodes[at]).op == Op::kView) ++at;
    if (at == nodes.size()) return;
    int device = device_of(nodes[at]);
    std::size_t begin = 0;
    std::vector<TensorId> inputs;
    const auto finish = [&](std::size_t end) {
      for (const TensorId input : inputs) {
        nodes_.push_back({input, device_of(input), true});
        nodes_.push_back({copy_of(input, device).first, device});
        if (devices_.copies > 1) split_inputs_.push_back({input, device});
      }
      for (std::size_t i = begin; i < end; ++i) nodes_.push_back({nodes[i], device_of(nodes[i])});
      begin = end;
      inputs.clear();
    };
    for (; at < nodes.size(); ++at) {
      const TensorId id = nodes[at];
      if (graph_.at(id).op == Op::kView) continue;
      if (device_of(id) != device || (!inputs.empty() && reads_foreign_weight(graph_.at(id), device))) {
        finish(at);
        device = device_of(id);
      }
      for (std::size_t i = 0; i < graph_.at(id).num_src; ++i) {
        const TensorId source = graph_.at(id).src[i];
        if (copies_at_first_use() && graph_.at(source).is_input) copy_for_pipeline(source);
        if (device_of(source) == device || reaches(source, device)) continue;
        // GPUs do not read host memory, and the host does not read GPU memory.
        const TensorId copy = copy_for_split(source, device, inputs);
        graph_.at(id).src[i] = copy;
      }
    }
    finish(nodes.size());
  }

  void collect_inputs(std::vector<PlacedNode>& leafs) {
    if (devices_.copies_unused_inputs)
      for (const TensorId id : graph_.leafs())
        if (graph_.at(id).is_input) copy_for_pipeline(id);
    const auto add = [&](TensorId id, int device) {
      const Copy copy = copy_of(id, device);
      leafs.push_back({copy.first, device});
      for (std::uint64_t i = 1; i < devices_.copies; ++i)
        leafs.push_back({copy.others + static_cast<TensorId>(i - 1), device});
    };
    for (const TensorId id : graph_inputs_) add(id, device_of(id));
    for (const auto& [id, device] : split_inputs_) add(id, device);
  }

  ComputeGraph& graph_;
  const Devices& devices_;
  std::vector<Copy> copies_;
  std::vector<PlacedNode> nodes_;
  std::vector<TensorId> graph_inputs_;
  std::vector<std::pair<TensorId, int>> split_inputs_;
};

}  // namespace

std::vector<std::uint64_t> reserve_graph(ComputeGraph& graph, const Devices& devices) {
  return Scheduler(graph, devices).run();
}

}  // namespace kvplan
