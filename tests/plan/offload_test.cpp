// Models larger than a GPU: what stays in host memory, its size and speed, and options that make it fit.
#include "plan/search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/options.h"
#include "conformance/gguf_header.h"
#include "conformance/planner.h"
#include "plan/plan.h"
#include "plan/questions.h"
#include "sources/load.h"
#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

Json planned(Words words, int status = 0) {
  words.insert(words.begin(), "testdata/configs/llama-3.1-8b.json");
  words.emplace_back("--json");
  const Run run = run_program(words);
  CHECK_MESSAGE(run.exit == status, run.err);
  return Json::parse(run.out);
}

double host_bytes(const Json& plan, const std::string& part) {
  double out = 0;
  for (const Json& line : plan["host_memory"]["lines"])
    if (line["part"] == part) out += line["bytes"].get<double>();
  return out;
}

TEST_CASE("fit, partly on the CPU: a longer context with more on the CPU, and a type with which all fits the GPU") {
  // Mixtral in 16 bit is 87 GiB; 46.7B parameters at 3.9 bits (q3_k_m) are 21.3 GiB, which an RTX 4090 has room for.
  Request request;
  request.engine = engine_named("llama.cpp");
  request.card.gpu = &parse_gpu("rtx-4090");
  request.llama_cpp.placement = Placement::kFit;
  const Answers answers = fit_model(test_model("mixtral-8x7b"), request);
  REQUIRE(answers.asked.verdict.status == Verdict::kPartlyOnCpu);
  const std::uint64_t chosen = answers.asked.load.max_model_len.count();
  REQUIRE(answers.rows.size() > 2);
  const Answer &on_gpu = answers.rows[0], &on_cpu = answers.rows[1];
  CHECK(on_gpu.name == "longest_context");
  CHECK(on_cpu.name == "longest_on_cpu");
  CHECK(on_cpu.plan.load.max_model_len == Tokens(32768));  // the model's own
  CHECK(on_cpu.plan.verdict.status == Verdict::kPartlyOnCpu);
  CHECK(on_cpu.plan.load.max_model_len > on_gpu.plan.load.max_model_len);
  bool named_type = false;
  for (const Remedy& remedy : answers.asked.verdict.suggestions) {
    CHECK(remedy.changes.front() == std::pair<std::string, std::string>("-c", std::to_string(chosen)));
    named_type = named_type || remedy.changes.back().first == "--weights";
  }
  CHECK(named_type);
}

TEST_CASE("host memory is judged if its size is given") {
  const Words half{"--engine", "llama.cpp", "--gpu", "rtx-4070-ti-super", "-c", "8192", "-ngl", "17"};
  const auto with = [&](const char* size) {
    Words out = half;
    out.insert(out.end(), {"--host-memory", size});
    return out;
  };
  const Json plan = planned(half);
  CHECK(plan["verdict"]["status"] == "partly_on_cpu");
  CHECK_MESSAGE(plan["verdict"]["starts"].is_null(), "nobody said what memory the machine has");
  CHECK(plan["host_memory"]["limit_bytes"].is_null());
  // 16 of 32 layers of 218,112,000 parameters and the table of 128,256 x 4,096, in 16 bit; K and V of 16 layers.
  CHECK(host_bytes(plan, "weights") == 16 * 2 * 218112000.0 + 2 * 128256.0 * 4096);
  CHECK(host_bytes(plan, "kv_cache") == 16 * 8192 * 2 * 8 * 128 * 2.0);
  const Json roomy = planned(with("16GiB"));
  CHECK(roomy["verdict"]["status"] == "partly_on_cpu");
  CHECK(roomy["verdict"]["starts"] == true);
  CHECK(roomy["host_memory"]["limit_bytes"] == 16 * 1073741824.0);
  CHECK(roomy["verdict"]["budget_bytes"] == plan["verdict"]["budget_bytes"]);
  const Json tight = planned(with("8GiB"), 1);
  CHECK(tight["verdict"]["status"] == "does_not_fit");
  CHECK(tight["verdict"]["budget_bytes"] == 8 * 1073741824.0);
  CHECK(tight["verdict"]["reason"].get<std::string>().find("is more than the host memory of 8") != std::string::npos);
}

