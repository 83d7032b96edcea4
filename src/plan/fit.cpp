// What fits. Every answer is a plan that make_plan gave, so `fit` and the plan cannot disagree.
#include <algorithm>
#include <cmath>
#include <functional>

#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "plan/answers.h"
#include "plan/changes.h"
#include "plan/plan_cache.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kMost = kAnyCount;
constexpr std::uint64_t kMostGpus = 64;

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

std::uint64_t longest_from(PlanCache& cache, const Request& request, std::uint64_t guess) {
  return largest(guess, [&](std::uint64_t n) { return probe(cache, with_context(request, n)); });
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

// `request` has its layout named. `searched`: the user's own command does not name it, and where it would find another
// one, the layout is among the changes.
Answer answer_of(PlanCache& cache, const Request& request, std::string name, OptionValues changes,
                 bool searched = false) {
  if (searched) {
    Request own = request;
    own.layout_given = false;
    Plan plan = make_plan(cache, own);
    if (plan.request.tensor_parallel == request.tensor_parallel &&
        plan.request.pipeline_parallel == request.pipeline_parallel)
      return {std::move(name), std::move(changes), "", std::move(plan)};
    changes.emplace_back("-tp", std::to_string(request.tensor_parallel));
    changes.emplace_back("-pp", std::to_string(request.pipeline_parallel));
  }
  Plan plan = make_plan(cache, request);  // throws before anything of the answer is there
  return {std::move(name), std::move(changes), "", std::move(plan)};
}

// All answers rest on the layout of the plan that was asked for.
void add_longest_and_most(PlanCache& cache, const Request& plain, Answers& out) {
  const bool searched = searches_layouts(plain);
  Request request = out.asked.request;
  request.layout_given = true;
  const std::uint64_t guess = out.asked.capacity ? out.asked.capacity->max_model_len : 4096;
  const std::uint64_t longest = longest_from(cache, request, guess);
  const std::uint64_t usual = std::max(out.asked.load.max_model_len, cache.model().max_model_len).count();
  const auto shown = [usual](std::uint64_t tokens) { return tokens >= kMost ? usual : tokens; };
  const auto add = [&](const Request& changed, const char* name, OptionValues options) {
    out.answers.push_back(answer_of(cache, changed, name, std::move(options), searched));
  };
  if (longest > 0) add(with_context(request, shown(longest)), "longest_context", {context_option(request, longest)});
  const std::uint64_t most = most_from(cache, request);
  if (most > 0) add(with_seqs(request, most >= kMost ? request.num_seqs : most), "most_sequences", {seqs_option(most)});
  if (longest == 0) {
    out.sentences.push_back("no room for any KV cache: weights and overhead alone exceed the GPU");
  } else {
    out.sentences.push_back("max context: " + short_count(longest) + " tokens at " + std::to_string(request.num_seqs) +
                            " sequence" + (request.num_seqs == 1 ? "" : "s"));
  }

  // The frontier: powers of two of sequences, each with its longest context.
  for (std::uint64_t seqs = 1; seqs <= 256; seqs *= 4) {
    const Request here = with_seqs(request, seqs);
    const std::uint64_t tokens = longest_from(cache, here, std::max<std::uint64_t>(1, longest / seqs));
    if (tokens == 0) break;
    add(with_context(here, shown(tokens)), "frontier", {seqs_option(seqs), context_option(request, tokens)});
    out.frontier.emplace_back(seqs, tokens);
  }

  if (longest > 0 && cache.model().max_model_len > Tokens(0) && longest > cache.model().max_model_len.count())
    out.sentences.push_back("the model's own maximum is " + short_count(cache.model().max_model_len.count()) +
                            " tokens");

  // The one change that buys most context; twice the cards is said apart, for it is no change of a setting.
  std::uint64_t best_gain = 0;
  std::vector<Change> changes = type_changes(request, out.asked);
  if (auto doubled = twice_the_cards(cache, plain)) {
    doubled->request = make_plan(cache, doubled->request).request;
    doubled->request.layout_given = true;
    changes.push_back(std::move(*doubled));
  }
  for (const Change& change : changes) {
    const std::uint64_t tokens = longest_from(cache, change.request, std::max<std::uint64_t>(longest, 1024) * 2);
    if (tokens <= longest) continue;
    const std::uint64_t gain = tokens - longest;
    OptionValues options = change.options;
    options.push_back(context_option(request, tokens));
    add(with_context(change.request, shown(tokens)), "change", std::move(options));
    if (change.request.gpu_count != request.gpu_count) {
      out.sentences.push_back(std::to_string(change.request.gpu_count) + " GPUs: +" + short_count(gain) + " tokens");
    } else if (gain > best_gain) {
      best_gain = gain;
      out.buys_most = options_text(change.options) + ": +" + short_count(gain) + " tokens";
    }
  }
  if (best_gain > 0) out.sentences.push_back("biggest gain: " + out.buys_most);
}

// A bound from below: what the request takes with nothing repeated.
Bytes least_memory(const Plan& asked) {
  Bytes weights;
  for (const GpuMemory& gpu : asked.memory) weights += gpu.weights.value_or(Bytes(0));
  const std::uint64_t copies = asked.request.tensor_parallel * layout_copies(asked.request);
  // Ranks may repeat what they cannot split: an equal share of it is certain.
  return copies > 1 ? Bytes(weights.count() / copies)
                    : weights + std::min(asked.kv_cache.logical, asked.kv_cache.reserved_total);
}

std::uint64_t fewest_cards(const Plan& asked) {
  const Request& request = asked.request;
  const Bytes card = card_memory(request).value_or(Bytes(0));
  return card == Bytes(0) ? 1 : std::max<std::uint64_t>(1, ceil_div(least_memory(asked).count(), card.count()));
}

void add_layouts(PlanCache& cache, const Request& request, Answers& out) {
  // The fewest GPUs that hold the request, and every layout of that many (or of those at hand).
  const bool has_experts = engine_of(request).expert_parallel && cache.model().experts.count > 0;
  for (std::uint64_t count = fewest_cards(out.asked); count <= kMostGpus; ++count) {
    std::vector<Answer> found;
    const std::uint64_t copies = layout_copies(request);
    if (count % copies != 0) continue;
    const std::uint64_t of_a_copy = count / copies;
    for (std::uint64_t tensor = 1; tensor <= of_a_copy; ++tensor) {
      if (of_a_copy % tensor != 0) continue;
      Request layout = request;
      layout.gpu_count = count;
      layout.layout_given = true;
      layout.tensor_parallel = tensor;
      layout.pipeline_parallel = of_a_copy / tensor;
      // Experts cut like the rest, or whole ones dealt to the ranks.
      for (const bool dealt : {false, true}) {
        if (dealt && (tensor == 1 || !has_experts || request.expert_parallel)) continue;
        layout.expert_parallel = dealt || request.expert_parallel;
        OptionValues options{{"-tp", std::to_string(tensor)}, {"-pp", std::to_string(of_a_copy / tensor)}};
        if (request.gpu_count_given && count != request.gpu_count)
          options.emplace_back("--gpu-count", std::to_string(count));
        if (dealt) options.emplace_back("--enable-expert-parallel", "");
        try {
          if (layout_fits(cache, layout)) found.push_back(answer_of(cache, layout, "layout", std::move(options)));
        } catch (const Error& error) {
          take_as_misfit(error);
          break;  // the engine refuses this layout
        }
      }
    }
    if (found.empty()) continue;
    if (count != request.gpu_count)
      out.sentences.push_back("minimum: " + std::to_string(count) + " GPU" + (count == 1 ? "" : "s"));
    for (Answer& answer : found) out.answers.push_back(std::move(answer));
    return;
  }
  out.sentences.push_back("no layout of up to " + std::to_string(kMostGpus) + " GPUs holds the request");
}

void add_cards(PlanCache& cache, const Request& request, Answers& out) {
  const Engine& engine = engine_of(request);
  std::vector<const Gpu*> cards;
  for (const Gpu& gpu : gpus())
    if (runs_on(engine, gpu)) cards.push_back(&gpu);
  std::stable_sort(cards.begin(), cards.end(), [](const Gpu* a, const Gpu* b) { return a->budget() < b->budget(); });
  constexpr std::size_t kShown = 5;
  const Bytes least = least_memory(out.asked);
  std::vector<std::uint64_t> counts{1, 2, 4, 8, 16};
  const std::uint64_t named = request.gpus();
  if (request.layout_given || named > 1) counts = {named};
  for (const std::uint64_t count : counts) {
    // Cards too small for an equal share need no plan.
    const Bytes share(least.count() / count);
    auto first =
        std::partition_point(cards.begin(), cards.end(), [&](const Gpu* gpu) { return gpu->budget() < share; });
    for (; first != cards.end() && out.answers.size() < kShown; ++first) {
      const Gpu* gpu = *first;
      if (count > 1 && gpu->unified) continue;  // a whole machine each
      Request on = request;
      on.gpu = std::string(gpu->name);
      on.gpu_count = count;
      on.layout_given = count == 1 || named > 1;
      try {
        if (verdict_of(cache, on).status == Verdict::kFits)
          out.answers.push_back(
              answer_of(cache, on, "card", {{"--gpu", *on.gpu}, {"--gpu-count", std::to_string(count)}}));
      } catch (const Error& error) {
        take_as_misfit(error);
        continue;
      }
    }
    if (!out.answers.empty()) break;
  }
  if (out.answers.empty()) {
    out.sentences.push_back("no " + std::to_string(counts.back()) + " cards of the catalogue that " +
                            std::string(engine.name) + " runs on hold the request");
    return;
  }
  out.sentences.push_back("the smallest that holds it: " + out.answers.front().changes[1].second + " x " +
                          out.answers.front().changes[0].second);
}

}  // namespace

