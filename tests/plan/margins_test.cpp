// Ranges, naive attention, host memory, bounds of speed: compared with arithmetic on published figures.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "kvplan/quantity.h"
#include "support/program.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

Json plan(const std::string& config, std::vector<std::string> options) {
  options.insert(options.begin(), "testdata/configs/" + config + ".json");
  options.emplace_back("--json");
  const Run run = run_program(options);
  REQUIRE_MESSAGE(run.exit <= 1, run.err);
  return Json::parse(run.out);
}

const Json& line_of(const Json& lines, const std::string& word) {
  static const Json kNone;
  for (const Json& line : lines)
    if (line["what"].get<std::string>().find(word) != std::string::npos) return line;
  return kNone;
}

std::uint64_t high_of(const Json& plan) {
  return plan["total"]["high_bytes"].get<std::uint64_t>();
}

TEST_CASE("Every estimate is inside its range, exact lines have none, and totals are within the sums of the ends") {
  for (const std::string engine : {"logical", "vllm", "vllm@0.8", "sglang", "llama.cpp", "transformers", "mlx"}) {
    CAPTURE(engine);
    const Json out = plan("llama-3.1-8b", {"--engine", engine, "--max-model-len", "8k"});
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (const Json& line : out["memory"][0]["lines"]) {
      CHECK(line["low_bytes"] <= line["bytes"]);
      CHECK(line["bytes"] <= line["high_bytes"]);
      const bool estimate = line["source"].get<std::string>().starts_with("estimate");
      if (estimate && line["bytes"] > 0) CHECK(line["low_bytes"] < line["high_bytes"]);
      const bool loader = line["what"] == "what the loader keeps beyond the tensors";
      const bool exact = line["part"] == "kv_cache" || line["part"] == "weights";
      if (exact && !loader) CHECK(line["low_bytes"] == line["high_bytes"]);
      low += line["low_bytes"].get<std::uint64_t>();
      high += line["high_bytes"].get<std::uint64_t>();
    }
    // Errors hardly correlate, so the range is narrower than the sum of the ends.
    CHECK(out["total"]["low_bytes"] >= low);
    CHECK(out["total"]["high_bytes"] <= high);
    CHECK(out["total"]["low_bytes"] <= out["total"]["bytes"]);
    CHECK(out["total"]["high_bytes"] >= out["total"]["bytes"]);
  }
}

TEST_CASE("The memory left on a GPU is as uncertain as the parts that use the rest") {
  for (const std::string engine : {"vllm", "sglang"}) {
    CAPTURE(engine);
    const std::vector<std::string> card{"--engine", engine, "--gpu", "h100-80gb", "--max-model-len", "8k"};
    const Json capacity = plan("llama-3.1-8b", card)["capacity"];
    CHECK(capacity["kv_cache_memory_low_bytes"] < capacity["kv_cache_memory_bytes"]);
    CHECK(capacity["kv_cache_memory_high_bytes"] > capacity["kv_cache_memory_bytes"]);
    CHECK(capacity["tokens_low"] < capacity["tokens"]);
    CHECK(capacity["tokens_high"] >= capacity["tokens"]);
    std::vector<std::string> given = card;
    given.insert(given.end(), {"--kv-cache-memory-bytes", "20GiB"});
    const Json told = plan("llama-3.1-8b", given)["capacity"];
    CHECK(told["kv_cache_memory_low_bytes"].is_null());
    CHECK(told["tokens_high"].is_null());
  }
  // Logs of SGLang with the GPU's defaults: 442,750 and 444,500 tokens on an H100 of 80 GB.
  const Json h100 = plan("llama-3.1-8b", {"--engine", "sglang@0.4.4", "--gpu", "h100-80gb"})["capacity"];
  CHECK(h100["tokens_low"] <= 442750);
  CHECK(h100["tokens_high"] >= 444500);
}