TEST_CASE("a model that does not fit the GPU starts partly on the CPU, as the engine places it") {
  // 15 GiB in 16 bit on 12 GiB: layers of 416 MiB each, and llama.cpp leaves 1 GiB free.
  const Words request{"--engine", "llama.cpp", "--gpu", "rtx-3060", "-c", "8192"};
  const auto with = [&](Words more, int status = 0) {
    more.insert(more.begin(), request.begin(), request.end());
    return planned(more, status);
  };
  const Json plan = with({});
  CHECK(plan["verdict"]["status"] == "partly_on_cpu");
  CHECK(plan["verdict"]["starts"].is_null());
  const std::string reason = plan["verdict"]["reason"];
  CHECK_MESSAGE(reason.find("of 32 layers are in main memory, which takes ") != std::string::npos, reason);
  CHECK(plan["memory"][0]["total_bytes"].get<double>() < 11.5 * 1073741824);
  CHECK(with({"--host-memory", "32GiB"})["verdict"]["starts"] == true);
  CHECK(with({"--host-memory", "4GiB"}, 1)["verdict"]["status"] == "does_not_fit");
  // The same layers, named by hand; all layers; and a release without a separate placement.
  const auto args = [&](Words more) {
    Words words{"testdata/configs/llama-3.1-8b.json"};
    words.insert(words.end(), request.begin(), request.end());
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words).out;
  };
  const std::string command = args({"--format", "args"});
  const auto at = command.find("-ngl ");
  REQUIRE_MESSAGE(at != std::string::npos, command);
  const std::string layers = command.substr(at + 5, command.find_first_of(" \n", at + 5) - at - 5);
  CHECK(with({"-ngl", layers})["memory"] == plan["memory"]);
  CHECK_MESSAGE(with({"-ngl", std::to_string(std::stoi(layers) + 1)})["memory"][0]["total_bytes"].get<double>() >
                    plan["memory"][0]["total_bytes"].get<double>(),
                "a layer more");
  for (const char* none : {"--no-offload", "-ngl"}) {
    const Json refused = std::string(none) == "-ngl" ? with({none, "all"}, 1) : with({none}, 1);
    CHECK(refused["verdict"]["status"] == "does_not_fit");
    CHECK(refused["verdict"]["starts"] == false);
  }
  CHECK(with({"-ngl", layers, "--no-offload"}, 1)["verdict"]["status"] == "does_not_fit");
  const Json old = planned({"--engine", "llama.cpp@b6122", "--gpu", "rtx-3060", "-c", "8192"}, 1);
  CHECK_MESSAGE(old["verdict"]["status"] == "does_not_fit", "no --fit before December 2025");
  // If no context is named, the model's own is shortened first. 128k tokens do not fit next to 4.6 GiB, but some tokens
  // fit in 12 GiB.
  const Json shorter = planned({"--engine", "llama.cpp", "--gpu", "rtx-3060", "-q", "q4_k_m"});
  CHECK(shorter["verdict"]["status"] == "fits");
  CHECK(shorter["request"]["max_model_len"].get<int>() < 131072);
  CHECK(shorter["request"]["max_model_len"].get<int>() > 4096);
}

// Executed: infer_auto_device_map of transformers 5.24 puts 21 of 32 layers of 436,224,000 bytes on a GPU of 12 GiB.
TEST_CASE("transformers' device_map leaves whole layers in main memory") {
  const auto with = [](Words more, int status = 0) {
    Words words{"--engine", "transformers", "--max-model-len", "512", "--device-map", "auto", "--gpu-memory"};
    words.insert(words.end(), more.begin(), more.end());
    return planned(words, status);
  };
  const Json plan = with({"12GiB"});
  CHECK(plan["verdict"]["status"] == "partly_on_cpu");
  CHECK(host_bytes(plan, "weights") == doctest::Approx((32.0 - 21) * 436224000).epsilon(1e-6));
  CHECK(with({"24GiB"})["verdict"]["status"] == "fits");
  CHECK(with({"8GiB", "-q", "bnb-int8"}, 1)["verdict"]["refusal"].is_string());
  CHECK(with({"12GiB", "--no-offload"}, 1)["verdict"]["status"] == "does_not_fit");
}

