#include "engines/sglang/card.h"

#include <algorithm>
#include <cmath>

#include "engines/estimates.h"
#include "engines/sglang/models.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

// Prefill chunk and largest captured batch by the card (server_args.py, _handle_gpu_memory_settings).
struct CardDefaults {
  std::uint64_t below_gib, chunk, batch, batch_tp4;
};
constexpr CardDefaults kCards[] = {{20, 2048, 8, 8},     {35, 2048, 24, 80},    {60, 4096, 32, 160},
                                   {90, 8192, 256, 512}, {160, 8192, 256, 512}, {~std::uint64_t{0}, 16384, 512, 512}};

struct CardSettings {
  std::uint64_t chunk, batch;
};
CardSettings card_settings(const Request& request, std::optional<Bytes> memory) {
  CardSettings out{8192, 256};
  if (memory)
    for (const CardDefaults& row : kCards) {
      if (memory->count() / kGiB >= row.below_gib) continue;
      out = {row.chunk, request.tensor_parallel >= 4 ? row.batch_tp4 : row.batch};
      break;
    }
  if (request.max_num_batched_tokens) out.chunk = request.max_num_batched_tokens->count();
  return out;
}

// The captured batch sizes up to `largest`: 1, 2, 4, 8, 12, 16, then steps of 8, beyond 256 of 16.
std::uint64_t captured_batches(std::uint64_t largest) {
  std::uint64_t out = 0;
  for (std::uint64_t size = 1; size <= largest; size += size < 4 ? size : size < 16 ? 4 : size < 256 ? 8 : 16) ++out;
  return out;
}

// What SGLang leaves free for activations and graphs, in MiB.
std::uint64_t slack_mib(const Request& request, Bytes memory) {
  const CardSettings settings = card_settings(request, memory);
  double slack = 512 + 1.5 * static_cast<double>(std::max<std::uint64_t>(settings.chunk, 2048)) +
                 2.0 * static_cast<double>(settings.batch) +
                 static_cast<double>(request.tensor_parallel * request.pipeline_parallel) / 8 * 1024;
  if (request.dp_attention) {
    slack += 3.0 * static_cast<double>(settings.batch * request.data_parallel);
    if (settings.batch > 300) slack += 1.5 * static_cast<double>(settings.batch * request.data_parallel);
  }
  if (memory.count() > 60 * kGiB) slack = std::max(slack, 10240.0);
  return static_cast<std::uint64_t>(slack);
}

double static_share(const Request& request, Bytes memory) {
  if (request.memory_utilization) return *request.memory_utilization;
  const double mib = static_cast<double>(memory.count()) / kMiB;
  const double share = (mib - static_cast<double>(slack_mib(request, memory))) / mib;
  return std::max(0.1, std::round(share * 1000) / 1000);
}

// What the driver keeps before SGLang looks at the free memory.
constexpr std::uint64_t kContext = 512 * kMiB;

}  // namespace

double sglang_share(const Request& request) {
  constexpr double kUsual = 0.88;
  return request.gpu_memory || request.memory_utilization ? static_share(request, request.gpu_memory.value_or(Bytes(1)))
                                                          : kUsual;
}

std::uint64_t sglang_chunk(const Request& request) {
  return card_settings(request, request.gpu_memory).chunk;
}

Bytes sglang_cache_budget(const BudgetInput& in) {
  const Request& request = in.engine->request;
  const std::uint64_t memory = in.gpu_memory.count();
  const std::uint64_t before = memory > kContext ? memory - kContext : 0;  // free before the weights are loaded
  const auto share = static_cast<std::uint64_t>(static_cast<double>(before) * static_share(request, in.gpu_memory));
  return share > in.weights.count() ? Bytes(share - in.weights.count()) : Bytes(0);
}

EngineSettings sglang_settings(const EngineInput& input, const Load&) {
  const Request& request = input.request;
  const CardSettings settings = card_settings(request, request.gpu_memory);
  EngineSettings out;
  out.max_num_batched_tokens = settings.chunk;
  if (const std::uint64_t running = sglang_running(input); running > 0) out.max_num_seqs = running;
  out.memory_fraction = sglang_share(request);
  out.cuda_graph_sizes = out.cuda_graphs = request.enforce_eager ? 0 : captured_batches(settings.batch);
  if (has_states(input)) out.state_slots_per_sequence = sglang_slots(request.extras);
  out.prefix_caching = !request.extras.disable_radix_cache;
  return out;
}

std::vector<LedgerLine> sglang_overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const Request& request = input.request;
  const CardSettings settings = card_settings(request, in.gpu_memory);
  const std::uint64_t tokens = checked_mul(in.load.max_model_len.count(), in.load.num_seqs, "the tokens of the load");
  std::vector<LedgerLine> out{mlp_activations(input, std::min(tokens, settings.chunk), "a prefill chunk")};
  out.push_back(
      of_kind(LineId::kSampled, estimate_line(Section::kActivation, "logits", logits_bytes(input, in.load.num_seqs),
                                              {1, 2}, std::to_string(in.load.num_seqs) + " rows * vocab_size * 4 B",
                                              "estimate: the last token of each sequence")));
  out.push_back({Section::kRuntime, "driver context and communication", Bytes(kContext), Bytes(300 * kMiB),
                 Bytes(900 * kMiB), "allowance of 512 MiB a GPU",
                 "estimate; logs print 0 to 0.25 GiB for the distributed set-up", LineId::kContext});
  if (!request.enforce_eager) {
    // Logs: 2.51 GiB for 35 graphs of 32 layers, 3.38 GiB for 48 layers on two ranks; of 2026: 0.60 and 2.32 GiB for 52
    // decode graphs and the piecewise ones of 36 layers, 1.93 GiB for DeepSeek-V4-Flash on eight ranks.
    const std::uint64_t layers = ceil_div(input.model.num_layers, request.pipeline_parallel);
    const std::uint64_t graphs = captured_batches(settings.batch);
    out.push_back(
        of_kind(LineId::kGraphs,
                estimate_line(Section::kRuntime, "CUDA graphs", Bytes(graphs * 2 * kMiB) * layers, {0.55, 1.35},
                              std::to_string(graphs) + " batch sizes * " + std::to_string(layers) + " layers * 2 MiB",
                              "estimate from start-up logs: 2.3 to 3.1 MiB a layer and graph in 2025")));
  }
  constexpr std::uint64_t kLeast = 2048;  // where SGLang takes what fits (resolve_max_num_reqs)
  const std::uint64_t running = sglang_running(input);
  const std::uint64_t requests = std::max(running > 0 ? running : kLeast, in.load.num_seqs);
  out.push_back(
      of_kind(LineId::kRequestTable,
              exact_line(Section::kRuntime, "request-to-token table",
                         Bytes(requests + 1) * checked_add(in.load.max_model_len.count(), 4, "a row of the table") * 4,
                         std::to_string(requests) + " + 1 requests * (context + 4) * 4 B",
                         "SGLang memory_pool.py ReqToTokenPool")));
  return out;
}

}  // namespace kvplan