TEST_CASE("Memory that CPU and GPU share: a note, and a part for the host") {
  const Json spark = plan("llama-3.1-8b", {"--engine", "vllm", "--gpu", "dgx-spark-128gb", "--max-model-len", "8k"});
  bool told = false;
  for (const Json& note : spark["notes"]) told = told || note["code"] == "unified_memory";
  CHECK(told);
  CHECK_FALSE(line_of(spark["memory"][0]["lines"], "what the host takes").is_null());
  // SGLang takes a fraction of the free memory: a log prints 111.73 GiB before 51.86 GiB of weights are loaded.
  const Json sglang = plan("llama-3.1-8b", {"--engine", "sglang", "--gpu", "dgx-spark-128gb", "--max-model-len", "8k",
                                            "--mem-fraction-static", "0.8"});
  const double held =
      sglang["capacity"]["kv_cache_memory_bytes"].get<double>() + sglang["memory"][0]["weights_bytes"].get<double>();
  CHECK(held / (1ULL << 30) == doctest::Approx(0.8 * 111.73).epsilon(0.01));
  // Logs print 101.3 to 114.5 GiB free of 121.69.
  const Json& room = sglang["capacity"];
  const auto planned = room["kv_cache_memory_bytes"].get<double>();
  CHECK(planned - room["kv_cache_memory_low_bytes"].get<double>() >= 0.8 * (111.69 - 101.3) * (1ULL << 30));
  CHECK(room["kv_cache_memory_high_bytes"].get<double>() - planned >= 0.8 * (114.5 - 111.69) * (1ULL << 30));
  // The other engines print the note too.
  for (const auto& [engine, card] : std::vector<std::pair<std::string, std::string>>{
           {"sglang", "dgx-spark-128gb"}, {"llama.cpp", "dgx-spark-128gb"}, {"mlx", "m3-max-64gb"}}) {
    CAPTURE(engine);
    const Json notes = plan("llama-3.1-8b", {"--engine", engine, "--gpu", card, "--max-model-len", "8k"})["notes"];
    CHECK(std::any_of(notes.begin(), notes.end(), [](const Json& note) { return note["code"] == "unified_memory"; }));
  }
  const Json alone = plan("llama-3.1-8b", {"--engine", "llama.cpp", "--gpu", "rtx-4090"});
  for (const Json& note : alone["notes"]) CHECK(note["code"] != "unified_memory");
}

TEST_CASE("--margin is the range of every estimate") {
  const Json tenth = plan("llama-3.1-8b", {"--engine", "vllm", "--margin", "10%"});
  for (const Json& line : tenth["memory"][0]["lines"]) {
    const auto bytes = line["bytes"].get<double>();
    const bool exact = line["part"] == "weights" || line["part"] == "kv_cache";
    CHECK(line["high_bytes"].get<double>() == doctest::Approx(exact ? bytes : bytes * 1.1).epsilon(1e-6));
    CHECK(line["low_bytes"].get<double>() == doctest::Approx(exact ? bytes : bytes * 0.9).epsilon(1e-6));
  }
  CHECK(tenth["request"]["margin"] == 0.1);
  const Json none = plan("llama-3.1-8b", {"--engine", "vllm", "--margin", "0%"});
  CHECK(none["total"]["low_bytes"] == none["total"]["high_bytes"]);
  CHECK(run_program({"testdata/configs/llama-3.1-8b.json", "--margin", "5"}).exit == 2);
  CHECK(run_program({"testdata/configs/llama-3.1-8b.json", "--margin", "200%"}).exit == 2);
}

TEST_CASE("A verdict inside the range says so, and its advice makes the high end fit") {
  for (const std::string engine : {"logical", "llama.cpp", "vllm"}) {
    CAPTURE(engine);
    const std::vector<std::string> base{"--engine", engine, "--max-model-len", "16k", "--num-seqs", "2"};
    const Json open = plan("llama-3.1-8b", base);
    const auto total = open["memory"][0]["total_bytes"].get<std::uint64_t>();
    // The estimate fits, but the high end of its range does not.
    const std::uint64_t limit = (total + high_of(open)) / 2;
    std::vector<std::string> limited = base;
    limited.insert(limited.end(), {"--max-vram", std::to_string(limit)});
    const Json close = plan("llama-3.1-8b", limited);
    CHECK(close["verdict"]["status"] == "fits");
    CHECK(close["verdict"]["close"] == true);
    CHECK(close["verdict"]["either_way_bytes"] > 0);
    const std::string advice = close["verdict"]["advice"];
    const std::string start = "--max-model-len ";
    REQUIRE(advice.starts_with(start));
    std::vector<std::string> heeded = limited;
    heeded[3] = advice.substr(start.size(), advice.find(' ', start.size()) - start.size());
    const Json safe = plan("llama-3.1-8b", heeded);
    CHECK(high_of(safe) <= limit);
    CHECK(safe["verdict"]["close"] == false);
    // Far from the limit nothing is too close to call.
    std::vector<std::string> roomy = base;
    roomy.insert(roomy.end(), {"--max-vram", "500GiB"});
    CHECK(plan("llama-3.1-8b", roomy)["verdict"]["close"] == false);
  }
}