TEST_CASE("options of --fit change the placement") {
  const auto placed_with = [](Words more) {
    more.insert(more.begin(), {"--engine", "llama.cpp", "--gpu", "rtx-3060"});
    return planned(more);
  };
  const auto gib = [](const Json& plan, std::size_t gpu) {
    return plan["memory"][gpu]["total_bytes"].get<double>() / 1073741824;
  };
  // 11.63 GiB, minus what stays free and at most one layer of 416 MiB. The driver takes 0.5 GiB.
  for (const auto& [kept, free] : {std::pair("512", 0.5), {"1024", 1.0}, {"3072", 3.0}}) {
    const double total = gib(placed_with({"-c", "8192", "--fit-target", kept}), 0);
    CHECK(total <= 11.63 - free + 0.5);
    CHECK(total >= 11.63 - free + 0.5 - 0.5);
  }
  const Json two = placed_with({"-c", "64k", "--gpu-count", "2", "--fit-target", "512,3072"});
  CHECK(gib(two, 0) > gib(two, 1) + 2);
  CHECK(placed_with({})["request"]["max_model_len"] == 4096);
  CHECK(placed_with({"--fit-ctx", "16k"})["request"]["max_model_len"] == 16384);
  // -c 0 means the model's maximum context.
  const Run whole = run_program({"--json", "--gpu", "rtx-3060", "--model-source", "testdata/configs/llama-3.1-8b.json",
                                 "--", "llama-server", "-m", "x.gguf", "-c", "0"});
  CHECK(Json::parse(whole.out)["request"]["max_model_len"] == 131072);
}

TEST_CASE("a cache in host memory: how many idle sequences it has space for") {
  const auto note = [](const Json& plan) {
    for (const Json& each : plan["notes"])
      if (each["code"] == "host_cache") return each["message"].get<std::string>();
    return std::string();
  };
  // 131,072 B per token: 100 GiB are 51,200 blocks of 16 tokens, and 8,192 tokens take 512 of them. On two ranks the
  // numbers are the same.
  for (const char* ranks : {"1", "2"})
    CHECK(note(planned({"--engine", "vllm", "-tp", ranks, "--max-model-len", "8k", "--kv-offloading-size", "100"})) ==
          "the cache in host memory has space for 819200 tokens: 100 idle sequences of 8192 tokens");
  // Each of SGLang's ranks has its own: 10^10 / 131,072 tokens, and one more.
  CHECK(note(planned(
            {"--engine", "sglang", "--max-model-len", "8k", "--enable-hierarchical-cache", "--hicache-size", "10"})) ==
        "the cache in host memory has space for 76294 tokens: 9 idle sequences of 8192 tokens");
  const Json plan = planned({"--engine", "sglang", "--gpu", "h100", "--enable-hierarchical-cache"});
  const auto tokens = plan["capacity"]["tokens"].get<std::uint64_t>();
  CHECK(note(plan).find(" " + std::to_string(2 * tokens + 1) + " tokens") != std::string::npos);
  CHECK(host_bytes(plan, "kv_cache") == static_cast<double>(131072 * (2 * tokens + 1)));
  // Main memory that the machine does not have affects the verdict.
  CHECK(planned({"--engine", "sglang", "--gpu", "h100", "--enable-hierarchical-cache", "--host-memory", "16GiB"},
                1)["verdict"]["status"] == "does_not_fit");
}

TEST_CASE("--pp-layer-partition does not apply to the draft") {
  for (const char* engine : {"vllm", "sglang"}) {
    const Json plan = planned({"--engine", engine, "-pp", "2", "--pp-layer-partition", "12,20", "--draft",
                               "testdata/configs/llama-3.1-8b.json", "--max-model-len", "8k"});
    CHECK(plan["memory"].size() == 2);
    CHECK(plan["memory"][1]["weights_bytes"] > plan["memory"][0]["weights_bytes"]);
  }
}

TEST_CASE("one GPU of several: --split-mode none") {
  const auto with = [](Words more, int exit = 0) {
    more.insert(more.begin(), {"--engine", "llama.cpp", "--gpu", "rtx-4090+rtx-3060", "-c", "8192", "-q", "q4_k_m"});
    return planned(more, exit);
  };
  for (const auto& [index, card] : {std::pair("0", "rtx-4090"), {"1", "rtx-3060"}}) {
    const Json plan = with({"-sm", "none", "-mg", index});
    CHECK(plan["request"]["gpu"] == card);
    CHECK(plan["memory"].size() == 1);
  }
  CHECK(with({"-mg", "1"})["memory"].size() == 2);  // without it -mg moves nothing
  CHECK(with({"-sm", "none", "-mg", "2"}, 1)["verdict"]["refusal"] ==
        "invalid value for main_gpu: 2 (available devices: 2)");
}

