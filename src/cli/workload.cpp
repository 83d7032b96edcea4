#include "cli/options.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kvplan/error.h"
#include "plan/plan.h"

namespace kvplan {

constexpr double kMostSequences = 1e9;

static std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.2f" : "%.0f", value);
  return text;
}

// The fastest possible decoding of one sequence: every step reads the weights once, on at most two nodes of tensor
// parallel GPUs.
static std::optional<double> fastest(const ModelSpec& model, Request request) {
  constexpr double kMostRanks = 16;
  request.num_seqs = 1;
  request.users = false;
  const Plan plan = make_plan(model, request);
  if (!plan.roofline) return std::nullopt;
  const double here = static_cast<double>(plan.request.parallel.gpus());
  const auto guessed = static_cast<double>(1 + request.num_speculative_tokens);
  return plan.roofline->tokens_per_s_empty * std::max(1.0, kMostRanks / here) * guessed;
}

static std::uint64_t whole(double sequences) {
  if (!(sequences <= kMostSequences)) fail("the workload has more than 10^9 sequences at once", "lower its rate");
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(sequences)));
}

void check_workload(const Workload& workload, const Request& request) {
  const auto needs = [](bool missing, const char* option, const char* other) {
    if (missing) fail(std::string(option) + " needs " + other, std::string("add ") + other);
  };
  needs(workload.output && !workload.prompt, "--output-len", "--prompt-len N");
  needs(workload.prompt && !workload.output, "--prompt-len", "--output-len N");
  needs(workload.turns > 1 && !workload.prompt, "--turns", "--prompt-len N --output-len N");
  needs(workload.qps && !workload.output, "--qps", "--prompt-len N --output-len N");
  needs(workload.tokens_per_s && !workload.output, "--tokens-per-second", "--prompt-len N --output-len N");
  needs(workload.think_time && !workload.output, "--think-time", "--prompt-len N --output-len N");
  if (workload.hit_rate > 1) fail("--prefix-hit-rate: at most 100%", "give 0% to 100%");
  needs(workload.hit_rate > 0 && !workload.think_time, "--prefix-hit-rate", "--think-time SECONDS");
  needs(workload.think_time && !workload.qps && !request.users, "--think-time", "--users N or --qps N");
  if (workload.prompt && (request.avg_len || !request.seq_lens.empty()))
    fail("--prompt-len and --output-len cannot be combined with --avg-len or --seq-lens", "use one or the other");
  if (workload.qps && (request.users || request.num_seqs > 1))
    fail("--qps cannot be combined with --users or --num-seqs", "use one or the other");
}

Request with_workload(const Workload& workload, const ModelSpec& model, Request request, std::vector<Note>& notes) {
  if (!workload.prompt) return request;
  const std::uint64_t turn = checked_add(*workload.prompt, *workload.output, "a turn");
  // All turns are equally likely, so on average half of the conversation is over.
  const std::uint64_t whole_length = checked_mul(turn, workload.turns, "the conversation");
  request.avg_len = Tokens(checked_mul(turn, workload.turns + 1, "the conversation") / 2);
  if (!request.max_model_len) {
    if (model.max_model_len > Tokens(0) && whole_length > model.max_model_len.count())
      fail("the conversation has " + std::to_string(whole_length) + " tokens, and the model takes " +
               std::to_string(model.max_model_len.count()),
           "lower --turns, --prompt-len or --output-len");
    request.max_model_len = Tokens(whole_length);
  }
  if (!workload.qps && !workload.think_time) return request;
  const std::optional<double> speed = workload.tokens_per_s ? workload.tokens_per_s : fastest(model, request);
  if (!speed)
    fail("the number of sequences at once depends on the speed of one, which kvplan does not know",
         "measure it, and add --tokens-per-second N");
  const double seconds = static_cast<double>(*workload.output) / *speed;  // of an answer
  const double think = workload.think_time.value_or(0);
  const double rate = workload.qps ? *workload.qps : static_cast<double>(request.num_seqs) / (seconds + think);
  const double running = rate * seconds;  // Little's law
  const double kept = workload.hit_rate * rate * think;
  request.num_seqs = whole(running + kept);
  request.users = true;
  const bool measured = workload.tokens_per_s.has_value();
  Template says(measured ? "{num_seqs} sequences at once on average" : "at least {num_seqs} sequences at once",
                {{"num_seqs", request.num_seqs}});
  says +=
      {": {rate} turns per second x {seconds} s per answer", {{"rate", decimal(rate)}, {"seconds", decimal(seconds)}}};
  if (kept > 0) says += {", and {kept} that wait with their history in the cache", {{"kept", decimal(kept)}}};
  if (!measured) {
    request.command.unmodelled.emplace_back("--tokens-per-second");
  }
  inform(notes, "workload", std::move(says));
  return request;
}

void add_price(const Workload& workload, Answers& answers) {
  if (!workload.price) return;
  const std::uint64_t gpus = answers.users ? answers.users->gpus : answers.asked.memory.size();
  const double price = static_cast<double>(gpus) * *workload.price;
  if (answers.users) answers.users->price = price;
  answers.sentences.push_back({"{gpus:GPU}: {price} per hour", {{"gpus", gpus}, {"price", decimal(price)}}});
}

}  // namespace kvplan