TEST_CASE("Naive attention stores heads x chunk x context scores, flash attention none") {
  // 32 heads, 8,192 tokens: 32 * 8192 * 8192 * 4 B.
  const Json whole = plan("llama-3.1-8b", {"--max-model-len", "8k", "--attention", "naive"});
  CHECK(line_of(whole["memory"][0]["lines"], "scores")["bytes"] == 8589934592);
  const Json chunked = plan("llama-3.1-8b", {"--max-model-len", "8k", "--attention", "naive",  //
                                             "--max-num-batched-tokens", "1024"});
  CHECK(line_of(chunked["memory"][0]["lines"], "scores")["bytes"] == 8589934592 / 8);
  const Json ranks = plan("llama-3.1-8b", {"--max-model-len", "8k", "--attention", "naive", "-tp", "4"});
  CHECK(line_of(ranks["memory"][0]["lines"], "scores")["bytes"] == 8589934592 / 4);
  // transformers has them in 16, 32 and 16 bit at the same time.
  const Json eager =
      plan("llama-3.1-8b", {"--engine", "transformers", "--max-model-len", "8k", "--attention", "naive"});
  CHECK(line_of(eager["memory"][0]["lines"], "scores")["bytes"] == 2 * 8589934592);
  for (const std::string engine : {"logical", "transformers", "llama.cpp", "vllm"}) {
    const Json flash = plan("llama-3.1-8b", {"--engine", engine, "--max-model-len", "8k", "--attention", "flash"});
    CHECK(line_of(flash["memory"][0]["lines"], "scores").is_null());
    CHECK(flash["total"] == plan("llama-3.1-8b", {"--engine", engine, "--max-model-len", "8k"})["total"]);
  }
  const Json llama = plan("llama-3.1-8b", {"--engine", "llama.cpp", "--max-model-len", "8k", "--attention", "naive"});
  const Json off = plan("llama-3.1-8b", {"--engine", "llama.cpp", "--max-model-len", "8k", "--flash-attn", "off"});
  CHECK(llama["memory"] == off["memory"]);
  // Without attention there are no scores.
  const Json mamba = plan("mamba-2.8b", {"--max-model-len", "8k", "--attention", "naive"});
  CHECK(line_of(mamba["memory"][0]["lines"], "scores").is_null());
}

TEST_CASE("--cpu-offload-gb moves weights of the layers to the host") {
  const Json all = plan("llama-3.1-8b", {"--engine", "vllm", "--max-model-len", "8k"});
  const Json moved = plan("llama-3.1-8b", {"--engine", "vllm", "--max-model-len", "8k", "--cpu-offload-gb", "4"});
  const auto weights = [](const Json& out) { return out["memory"][0]["weights_bytes"].get<std::uint64_t>(); };
  CHECK(weights(all) - weights(moved) == 4 * kGiB);
  CHECK(all["host_memory"].is_null());
  CHECK(moved["host_memory"]["total_bytes"] == 4 * kGiB);
  const Json ranks =
      plan("llama-3.1-8b", {"--engine", "vllm", "--max-model-len", "8k", "--cpu-offload-gb", "4", "-tp", "2"});
  CHECK(ranks["host_memory"]["total_bytes"] == 8 * kGiB);
  // More than the layers have. The embedding and the head stay on the GPU, 2 * 128,256 * 4,096 * 2 B, and so does the
  // rotary table of 32 MiB.
  const Json most = plan("llama-3.1-8b", {"--engine", "vllm", "--max-model-len", "8k", "--cpu-offload-gb", "100"});
  CHECK(weights(most) <= 2 * 128256ULL * 4096 * 2 + 4096 * 2 + 34 * kGiB / 1024);
  CHECK(weights(most) + most["host_memory"]["total_bytes"].get<std::uint64_t>() == weights(all));
}

