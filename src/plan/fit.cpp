// What fits. Every answer is a plan that make_plan gave, so `fit` and the plan cannot disagree.
#include <algorithm>
#include <cmath>
#include <functional>

#include "engines/launch_words.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "plan/answers.h"
#include "plan/changes.h"
#include "plan/layouts.h"
#include "plan/mix.h"
#include "plan/offload.h"
#include "plan/plan_cache.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kMost = kAnyCount;

// Whether a request fits, and the room that it leaves (negative where it lacks some), where the plan says.
struct Probe {
  bool fits = false;
  std::optional<double> room;
};

Probe probe(PlanCache& cache, const Request& request) {
  try {
    const VerdictReport verdict = verdict_of(cache, request);
    Probe out;
    out.fits = verdict.status == Verdict::kFits;
    // A limit that is not memory says nothing about how far away the answer is.
    if (verdict.headroom && (*verdict.headroom >= 0) == out.fits) out.room = static_cast<double>(*verdict.headroom);
    return out;
  } catch (const Error& error) {
    take_as_misfit(error);
    return {};
  }
}

// The largest n in [0, kMost] that fits, where all smaller ones do. Memory grows in nearly straight lines, so the room
// at both ends of what is left to search points to the answer; halving takes over where it does not.
std::uint64_t largest(std::uint64_t guess, const std::function<Probe(std::uint64_t)>& ask) {
  std::uint64_t low = 0;  // fits (0 trivially)
  std::uint64_t high = kMost + 1;
  std::optional<double> low_room, high_room;
  const auto take = [&](std::uint64_t at) {
    const Probe found = ask(at);
    (found.fits ? low : high) = at;
    (found.fits ? low_room : high_room) = found.room;
    return found.fits;
  };
  // A bracket: away from the guess, a step at first (plans of paged engines guess exactly), then where the rooms of
  // the last two questions meet zero, and a little beyond.
  std::optional<std::pair<double, double>> before;  // tokens and room of the last question
  for (std::uint64_t at = std::clamp<std::uint64_t>(guess, 1, kMost), turn = 0;; ++turn) {
    const bool up = take(at);
    if (up ? at == kMost || high != kMost + 1 : low > 0 || at == 1) break;
    const std::optional<double> room = up ? low_room : high_room;
    std::uint64_t step = turn == 0 && up ? 1 : std::max<std::uint64_t>(16, at / 8) << std::min<std::uint64_t>(turn, 20);
    const auto here = static_cast<double>(at);
    if (room && before && here != before->first) {
      const double slope = (*room - before->second) / (here - before->first);
      const double distance = std::abs(*room / slope) * 1.02 + 16;
      if (slope < 0 && distance < static_cast<double>(kMost)) step = static_cast<std::uint64_t>(distance);
    }
    before = room ? std::optional(std::pair(here, *room)) : std::nullopt;
    if (up)
      at = at > kMost - std::min(step, kMost) ? kMost : at + step;
    else
      at = at > step ? at - step : 1;
  }
  // Engines take tokens in steps, mostly of 16 or 256: the answer tends to end one.
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

std::uint64_t model_maximum(const PlanCache& cache, const Request& request) {
  const std::uint64_t most = cache.model().max_model_len.count();
  const std::uint64_t asked = request.max_model_len.value_or(Tokens(0)).count();
  return most == 0 ? kMost : std::max(most, asked);
}

// 0 where no context fits that holds the stated lengths. Where some were stated the context is a bound alone, and pools
// of tokens hold any: it ends where the model's own does.
std::uint64_t longest_from(PlanCache& cache, const Request& request, std::uint64_t guess) {
  const std::uint64_t least = std::max<std::uint64_t>(1, longest_stated(request));
  const std::uint64_t longest =
      largest(guess, [&](std::uint64_t n) { return probe(cache, with_context(request, std::max(n, least))); });
  if (longest < least) return 0;
  return least > 1 ? std::min(longest, model_maximum(cache, request)) : longest;
}

std::uint64_t most_from(PlanCache& cache, const Request& request) {
  const Plan plan = make_plan(cache, request);
  const std::uint64_t guess = plan.capacity ? plan.capacity->max_num_seqs : 1;
  return largest(guess, [&](std::uint64_t n) { return probe(cache, with_seqs(request, n)); });
}

std::string short_count(std::uint64_t n) {
  if (n >= kMost) return "any number of";
  if (n >= 10240) return std::to_string(n / 1024) + "k";
  return std::to_string(n);
}

// The plan of `changed`, as the options that lead there from the user's own command say. It is judged as that command
// would be; what it leaves free was asked for when it was found.
Answer answer_of(PlanCache& cache, const Request& own, Request changed, std::string name, OptionValues changes) {
  changed.limits.reserve = own.limits.reserve;
  const OptionValues layout = layout_options(own, changed);
  changes.insert(changes.end(), layout.begin(), layout.end());
  Answer out;
  out.name = std::move(name);
  out.changes = std::move(changes);
  out.plan = make_plan(cache, changed);
  return out;
}

// A layout with what it holds, the usual reserve left free. most: 0 where --seq-lens says which sequences there are.
struct Held {
  Request request;
  std::uint64_t longest = 0, most = 0;
};

// Every layout of the request's cards, or the one that was named.
std::vector<Held> held_by_layouts(PlanCache& cache, const Plan& asked, const Request& own) {
  std::vector<Request> layouts{asked.request};
  if (searches_layouts(own)) layouts = layouts_of(cache, own, own.card.count);
  std::vector<Held> out;
  for (const Request& layout : layouts) {
    Held held{with_reserve(layout)};
    try {
      // Nothing on the way that is not memory.
      if (!probe(cache, with_context(held.request, std::max<std::uint64_t>(1, longest_stated(layout)))).fits) continue;
      held.longest = longest_from(cache, held.request, asked.capacity ? asked.capacity->max_model_len : 4096);
      if (own.seq_lens.empty()) held.most = most_from(cache, held.request);
    } catch (const Error& error) {
      take_as_misfit(error);
      continue;  // the engine refuses this layout
    }
    out.push_back(std::move(held));
  }
  return out;
}

void add_longest_and_most(PlanCache& cache, const Request& own, const std::vector<Held>& layouts, Answers& out) {
  const std::uint64_t usual = model_maximum(cache, own);
  const auto shown = [usual](std::uint64_t tokens) { return tokens >= kMost ? usual : tokens; };
  const auto add = [&](const Request& changed, const char* name, OptionValues options) {
    out.answers.push_back(answer_of(cache, own, changed, name, std::move(options)));
  };
  // Lengths beyond the model's own are no gain.
  const Held *widest = nullptr, *fullest = nullptr;
  for (const Held& held : layouts) {
    if (widest == nullptr || std::min(held.longest, usual) > std::min(widest->longest, usual)) widest = &held;
    if (fullest == nullptr || held.most > fullest->most) fullest = &held;
  }
  if (widest == nullptr || widest->longest == 0) {
    const bool has_room = out.asked.capacity && out.asked.capacity->kv_cache_memory > Bytes(0);
    out.sentences.push_back(has_room ? "no context fits at so many sequences"
                                     : "no room for any KV cache: weights and overhead alone exceed the GPU");
    return;
  }
  const Request& request = widest->request;
  const std::uint64_t longest = widest->longest;
  add(with_context(request, shown(longest)), "longest_context", {context_option(request, longest)});
  if (fullest->most > 0)
    add(with_seqs(fullest->request, fullest->most >= kMost ? request.num_seqs : fullest->most), "most_sequences",
        {seqs_option(fullest->most)});
  out.sentences.push_back({"max context: {tokens} tokens at {num_seqs:sequence}",
                           {{"tokens", short_count(longest)}, {"num_seqs", request.num_seqs}}});
  if (searches_layouts(own))
    out.sentences.back() +=
        Template(", {layout} (", {{"layout", layout_name(request.parallel)}}) + reason_of_layout(cache, request) + ")";

  // The frontier: powers of four of sequences, each with its longest context.
  for (std::uint64_t seqs = 1; own.seq_lens.empty() && seqs <= 256; seqs *= 4) {
    const Request here = with_seqs(request, seqs);
    const std::uint64_t tokens = longest_from(cache, here, std::max<std::uint64_t>(1, longest / seqs));
    if (tokens == 0) break;
    add(with_context(here, shown(tokens)), "frontier", {seqs_option(seqs), context_option(request, tokens)});
    out.frontier.emplace_back(seqs, tokens);
  }

  if (longest > 0 && cache.model().max_model_len > Tokens(0) && longest > cache.model().max_model_len.count())
    out.sentences.push_back(
        {"the model's own maximum is {tokens} tokens", {{"tokens", short_count(cache.model().max_model_len.count())}}});

  // The one change that buys most context, in the same layout; twice the cards is said apart, for it is no change of a
  // setting.
  std::uint64_t best_gain = 0;
  std::vector<Change> changes = type_changes(request, out.asked);
  if (auto doubled = on_more_cards(cache, own, 2 * std::max(own.card.count, own.parallel.gpus()))) {
    doubled->request = with_reserve(doubled->request);
    changes.push_back(std::move(*doubled));
  }
  for (const Change& change : changes) {
    const bool more_cards = change.request.card.count != request.card.count;
    const std::uint64_t tokens = longest_from(cache, change.request, std::max<std::uint64_t>(longest, 1024) * 2);
    if (tokens <= longest) continue;
    const std::uint64_t gain = tokens - longest;
    OptionValues options = more_cards ? OptionValues{} : change.options;
    options.push_back(context_option(request, tokens));
    add(with_context(change.request, shown(tokens)), "change", std::move(options));
    if (more_cards) {
      out.sentences.push_back(
          {"{gpus} GPUs: +{gain} tokens", {{"gpus", change.request.card.count}, {"gain", short_count(gain)}}});
    } else if (gain > best_gain) {
      best_gain = gain;
      out.buys_most = {"{options}: +{gain} tokens",
                       {{"options", options_text(change.options)}, {"gain", short_count(gain)}}};
    }
  }
  if (best_gain > 0) out.sentences.push_back(Template("biggest gain: ") + out.buys_most);
}

// A bound from below: what the request takes with nothing repeated.
Bytes least_memory(const Plan& asked) {
  Bytes weights;
  for (const GpuMemory& gpu : asked.memory) weights += gpu.weights.value_or(Bytes(0));
  const std::uint64_t copies = asked.request.parallel.tensor * layout_copies(asked.request);
  // Ranks may repeat what they cannot split: an equal share of it is certain.
  return copies > 1 ? Bytes(weights.count() / copies)
                    : weights + std::min({asked.kv_cache.logical, asked.kv_cache.reserved_total,
                                          asked.mix ? asked.mix->needed : asked.kv_cache.logical});
}

std::uint64_t fewest_cards(const Plan& asked) {
  const Request& request = asked.request;
  const Bytes card = card_memory(request).value_or(Bytes(0));
  return card == Bytes(0) ? 1 : std::max<std::uint64_t>(1, ceil_div(least_memory(asked).count(), card.count()));
}

// Layouts of the cards at hand, and of the fewest that hold the request, the first choice first.
void add_layouts(PlanCache& cache, const Request& own, const std::vector<Held>& at_hand, Answers& out) {
  if (own.card.name && parse_gpu(*own.card.name).unified && own.parallel.gpus() == 1 && own.card.count == 1) return;
  const std::uint64_t at_least = fewest_cards(out.asked);
  Request free = own;
  free.parallel.given = false;
  free.parallel.tensor = free.parallel.pipeline = 1;
  const auto fits = [&](const Request& layout) {
    try {
      return verdict_of(cache, with_reserve(layout)).status == Verdict::kFits;
    } catch (const Error& error) {
      take_as_misfit(error);
      return false;  // the engine refuses this layout
    }
  };
  const auto add = [&](const Request& layout) -> Answer& {
    out.answers.push_back(answer_of(cache, own, layout, "layout", {}));
    Answer& answer = out.answers.back();
    answer.note = reason_of_layout(cache, layout);
    return answer;
  };
  const std::uint64_t here = own.card.count;
  bool fits_here = false;
  if (searches_layouts(own)) {
    for (const Held& held : at_hand) {
      if (!fits(held.request)) continue;
      fits_here = true;
      Answer& answer = add(held.request);
      answer.longest = held.longest;
      answer.most_seqs = held.most;
    }
  }
  for (const std::uint64_t count : usual_gpu_counts(free)) {
    if (count < at_least) continue;
    if (searches_layouts(own) && count == here && fits_here) return;  // named above
    bool any = false;
    for (const Request& layout : layouts_of(cache, free, count)) {
      if (!fits(layout)) continue;
      any = true;
      add(layout);
      if (fits_here) break;  // fewer than there are: the first choice will do
    }
    if (!any) continue;
    const Request& first = out.answers.back().plan.request;
    if (count != out.asked.request.parallel.gpus() || fits_here)
      out.sentences.push_back({fits_here && count > 1 ? "minimum: {gpus:GPU} ({layout})" : "minimum: {gpus:GPU}",
                               {{"gpus", count}, {"layout", layout_name(first.parallel)}}});
    return;
  }
  const std::uint64_t most = usual_gpu_counts(free).back();
  if (!fits_here) out.sentences.push_back({"no layout of up to {gpus} GPUs holds the request", {{"gpus", most}}});
}

void add_cards(PlanCache& cache, const Request& own, Answers& out) {
  const Engine& engine = engine_of(own);
  std::vector<const Gpu*> cards;
  for (const Gpu& gpu : gpus())
    if (runs_on(engine, gpu)) cards.push_back(&gpu);
  std::stable_sort(cards.begin(), cards.end(), [](const Gpu* a, const Gpu* b) { return a->budget() < b->budget(); });
  constexpr std::size_t kShown = 5;
  const Bytes least = least_memory(out.asked);
  std::vector<std::uint64_t> counts{1, 2, 4, 8, 16};
  const std::uint64_t named = own.parallel.gpus();
  if (own.parallel.given || named > 1) counts = {named};
  for (const std::uint64_t count : counts) {
    // Cards too small for an equal share need no plan.
    const Bytes share(least.count() / count);
    auto first =
        std::partition_point(cards.begin(), cards.end(), [&](const Gpu* gpu) { return gpu->budget() < share; });
    for (; first != cards.end() && out.answers.size() < kShown; ++first) {
      const Gpu* gpu = *first;
      if (count > 1 && gpu->unified) continue;  // a whole machine each
      Request on = own;
      on.card.name = std::string(gpu->name);
      on.card.count = count;
      on.parallel.given = count == 1 || named > 1;
      try {
        if (searches_layouts(on)) on = chosen_layout(cache, on);
        if (verdict_of(cache, with_reserve(on)).status != Verdict::kFits) continue;
        out.answers.push_back(
            answer_of(cache, on, on, "card", {{"--gpu", *on.card.name}, {"--gpu-count", std::to_string(count)}}));
        Request plain = own;
        plain.card = on.card;
        Answer& answer = out.answers.back();
        const OptionValues layout = layout_options(plain, on);
        answer.changes.insert(answer.changes.end(), layout.begin(), layout.end());
      } catch (const Error& error) {
        take_as_misfit(error);
        continue;
      }
    }
    if (!out.answers.empty()) break;
  }
  if (out.answers.empty()) {
    out.sentences.push_back({"no {gpus} cards of the catalogue that {engine} runs on hold the request",
                             {{"gpus", counts.back()}, {"engine", engine.name}}});
    return;
  }
  const OptionValues& least_of_all = out.answers.front().changes;
  out.sentences.push_back({"the smallest that holds it: {gpus} x {card}",
                           {{"gpus", least_of_all[1].second}, {"card", least_of_all[0].second}}});
}

}  // namespace

