// A workload is converted to a number of sequences by Little's law: rate x time. The numbers are computed by hand.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/command_line.h"

namespace kvplan {
namespace {

Run fit_of(Words options) {
  Words all{"fit",       kLlamaConfig,   "--engine", "vllm",         "--gpu",
            "h100-80gb", "--prompt-len", "2000",     "--output-len", "500"};
  all.insert(all.end(), options.begin(), options.end());
  return run_program(all);
}

TEST_CASE("workload: a rate and a measured speed give the sequences at once") {
  // 500 tokens at 25 tokens per second take 20 s, so 5 turns per second keep 100 sequences of 2,500 tokens running.
  const Run run = fit_of({"--qps", "5", "--tokens-per-second", "25", "--json"});
  CHECK(run.exit == 0);
  const nlohmann::json report = nlohmann::json::parse(run.out);
  CHECK(report["users"]["users"] == 100);
  CHECK(report["answers"][0]["verdict"]["status"] == "fits");
  CHECK(has(run.out, "100 sequences at once on average"));
  // 100 x 2,500 tokens of 131,072 B are 30.5 GiB: one H100 fits them and 15 GiB of weights.
  CHECK(report["users"]["gpus"] == 1);
}

TEST_CASE("workload: users who think are fewer sequences, and their history may stay") {
  // A turn takes 20 s, and the next one starts 30 s later. So 60 users are 1.2 turns per second, and 24 run at the same
  // time.
  const Words thinking{"--users", "60", "--think-time", "30", "--tokens-per-second", "25", "--json"};
  CHECK(nlohmann::json::parse(fit_of(thinking).out)["users"]["users"] == 24);
  Words kept = thinking;
  kept.insert(kept.end(), {"--prefix-hit-rate", "50%"});  // half of the 36 waiting users
  CHECK(nlohmann::json::parse(fit_of(kept).out)["users"]["users"] == 42);
  // A conversation of 4 turns is on average at turn 2.5: 6,250 tokens, and at most 10,000.
  Words turns = thinking;
  turns.insert(turns.end(), {"--turns", "4"});
  const nlohmann::json report = nlohmann::json::parse(fit_of(turns).out);
  CHECK(report["request"]["max_model_len"] == 10000);
}

TEST_CASE("users: a plan is for the GPUs that serve them, and says how many") {
  // 100 x 4,096 tokens of 131,072 B are 50 GiB. 4 GPUs of 21.63 GiB fit them and 15 GiB of weights.
  const Words asked{kLlamaConfig, "--engine", "vllm", "--gpu", "rtx-4090", "--users", "100", "--avg-len", "4k"};
  const Run plan = run_program(asked);
  CHECK(plan.exit == 0);
  CHECK(has(plan.out, "FITS"));
  CHECK(has(plan.out, "100 users at once: 4 GPUs"));
  Words two = asked;
  two.insert(two.end(), {"--gpu-count", "2"});
  CHECK(run_program(two).exit == 1);
  two.insert(two.begin(), "fit");
  const Run fit = run_program(two);
  CHECK(fit.exit == 1);
  // The headline, the table and the JSON show the same number.
  two.emplace_back("--json");
  const auto most = nlohmann::json::parse(run_program(two).out)["users"]["max_users"].get<int>();
  CHECK(has(fit.out, "serves " + std::to_string(most) + " of 100 users"));
  CHECK(has(fit.out, "100 users at once: 4 GPUs"));
}

TEST_CASE("workload: without a measured speed there is a bound and no verdict") {
  const Run run = fit_of({"--qps", "50"});
  CHECK(run.exit == 1);
  CHECK(has(run.out, "UNKNOWN"));
  CHECK(has(run.out, "at least"));
  CHECK(has(run.out, "depends on the speed that you measure"));
  CHECK(has(run.out, "--tokens-per-second"));
  CHECK(!has(run.out, "FITS"));
}

TEST_CASE("workload: a price is an input") {
  const Run run = fit_of({"--users", "4", "--price", "2.5"});
  CHECK(run.exit == 0);
  CHECK(has(run.out, "1 GPU: 2.50 per hour"));
}

TEST_CASE("workload: rates and times are positive and finite") {
  const Words model{kLlamaConfig, "--prompt-len", "2k", "--output-len", "500"};
  for (const char* option : {"--qps", "--think-time", "--tokens-per-second", "--price"})
    for (const char* value : {"0", "-1", "inf", "nan", "1e99", "x", ""}) {
      CAPTURE(option);
      CAPTURE(value);
      Words words = model;
      words.insert(words.begin(), "fit");
      words.insert(words.end(), {option, value});
      check_refused(run_program(words), option);
    }
  for (const char* option : {"--prompt-len", "--output-len", "--turns"})
    for (const char* value : {"0", "-1", "inf", "1e99"}) check_refuses({kLlamaConfig, option, value}, option);
  check_refuses({kLlamaConfig, "--prefix-hit-rate", "101%"}, "--prefix-hit-rate");
  check_refuses({kLlamaConfig, "--qps", "5"}, "--qps needs --prompt-len N --output-len N");
  check_refuses({kLlamaConfig, "--prompt-len", "2k"}, "--prompt-len needs --output-len N");
  check_refuses({kLlamaConfig, "--prompt-len", "2k", "--output-len", "500", "--avg-len", "4k"}, "--avg-len");
  check_refuses({kLlamaConfig, "--prompt-len", "2k", "--output-len", "500", "--qps", "5", "--users", "3"}, "--qps");
  check_refuses({kLlamaConfig, "--prompt-len", "100k", "--output-len", "500", "--turns", "2", "--users", "3"},
                "the model takes 131072");
}

}  // namespace
}  // namespace kvplan