TEST_CASE("llama.cpp's experts stay in host memory with --n-cpu-moe, --cpu-moe and -ot exps=CPU") {
  // Mixtral: 32 layers of 8 experts of 3 matrices of 4,096 x 14,336, 16 bit.
  constexpr std::uint64_t kExperts = 32ULL * 8 * 3 * 4096 * 14336 * 2;
  const std::vector<std::string> base{"--engine", "llama.cpp", "--weights", "f16", "--max-model-len", "4k"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> options = base;
    options.insert(options.end(), more);
    return plan("mixtral-8x7b", options);
  };
  const Json none = with({});
  const Json all = with({"--cpu-moe"});
  const Json quarter = with({"-ncmoe", "8"});
  const auto weights = [](const Json& out) { return out["memory"][0]["weights_bytes"].get<std::uint64_t>(); };
  CHECK(weights(none) - weights(all) == kExperts);
  CHECK(weights(none) - weights(quarter) == kExperts / 4);
  CHECK(line_of(quarter["host_memory"]["lines"], "experts")["bytes"] == kExperts / 4);
  CHECK(with({"-ot", "exps=CPU"})["memory"] == all["memory"]);
  CHECK(with({"-ot", ".*_exps.*=CPU"})["memory"] == all["memory"]);
  for (const std::string bad : {"blk.3.ffn_up_exps=CPU", "exps=CUDA1", "exps", "attn=CPU"}) {
    const Run run = run_program({"testdata/configs/mixtral-8x7b.json", "--engine", "llama.cpp", "-ot", bad});
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
  }
  // The table of the embedding is in host memory anyway: 32,000 * 4,096 * 2 B.
  CHECK(line_of(none["host_memory"]["lines"], "embedding")["bytes"] == 32000ULL * 4096 * 2);
  // With no layer on the GPU, everything is on the host.
  const Json host = with({"-ngl", "0"});
  CHECK(weights(host) == 0);
  std::uint64_t sum = 0;
  for (const Json& line : host["host_memory"]["lines"])
    if (line["part"] == "weights") sum += line["bytes"].get<std::uint64_t>();
  CHECK(sum == weights(none) + 32000ULL * 4096 * 2);
}

TEST_CASE("llama.cpp copies the host's largest matrix to the GPU, as stored") {
  // A run of v0.5.0: 468 MiB for Qwen3-30B-A3B in f16 with its experts on the host, 384 of them one tensor of experts.
  const TemporaryFolder folder;
  const std::string config =
      folder.write("config.json",
                   R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048,
          "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
          "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
          "vocab_size": 151936, "max_position_embeddings": 40960, "torch_dtype": "bfloat16"})");
  const auto buffer = [&](const std::string& type, const std::string& ubatch) {
    const Run run = run_program({config, "--engine", "llama.cpp", "-q", type, "-c", "8192", "--cpu-moe", "--json",  //
                                 "--ubatch-size", ubatch});
    REQUIRE(run.exit == 0);
    return Json::parse(run.out)["memory"][0]["activation_bytes"].get<double>() / 1048576;
  };
  CHECK(buffer("f16", "512") == doctest::Approx(468).epsilon(0.05));
  CHECK(buffer("q8_0", "512") < buffer("f16", "512") - 100);
  CHECK(buffer("f16", "16") < 20);  // batches below 32 are multiplied on the host
}

TEST_CASE("Caches in host memory: offloaded, swap space of V0") {
  const Json now = plan("llama-3.1-8b", {"--engine", "vllm", "--kv-offloading-size", "16", "-tp", "2"});
  CHECK(now["host_memory"]["total_bytes"] == 16 * kGiB);  // all ranks together
  const Json old = plan("llama-3.1-8b", {"--engine", "vllm@0.8", "-tp", "2"});
  CHECK(old["host_memory"]["total_bytes"] == 8 * kGiB);  // 4 GiB each, as in "CPU blocks"
  CHECK(plan("llama-3.1-8b", {"--engine", "vllm@0.8", "--swap-space", "0"})["host_memory"].is_null());
}

