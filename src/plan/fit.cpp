// What fits. Every answer is a plan from make_plan, so that `fit` and `plan` cannot disagree.
#include <algorithm>
#include <cmath>

#include "engines/launch_words.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "plan/plan_cache.h"
#include "plan/questions.h"
#include "plan/search.h"

namespace kvplan {

static std::string short_count(std::uint64_t n) {
  if (n >= kAnyCount) return "any number of";
  if (n >= 10240) return std::to_string(n / 1024) + "k";
  return std::to_string(n);
}

// The plan of `changed`, with the options that turn the user's own command into it. Its verdict keeps no reserve, so
// the command gets the same verdict. Only the search keeps one.
static Answer answer_of(PlanCache& cache, const Request& own, Request changed, std::string name, OptionValues changes) {
  changed.limits.reserve = own.limits.reserve;
  const OptionValues layout = layout_options(own, changed);
  changes.insert(changes.end(), layout.begin(), layout.end());
  const OptionValues cap = lower_seqs_cap(cache, changed);
  changes.insert(changes.end(), cap.begin(), cap.end());
  Answer out;
  out.name = std::move(name);
  out.changes = std::move(changes);
  out.plan = make_plan(cache, changed);
  return out;
}

// `own` has the engine's placement. Changes are compared with `unplaced`, which has everything on the GPUs.
static void add_longest_and_most(PlanCache& cache, const Request& own, const Request& unplaced,
                                 const std::vector<LayoutFigures>& layouts, Answers& out) {
  // If any number fits, the request's own number is planned.
  const auto shown = [](std::uint64_t n, std::uint64_t asked) { return n >= kAnyCount ? asked : n; };
  const std::uint64_t asked_tokens = out.asked.load.max_model_len.count();
  // The longest context and the most sequences keep no reserve.
  Request free = own;
  OptionValues freed;
  if (free.limits.reserve) {
    free.limits.reserve = Reserve{};
    freed.emplace_back("--reserve", "0%");
  }
  const auto add = [&](const Request& changed, const char* name, OptionValues options) {
    options.insert(options.end(), freed.begin(), freed.end());
    out.rows.push_back(answer_of(cache, free, changed, name, std::move(options)));
  };
  const Parallel& usual = out.asked.request.parallel;
  const LayoutFigures* widest = most_of(layouts, &LayoutFigures::longest, usual);
  if (widest == nullptr || widest->longest == 0) {
    const bool has_room = out.asked.capacity && out.asked.capacity->kv_cache_memory > Bytes(0);
    if (!has_room && out.asked.verdict.status != Verdict::kPartlyOnCpu)
      out.sentences.push_back("no KV cache fits: weights and overhead are larger than the GPU's memory");
    else if (has_room)
      out.sentences.push_back("no context length fits with this many sequences");
    return;
  }
  const Request& request = widest->request;
  const std::uint64_t longest = widest->longest;
  const std::uint64_t length = shown(longest, asked_tokens);
  add(with_context(request, length), "longest_context", {context_option(request, length)});
  if (const LayoutFigures* fullest = most_of(layouts, &LayoutFigures::most, usual); fullest->most > 0) {
    const std::uint64_t seqs = shown(fullest->most, own.num_seqs);
    add(with_seqs(fullest->request, seqs), "most_sequences", {seqs_option(seqs)});
  }
  out.sentences.push_back({"max context: {tokens} tokens at {num_seqs:sequence}",
                           {{"tokens", short_count(longest)}, {"num_seqs", request.num_seqs}}});
  if (searches_layouts(own))
    out.sentences.back() +=
        Template(", {layout} (", {{"layout", layout_name(request.parallel)}}) + reason_of_layout(cache, request) + ")";

  // 1, 4, 16, ... sequences, each with its longest context.
  for (std::uint64_t seqs = 1; own.seq_lens.empty() && seqs <= 256; seqs *= 4) {
    const Request here = with_seqs(request, seqs);
    const std::optional<LayoutFigures> held = held_by(cache, here);
    if (!held || held->longest == 0) break;
    const std::uint64_t tokens = shown(held->longest, asked_tokens);
    add(with_context(here, tokens), "context_by_sequences", {seqs_option(seqs), context_option(here, tokens)});
    out.contexts_by_sequences.emplace_back(seqs, held->longest);
  }

  // The single change that gains the most context in the same layout. Doubling the GPUs is not a setting, so it is
  // reported separately.
  std::uint64_t best_gain = 0;
  Request bare = request;
  bare.llama_cpp = unplaced.llama_cpp;
  std::vector<Change> changes = type_changes(bare, out.asked);
  if (auto doubled = on_more_cards(cache, unplaced, 2 * std::max(own.card.count, own.parallel.gpus())))
    changes.push_back(std::move(*doubled));
  for (const Change& change : changes) {
    const bool more_cards = change.request.card.count != request.card.count;
    const std::optional<LayoutFigures> held = held_by(cache, change.request);
    if (!held || held->longest <= longest) continue;
    const std::uint64_t gain = held->longest - longest;
    const std::uint64_t tokens = shown(held->longest, asked_tokens);
    OptionValues options = more_cards ? OptionValues{} : change.options;
    options.push_back(context_option(bare, tokens));
    add(with_context(change.request, tokens), "change", std::move(options));
    if (more_cards) {
      out.sentences.push_back(
          {"{gpus} GPUs: +{gain} tokens", {{"gpus", change.request.card.count}, {"gain", short_count(gain)}}});
    } else if (gain > best_gain) {
      best_gain = gain;
      out.buys_most = {
          "{options}: +{gain} tokens",
          {{"options", options_text(change.options, engine_of(own).spelling)}, {"gain", short_count(gain)}}};
    }
  }
  if (best_gain > 0) out.sentences.push_back(Template("best single change: ") + out.buys_most);
}

// Adds the layouts of the GPUs at hand and of the fewest GPUs that fit the request, best first.
static void add_layouts(PlanCache& cache, const Request& own, const std::vector<LayoutFigures>& at_hand, Answers& out) {
  if (own.card.is_unified() && own.parallel.gpus() == 1 && own.card.count == 1) return;
  const std::uint64_t at_least = fewest_cards(out.asked);
  Request free = own;
  free.parallel.given = false;
  free.parallel.tensor = free.parallel.pipeline = 1;
  free.parallel.layers.clear();
  const auto add = [&](const Request& layout) -> Answer& {
    out.rows.push_back(answer_of(cache, own, layout, "layout", {}));
    Answer& answer = out.rows.back();
    answer.note = reason_of_layout(cache, layout);
    return answer;
  };
  const std::uint64_t here = own.card.count;
  bool fits_here = false;
  if (searches_layouts(own)) {
    for (const LayoutFigures& held : at_hand) {
      Request layout = held.request;
      layout.limits.reserve = own.limits.reserve;
      if (!fits(cache, with_reserve(layout))) continue;
      fits_here = true;
      Answer& answer = add(layout);
      answer.longest = held.longest;
      answer.most_seqs = held.most;
    }
  }
  for (const std::uint64_t count : usual_gpu_counts(free)) {
    if (count < at_least) continue;
    if (searches_layouts(own) && count == here && fits_here) return;  // listed above
    bool any = false;
    for (const Request& layout : layouts_of(cache, free, count)) {
      if (!fits(cache, with_reserve(layout))) continue;
      any = true;
      add(layout);
      if (fits_here) break;  // with fewer GPUs than at hand the best layout is enough
    }
    if (!any) continue;
    const Request& first = out.rows.back().plan.request;
    const std::uint64_t asked_gpus = out.asked.request.parallel.gpus();
    if (out.asked.verdict.status == Verdict::kFits && count > asked_gpus && !own.limits.reserve && out.asked.card)
      out.sentences.push_back({"to leave {kept:GiB} of each GPU free: {gpus:GPU}",
                               {{"kept", with_reserve(own).limits.reserve->of(*out.asked.card)}, {"gpus", count}}});
    else if (count != asked_gpus || fits_here)
      out.sentences.push_back({out.asked.verdict.status == Verdict::kPartlyOnCpu ? "all on the GPUs: {gpus:GPU}"
                               : fits_here && count > 1 ? "fewest GPUs for this request: {gpus} ({layout})"
                                                        : "fewest GPUs for this request: {gpus}",
                               {{"gpus", count}, {"layout", layout_name(first.parallel)}}});
    return;
  }
  const std::uint64_t most = usual_gpu_counts(free).back();
  if (!fits_here) out.sentences.push_back({"no layout of up to {gpus} GPUs fits the request", {{"gpus", most}}});
}

// Adds the longest context if more of the model is in main memory: the model's maximum, or what main memory allows.
void add_longest_on_cpu(PlanCache& cache, const Request& own, Answers& out) {
  if (out.asked.verdict.status != Verdict::kPartlyOnCpu || own.max_model_len || own.llama_cpp.ctx_size) return;
  const Answer* on_gpus = nullptr;
  for (const Answer& answer : out.rows)
    if (answer.name == "longest_context") on_gpus = &answer;
  const std::uint64_t shorter = on_gpus ? on_gpus->plan.load.max_model_len.count() : 0;
  for (std::uint64_t tokens = cache.model().max_model_len.count(); tokens > shorter; tokens /= 2) {
    const Request longer = with_context(own, tokens);
    Answer answer = answer_of(cache, own, longer, "longest_on_cpu", {context_option(own, tokens)});
    if (answer.plan.verdict.status != Verdict::kPartlyOnCpu) continue;
    out.rows.insert(out.rows.begin() + (on_gpus ? 1 : 0), std::move(answer));
    return;
  }
}

// Adds the smallest fraction of the GPU that serves the request, so that other programs can use the rest.
static void add_least_share(PlanCache& cache, const Request& own, Answers& out) {
  const Engine& engine = engine_of(own);
  if (engine.share_option.empty() || !out.asked.card || !out.asked.usable_share || own.memory_utilization ||
      own.users || out.asked.verdict.status != Verdict::kFits)
    return;
  const std::optional<Request> least = with_least_share(cache, out.asked.as_asked(), *out.asked.card);
  if (!least || *least->memory_utilization >= *out.asked.usable_share) return;
  const auto percent = static_cast<int>(std::lround(*least->memory_utilization * 100));
  const std::string value = (percent < 10 ? "0.0" : "0.") + std::to_string(percent);
  out.rows.push_back(answer_of(cache, own, *least, "smallest_share", {{std::string(engine.share_option), value}}));
}

static Answer answer_of_users(PlanCache& cache, const Request& own, const UsersPlan& found, std::string name,
                              OptionValues changes = {}) {
  const auto& [users, copy] = found;
  if (users.copies > 1) changes.push_back(seqs_option(users.of_a_copy));
  if (copy.max_model_len != own.max_model_len) changes.push_back(context_option(own, copy.max_model_len->count()));
  Answer out = answer_of(cache, own, copy, std::move(name), std::move(changes));
  out.copies = users.copies;
  out.most_seqs = users.most;
  out.note = users.copies > 1 ? "copies do not wait for each other, and each fits on these GPUs"
                              : reason_of_layout(cache, copy);
  return out;
}

// The best layout on `count` GPUs of this type; nothing if they cannot serve the request.
static std::optional<Answer> answer_of_card(PlanCache& cache, const Request& own, const Gpu& gpu, std::uint64_t count) {
  Request on = own;
  on.card.gpu = &gpu;
  on.card.count = count;
  const auto options = [&](std::uint64_t gpus) {
    return OptionValues{{"--gpu", std::string(gpu.name)}, {"--gpu-count", std::to_string(gpus)}};
  };
  try {
    if (own.users) {
      on.card.count_given = true;
      const std::vector<UsersPlan> found = layouts_for_users(cache, on);
      if (found.empty() || found.front().answer.most < own.num_seqs) return std::nullopt;
      on = own;
      on.card = found.front().copy.card;
      return answer_of_users(cache, on, found.front(), "card", options(found.front().answer.gpus));
    }
    Request laid = on;
    laid.parallel.given = count == 1 || own.parallel.gpus() > 1;
    if (searches_layouts(laid)) laid = chosen_layout(cache, laid);
    if (!fits(cache, with_reserve(laid))) return std::nullopt;
    return answer_of(cache, on, laid, "card", options(count));
  } catch (const Error& error) {
    take_as_misfit(error);
    return std::nullopt;
  }
}

static void add_cards(PlanCache& cache, const Request& own, Answers& out) {
  const Engine& engine = engine_of(own);
  std::vector<const Gpu*> cards;
  for (const Gpu& gpu : own.card.known().cards())
    if (runs_on(engine, gpu)) cards.push_back(&gpu);
  std::stable_sort(cards.begin(), cards.end(), [](const Gpu* a, const Gpu* b) { return a->budget() < b->budget(); });
  constexpr std::size_t kShown = 5;
  const Bytes least = least_memory(out.asked);
  std::vector<std::uint64_t> counts{1, 2, 4, 8, 16};
  const std::uint64_t named = own.parallel.gpus();
  if (!own.users && (own.parallel.given || named > 1)) counts = {named};
  for (const std::uint64_t count : counts) {
    // If a GPU is too small for an equal part of the request, no plan is needed.
    const Bytes share(least.count() / count);
    auto first =
        std::partition_point(cards.begin(), cards.end(), [&](const Gpu* gpu) { return gpu->budget() < share; });
    for (; first != cards.end() && out.rows.size() < kShown; ++first) {
      const Gpu* gpu = *first;
      if (count > 1 && gpu->unified) continue;  // each GPU is a whole machine
      if (auto answer = answer_of_card(cache, own, *gpu, count)) out.rows.push_back(*std::move(answer));
    }
    if (!out.rows.empty()) break;
  }
  if (out.rows.empty()) {
    out.sentences.push_back({"no GPU in the catalogue that {engine} runs on fits the request, up to {gpus} of each",
                             {{"gpus", counts.back()}, {"engine", engine.name}}});
    return;
  }
  const OptionValues& least_of_all = out.rows.front().changes;
  out.sentences.push_back(
      {"smallest that fits: {gpus} x {card}", {{"gpus", least_of_all[1].second}, {"card", least_of_all[0].second}}});
}

// The fewest GPUs that serve all users are the answer and get the verdict. Other layouts of that many GPUs follow.
static void add_users(PlanCache& cache, const Request& own, Answers& out) {
  constexpr std::size_t kMost = 8;
  const std::vector<UsersPlan> plans = layouts_for_users(cache, own);
  for (const UsersPlan& each : plans) {
    if (out.rows.size() == kMost) break;
    out.rows.push_back(answer_of_users(cache, own, each, out.rows.empty() ? "users" : "layout"));
  }
  if (!plans.empty()) {
    out.users = plans.front().answer;
    out.asked = out.rows.front().plan;
  }
  Request any = own;
  any.card.count_given = false;
  if (plans.empty() && !own.card.count_given)
    out.sentences.push_back(
        {"no layout of up to {gpus} GPUs serves one user", {{"gpus", usual_gpu_counts(own).back()}}});
  else if (own.card.count_given)
    if (const auto fewest = layouts_for_users(cache, any);
        !fewest.empty() && fewest.front().answer.gpus != own.card.count)
      out.sentences.push_back(sentence_of(fewest.front()));
}

Answers fit_model(const ModelSpec& model, const Request& asked) {
  PlanCache cache(model);
  const Request request = asked.longest ? with_longest_context(cache, asked) : asked;
  Answers out;
  out.asked = make_plan(cache, request);
  if (!cache.laid_out(out.asked.request).doubts.no_verdict.empty()) {
    out.sentences.push_back("kvplan cannot say what fits: see the warning");
    return out;
  }
  if (!request.card.gpu && !request.card.memory && !request.kv_cache_memory_bytes) {
    add_cards(cache, request, out);
    return out;
  }
  const bool weighed = std::all_of(out.asked.memory.begin(), out.asked.memory.end(),
                                   [](const GpuMemory& gpu) { return gpu.weights.has_value(); });
  if (!weighed && !request.kv_cache_memory_bytes) {
    out.sentences.push_back(
        "kvplan cannot say what fits, because the size of the weights is not known: give the cache's budget with "
        "--kv-cache-memory-bytes");
    return out;
  }
  if (request.users) {
    add_users(cache, request, out);
    return out;
  }
  // Engines for one machine: what makes the model fit this machine, smallest change first. More GPUs come last.
  if (engine_of(request).share_option.empty() && !engine_of(request).is_logical &&
      out.asked.verdict.status != Verdict::kFits) {
    out.asked.verdict.suggestions = remedies(cache, out.asked);
    out.asked.verdict.has_sought = true;
  }
  // The longest context and the most sequences use the engine's own placement. The number of GPUs does not.
  Request here = request;
  if (placed_otherwise(request, out.asked.request)) here.llama_cpp = out.asked.request.llama_cpp;
  add_longest_and_most(cache, here, request, held_by_layouts(cache, here), out);
  add_longest_on_cpu(cache, request, out);
  add_least_share(cache, request, out);
  if (engine_of(request).places == nullptr || out.asked.verdict.status != Verdict::kFits) {
    Request whole = request;
    // With more GPUs the engine would choose another context.
    if (engine_of(request).places != nullptr) whole = with_context(whole, out.asked.load.max_model_len.count());
    add_layouts(cache, whole, held_by_layouts(cache, whole), out);
  }
  for (Answer& answer : out.rows) {
    const OptionValues placement = placement_options(request, answer.plan.request);
    answer.changes.insert(answer.changes.end(), placement.begin(), placement.end());
  }
  return out;
}

}  // namespace kvplan
