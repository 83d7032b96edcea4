#include "plan/questions.h"

#include <algorithm>
#include <cmath>

#include "kvplan/error.h"
#include "plan/plan_cache.h"
#include "plan/steps.h"

namespace kvplan {

static bool takes_share(const Request& request) {
  return engine_of(request).cache_budget != nullptr;
}

static Bytes share_of(Bytes card, double share) {
  return Bytes(static_cast<std::uint64_t>(std::ceil(static_cast<double>(card.count()) * share)));
}

// The GPU memory of a plan while it runs.
static Bytes claimed(const Plan& plan, Bytes card) {
  if (!takes_share(plan.request)) return plan.fullest().total;
  return std::max(plan.fullest().total, share_of(card, plan.usable_share.value_or(1)));
}

// The plan of another model. If its engine takes a fraction of the GPU, it gets the smallest one that fits.
static Plan least_plan(const ModelSpec& model, Request request, Bytes card) {
  PlanCache cache(model);
  if (!takes_share(request) || request.memory_utilization) return make_plan(cache, request);
  const std::optional<Request> least = with_least_share(cache, request, card);
  return make_plan(cache, least ? *least : request);  // the model does not fit even by itself
}

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
  // If an engine has no slots, -c is another name for the length.
  if (out.llama_cpp.ctx_size && engine_of(out).slot_tokens == nullptr) {
    if (!out.max_model_len) out.max_model_len = out.llama_cpp.ctx_size;
    out.llama_cpp.ctx_size.reset();
  }
  if (model.max_model_len > Tokens(0) && out.max_model_len)
    out.max_model_len = std::min(*out.max_model_len, model.max_model_len);
  return out;
}

namespace {

// What one engine takes of the GPU while it runs, and while another engine runs.
struct Takes {
  Bytes awake, beside;
};

Takes takes_of(const Plan& plan, Bytes card) {
  const Bytes awake = claimed(plan, card);
  return {awake, plan.request.vllm.sleeps ? kept_asleep(plan) : awake};
}

// A model's plan with the memory that `others` leave. Only for the first model, and for engines that sleep in turn.
Plan plan_in_rest(const ModelSpec& model, Request request, Bytes card, Bytes usable, Bytes others) {
  if (takes_share(request) && !request.memory_utilization) {
    const Bytes left = usable - std::min(others, usable);
    const double usual = make_plan(model, request).usable_share.value_or(1);
    const double there = std::floor(100 * static_cast<double>(left.count()) / static_cast<double>(card.count())) / 100;
    request.memory_utilization = std::clamp(there, 0.01, usual);
    request.limits.reserve.reset();
  } else if (!takes_share(request)) {
    request.limits.reserve = Reserve{others + (card - usable), 0};
  }
  return make_plan(model, request);
}

}  // namespace

SharedCard share_card(const std::vector<CardUser>& users) {
  const Request& asked = users.front().request;
  const std::optional<Bytes> card = card_memory(asked);
  if (!card) refuse("several models on one GPU, and no GPU is given", "name it with --gpu or --gpu-memory");
  if (!asked.card.mixed.empty()) refuse("several models on different GPUs", "name one GPU");
  SharedCard out;
  out.card = asked.card.memory ? "" : asked.card.name_or("");
  out.memory = *card;
  const Bytes kept = asked.limits.reserve ? asked.limits.reserve->of(*card) : Bytes(0);
  out.usable = *card - std::min(kept, *card);
  std::vector<Takes> takes;
  const auto beside = [&](std::size_t own) {
    Bytes sum;
    for (std::size_t i = 0; i < takes.size(); ++i)
      if (i != own) sum += takes[i].beside;
    return sum;
  };
  const auto rests = [](std::size_t i, const Request& request) { return i == 0 || request.vllm.sleeps; };
  for (const CardUser& user : users) {
    FleetEntry& entry = out.models.emplace_back();
    entry.source = user.model->source;
    entry.plan = rests(takes.size(), user.request) ? make_plan(*user.model, user.request)
                                                   : least_plan(*user.model, user.request, *card);
    takes.push_back(takes_of(*entry.plan, *card));
    if (user.request.vllm.sleeps) out.asleep = out.asleep.value_or(Bytes(0)) + takes.back().beside;
  }
  for (std::size_t i = 0; i < users.size(); ++i) {
    Plan& plan = *out.models[i].plan;
    if (!rests(i, users[i].request)) continue;
    plan = plan_in_rest(*users[i].model, users[i].request, *card, out.usable, beside(i));
    takes[i] = takes_of(plan, *card);
  }
  bool fits = true;
  for (std::size_t i = 0; i < users.size(); ++i) {
    out.total = std::max(out.total, takes[i].awake + beside(i));
    fits = fits && out.models[i].plan->verdict.holds();
  }
  suggest(*users.front().model, *out.models.front().plan);
  fits = fits && out.total <= out.usable;
  const bool unknown = std::any_of(out.models.begin(), out.models.end(),
                                   [](const FleetEntry& each) { return !each.plan->verdict.no_verdict.empty(); });
  out.status = fits ? Verdict::kFits : unknown ? Verdict::kUnknown : Verdict::kDoesNotFit;
  return out;
}

}  // namespace kvplan