TEST_CASE("the remedy with more GPUs keeps the planned context") {
  // 70B of q4_k_m are 39 GiB; without -c llama.cpp takes 4,096 tokens on a GPU of 24 GB, which are 1.25 GiB.
  const Run run = run_program({"meta-llama/Llama-3.1-70B-Instruct", "--offline", "--engine", "llama.cpp", "-q",
                               "q4_k_m", "--gpu", "rtx-4090", "--json"});
  const Json plan = Json::parse(run.out);
  REQUIRE(plan["request"]["max_model_len"] == 4096);
  Json changes;
  for (const Json& each : plan["verdict"]["suggestions"])
    if (each["changes"].contains("--gpu-count")) changes = each["changes"];
  CHECK(changes == Json{{"-c", "4096"}, {"--gpu-count", "2"}});
}

TEST_CASE("a mixture over different GPUs fills both of them") {
  for (const char* cards : {"rtx-4090+rtx-3060", "rtx-3060+rtx-4090"}) {
    const Run run = run_program({"testdata/configs/mixtral-8x7b.json", "--engine", "llama.cpp", "-q", "q8_0", "-c",
                                 "4096", "--gpu", cards, "--json"});
    const Json plan = Json::parse(run.out);
    CHECK(plan["verdict"]["status"] == "partly_on_cpu");
    double total = 0;
    for (const Json& gpu : plan["memory"]) total += gpu["total_bytes"].get<double>() / 1073741824;
    // 23.52 and 11.63 GiB, of which 1 GiB each stays free, and the driver takes 0.5 GiB. A layer's experts are 1.39
    // GiB.
    CHECK(total <= 23.52 + 11.63 - 1);
    CHECK(total >= 23.52 + 11.63 - 1 - 2 * 1.45);
  }
}

TEST_CASE("ollama places layers too, and its answers have its own wording") {
  const Words request{"testdata/configs/llama-3.1-8b.json", "--engine", "ollama", "--gpu", "rtx-3060"};
  const Run page = run_program(request);
  CHECK(page.exit == 0);
  CHECK(page.out.find("PARTLY ON THE CPU") != std::string::npos);
  CHECK(page.out.find("num_gpu") != std::string::npos);
  CHECK_MESSAGE(page.out.find("-ngl") == std::string::npos, page.out);
  Words args = request;
  args.insert(args.end(), {"--format", "args"});
  CHECK(run_program(args).out == "OLLAMA_CONTEXT_LENGTH=4096 ollama serve\n");
  // Before 0.30 ollama left less free than llama-server does.
  const auto total = [](const char* engine) {
    return planned({"--engine", engine, "--gpu", "rtx-3060"})["memory"][0]["total_bytes"].get<double>();
  };
  CHECK(total("ollama@0.17") > total("ollama"));
}

TEST_CASE("weights that a command keeps in main memory are part of the verdict") {
  const Json plan = planned({"--engine", "vllm", "--gpu", "rtx-4090", "-c", "8192", "--cpu-offload-gb", "4"});
  CHECK(plan["verdict"]["status"] == "partly_on_cpu");
  CHECK(planned({"--engine", "vllm", "--gpu", "rtx-4090", "-c", "8192", "--cpu-offload-gb", "4", "--no-offload"},
                1)["verdict"]["status"] == "does_not_fit");
}

TEST_CASE("llama-server's cache of earlier prompts counts in host memory") {
  const Words request{"--engine", "llama.cpp", "--gpu", "rtx-3060", "-c", "8192", "--host-memory", "16GiB"};
  const auto prompts = [&](Words more) {
    more.insert(more.begin(), request.begin(), request.end());
    double out = 0;
    const Json plan = planned(more);
    for (const Json& line : plan["host_memory"]["lines"])
      if (line["id"] == "prompt_cache") out += line["bytes"].get<double>();
    return out;
  };
  CHECK(prompts({}) == 32 * 8192 * 2 * 8 * 128 * 2.0);  // one state of the slot
  CHECK(prompts({"--cache-ram", "512"}) == 512 * 1048576.0);
  CHECK(prompts({"--cache-ram", "0"}) == 0);
  CHECK(prompts({"--tool", "cli"}) == 0);
}