std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess) {
  return longest_from(cache, request, guess);
}

std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  return longest_from(cache, request, 4096);
}

std::uint64_t most_that_fit(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  return most_from(cache, request);
}

std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked) {
  const Request& request = asked.request;
  std::vector<Remedy> out;
  const auto add_if_fits = [&](const Request& changed, const OptionValues& options) {
    if (!probe(cache, changed).fits) return false;
    try {
      const Plan plan = make_plan(cache, changed);
      out.push_back({options, changed.gpu_count, plan.fullest().total, plan.verdict.headroom});
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
    if (request.min_context) return;
    const std::uint64_t longest = longest_from(cache, request, asked.capacity ? asked.capacity->max_model_len : 4096);
    if (longest >= least && longest < wanted)
      add_if_fits(with_context(request, longest), {context_option(request, longest)});
  };
  // llama.cpp deals layers to card and host: the fewest there that let the rest fit, of a mixture its experts first.
  const auto add_offload = [&] {
    if (!engine_of(request).embedding_on_host || request.gpu_layers || request.cpu_moe_layers) return;
    const std::uint64_t layers = cache.model().layers.size();
    const auto fewest = [&](const auto& with) -> std::optional<std::uint64_t> {
      if (layers == 0 || !probe(cache, with(layers)).fits) return std::nullopt;
      std::uint64_t low = 0;
      std::uint64_t high = layers;
      while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (probe(cache, with(middle)).fits ? high : low) = middle;
      }
      return high;
    };
    const auto with_experts = [&](std::uint64_t on_host) {
      Request changed = request;
      changed.cpu_moe_layers = on_host;
      return changed;
    };
    const auto with_layers = [&](std::uint64_t on_host) {
      Request changed = request;
      changed.gpu_layers = layers - on_host;
      return changed;
    };
    if (cache.model().experts.count > 0)
      if (const auto count = fewest(with_experts))
        add_if_fits(with_experts(*count), {{"--n-cpu-moe", std::to_string(*count)}});
    if (const auto count = fewest(with_layers); count && *count < layers)
      add_if_fits(with_layers(*count), {{"-ngl", std::to_string(layers - *count)}});
  };
  add_type(false);
  // A length that nobody named is given up early, one that was asked for last.
  const bool named = request.max_model_len || request.ctx_size;
  if (!named) add_shorter(kDefaultContext);
  if (cache.model().is_gguf) add_offload();  // its weights are as they are
  add_type(true);
  if (!cache.model().is_gguf) add_offload();
  Request more = request;
  for (int doubling = 0; doubling < 4; ++doubling) {
    const auto doubled = twice_the_cards(cache, more);
    if (!doubled) break;
    more = doubled->request;
    if (add_if_fits(more, layout_options(request, more))) break;
  }
  if (!request.min_seqs && request.num_seqs > 1)
    if (const std::uint64_t most = most_from(cache, request); most > 0 && most < request.num_seqs)
      add_if_fits(with_seqs(request, most), {seqs_option(most)});
  if (named || out.empty()) add_shorter(1);
  return out;
}

Answers fit_model(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  Answers out;
  out.asked = make_plan(cache, request);
  if (!request.gpu && !request.gpu_memory && !request.kv_cache_memory_bytes) {
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
  add_longest_and_most(cache, request, out);
  add_layouts(cache, out.asked.request, out);
  return out;
}

}  // namespace kvplan
