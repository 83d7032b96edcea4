#include "plan/shared_card.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kvplan/error.h"
#include "plan/complete.h"
#include "plan/plan_cache.h"

namespace kvplan {

namespace {

bool takes_share(const Request& request) {
  return engine_of(request).cache_budget != nullptr;
}

Bytes share_of(Bytes card, double share) {
  return Bytes(static_cast<std::uint64_t>(std::ceil(static_cast<double>(card.count()) * share)));
}

// The memory of the GPU that a plan takes while it runs.
Bytes claimed(const Plan& plan, Bytes card) {
  if (!takes_share(plan.request)) return plan.fullest().total;
  return std::max(plan.fullest().total, share_of(card, plan.usable_share.value_or(1)));
}

// The plan of a further model: with the smallest fraction of the GPU that fits it, for an engine that takes a fraction.
Plan least_plan(const ModelSpec& model, Request request, Bytes card) {
  PlanCache cache(model);
  if (!takes_share(request) || request.memory_utilization) return make_plan(cache, request);
  const std::optional<Request> least = with_least_share(cache, request, card);
  return make_plan(cache, least ? *least : request);  // it does not fit even by itself
}

}  // namespace

std::optional<Request> with_least_share(PlanCache& cache, Request request, Bytes card) {
  const Bytes need = make_plan(cache, request).fullest().total;
  const auto first =
      static_cast<int>(std::ceil(100 * static_cast<double>(need.count()) / static_cast<double>(card.count())));
  for (int percent = std::max(first, 1); percent < 100; ++percent) {
    request.memory_utilization = percent / 100.0;
    if (verdict_of(cache, request).holds()) return request;
  }
  return std::nullopt;
}

Request further_request(const ModelSpec& model, const Request& first) {
  Request out = first;
  const Request none;
  out.weights = none.weights;
  out.dtype = none.dtype;
  out.cache_type_k = none.cache_type_k;
  out.cache_type_v = none.cache_type_v;
  out.parallel = none.parallel;
  out.card.count = 1;
  out.card.count_given = false;
  out.extras = none.extras;
  out.mtp = none.mtp;
  out.num_speculative_tokens = none.num_speculative_tokens;
  out.users = false;
  out.memory_utilization = none.memory_utilization;
  out.kv_cache_memory_bytes = none.kv_cache_memory_bytes;
  out.limits = none.limits;
  // -c is another name for the length in an engine without slots.
  if (out.llama_cpp.ctx_size && engine_of(out).slot_tokens == nullptr) {
    if (!out.max_model_len) out.max_model_len = out.llama_cpp.ctx_size;
    out.llama_cpp.ctx_size.reset();
  }
  if (model.max_model_len > Tokens(0) && out.max_model_len)
    out.max_model_len = std::min(*out.max_model_len, model.max_model_len);
  return out;
}

SharedCard share_card(const std::vector<CardUser>& users) {
  const Request& asked = users.front().request;
  const std::optional<Bytes> card = card_memory(asked);
  if (!card) refuse("several models on one GPU, and no GPU is given", "name it with --gpu or --gpu-memory");
  if (!asked.card.mixed.empty()) refuse("several models on different GPUs", "name one GPU");
  SharedCard out;
  out.card = asked.card.memory ? "" : asked.card.name_or("");
  out.memory = *card;
  Bytes others;
  std::vector<FleetEntry> beside;
  bool fits = true;
  for (std::size_t i = 1; i < users.size(); ++i) {
    FleetEntry& entry = beside.emplace_back();
    entry.source = users[i].model->source;
    entry.plan = least_plan(*users[i].model, users[i].request, *card);
    fits = fits && entry.plan->verdict.holds();
    others += claimed(*entry.plan, *card);
  }
  const Bytes kept = asked.limits.reserve ? asked.limits.reserve->of(*card) : Bytes(0);
  out.usable = *card - std::min(kept, *card);
  Request first = asked;
  const Bytes left = out.usable - std::min(others, out.usable);
  if (takes_share(first) && !first.memory_utilization) {
    const double usual = make_plan(*users.front().model, first).usable_share.value_or(1);
    const double there = std::floor(100 * static_cast<double>(left.count()) / static_cast<double>(card->count())) / 100;
    first.memory_utilization = std::clamp(there, 0.01, usual);
    first.limits.reserve.reset();
  } else if (!takes_share(first)) {
    first.limits.reserve = Reserve{others + kept, 0};
  }
  FleetEntry& entry = out.models.emplace_back();
  entry.source = users.front().model->source;
  entry.plan = make_plan(*users.front().model, first);
  suggest(*users.front().model, *entry.plan);
  out.total = claimed(*entry.plan, *card) + others;
  fits = fits && entry.plan->verdict.holds() && out.total <= out.usable;
  std::move(beside.begin(), beside.end(), std::back_inserter(out.models));
  const bool unknown = std::any_of(out.models.begin(), out.models.end(),
                                   [](const FleetEntry& each) { return !each.plan->verdict.no_verdict.empty(); });
  out.status = fits ? Verdict::kFits : unknown ? Verdict::kUnknown : Verdict::kDoesNotFit;
  return out;
}

}  // namespace kvplan