TEST_CASE("A float32 checkpoint is loaded in 16 bit if the engine does so") {
  // 763,857,920 and 2,768,345,600 parameters.
  const auto weights = [](const char* name, const char* engine, std::vector<std::string> more) {
    more.insert(more.end(), {"--engine", engine});
    const Json out = plan(name, more);
    std::uint64_t sum = 0;
    for (const Json& line : out["memory"][0]["lines"])
      if (line["part"] == "weights" && line["what"] != "rotary tables" && line["what"] != "scales of attention" &&
          !line["what"].get<std::string>().starts_with("loading"))
        sum += line["bytes"].get<std::uint64_t>();
    return sum;
  };
  // Both fuse queries, keys and values with one bias: 1,024 more in each of 24 + 2 x 24 attentions. SGLang has a
  // separate head since 0.5.23, of 51,865 rows and 39 of padding (executed, testdata/conformance).
  for (const auto& [engine, more] : {std::pair{"vllm", 72ULL * 1024}, {"sglang", (72ULL + 51904) * 1024}}) {
    CHECK(weights("whisper-medium", engine, {}) == (763857920ULL + more) * 2);
    CHECK(weights("whisper-medium", engine, {"--dtype", "float32"}) == (763857920ULL + more) * 4);
  }
  // A of each of the 64 layers stays in float32 (5,120 x 16), and the table has 24 rows more of 2,560.
  CHECK(weights("mamba-2.8b", "vllm", {}) == 2768345600ULL * 2 + 64ULL * 5120 * 16 * 2 + 24ULL * 2560 * 2);
  CHECK(weights("mamba-2.8b", "mistralrs", {}) == 2768345600ULL * 2);
  CHECK(weights("whisper-medium", "transformers", {}) == 763857920ULL * 4);
}

TEST_CASE("llama.cpp: encoders of images and sounds are in a separate file") {
  const Json out = plan("gemma-3n-e4b", {"--engine", "llama.cpp", "--weights", "q4_k_m", "--max-model-len", "4k"});
  for (const char* word : {"vision tower", "audio encoder", "projector"}) {
    CHECK(line_of(out["memory"][0]["lines"], word).is_null());
    CHECK(line_of(out["host_memory"]["lines"], word).is_null());
  }
  bool told = false;
  for (const Json& note : out["notes"])
    told = told || note["message"].get<std::string>().find("--mmproj") != std::string::npos;
  CHECK(told);
}

TEST_CASE("llama.cpp: an MTP layer counts in the placement of weights and caches, used or not") {
  // load_tensors counts it: of 61 + 1 layers and the output, the last two are not in the decoder.
  const Json out =
      plan("deepseek-v3", {"--engine", "llama.cpp", "--weights", "q4_k_m", "-ngl", "2", "--max-model-len", "4k"});
  CHECK(line_of(out["memory"][0]["lines"], "attention").is_null());
  CHECK(out["memory"][0]["kv_cache_bytes"] == 0);
  CHECK(line_of(out["memory"][0]["lines"], "lm_head").is_object());
  const Json one =
      plan("deepseek-v3", {"--engine", "llama.cpp", "--weights", "q4_k_m", "-ngl", "3", "--max-model-len", "4k"});
  CHECK(line_of(one["memory"][0]["lines"], "attention").is_object());
  CHECK(one["memory"][0]["kv_cache_bytes"] > 0);
}

TEST_CASE("Parts that the config does not determine are split, stored and reported like the rest") {
  // The width of its MLPs is unknown. 80 layers are estimated as ten squares of 8,192 each: 53,687,091,200 elements.
  const auto line = [](std::vector<std::string> more) {
    more.insert(more.end(), {"testdata/claims/sinks.json", "--assume", "--max-model-len", "4k", "--json"});
    return line_of(Json::parse(run_program(more).out)["memory"][0]["lines"], "mlp");
  };
  const auto all = line({})["bytes"].get<std::uint64_t>();
  REQUIRE(all > 0);
  CHECK(line({})["formula"] == std::to_string(all / 2) + " elements * 16 bits");
  CHECK(line({"-tp", "2"})["bytes"] == all / 2);
  CHECK(line({"-pp", "2"})["bytes"] == all / 2);
  CHECK(line({"--weights", "fp8"})["bytes"].get<double>() ==
        doctest::Approx(static_cast<double>(all) / 2).epsilon(1e-3));
  const Json tower = line_of(plan("gemma-3n-e4b", {})["memory"][0]["lines"], "vision tower");
  CHECK(tower["formula"].get<std::string>().find("0 elements") != 0);
}

TEST_CASE("If any number of sequences fits, no number is printed") {
  const Json out = plan("mamba-2.8b", {"--gpu", "rtx-4090", "--max-model-len", "4k"});
  CHECK(out["capacity"]["max_model_len"].is_null());
  CHECK(out["capacity"]["max_num_seqs"] > 0);
}

