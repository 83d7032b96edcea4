// Source: src/llama-context.cpp (sched_reserve, graph_reserve, the conditions of pipeline parallelism) of v0.5.0.
#include "engines/llama_cpp/compute.h"

#include "engines/engine.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/graph_builder.h"
#include "engines/llama_cpp/graph_memory.h"

namespace kvplan {

namespace {

// Larger graphs are estimated, because the time to place their tensors grows with the square of the nodes.
constexpr std::uint64_t kMostNodes = 20'000;

constexpr std::size_t kMostKnown = 32;

using Buffers = std::optional<std::vector<std::uint64_t>>;

// A result and its inputs. Contexts are padded, so several lengths of a search share one graph.
struct Known {
  Request request;
  LlamaContext context;
  std::shared_ptr<const GraphWeights> weights;
  Buffers buffers;
};

// The last results, the newest at the end.
struct Memo : EngineMemo {
  std::vector<std::shared_ptr<const Known>> known;
};

Buffers compute_buffers(const EngineInput& input, const LlamaContext& context, const GraphWeights& weights) {
  GraphQuestion question{&input, context, LlamaPlacement(input)};
  question.rules = llama_rules(input.request);
  question.of_class = llama_class(input.model);
  question.outputs = llama_output_rows(input, question.context);
  question.flash_attention = llama_flash_attention(input);
  question.transposes_values = llama_flash_attention_off(input);
  GraphBuilder builder(question, weights);
  if (!builder.build() || builder.graph().nodes().size() > kMostNodes) return std::nullopt;

  Devices devices;
  devices.gpus = static_cast<int>(question.placement.gpus);
  if (question.placement.pipelined) devices.copies = kPipelineCopies;
  devices.copies_unused_inputs = question.rules.copies_unused_inputs;
  devices.takes_over = !llama_without_gpu(input.request);
  return reserve_graph(builder.graph(), devices);
}

}  // namespace

std::optional<std::vector<std::uint64_t>> llama_compute_buffers(const EngineInput& input, const Load& load) {
  if (!input.model.is_gguf || input.model.tensors.empty()) return std::nullopt;
  // Clears the settings that no graph depends on.
  LlamaContext context = llama_context(input, load);
  context.unpadded = 0;
  Request request = input.request;
  request.max_model_len.reset();
  request.llama_cpp.ctx_size.reset();

  auto memo = std::make_shared<Memo>();
  if (const auto* before = dynamic_cast<const Memo*>(input.memo.get())) memo->known = before->known;
  for (auto at = memo->known.rbegin(); at != memo->known.rend(); ++at) {
    const Known& known = **at;
    LlamaContext known_context = known.context;
    // The nodes are the same at every length, so a model that kvplan cannot build at one length cannot be built at any.
    if (!known.buffers) known_context.n_ctx_seq = context.n_ctx_seq;
    if (known_context == context && known.request == request) return known.buffers;
  }
  Known fresh{std::move(request), context, nullptr, {}};
  fresh.weights =
      memo->known.empty() ? std::make_shared<const GraphWeights>(input.model) : memo->known.front()->weights;
  fresh.buffers = compute_buffers(input, context, *fresh.weights);
  if (memo->known.size() >= kMostKnown) memo->known.erase(memo->known.begin());
  memo->known.push_back(std::make_shared<const Known>(std::move(fresh)));
  input.memo = memo;
  return memo->known.back()->buffers;
}

}  // namespace kvplan
