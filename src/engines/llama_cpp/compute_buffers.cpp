// Source: src/llama-context.cpp (sched_reserve, graph_reserve, the conditions of pipeline parallelism) of v0.5.0.
#include "engines/llama_cpp/compute_buffers.h"

#include <algorithm>

#include "engines/engine.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/graph_builder.h"
#include "engines/llama_cpp/graph_memory.h"
#include "engines/llama_cpp/models.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kPipelineCopies = 4;
constexpr std::uint64_t kMostNodes = 20'000;  // more are estimated: to reserve them takes time by their square

// The buffers that were worked out last.
struct Known : EngineMemo {
  Request request;
  Load load;
  double weight_bits = 0;
  std::optional<std::vector<std::uint64_t>> buffers;
};

std::optional<std::vector<std::uint64_t>> compute_buffers(const EngineInput& input, const Load& load,
                                                          double weight_bits) {
  if (input.model.tensors.empty()) return std::nullopt;
  const GraphWeights weights(input.model, weight_bits);
  if (weights.has_unknown()) return std::nullopt;
  GraphQuestion question{&input, llama_context(input, load), LlamaPlacement(input)};
  question.outputs = llama_output_rows(input, question.context);
  question.flash_attention = llama_flash_attention(input);
  question.transposes_values =
      input.request.llama_cpp.flash_attention == FlashAttention::kOff || llama_cpp_forbids_flash_attention(input.model);
  question.is_0_5 = llama_is_0_5(input.request);
  question.is_0_6 = llama_is_0_6(input.request);
  GraphBuilder builder(question, weights);
  if (!builder.build() || builder.graph().nodes().size() > kMostNodes) return std::nullopt;

  Devices devices;
  devices.gpus = static_cast<int>(question.placement.gpus);
  const bool overrides = input.request.llama_cpp.cpu_moe_layers.value_or(0) > 0;
  if (devices.gpus > 1 && question.placement.first_on_gpu == 0 && !overrides && !input.request.llama_cpp.no_kv_offload)
    devices.copies = kPipelineCopies;
  devices.copies_unused_inputs = question.is_0_6;
  devices.takes_over = !llama_without_gpu(input.request);
  return reserve_graph(builder.graph(), devices);
}

bool same_load(const Load& a, const Load& b) {
  return a.max_model_len == b.max_model_len && a.num_seqs == b.num_seqs && a.pooled == b.pooled;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> llama_compute_buffers(const EngineInput& input, const Load& load,
                                                                std::optional<double> weight_bits) {
  const auto* known = dynamic_cast<const Known*>(input.memo.get());
  if (known == nullptr || !same_load(known->load, load) || (weight_bits && known->weight_bits != *weight_bits) ||
      !(known->request == input.request)) {
    auto made = std::make_shared<Known>();
    made->request = input.request;
    made->load = load;
    made->weight_bits = weight_bits.value_or(16);
    made->buffers = compute_buffers(input, load, made->weight_bits);
    known = made.get();
    input.memo = std::move(made);
  }
  return known->buffers;
}

}  // namespace kvplan
