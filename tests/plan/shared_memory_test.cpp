// If CPU and GPU share memory, host memory reduces the GPU's part, and with it the capacity.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

Json plan_of(const std::string& model, std::vector<std::string> options) {
  options.insert(options.begin(), {model, "--json", "--engine", "llama.cpp", "--gpu", "m3-max-128gb"});
  return Json::parse(run_program(options).out);
}

std::uint64_t host_bytes(const Json& plan) {
  return plan["host_memory"].is_null() ? 0 : plan["host_memory"]["total_bytes"].get<std::uint64_t>();
}

TEST_CASE("shared memory: a partial offload's capacity counts both sides") {
  const TemporaryFolder folder;
  // 70e9 parameters in 16 bit are 131 GiB, more than the machine has in total.
  const std::string model = folder.write(
      "x.json", R"({"model_type":"llama","hidden_size":8192,"num_hidden_layers":80,"num_attention_heads":64,
                    "num_key_value_heads":8,"intermediate_size":28672,"vocab_size":128256,
                    "max_position_embeddings":131072,"torch_dtype":"bfloat16"})");
  for (const char* layers : {"0", "10", "40", "80"}) {
    CAPTURE(layers);
    const Json plan = plan_of(model, {"-ngl", layers, "--max-model-len", "4k"});
    CHECK(plan["verdict"]["status"] == "does_not_fit");
    CHECK(plan["capacity"]["max_model_len"] == 0);
    CHECK(plan["capacity"]["max_num_seqs"] == 0);
  }
  // In 4 bits it fits; the longest context is planned again, and one token more does not fit.
  for (const char* layers : {"10", "40"}) {
    CAPTURE(layers);
    const Json plan = plan_of(model, {"-ngl", layers, "--max-model-len", "4k", "-q", "q4_k_m"});
    REQUIRE(plan["verdict"]["status"] == "partly_on_cpu");
    const auto longest = plan["capacity"]["max_model_len_by_memory"].get<std::uint64_t>();
    const auto again = [&](std::uint64_t tokens) {
      return plan_of(model, {"-ngl", layers, "--max-model-len", std::to_string(tokens), "-q", "q4_k_m"});
    };
    const Json last = again(longest);
    CHECK(last["verdict"]["status"] == "partly_on_cpu");
    CHECK(again(longest + 256)["verdict"]["status"] == "does_not_fit");
    CHECK(last["total"]["bytes"].get<std::uint64_t>() + host_bytes(last) <= std::uint64_t{128} << 30);
  }
}

}  // namespace
}  // namespace kvplan