std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess) {
  return longest_from(cache, request, guess);
}

std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  return longest_from(cache, request, 4096);
}

std::uint64_t most_that_fit(PlanCache& cache, const Request& request) {
  return most_from(cache, request);
}

std::uint64_t most_that_fit(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  return most_from(cache, request);
}

std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked) {
  const Request own = asked.as_asked();
  const Request request = with_reserve(own);
  std::vector<Remedy> out;
  const auto add_if_fits = [&](Request changed, const OptionValues& options) {
    if (!probe(cache, changed).fits) return false;
    changed.limits.reserve = own.limits.reserve;
    try {
      const Plan plan = make_plan(cache, changed);
      const Bytes total = plan.fullest().total - plan.verdict.spared;
      out.push_back({options, changed.card.count, total, plan.verdict.headroom, plan.host_total()});
      return true;
    } catch (const Error& error) {
      take_as_misfit(error);  // a context below the lengths that were stated
      return false;
    }
  };
  const auto add_type = [&](bool weights) {
    for (const Change& change : type_changes(request, asked))
      if ((change.options.front().first == "--weights") == weights && add_if_fits(change.request, change.options))
        return;
  };
  const std::uint64_t wanted = asked.load.max_model_len.count();
  const auto add_shorter = [&](std::uint64_t least) {
    if (request.limits.min_context) return;
    const std::uint64_t longest = longest_from(cache, request, asked.capacity ? asked.capacity->max_model_len : 4096);
    if (longest >= least && longest < wanted)
      add_if_fits(with_context(request, longest), {context_option(request, longest)});
  };
  // llama.cpp deals layers to card and host: the fewest there that let the rest fit, of a mixture its experts first.
  const Engine& engine = engine_of(request);
  const auto add_offload = [&] {
    if (!engine.loading.embedding_on_host || request.llama_cpp.gpu_layers || request.llama_cpp.cpu_moe_layers) return;
    const auto split = engine.loading.places_parts ? unevenly_split(cache, request) : std::nullopt;
    const std::uint64_t split_layers = split ? split->llama_cpp.gpu_layers.value_or(0) : 0;
    if (split && split_layers == 0)
      add_if_fits(*split, {{"--tensor-split", shares_text(split->llama_cpp.tensor_split)}});
    const auto fewest = [&](std::uint64_t most, const auto& with) -> std::optional<std::uint64_t> {
      if (most == 0 || !probe(cache, with(most)).fits) return std::nullopt;
      std::uint64_t low = 0;
      std::uint64_t high = most;
      while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (probe(cache, with(middle)).fits ? high : low) = middle;
      }
      return high;
    };
    const std::uint64_t layers = cache.model().layers.size();
    const std::uint64_t units = layers + cache.model().num_nextn_layers + 1;  // the output is one of them
    const auto with_experts = [&](std::uint64_t on_host) {
      Request changed = request;
      changed.llama_cpp.cpu_moe_layers = on_host;
      return changed;
    };
    const auto with_layers = [&](std::uint64_t on_host) {
      Request changed = request;
      changed.llama_cpp.gpu_layers = units - on_host;
      return changed;
    };
    if (cache.model().experts.count > 0 && engine.loading.places_parts)
      if (const auto count = fewest(layers, with_experts))
        add_if_fits(with_experts(*count), {{"--n-cpu-moe", std::to_string(*count)}});
    const auto count = fewest(units, with_layers);
    // Cards that take what each of them holds have more than even shares of it.
    if (split_layers > (count ? units - *count : 0) &&
        add_if_fits(*split, {{"-ngl", std::to_string(split_layers)},
                             {"--tensor-split", shares_text(split->llama_cpp.tensor_split)}}))
      return;
    if (count) add_if_fits(with_layers(*count), {{"-ngl", std::to_string(units - *count)}});
  };
  const std::uint64_t here = asked.request.parallel.gpus();
  // The same cards in another layout give nothing up.
  if (here > 1 && own.parallel.given)
    if (const auto dealt = on_more_cards(cache, own, here))
      if (!dealt->options.empty()) add_if_fits(with_reserve(dealt->request), dealt->options);
  // Tokens shared out otherwise between layers of a window and the others lose nothing: as near to the usual share as
  // fits.
  if (engine_of(request).has_window_ratio && !request.extras.swa_ratio) {
    for (int percent = 95; percent >= 5; percent -= 5) {
      Request shared = request;
      shared.extras.swa_ratio = percent / 100.0;
      const std::string value = "0." + std::string(percent < 10 ? "0" : "") + std::to_string(percent);
      if (add_if_fits(shared, {{"--swa-full-tokens-ratio", value}})) break;
    }
  }
  // A larger share of the card loses nothing either, as far as the driver and what grows later leave it.
  if (!engine.share_option.empty() && asked.usable_share && !request.memory_utilization &&
      !request.kv_cache_memory_bytes) {
    constexpr int kMostPercent = 95;
    for (int percent = static_cast<int>(*asked.usable_share * 100) + 1; percent <= kMostPercent; ++percent) {
      Request more = request;
      more.memory_utilization = percent / 100.0;
      if (add_if_fits(more, {{std::string(engine.share_option), "0." + std::to_string(percent)}})) break;
    }
  }
  // A length that nobody named is given up early, one that was asked for last.
  const bool named = request.max_model_len || request.llama_cpp.ctx_size;
  // A file's weights are as they are: llama.cpp itself shortens the context, and then moves layers.
  const bool moves_layers = engine.loading.embedding_on_host && cache.model().is_gguf;
  if (!moves_layers) add_type(false);
  if (!named) add_shorter(kDefaultContext);
  if (moves_layers) {
    add_offload();
    add_type(false);
  }
  add_type(true);
  if (!moves_layers) add_offload();
  for (const std::uint64_t count : usual_gpu_counts(own)) {
    if (count <= std::max(here, own.card.count)) continue;
    if (const auto more = on_more_cards(cache, own, count);
        more && add_if_fits(with_reserve(more->request), more->options))
      break;
  }
  if (!request.limits.min_seqs && request.num_seqs > 1)
    if (const std::uint64_t most = most_from(cache, request); most > 0 && most < request.num_seqs)
      add_if_fits(with_seqs(request, most), {seqs_option(most)});
  if (named || out.empty()) add_shorter(1);
  return out;
}