TEST_CASE("Stated lengths decide the verdict, not full length for every sequence") {
  // 64 x 128k tokens of 131,072 B are 1,024 GiB. 64 x 2,048 tokens are 16 GiB.
  const std::vector<std::string> asked{
      "testdata/configs/llama-3.1-8b.json", "--engine", "vllm", "--gpu", "h100-80gb", "--num-seqs", "64", "--json"};
  CHECK(run_program(asked).exit == 1);
  std::vector<std::string> stated = asked;
  stated.insert(stated.end(), {"--avg-len", "2048"});
  const Run run = run_program(stated);
  CHECK(run.exit == 0);
  CHECK(Json::parse(run.out)["verdict"]["runs_at_once"] >= 64);
  // The page shows the memory for these lengths: a cache of 16.00 GiB, not 1,024.
  stated.erase(std::find(stated.begin(), stated.end(), "--json"));
  const std::string page = run_program(stated).out;
  CHECK(page.find("KV cache     16.00") != std::string::npos);
  CHECK(page.find("If every sequence grows to 131,072 tokens you") != std::string::npos);
  stated.push_back("--json");
  // vLLM starts only if a sequence of the full length fits.
  stated.insert(stated.end(), {"--kv-cache-memory-bytes", "15GiB"});
  CHECK(run_program(stated).exit == 1);
}

TEST_CASE("If CPU and GPU share memory, both parts must fit it") {
  // 8 GiB in total, 5.3 of them for the GPU. If a model of 8 GiB is split in two, the GPU's part fits, but the whole
  // model does not.
  const Json out = plan("llama-3.1-8b", {"--engine", "llama.cpp", "--weights", "q8_0", "--gpu", "m1-8gb", "-ngl", "12",
                                         "--max-model-len", "4k"});
  CHECK(out["memory"][0]["total_bytes"] < 5461ULL << 20);
  CHECK(out["verdict"]["status"] == "does_not_fit");
  CHECK(out["verdict"]["reason"].get<std::string>().find("share") != std::string::npos);
}

TEST_CASE("Bounds of speed: a step reads the active weights and the cache") {
  // 8,030,261,248 parameters less the table of 128,256 * 4,096, 2 B each; 131,072 B per token; 1008 GB/s.
  const Json out = plan("llama-3.1-8b", {"--gpu", "rtx-4090", "--max-model-len", "32k", "--num-seqs", "3"});
  const Json& bounds = out["bounds"];
  constexpr double kWeights = (8030261248.0 - 128256.0 * 4096) * 2;
  constexpr double kCache = 131072.0 * 32768;
  CHECK(bounds["weights_read_bytes"].get<double>() == doctest::Approx(kWeights).epsilon(1e-9));
  CHECK(bounds["cache_read_bytes"].get<double>() == doctest::Approx(kCache).epsilon(1e-12));
  CHECK(bounds["tokens_per_s_empty"].get<double>() == doctest::Approx(1008e9 / kWeights));
  CHECK(bounds["tokens_per_s"].get<double>() == doctest::Approx(1008e9 / (kWeights + kCache)));
  CHECK(bounds["tokens_per_s_batch"].get<double>() == doctest::Approx(3 * 1008e9 / (kWeights + 3 * kCache)));
  CHECK(bounds["cache_outweighs_at"] == 4);  // 15.01 / 4.29 = 3.5
  // 2 operations for each of 6,979,588,096 parameters of the layers and token, and attention over half of the square.
  const double attention = 2.0 * 32 * 32 * 256 * 32768.0 * 32769 / 2;
  const double flops = 2 * 6979588096.0 * 32768 + 2 * 128256.0 * 4096 + attention;
  CHECK(bounds["prefill_flops"].get<double>() == doctest::Approx(flops).epsilon(1e-3));
  CHECK(bounds["first_token_s"].get<double>() == doctest::Approx(flops / 165e12).epsilon(1e-2));
  CHECK(plan("llama-3.1-8b", {"--max-model-len", "32k"})["bounds"].is_null());
  const Json own = plan("llama-3.1-8b", {"--gpu-bandwidth", "2016", "--max-model-len", "32k"});
  CHECK(own["bounds"]["tokens_per_s"].get<double>() == doctest::Approx(2 * 1008e9 / (kWeights + kCache)));
  CHECK(own["bounds"]["first_token_s"].is_null());
  // With the given lengths: both have 4,096 tokens on average.
  for (const auto& lengths :
       {std::vector<std::string>{"--avg-len", "4k", "--num-seqs", "3"}, {"--seq-lens", "2k,4k,6k"}}) {
    std::vector<std::string> options{"--gpu", "rtx-4090", "--max-model-len", "32k"};
    options.insert(options.end(), lengths.begin(), lengths.end());
    const Json stated = plan("llama-3.1-8b", options)["bounds"];
    CHECK(stated["cache_read_bytes"].get<double>() == doctest::Approx(kCache / 8));
    CHECK(stated["tokens_per_s_batch"].get<double>() == doctest::Approx(3 * 1008e9 / (kWeights + 3 * kCache / 8)));
  }
}

