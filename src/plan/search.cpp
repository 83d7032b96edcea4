#include "plan/search.h"

#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/numbers.h"
#include "plan/steps.h"

namespace kvplan {

bool fits(PlanCache& cache, const Request& request) {
  return unless_misfit([&] {
    const VerdictReport verdict = verdict_of(cache, on_gpus(request));
    return verdict.holds() || (verdict.needs_fewer_seqs && !request.max_num_seqs);
  });
}

OptionValues lower_seqs_cap(PlanCache& cache, Request& request) {
  if (request.max_num_seqs) return {};
  const VerdictReport verdict = verdict_of(cache, on_gpus(request));
  if (!verdict.needs_fewer_seqs) return {};
  request.max_num_seqs = verdict.largest_seqs_cap;
  return {seqs_cap_option(*request.max_num_seqs)};
}

std::optional<LayoutFigures> held_by(PlanCache& cache, const Request& request) {
  LayoutFigures out{request, 0, 0};
  out.request.limits.reserve.reset();
  Request shortest = with_context(out.request, std::max<std::uint64_t>(1, longest_stated(request)));
  shortest.limits.min_context.reset();
  shortest.limits.min_seqs.reset();
  if (!fits(cache, shortest)) return std::nullopt;
  return unless_misfit([&]() -> std::optional<LayoutFigures> {
    const Plan plan = make_plan(cache, on_gpus(out.request));
    if (plan.capacity) out.longest = plan.capacity->max_model_len;
    if (plan.capacity && request.seq_lens.empty()) out.most = plan.capacity->max_num_seqs;
    return out;
  });
}

std::vector<LayoutFigures> held_by_layouts(PlanCache& cache, const Request& request) {
  std::vector<Request> layouts{request};
  if (searches_layouts(request)) layouts = layouts_of(cache, request, request.card.count);
  std::vector<LayoutFigures> out;
  for (const Request& layout : layouts)
    if (std::optional<LayoutFigures> held = held_by(cache, layout)) out.push_back(std::move(*held));
  return out;
}

const LayoutFigures* most_of(const std::vector<LayoutFigures>& layouts, std::uint64_t LayoutFigures::*figure,
                             const Parallel& usual) {
  const auto is_usual = [&](const LayoutFigures& held) {
    Parallel other = held.request.parallel;
    other.given = usual.given;
    return other == usual;
  };
  const LayoutFigures* out = nullptr;
  for (const LayoutFigures& held : layouts)
    if (out == nullptr || held.*figure > out->*figure || (held.*figure == out->*figure && is_usual(held))) out = &held;
  return out;
}

Request with_longest_context(PlanCache& cache, Request request) {
  request.longest = false;
  if (!request.card.gpu && !request.card.memory && !request.kv_cache_memory_bytes) return request;
  const std::vector<LayoutFigures> layouts = held_by_layouts(cache, request);
  const LayoutFigures* widest = most_of(layouts, &LayoutFigures::longest, request.parallel);
  if (widest == nullptr || widest->longest == 0 || widest->longest >= kAnyCount) return request;
  return with_context(std::move(request), widest->longest);
}

// If lengths are given, the context is only their upper bound, so it ends at the model's maximum and not where memory
// ends.
std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess) {
  const std::uint64_t least = std::max<std::uint64_t>(1, longest_stated(request));
  const std::uint64_t longest = largest_near(
      guess, kAnyCount, [&](std::uint64_t n) { return fits(cache, with_context(request, std::max(n, least))); });
  if (longest < least) return 0;
  if (least == 1) return longest;
  const Tokens asked = request.max_model_len.value_or(Tokens(0));
  return std::max(longest_context(longest, cache.model().max_model_len, engine_of(request)),
                  std::min(longest, asked.count()));
}

std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  return longest_that_fits(cache, request, 4096);
}

std::uint64_t most_that_fit(PlanCache& cache, const Request& request) {
  const Plan plan = make_plan(cache, on_gpus(request));
  const std::uint64_t guess = plan.capacity ? plan.capacity->max_num_seqs : 1;
  return largest_near(guess, kAnyCount, [&](std::uint64_t n) { return fits(cache, with_seqs(request, n)); });
}

std::uint64_t most_that_fit(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  return most_that_fit(cache, request);
}

}  // namespace kvplan