Answers fit_model(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  Answers out;
  out.asked = make_plan(cache, request);
  if (!request.card.name && !request.card.memory && !request.kv_cache_memory_bytes) {
    add_cards(cache, request, out);
    return out;
  }
  const bool weighed = std::all_of(out.asked.memory.begin(), out.asked.memory.end(),
                                   [](const GpuMemory& gpu) { return gpu.weights.has_value(); });
  if (!weighed && !request.kv_cache_memory_bytes) {
    out.sentences.push_back(
        "what the weights take is not known, and with it what fits: name what the cache has with "
        "--kv-cache-memory-bytes");
    return out;
  }
  if (request.users) {
    if (const auto users = fewest_for_users(cache, request)) {
      out.users = users->answer;
      out.answers.push_back(
          answer_of(cache, request, users->copy, "users",
                    users->answer.copies > 1 ? OptionValues{seqs_option(users->answer.of_a_copy)} : OptionValues{}));
      out.answers.back().note = sentence_of(*users);
      out.sentences.push_back(sentence_of(*users));
    } else {
      out.sentences.push_back("no layout of up to two nodes holds one user");
    }
  }
  const std::vector<Held> layouts = held_by_layouts(cache, out.asked, request);
  add_longest_and_most(cache, request, layouts, out);
  add_layouts(cache, request, layouts, out);
  return out;
}

}  // namespace kvplan