TEST_CASE(
    "Bounds of a prompt: narrow matrices at their rate, latents in the cheaper form, data parallel ranks for nothing") {
  // FP8 at twice 989 TFLOPS; attention and the head stay at 16 bit.
  const double layers = 2 * 6979588096.0 * 32768;
  const double attention = 2.0 * 32 * 32 * 256 * 32768.0 * 32769 / 2;
  const auto seconds = [](const char* model, std::vector<std::string> more) {
    more.insert(more.end(), {"--gpu", "h100-80gb", "--max-model-len", "32k"});
    return plan(model, more)["bounds"]["first_token_s"].get<double>();
  };
  const double wide = seconds("llama-3.1-8b", {});
  CHECK(wide == doctest::Approx((layers + attention) / 989e12).epsilon(1e-3));
  CHECK(seconds("llama-3.1-8b", {"--weights", "fp8"}) ==
        doctest::Approx((layers / 2 + attention) / 989e12).epsilon(1e-3));
  CHECK(seconds("llama-3.1-8b", {"--weights", "int4"}) == doctest::Approx(wide));
  CHECK(seconds("llama-3.1-8b", {"--engine", "vllm", "-dp", "4", "--num-seqs", "4"}) == doctest::Approx(wide));
  // DeepSeek-V3: 37,552,297,472 active parameters, less table and head; 128 heads of 128 + 64 and of 128.
  const double active = 37552297472.0 - 2 * 129280.0 * 7168;
  const double scores = 2.0 * 61 * 128 * (128 + 64 + 128) * 32768.0 * 32769 / 2;
  CHECK(seconds("deepseek-v3", {"-tp", "8"}) ==
        doctest::Approx((2 * active * 32768 / 2 + scores) / 8 / 989e12).epsilon(2e-3));
}

TEST_CASE("Bounds of speed: experts, windows, latents, states, ranks") {
  // Mixtral: 12,879,925,248 active parameters of 46,702,792,704 (published: 12.9 and 46.7 B).
  const Json one = plan("mixtral-8x7b", {"--gpu-bandwidth", "1000", "--max-model-len", "4k"})["bounds"];
  const double table = 32000.0 * 4096 * 2;
  CHECK(one["weights_read_bytes"].get<double>() == doctest::Approx(12879925248.0 * 2 - table).epsilon(1e-4));
  // Two tokens use 8 * (1 - 0.75^2) = 3.5 of 8 experts, instead of 2.
  const Json two =
      plan("mixtral-8x7b", {"--gpu-bandwidth", "1000", "--max-model-len", "4k", "--num-seqs", "2"})["bounds"];
  const double expert = 32.0 * 3 * 4096 * 14336 * 2;
  CHECK(two["weights_read_batch_bytes"].get<double>() - two["weights_read_bytes"].get<double>() ==
        doctest::Approx(1.5 * expert).epsilon(1e-6));
  // A latent of 70,272 B per token over 61 layers.
  const Json latent = plan("deepseek-v3", {"--gpu-bandwidth", "1000", "--max-model-len", "4k"})["bounds"];
  CHECK(latent["cache_read_bytes"] == 70272ULL * 4096);
  // Gemma-4-26B: beyond the window of 1,024 only five of thirty layers grow, 4,096 B per token each.
  const auto gemma = [](const std::string& length) {
    return plan("gemma-4-26b", {"--gpu-bandwidth", "1000", "--max-model-len", length})["bounds"]["cache_read_bytes"]
        .get<std::uint64_t>();
  };
  CHECK(gemma("16k") - gemma("8k") == 5ULL * 4096 * 8192);
  // States are read and written at any length.
  const Json mamba = plan("mamba-2.8b", {"--gpu-bandwidth", "1000", "--max-model-len", "4k"});
  CHECK(mamba["bounds"]["cache_read_bytes"].get<std::uint64_t>() ==
        2 * mamba["kv_cache"]["bytes_per_sequence"].get<std::uint64_t>());
  // Sparse attention reads 2,048 latents and every index key: 61 * (1152 * 2048 + 132 * n).
  const Json sparse = plan("deepseek-v3.2", {"--gpu-bandwidth", "1000", "--max-model-len", "32k"})["bounds"];
  CHECK(sparse["cache_read_bytes"] == 61ULL * (1152 * 2048 + 132 * 32768));
  // Weights in host memory are also read.
  for (const std::vector<std::string>& moved : {std::vector<std::string>{"--cpu-moe"}, {"-ngl", "10"}}) {
    std::vector<std::string> options{"--engine", "llama.cpp", "-q", "f16", "--gpu-bandwidth", "1000", "-c", "4k"};
    const Json all = plan("mixtral-8x7b", options);
    options.insert(options.end(), moved.begin(), moved.end());
    CHECK(plan("mixtral-8x7b", options)["bounds"]["weights_read_bytes"] == all["bounds"]["weights_read_bytes"]);
  }
  // Two ranks read half each.
  const Json ranks = plan("llama-3.1-8b", {"--gpu-bandwidth", "1000", "--max-model-len", "4k", "-tp", "2"})["bounds"];
  CHECK(ranks["cache_read_bytes"] == 131072ULL * 4096 / 2);
}

