#include "plan/search.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kvplan/error.h"
#include "plan/changes.h"
#include "plan/layouts.h"
#include "plan/mix.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kMostTried = kAnyCount;

// The largest n in [0, kMostTried] that fits, given that all smaller ones do. Memory grows almost linearly, so the room
// at both ends of the interval points to the answer; bisection takes over where it does not.
std::uint64_t largest(std::uint64_t guess, const std::function<Probe(std::uint64_t)>& ask) {
  std::uint64_t low = 0;  // fits (0 trivially)
  std::uint64_t high = kMostTried + 1;
  std::optional<double> low_room, high_room;
  const auto take = [&](std::uint64_t at) {
    const Probe found = ask(at);
    (found.fits ? low : high) = at;
    (found.fits ? low_room : high_room) = found.room;
    return found.fits;
  };
  // First a bracket: away from the guess, one step at first (guesses for paged engines are exact), then to where a line
  // through the last two rooms crosses zero, and a little beyond.
  std::optional<std::pair<double, double>> before;  // tokens and room of the previous probe
  for (std::uint64_t at = std::clamp<std::uint64_t>(guess, 1, kMostTried), turn = 0;; ++turn) {
    const bool up = take(at);
    if (up ? at == kMostTried || high != kMostTried + 1 : low > 0 || at == 1) break;
    const std::optional<double> room = up ? low_room : high_room;
    std::uint64_t step = turn == 0 && up ? 1 : std::max<std::uint64_t>(16, at / 8) << std::min<std::uint64_t>(turn, 20);
    const auto here = static_cast<double>(at);
    if (room && before && here != before->first) {
      const double slope = (*room - before->second) / (here - before->first);
      const double distance = std::abs(*room / slope) * 1.02 + 16;
      if (slope < 0 && distance < static_cast<double>(kMostTried)) step = static_cast<std::uint64_t>(distance);
    }
    before = room ? std::optional(std::pair(here, *room)) : std::nullopt;
    if (up)
      at = at > kMostTried - std::min(step, kMostTried) ? kMostTried : at + step;
    else
      at = at > step ? at - step : 1;
  }
  // Engines allocate tokens in steps, mostly of 16 or 256: the answer tends to be the end of one.
  constexpr std::uint64_t kStep = 256;
  for (int turn = 0;; ++turn) {
    const std::uint64_t width = high - low;
    if (width <= 1) break;
    std::uint64_t at = low + width / 2;
    if (low > 0 && width <= kStep && low % 16 == 0 && turn % 2 == 0) {
      at = low + 1;
    } else if (low_room && high_room && *low_room > *high_room && turn % 3 != 2) {
      const double share = std::clamp(*low_room / (*low_room - *high_room), 0.0, 1.0);
      at = low + static_cast<std::uint64_t>(static_cast<double>(width) * share);
      if (width > 2 * kStep) at = at / kStep * kStep;
      at = std::clamp(at, low + 1, high - 1);
    }
    take(at);
  }
  return low;
}

}  // namespace

Probe probe(PlanCache& cache, const Request& request) {
  try {
    const VerdictReport verdict = verdict_of(cache, request);
    Probe out;
    out.fits = verdict.status == Verdict::kFits;
    // A limit other than memory does not tell how far away the answer is.
    if (verdict.headroom && (*verdict.headroom >= 0) == out.fits) out.room = static_cast<double>(*verdict.headroom);
    return out;
  } catch (const Error& error) {
    take_as_misfit(error);
    return {};
  }
}

std::optional<Held> held_by(PlanCache& cache, const Request& request) {
  Held out{request, 0, 0};
  out.request.limits.reserve.reset();
  Request shortest = with_context(out.request, std::max<std::uint64_t>(1, longest_stated(request)));
  shortest.limits.min_context.reset();
  shortest.limits.min_seqs.reset();
  if (!probe(cache, shortest).fits) return std::nullopt;
  try {
    const Plan plan = make_plan(cache, out.request);
    if (plan.capacity) out.longest = plan.capacity->max_model_len;
    if (plan.capacity && request.seq_lens.empty()) out.most = plan.capacity->max_num_seqs;
  } catch (const Error& error) {
    take_as_misfit(error);
    return std::nullopt;
  }
  return out;
}

std::vector<Held> held_by_layouts(PlanCache& cache, const Request& request) {
  std::vector<Request> layouts{request};
  if (searches_layouts(request)) layouts = layouts_of(cache, request, request.card.count);
  std::vector<Held> out;
  for (const Request& layout : layouts)
    if (std::optional<Held> held = held_by(cache, layout)) out.push_back(std::move(*held));
  return out;
}

const Held* most_of(const std::vector<Held>& layouts, std::uint64_t Held::*figure, const Parallel& usual) {
  const auto is_usual = [&](const Held& held) {
    Parallel other = held.request.parallel;
    other.given = usual.given;
    return other == usual;
  };
  const Held* out = nullptr;
  for (const Held& held : layouts)
    if (out == nullptr || held.*figure > out->*figure || (held.*figure == out->*figure && is_usual(held))) out = &held;
  return out;
}

Request with_longest_context(PlanCache& cache, Request request) {
  request.longest = false;
  if (!request.card.gpu && !request.card.memory && !request.kv_cache_memory_bytes) return request;
  const std::vector<Held> layouts = held_by_layouts(cache, request);
  const Held* widest = most_of(layouts, &Held::longest, request.parallel);
  if (widest == nullptr || widest->longest == 0 || widest->longest >= kAnyCount) return request;
  return with_context(std::move(request), widest->longest);
}

// Where lengths were stated the context is only an upper bound, which any pool of tokens satisfies: it ends at the
// model's.
std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess) {
  const std::uint64_t least = std::max<std::uint64_t>(1, longest_stated(request));
  const std::uint64_t longest =
      largest(guess, [&](std::uint64_t n) { return probe(cache, with_context(request, std::max(n, least))); });
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
  const Plan plan = make_plan(cache, request);
  const std::uint64_t guess = plan.capacity ? plan.capacity->max_num_seqs : 1;
  return largest(guess, [&](std::uint64_t n) { return probe(cache, with_seqs(request, n)); });
}

std::uint64_t most_that_fit(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  return most_that_fit(cache, request);
}

}  // namespace kvplan
