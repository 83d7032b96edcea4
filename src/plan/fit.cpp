// What fits. Every answer is a plan that make_plan gave, so `fit` and the plan cannot disagree.
#include <algorithm>
#include <functional>

#include "kvplan/error.h"
#include "plan/answers.h"
#include "plan/gpus.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostGpus = 64;

bool fits(const ModelSpec& model, const Request& request) {
  try {
    return make_plan(model, request).verdict.status == Verdict::kFits;
  } catch (const Error&) {
    return false;
  }
}

// The largest n in [0, kMost] that holds, where all smaller ones hold. A good guess costs two questions.
std::uint64_t largest(std::uint64_t guess, const std::function<bool(std::uint64_t)>& holds) {
  std::uint64_t low = 0;  // holds (0 trivially)
  std::uint64_t high = kMost + 1;
  std::uint64_t step = 1;
  for (std::uint64_t at = std::clamp<std::uint64_t>(guess, 1, kMost);;) {
    if (holds(at)) {
      low = at;
      if (at == kMost || high != kMost + 1) break;
      at = at > kMost - step ? kMost : at + step;
      step *= 2;
    } else {
      high = at;
      if (low > 0 || at == 1) break;
      step *= 2;
      at = at > step ? at - step : 1;
    }
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

Request with_context(Request request, std::uint64_t tokens) {
  request.max_model_len = Tokens(tokens);
  request.ctx_size.reset();
  return request;
}

Request with_seqs(Request request, std::uint64_t seqs) {
  request.num_seqs = seqs;
  return request;
}

std::uint64_t longest_from(const ModelSpec& model, const Request& request, std::uint64_t guess) {
  return largest(guess, [&](std::uint64_t n) { return fits(model, with_context(request, n)); });
}

std::string short_count(std::uint64_t n) {
  if (n >= kMost) return "any number of";
  if (n >= 10240) return std::to_string(n / 1024) + "k";
  return std::to_string(n);
}

// One change of the request, to be weighed by what it buys.
struct Change {
  std::string option, value;
  Request request;
};

std::vector<Change> single_changes(const Request& request, const Plan& asked) {
  std::vector<Change> out;
  const Engine& engine = engine_of(request);
  const auto each_word = [](std::string_view list, const std::function<void(std::string)>& use) {
    for (std::string_view rest = list; !rest.empty();) {
      const auto space = rest.find(' ');
      use(std::string(rest.substr(0, space)));
      rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    }
  };
  each_word(engine.kv_choices, [&](const std::string& word) {
    const auto type = find_dtype(word);
    if (!type || *type == asked.types.key) return;
    Request changed = request;
    changed.cache_type_k = changed.cache_type_v = *type;
    out.push_back({"--kv-cache-dtype", word, changed});
  });
  each_word(engine.weight_choices, [&](const std::string& word) {
    if (word == asked.weights_dtype) return;
    Request changed = request;
    changed.weights = word;
    out.push_back({"--weights", word, changed});
  });
  Request doubled = request;
  doubled.tensor_parallel *= 2;
  doubled.gpu_count = doubled.tensor_parallel * doubled.pipeline_parallel;
  out.push_back({"-tp", std::to_string(doubled.tensor_parallel), doubled});
  return out;
}

Answer answer_of(const ModelSpec& model, const Request& request, std::string name,
                 std::vector<std::pair<std::string, std::string>> changes) {
  return {std::move(name), std::move(changes), "", make_plan(model, request)};
}

void add_longest_and_most(const ModelSpec& model, const Request& request, Answers& out) {
  const std::uint64_t guess = out.asked.capacity ? out.asked.capacity->max_model_len : 4096;
  const std::uint64_t longest = longest_from(model, request, guess);
  if (longest > 0)
    out.answers.push_back(answer_of(model, with_context(request, longest), "longest_context",
                                    {{"--max-model-len", std::to_string(longest)}}));
  const std::uint64_t most = most_that_fit(model, request);
  if (most > 0)
    out.answers.push_back(
        answer_of(model, with_seqs(request, most), "most_sequences", {{"--num-seqs", std::to_string(most)}}));
  if (longest == 0) {
    out.sentences.push_back("not one token fits: the weights and what the engine needs beside them take the card");
  } else {
    out.sentences.push_back("the longest context is " + short_count(longest) + " tokens at " +
                            std::to_string(request.num_seqs) + " sequence" + (request.num_seqs == 1 ? "" : "s"));
  }

  // The frontier: powers of two of sequences, each with its longest context.
  for (std::uint64_t seqs = 1; seqs <= 256; seqs *= 4) {
    const Request here = with_seqs(request, seqs);
    const std::uint64_t tokens = longest_from(model, here, std::max<std::uint64_t>(1, longest / seqs));
    if (tokens == 0) break;
    out.answers.push_back(
        answer_of(model, with_context(here, tokens), "frontier",
                  {{"--num-seqs", std::to_string(seqs)}, {"--max-model-len", std::to_string(tokens)}}));
  }

  if (longest > 0 && model.max_model_len > Tokens(0) && longest > model.max_model_len.count())
    out.sentences.push_back("the model's own maximum is " + short_count(model.max_model_len.count()) + " tokens");

  // The one change that buys most context; twice the cards is said apart, for it is no change of a setting.
  std::uint64_t best_gain = 0;
  std::string best;
  for (const Change& change : single_changes(request, out.asked)) {
    const std::uint64_t tokens = longest_from(model, change.request, std::max<std::uint64_t>(longest, 1024) * 2);
    if (tokens <= longest) continue;
    const std::uint64_t gain = tokens - longest;
    out.answers.push_back(answer_of(model, with_context(change.request, tokens), "change",
                                    {{change.option, change.value}, {"--max-model-len", std::to_string(tokens)}}));
    if (change.option == "-tp") {
      out.sentences.push_back("twice the GPUs (" + std::to_string(change.request.gpu_count) + "): +" +
                              short_count(gain) + " tokens");
    } else if (gain > best_gain) {
      best_gain = gain;
      best = change.option + " " + change.value + ": +" + short_count(gain) + " tokens";
    }
  }
  if (best_gain > 0) out.sentences.push_back("what buys most: " + best);
}

void add_layouts(const ModelSpec& model, const Request& request, Answers& out) {
  // The fewest GPUs that hold the request, and every layout of that many (or of those at hand).
  for (std::uint64_t count = 1; count <= kMostGpus; ++count) {
    const bool at_hand = count == request.gpu_count;
    std::vector<Answer> found;
    for (std::uint64_t tensor = 1; tensor <= count; ++tensor) {
      if (count % tensor != 0) continue;
      Request layout = request;
      layout.gpu_count = count;
      layout.layout_given = true;
      layout.tensor_parallel = tensor;
      layout.pipeline_parallel = count / tensor;
      try {
        Answer answer = answer_of(model, layout, "layout",
                                  {{"-tp", std::to_string(tensor)}, {"-pp", std::to_string(count / tensor)}});
        if (answer.plan.verdict.status == Verdict::kFits) found.push_back(std::move(answer));
      } catch (const Error&) {
        continue;  // the engine refuses this layout
      }
    }
    if (found.empty()) continue;
    if (count != request.gpu_count || !at_hand)
      out.sentences.push_back(std::to_string(count) + " GPU" + (count == 1 ? "" : "s") + " hold the request");
    for (Answer& answer : found) out.answers.push_back(std::move(answer));
    return;
  }
  out.sentences.push_back("no layout of up to " + std::to_string(kMostGpus) + " GPUs holds the request");
}

void add_cards(const ModelSpec& model, const Request& request, Answers& out) {
  std::vector<const Gpu*> cards;
  for (const Gpu& gpu : gpus()) cards.push_back(&gpu);
  std::stable_sort(cards.begin(), cards.end(), [](const Gpu* a, const Gpu* b) { return a->budget() < b->budget(); });
  constexpr std::size_t kShown = 5;
  for (const std::uint64_t count : {1U, 2U, 4U, 8U, 16U}) {
    for (const Gpu* gpu : cards) {
      if (count > 1 && gpu->unified) continue;  // a whole machine each
      Request on = request;
      on.gpu = std::string(gpu->name);
      on.gpu_count = count;
      on.layout_given = count == 1;
      try {
        Answer answer = answer_of(model, on, "card", {{"--gpu", *on.gpu}, {"--gpu-count", std::to_string(count)}});
        if (answer.plan.verdict.status == Verdict::kFits) out.answers.push_back(std::move(answer));
      } catch (const Error&) {
        continue;
      }
      if (out.answers.size() >= kShown) break;
    }
    if (!out.answers.empty()) break;
  }
  if (out.answers.empty()) {
    out.sentences.push_back("no 16 cards of the catalogue hold the request");
    return;
  }
  out.sentences.push_back("the smallest that holds it: " + out.answers.front().changes[1].second + " x " +
                          out.answers.front().changes[0].second);
}

}  // namespace

std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request) {
  return longest_from(model, request, 4096);
}

std::uint64_t most_that_fit(const ModelSpec& model, const Request& request) {
  const Plan plan = make_plan(model, request);
  const std::uint64_t guess = plan.capacity ? plan.capacity->max_num_seqs : 1;
  return largest(guess, [&](std::uint64_t n) { return fits(model, with_seqs(request, n)); });
}

Answers fit_model(const ModelSpec& model, const Request& request) {
  Answers out{make_plan(model, request), {}, {}, {}};
  if (!request.gpu && !request.gpu_memory && !request.kv_cache_memory_bytes) {
    add_cards(model, request, out);
    return out;
  }
  Request laid_out = out.asked.request;
  laid_out.layout_given = true;
  add_longest_and_most(model, laid_out, out);
  add_layouts(model, out.asked.request, out);
  return out;
}

}  // namespace kvplan
