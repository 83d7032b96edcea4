#include "engines/sglang/sglang.h"

#include <algorithm>
#include <cmath>

#include "engines/estimates.h"
#include "engines/sglang/rules.h"
#include "kvplan/gpus.h"

namespace kvplan {

// The memory that the driver takes before SGLang reads the free memory, and what the host takes of unified memory
// (GB10 in testdata/observations/README.md).
constexpr std::uint64_t kContext = 512 * kMiB;
constexpr std::uint64_t kHost = 10 * kGiB;

// Free GiB before the weights are loaded, rounded to hundredths as the log prints them.
static double free_before(const Request& request, Bytes memory) {
  const bool shares = request.card.is_unified();
  const std::uint64_t taken = shares ? kHost : kContext;
  const std::uint64_t free = memory.count() > taken ? memory.count() - taken : 0;
  return std::round(static_cast<double>(free) / static_cast<double>(kGiB) * 100) / 100;
}

// With DP attention each rank prefills its part of a chunk.
static std::uint64_t rank_chunk(const Request& request, const SglangSettings& settings) {
  return request.parallel.dp_attention ? std::max<std::uint64_t>(settings.chunk / request.parallel.data, 1)
                                       : settings.chunk;
}

// Tokens of a prompt that one step prefills.
static std::uint64_t prefilled(const EngineInput& input, const SglangSettings& settings, const Load& load) {
  return sglang_prefills_whole(input) ? load.max_model_len.count() : rank_chunk(input.request, settings);
}

// One graph per decoding batch size, and the graphs of the prefill. All sizes share one pool, as large as the
// activations of the largest prefill. On unified memory, host allocations during capture are counted too.
static LedgerLine graphs(const EngineInput& input, const SglangSettings& settings) {
  constexpr std::uint64_t kFirst = 64 * kMiB, kHosts = 1152 * kMiB;
  constexpr const char* kWhat = "CUDA graphs";
  const Request& request = input.request;
  const SglangRules rules = sglang_rules(request);
  const bool is_lean = rules.weak_graph_references;
  const std::uint64_t each = (is_lean ? 310 : rules.graph_kib) * kKiB;
  const bool shares = request.card.is_unified();
  const std::uint64_t first = shares ? kHosts : is_lean ? kFirst : 0;
  const std::uint64_t layers = ceil_div(input.model.num_layers, request.parallel.pipeline);
  const std::uint64_t decode =
      sglang_captured(input, std::min(settings.batch, request.max_num_seqs.value_or(settings.batch)));
  const std::uint64_t prefill = sglang_prefill_captured(input);
  const std::uint64_t count = checked_add(decode, prefill, kWhat);
  Bytes bytes = Bytes(first) + Bytes(count) * checked_mul(layers, each, kWhat);
  Template formula;
  if (first > 0) formula += {"{first} MiB + ", {{"first", first / kMiB}}};
  formula += {"{sizes} sizes * {num_layers} layers * {each} KiB",
              {{"sizes", count}, {"num_layers", layers}, {"each", each / kKiB}}};
  if (prefill > 0) {
    const std::uint64_t mlp = ceil_div(input.model.intermediate_size, request.parallel.tensor);
    const std::uint64_t row = checked_mul(checked_add(input.model.hidden_size, mlp, kWhat), 6, kWhat);
    const std::uint64_t tokens = rank_chunk(request, settings);
    bytes += Bytes(tokens) * row;
    formula += {" + {tokens} tokens * {row} B of a layer", {{"tokens", tokens}, {"row", row}}};
  }
  return of_kind(LineId::kGraphs,
                 ranged_line(is_lean ? "sglang graphs" : "sglang graphs until 0.5.5", Section::kRuntime, kWhat, bytes,
                             std::move(formula), "estimate from start-up logs, 0.07 to 3.38 GiB"));
}

// Computes in GiB and floating point, as _profile_available_bytes does.
Bytes sglang_cache_budget(const BudgetInput& in) {
  constexpr auto kGib = static_cast<double>(kGiB);
  const double before = free_before(in.engine->request, in.gpu_memory);
  const double slack = before * (1 - sglang_share(*in.engine));
  const double rest = before - static_cast<double>(in.weights.count()) / kGib - slack -
                      static_cast<double>(sglang_kept_back(*in.engine).count()) / kGib;
  return rest > 0 ? Bytes(static_cast<std::uint64_t>(rest * kGib)) : Bytes(0);
}

EngineSettings sglang_settings(const EngineInput& input, const Load&) {
  const Request& request = input.request;
  const SglangSettings settings = sglang_card_settings(input);
  EngineSettings out;
  if (!sglang_prefills_whole(input)) out.max_num_batched_tokens = rank_chunk(request, settings);
  if (const std::uint64_t running = sglang_running(input); running > 0) out.max_num_seqs = running;
  out.memory_fraction = sglang_share(input);
  out.cuda_graph_sizes = out.cuda_graphs = request.enforce_eager ? 0 : sglang_captured(input, settings.batch);
  if (has_states(input) && !sglang_runs_library_class(input)) out.state_slots_per_sequence = sglang_slots(input);
  out.prefix_caching = sglang_has_radix_cache(input);
  return out;
}

std::vector<LedgerLine> sglang_overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const Request& request = input.request;
  const SglangSettings settings = sglang_card_settings(input);
  const std::uint64_t tokens = checked_mul(in.load.max_model_len.count(), in.load.num_seqs, "the tokens of the load");
  std::vector<LedgerLine> out{mlp_activations(input, std::min(tokens, prefilled(input, settings, in.load)),
                                              sglang_prefills_whole(input) ? "a whole prompt" : "a prefill chunk")};
  out.push_back(logits_line(input, in.load.num_seqs, {1, 2}));
  if (auto kept = loaded_weights("sglang weights", in.weights)) out.push_back(std::move(*kept));
  out.push_back({Section::kRuntime, "driver context and communication", Bytes(kContext), Bytes(300 * kMiB),
                 Bytes(900 * kMiB), "allowance of 512 MiB per GPU",
                 "estimate; logs print 0 to 0.25 GiB for the distributed set-up", LineId::kContext});
  constexpr std::uint64_t kDispatched = 128;  // SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK
  if (request.sglang.deepep && input.model.experts.count > 0)
    out.push_back(deepep_buffers(input, kDispatched, "estimate: SGLang token_dispatcher/deepep.py, DeepEP config.hpp"));
  if (!request.enforce_eager) out.push_back(graphs(input, settings));
  std::optional<Bytes> budget = request.kv_cache_memory_bytes;
  if (!budget && in.gpu_memory && in.weights > Bytes(0))
    budget = sglang_cache_budget({&input, *in.gpu_memory, in.weights, Bytes(0), Bytes(0), Bytes(0)});
  const std::uint64_t rows = sglang_requests(input, budget, in.load);
  out.push_back(
      of_kind(LineId::kRequestTable,
              exact_line(Section::kRuntime, "request-to-token table",
                         Bytes(rows) * checked_add(in.load.max_model_len.count(), 4, "a row of the table") * 4,
                         {"{requests} requests and padding * (context + 4) * 4 B", {{"requests", rows}}},
                         "SGLang kv_cache_configurator.py resolve_max_num_reqs, memory_pool.py ReqToTokenPool")));
  return out;
}

}  // namespace kvplan