TEST_CASE("the smallest fraction of a GPU that serves the request") {
  const Words request{"testdata/configs/llama-3.1-8b.json",
                      "--engine",
                      "vllm",
                      "--gpu",
                      "h100-80gb",
                      "--max-model-len",
                      "8192",
                      "--json"};
  Words fit = request;
  fit.insert(fit.begin(), "fit");
  const Json answers = Json::parse(run_program(fit).out)["answers"];
  const auto least = std::find_if(answers.begin(), answers.end(),
                                  [](const Json& answer) { return answer["name"] == "smallest_share"; });
  REQUIRE(least != answers.end());
  const double share = std::stod((*least)["changes"]["--gpu-memory-utilization"].get<std::string>());
  const auto exit = [&](double utilization) {
    Words words = request;
    words.insert(words.end(), {"--gpu-memory-utilization", std::to_string(utilization)});
    return run_program(words).exit;
  };
  CHECK(share < 0.4);
  CHECK(exit(share) == 0);
  CHECK(exit(share - 0.01) == 1);
}

TEST_CASE("a plan for a machine without a GPU uses its main memory") {
  const Json plan = planned({"--engine", "llama.cpp", "-c", "8192", "--host-memory", "32GiB"});
  CHECK(plan["verdict"]["status"] == "fits");
  CHECK(plan["memory"][0]["total_bytes"] == 0);
  CHECK(host_bytes(plan, "weights") == 2 * 8030261248.0);
  CHECK(host_bytes(plan, "kv_cache") == 32 * 8192 * 2 * 8 * 128 * 2.0);
  CHECK(host_bytes(plan, "activation") > 512 * 4096 * 4.0);  // at least the hidden states of a micro-batch
  CHECK(planned({"--engine", "llama.cpp", "-c", "8192", "--host-memory", "16GiB"}, 1)["verdict"]["status"] ==
        "does_not_fit");
  // Its page has no rows for a GPU, because there is none: 14.96 GiB of weights, and 1 GiB of cache.
  const std::string page = run_program({"testdata/configs/llama-3.1-8b.json", "--engine", "llama.cpp", "-c", "8192",
                                        "--host-memory", "32GiB"})
                               .out;
  CHECK(page.find("Host memory: nothing on a GPU") != std::string::npos);
  CHECK(page.find("14.96") != std::string::npos);
  CHECK(page.find("not known") == std::string::npos);
}

TEST_CASE("a step takes the GPU's time plus the host's time") {
  const Json plan = planned({"--engine", "llama.cpp", "--gpu", "rtx-4090", "-c", "8192", "-ngl", "17",
                             "--gpu-bandwidth", "1000", "--host-bandwidth", "50"});
  const Json& bounds = plan["bounds"];
  // 16 layers and their cache at 50 GB/s; the other layers and the head at 1,000 GB/s. Norms are included.
  const double layer = 2 * 218112000.0, head = 2 * (128256.0 * 4096 + 4096), cache = 8192 * 2 * 8 * 128 * 2.0;
  CHECK(bounds["host_read_bytes"] == 16 * (layer + cache));
  CHECK(bounds["host_bandwidth_gb_s"] == 50);
  const double seconds = (16 * (layer + cache) + head) / 1e12 + 16 * (layer + cache) / 5e10;
  CHECK(bounds["tokens_per_s"].get<double>() == doctest::Approx(1 / seconds));
  const Json whole = planned({"--engine", "llama.cpp", "--gpu", "rtx-4090", "-c", "8192"});
  CHECK(whole["bounds"]["host_read_bytes"] == 0);
  CHECK(whole["bounds"]["host_bandwidth_gb_s"].is_null());
}

