
#include <algorithm>
#include <limits>
#include <tuple>

#include "kvplan/error.h"
#include "plan/search.h"
#include "plan/steps.h"

namespace kvplan {

// The fewest KV heads of any layer, as tensor parallelism sees them. It is 1 if all query heads read one latent.
static std::uint64_t fewest_kv_heads(const PlanCache& cache) {
  std::uint64_t least = kAnyCount;
  for (const LayerGroup& group : cache.groups())
    for (const Term& term : cache_terms(*group.mixer))
      if (term.growth == Growth::kToken && term.role != Role::kIndex) least = std::min(least, term.shape.units);
  return least;
}

// How many ranks store the same part of a sequence's cache.
static std::uint64_t repeats(const PlanCache& cache, const Request& request) {
  const std::uint64_t heads = fewest_kv_heads(cache);
  const std::uint64_t ranks = tensor_cuts(request).attention;
  if (heads >= ranks) return 1;
  return std::max<std::uint64_t>(1, ceil_div(ranks, heads) / request.parallel.decode_context);
}

static std::uint64_t num_nodes(std::uint64_t gpus) {
  return ceil_div(gpus, kGpusOfNode);
}

// The order of layouts; smaller is better. Tensor parallelism across nodes is the slowest, then more stages than nodes.
// If ranks would store the same cache and every copy has sequences, data parallel copies come before tensor
// parallelism. Otherwise the most tensor parallelism is best.
static auto preference(const PlanCache& cache, const Request& request, std::uint64_t gpus) {
  const Parallel& p = request.parallel;
  const bool across = p.tensor > kGpusOfNode;
  const bool layers_first = engine_of(request).parallel.layers_first;
  const std::uint64_t stages = layers_first ? p.tensor : std::max(p.pipeline, num_nodes(gpus));
  const std::uint64_t copies = request.num_seqs >= gpus ? repeats(cache, request) : p.data;
  const bool shares_tokens = p.decode_context > 1;
  return std::tuple(across, stages, copies, shares_tokens, p.data, std::numeric_limits<std::uint64_t>::max() - p.tensor,
                    p.expert);
}

// How many ranks may divide a sequence's tokens (context parallelism). Otherwise they would store the same tokens. 1 if
// the engine has no such option.
static std::uint64_t ranks_of_a_sequence(const PlanCache& cache, const Request& request) {
  const std::uint64_t same = repeats(cache, request);
  return engine_of(request).parallel.decode_context && request.parallel.decode_context == 1 &&
                 request.parallel.tensor % same == 0
             ? same
             : 1;
}

// Adds the layouts of `tensor` ranks in `pipeline` stages: plain, with expert parallelism, with context parallelism.
static void add_layouts(PlanCache& cache, const Request& layout, std::vector<Request>& out) {
  const Engine& engine = engine_of(layout);
  const bool has_experts = engine.parallel.expert && cache.model().experts.count > 0;
  const bool several = layout.parallel.tensor * layout.parallel.data > 1;
  const bool copies_share = layout.parallel.data > 1 && engine.parallel.data_ranks_share_experts;
  // If data parallel copies share the experts, each rank has whole experts.
  if (layout.parallel.expert || !has_experts || !copies_share) out.push_back(layout);
  // The other layouts are for ranks within a node. Pipeline stages within a node are a last resort, so they are only
  // combined with plain ranks.
  if (layout.parallel.pipeline > num_nodes(layout.card.count)) return;
  const std::uint64_t same = ranks_of_a_sequence(cache, layout);
  if (same > 1 && layout.parallel.data == 1) {
    out.push_back(layout);
    out.back().parallel.decode_context = same;
  }
  if (has_experts && several && !layout.parallel.expert) {
    out.push_back(layout);
    out.back().parallel.expert = true;
  }
}

bool searches_layouts(const Request& request) {
  return request.card.count > 1 && !request.parallel.given;
}

std::vector<Request> layouts_of(PlanCache& cache, const Request& request, std::uint64_t gpus) {
  if (gpus > kMostGpusOfPlan)
    refuse("--gpu-count " + std::to_string(gpus) + " is more than kvplan plans",
           "use at most " + std::to_string(kMostGpusOfPlan));
  const Engine& engine = engine_of(request);
  const Parallel& asked = request.parallel;
  std::vector<Request> out;
  for (std::uint64_t tensor = gpus; tensor >= 1; --tensor) {
    if (gpus % tensor != 0 || (asked.dp_attention && tensor % asked.data != 0)) continue;
    const std::uint64_t others = gpus / tensor;
    Request layout = request;
    layout.card.count = gpus;
    layout.parallel.given = true;
    layout.parallel.tensor = tensor;
    if (asked.dp_attention || asked.data == 1) {
      layout.parallel.pipeline = others;
      add_layouts(cache, layout, out);
    } else if (others % asked.data == 0) {
      layout.parallel.pipeline = others / asked.data;
      add_layouts(cache, layout, out);
    }
    if (asked.data > 1 || asked.dp_attention) continue;
    if (engine.parallel.data_ranks_share_experts && others > 1) {  // data parallel copies of `tensor` ranks each
      layout.parallel.pipeline = 1;
      layout.parallel.data = others;
      add_layouts(cache, layout, out);
    } else if (engine.parallel.cuts != nullptr && tensor > 1) {  // data parallel attention within the ranks
      layout.parallel.dp_attention = true;
      layout.parallel.data = tensor;
      add_layouts(cache, layout, out);
    }
  }
  std::stable_sort(out.begin(), out.end(), [&](const Request& a, const Request& b) {
    return preference(cache, a, gpus) < preference(cache, b, gpus);
  });
  return out;
}

Request chosen_layout(PlanCache& cache, const Request& request) {
  const std::vector<Request> layouts = layouts_of(cache, request, request.card.count);
  std::optional<Request> nearest;
  std::int64_t room = 0;
  std::optional<Request> with_fewer, without_reserve;
  std::optional<Error> refusal;
  for (const Request& layout : layouts) {
    try {
      const VerdictReport verdict = verdict_of(cache, on_gpus(with_reserve(layout)));
      if (!verdict.fails()) return layout;
      if (!with_fewer && verdict.needs_fewer_seqs) with_fewer = layout;
      if (!without_reserve && !request.limits.reserve && verdict_of(cache, on_gpus(layout)).holds())
        without_reserve = layout;
      const std::int64_t here =
          verdict.refusal ? std::numeric_limits<std::int64_t>::min() : verdict.headroom.value_or(0);
      if (nearest && here <= room) continue;
      nearest = layout;
      room = here;
    } catch (const Error& error) {
      take_as_misfit(error);
      if (!refusal) refusal = error;
    }
  }
  if (with_fewer) return *with_fewer;
  if (without_reserve) return *without_reserve;
  if (nearest) return *nearest;
  if (refusal) throw *refusal;
  refuse("no layout of " + std::to_string(request.card.count) + " GPUs has " + std::to_string(request.parallel.data) +
             " copies",
         "use a --gpu-count that -dp divides");
}

std::vector<std::uint64_t> usual_gpu_counts(const Request& request) {
  constexpr std::uint64_t kMost = 64;
  const std::uint64_t copies = request.parallel.dp_attention ? 1 : request.parallel.data;
  std::vector<std::uint64_t> out;
  for (const std::uint64_t of_a_copy : {1U, 2U, 4U, 8U, 16U, 24U, 32U, 40U, 48U, 56U, 64U})
    if (copies * of_a_copy <= std::max(kMost, copies)) out.push_back(copies * of_a_copy);
  return out;
}

Bytes least_memory(const Plan& asked) {
  Bytes weights;
  for (const GpuMemory& gpu : asked.memory) weights += gpu.weights.value_or(Bytes(0));
  const std::uint64_t copies = asked.request.parallel.tensor * layout_copies(asked.request);
  // Ranks may replicate what cannot be split, so only an equal part is certain.
  if (copies > 1) return Bytes(weights.count() / copies);
  const Bytes cache = std::min(asked.kv_cache.logical, asked.kv_cache.reserved_total);
  if (!asked.mix) return weights + cache;
  return weights + std::min(cache, asked.mix->needed - std::min(asked.mix->needed, asked.mix->shared_saving));
}

std::uint64_t fewest_cards(const Plan& asked) {
  const Request& request = asked.request;
  const Bytes card = card_memory(request).value_or(Bytes(0));
  if (card == Bytes(0)) return 1;
  const Bytes most =
      card + request.cpu_offload.value_or(Bytes(0));  // memory for the model, on a GPU and in its part of host memory
  return std::max<std::uint64_t>(1, ceil_div(least_memory(asked).count(), most.count()));
}

Template reason_of_layout(PlanCache& cache, const Request& request) {
  const Parallel& p = request.parallel;
  const std::uint64_t same = repeats(cache, request);
  const bool latent = fewest_kv_heads(cache) == 1;
  if (p.decode_context > 1) return "ranks split the tokens of each sequence, so the KV cache is stored once";
  if (p.data > 1) {
    Request whole = request;
    whole.parallel.tensor = p.dp_attention ? p.tensor : p.tensor * p.data;
    whole.parallel.data = 1;
    whole.parallel.dp_attention = false;
    return repeats(cache, whole) > same
               ? "each copy caches only its own sequences; with tensor parallelism every rank would cache all of them"
               : "the copies split the sequences, and each has its own weights";
  }
  if (same > 1)
    return {latent ? "tensor parallelism does not split this KV cache: each rank has all of it"
                   : "more ranks than KV heads: each head is stored {times} times",
            {{"times", same}}};
  if (p.tensor > kGpusOfNode) return "tensor parallelism across nodes: slow without a fast network between them";
  if (p.pipeline > num_nodes(p.gpus()) && p.tensor > 1) return "stages work in turn: slower than ranks side by side";
  if (p.pipeline > 1 && p.tensor == 1) return "layers are split over the GPUs, which work in turn";
  return p.tensor > 1 ? "the most tensor parallelism within a node" : "one GPU";
}

Template repeated_cache(PlanCache& cache, const Plan& plan) {
  const Parallel& p = plan.request.parallel;
  const std::uint64_t same = repeats(cache, plan.request);
  // Engines that cache expanded latents can split them.
  const auto share = static_cast<double>(plan.kv_cache.logical_per_gpu.count()) * static_cast<double>(p.tensor) *
                     static_cast<double>(p.pipeline) * static_cast<double>(p.data);
  const bool holds_same = share > 1.5 * static_cast<double>(plan.kv_cache.logical.count());
  if (same == 1 || !holds_same || plan.kv_cache.logical == Bytes(0)) return {};
  Template out =
      fewest_kv_heads(cache) == 1
          ? Template("tensor parallelism does not split this KV cache: each of {ranks} ranks stores all {held:GiB}",
                     {{"ranks", p.tensor}, {"held", plan.kv_cache.logical_per_gpu}})
          : Template("{ranks} ranks for {num_kv_heads} KV heads: each head is stored {times} times",
                     {{"ranks", p.tensor}, {"num_kv_heads", fewest_kv_heads(cache)}, {"times", same}});
  const Engine& engine = engine_of(plan.request);
  if (p.data > 1 || p.pipeline > 1 || plan.request.num_seqs < p.tensor || fewest_kv_heads(cache) > 1) return out;
  const Bytes share_of_one(plan.kv_cache.logical_per_gpu.count() / p.tensor);
  const auto offer = [&](const char* text) { out += {text, {{"ranks", p.tensor}, {"held", share_of_one}}}; };
  if (engine.parallel.data_ranks_share_experts && cache.model().experts.count > 0)
    offer("; -tp 1 -dp {ranks} --enable-expert-parallel stores {held:GiB} per GPU");
  else if (engine.parallel.data_ranks_share_experts)
    offer("; -tp 1 -dp {ranks} stores {held:GiB} per GPU");
  else if (engine.parallel.cuts != nullptr)
    offer("; -dp {ranks} --enable-dp-attention stores {held:GiB} per GPU");
  return out;
}

Request with_reserve(Request request) {
  if (request.limits.reserve) return request;
  const std::optional<Bytes> card = card_memory(request);
  if (!card) return request;
  if (engine_of(request).cache_budget != nullptr)
    request.limits.reserve = Reserve{Bytes(0), 0.01};
  else
    request.limits.reserve = Reserve{std::min(Bytes(kGiB), Bytes(card->count() / 8)), 0};
  return request;
}

}  // namespace kvplan