TEST_CASE("explain shows the floor of a prefill and the bounds") {
  const Run run = run_program({"explain", "testdata/configs/llama-3.1-8b.json", "--max-model-len", "8k",  //
                               "--gpu", "h100-80gb"});
  CHECK(run.exit == 0);
  // 8,192 tokens * 4,096 * 2 B.
  CHECK(run.out.find("64.0 MiB  8,192 tokens of a chunk * 4096 *") != std::string::npos);
  CHECK(run.out.find("one pass   8.00 GiB") != std::string::npos);
  CHECK(run.out.find("Speed, upper bounds") != std::string::npos);
}

// Exact lines stay exact. With a fraction of 3.3 GiB, some lines once had a high end above their bytes.
TEST_CASE("--cpu-offload-gb keeps exact lines exact, and moves its bytes exactly") {
  const Json all = plan("llama-3.1-8b", {"--engine", "vllm", "--max-model-len", "8k"});
  const Json moved = plan("llama-3.1-8b", {"--engine", "vllm", "--max-model-len", "8k", "--cpu-offload-gb", "3.3"});
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (const Json& line : all["memory"][0]["lines"])
    if (line["part"] == "weights") before += line["bytes"].get<std::uint64_t>();
  for (const Json& line : moved["memory"][0]["lines"]) {
    if (line["part"] != "weights" || line["basis"] != "exact") continue;
    CAPTURE(line.dump());
    CHECK(line["low_bytes"] == line["bytes"]);
    CHECK(line["high_bytes"] == line["bytes"]);
    after += line["bytes"].get<std::uint64_t>();
  }
  CHECK(before - after == moved["host_memory"]["total_bytes"].get<std::uint64_t>());
  CHECK(before - after == 3543348019);  // 3.3 * 2^30, rounded down
}

TEST_CASE("a plan beyond 2^63 bytes is an error, not free memory") {
  const Run run =
      run_program({"testdata/configs/deepseek-v3.json", "--gpu", "h100", "--max-model-len", "132000000000000"});
  CHECK(run.exit == 2);
  CHECK(run.out.empty());
  CHECK(run.err.find("does not fit in 64 bits") != std::string::npos);
}

TEST_CASE("Markdown names both types of the cache, and writes one sequence in the singular") {
  const Run run = run_program({"testdata/configs/llama-3.1-8b.json", "--engine", "llama.cpp", "-ctk", "f16", "-ctv",
                               "q4_0", "-c", "8k", "--format", "markdown"});
  CHECK(run.out.find("8,192 tokens x 1 sequence, ") != std::string::npos);
  CHECK(run.out.find("KV float16/q4_0") != std::string::npos);
}

}  // namespace
}  // namespace kvplan