TEST_CASE("Apple's working set is subtracted once, and a laptop still counts as one") {
  // Metal's recommendedMaxWorkingSetSize of 64 GB is three quarters of it: 48 GiB, in mlx-lm as in llama.cpp.
  for (const char* engine : {"mlx", "llama.cpp"}) {
    const Json plan = planned({"--engine", engine, "--gpu", "m3-max-64gb", "-c", "8192"});
    CHECK(plan["verdict"]["budget_bytes"] == 48 * 1073741824.0);
  }
  // A size means the machine's memory, of which macOS lets a GPU keep three quarters.
  CHECK(planned({"--engine", "mlx", "--gpu-memory", "64GiB", "-c", "8192"})["verdict"]["budget_bytes"] ==
        48 * 1073741824.0);
  const Json large = planned({"--engine", "mlx", "--gpu", "m1-16gb", "-c", "8192"}, 1);
  CHECK(!large["verdict"]["suggestions"].empty());
  for (const Json& remedy : large["verdict"]["suggestions"]) CHECK(!remedy["changes"].contains("-tp"));
}

// Every model that was run in llama.cpp's fit, on GPUs of all sizes.
TEST_CASE("each remedy makes a model fit, and one step less does not") {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const auto& row : conformance::read_lines(conformance::kFolder + "llama.cpp-fit.jsonl"))
    if (row.contains("tensors")) files.push_back(conformance::write_gguf(row, folder.path()));
  std::mt19937 random(26);
  const auto one_of = [&](const Words& words) { return words[random() % words.size()]; };
  const auto request_of = [](Words words) {
    words.insert(words.begin(), {"kvplan", "-", "--calibration", "none"});
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    return parse_command_line(static_cast<int>(pointers.size()), pointers.data()).value().request;
  };
  int remedies_seen = 0, plans = 0;
  std::map<std::string, int> options;
  for (int turn = 0; turn < 80; ++turn) {
    const ModelSpec model = load_gguf(files[random() % files.size()], {});
    PlanCache cache(model);
    Words words{"--engine", "llama.cpp@b6900", "--gpu-memory",
                one_of({"6GiB", "8GiB", "12GiB", "16GiB", "24GiB", "48GiB"})};
    if (random() % 2 == 0) words.insert(words.end(), {"--max-model-len", one_of({"2k", "8k", "32k", "128k"})});
    if (random() % 3 == 0) words.insert(words.end(), {"--num-seqs", one_of({"2", "4"})});
    if (random() % 3 == 0) words.insert(words.end(), {"-pp", "2"});
    if (random() % 3 == 0) words.insert(words.end(), {"--host-memory", one_of({"16GiB", "64GiB"})});
    const Plan asked = make_plan(cache, request_of(words));
    ++plans;
    if (asked.verdict.status != Verdict::kDoesNotFit || asked.verdict.refusal) continue;
    std::string text;
    for (const std::string& word : words) text += word + " ";
    for (const Remedy& remedy : remedies(cache, asked)) {
      const auto fits = [&](const std::string& option, std::int64_t more) {
        Words changed = words;
        for (const auto& [name, value] : remedy.changes) {
          changed.push_back(name);
          if (!value.empty()) changed.push_back(name == option ? std::to_string(std::stoll(value) + more) : value);
        }
        const Verdict found = verdict_of(cache, with_reserve(request_of(changed))).status;
        return found == Verdict::kFits || (found == Verdict::kPartlyOnCpu && asked.verdict.status != found);
      };
      ++remedies_seen;
      const std::string& option = remedy.changes.front().first;
      ++options[option];
      CHECK_MESSAGE(fits("", 0), model.source << " " << text << ": " << option << " " << remedy.changes.front().second);
      if (option == "-ngl" && remedy.changes.size() == 1)
        CHECK_MESSAGE(!fits(option, 1),
                      model.source << " " << text << ": one layer more than -ngl " << remedy.changes.front().second);
      if (option == "--n-cpu-moe" && remedy.changes.front().second != "1")
        CHECK_MESSAGE(!fits(option, -1),
                      model.source << " " << text << ": one layer less than " << remedy.changes.front().second);
      if (option == "--max-model-len")
        CHECK_MESSAGE(!fits(option, 256), model.source << " " << text << ": 256 tokens more");
    }
  }
  CHECK(plans == 80);
  CHECK(remedies_seen > 100);
  for (const char* option : {"-ngl", "--n-cpu-moe", "--max-model-len", "-ctk"})
    CHECK_MESSAGE(options[option] > 0, option);
}

}  // namespace
}  // namespace kvplan
