// What a report must show at first sight: the GPU and the types of a plan, what changed between two plans, which
// release replaces an unknown one, and what a command does not accept.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command_line.h"
#include "engines/engine.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

std::size_t widest(const std::string& text) {
  std::size_t out = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t width = 0;
    for (const char c : line) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    out = std::max(out, width);
  }
  return out;
}

TEST_CASE("reading: the request's line has GPU, fraction, types and layout, and wraps") {
  const Run run =
      run_program({kLlamaConfig, "--engine", "vllm", "--gpu", "h100", "--gpu-count", "2", "--weights", "fp8"});
  CHECK(has(run.out, "weights fp8, KV bfloat16, TP 2"));
  CHECK(has(run.out, "2 x h100-80gb: 72.85 of 79.18 GiB (92 %)"));
  CHECK(widest(run.out) <= 80);
  const Run fit = run_program({"fit", kLlamaConfig, "--engine", "vllm", "--gpu", "rtx-4090", "--gpu-count", "2"});
  CHECK(has(fit.out.substr(0, 300), "TP 2"));
  const Run explain = run_program({"explain", kLlamaConfig, "--gpu-memory", "80GiB"});
  CHECK(has(explain.out, "x 1 sequence, no engine"));
}

TEST_CASE("reading: a count of one is in the singular") {
  const Run run = run_program({kLlamaConfig, "--max-model-len", "1", "--gpu", "h100"});
  CHECK(has(run.out, "\n1 token x 1 sequence, "));
  const Run line = run_program({kLlamaConfig, "--max-model-len", "1", "--format", "github"});
  CHECK(has(line.out, "1 token x 1 sequence, no engine"));
}

TEST_CASE("reading: the memory that an engine claims at its start") {
  // 0.92 of the 22,558 MiB that an L4 shows.
  const Run run = run_program({kLlamaConfig, "--engine", "vllm", "--gpu", "l4", "--max-model-len", "8k"});
  CHECK(has(run.out, "vllm claims 20.27 GiB at start-up, 92 % of the GPU"));
  // llama.cpp only takes what the request needs.
  CHECK_FALSE(has(run_program({kLlamaConfig, "--engine", "llama.cpp", "--gpu", "l4", "-c", "8k"}).out, "at start-up"));
}

TEST_CASE("reading: in a pool's table of contexts, shared memory counts once") {
  // 131,072 B per token: 32k tokens are 4 GiB, whatever the number of slots that share them.
  const Run run = run_program({kLlamaConfig, "--engine", "llama.cpp", "-c", "32k", "-np", "4", "-kvu"});
  CHECK(has(run.out, "KV cache by context (a pool of 4 sequences)"));
  const std::string ladder = run.out.substr(run.out.find("KV cache by context"));
  CHECK(has(ladder.substr(0, 200), "4.00  8.00  16.00"));
}

TEST_CASE("reading: both sizes of a token in bytes, within the width") {
  const Run run = run_program({"testdata/configs/gemma-4-26b.json", "--engine", "vllm", "--max-model-len", "16k"});
  CHECK(has(run.out, "until the sliding windows are full  225,280 B"));
  CHECK(widest(run.out) <= 80);
}

TEST_CASE("reading: explain goes from the GPU to the verdict") {
  const Run run = run_program({"explain", kLlamaConfig, "--engine", "vllm", "--gpu", "l4", "--max-model-len", "8k"});
  const auto at = run.out.find("\nCapacity\n");
  REQUIRE(at != std::string::npos);
  for (const char* part :
       {"usable share", "everything but KV", "KV cache budget", "blocks", "allocated for the request"})
    CHECK(has(run.out.substr(at), part));
}

TEST_CASE("reading: for an unknown release the note names the one that replaces it") {
  const auto note = [](const std::string& engine) { return run_program({kLlamaConfig, "--engine", engine}).out; };
  const auto newest = [](std::string_view engine) {
    return std::string(engine_named(engine)->versions.back().version);
  };
  CHECK(has(note("vllm@0.99"), "vllm 0.99 is not known: planned as " + newest("vllm")));
  CHECK(has(note("vllm@0.2"), "vllm 0.2 is not known: planned as 0.6"));
  CHECK(has(note("sglang@9.9"), "sglang 9.9 is not known: planned as " + newest("sglang")));
  CHECK(has(note("llama.cpp@b9999"), "llama.cpp b9999 is not known: planned as " + newest("llama.cpp")));
  for (const char* known : {"vllm", "vllm@0.30", "vllm@0.20", "vllm@0.6", "sglang@0.4", "llama.cpp@b6900"})
    CHECK_FALSE(has(note(known), "is not known: planned"));
}

TEST_CASE("reading: a word that a table does not know is an error") {
  CHECK(has(run_program({"formulas", "zzz"}).err, "formulas takes the name of one kind"));
  CHECK(has(run_program({"engines", "zzz"}).err, "unknown engine \"zzz\""));
  for (const char* command : {"dtypes", "schema", "man"}) {
    const Run run = run_program({command, "zzz"});
    CAPTURE(command);
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(has(run.err, std::string(command) + " takes no \"zzz\""));
  }
}

TEST_CASE("reading: help offers what the command takes") {
  const std::string compare = run_program({"compare", "--help"}).out;
  CHECK_FALSE(has(compare, "W[,W...]"));
  CHECK_FALSE(has(compare, "NAME[,...]"));
  CHECK(has(run_program({"fit", "--help"}).out, "NAME[,...]"));
  CHECK(has(run_program({"diff", "--help", "all"}).out, "output format: table, json, markdown,"));
  const Run fits = run_program({"fit", kLlamaConfig, "--engine", "vllm", "--gpu", "l4,h100"});
  CHECK(has(fits.out.substr(0, fits.out.find("max context:")), "GPUs") == has(fits.out, "; GPUs: "));
}

TEST_CASE("reading: compare lists a type once, and its loss only if it is published") {
  const TemporaryFolder folder;
  const std::string half =
      folder.write("config.json", R"({"model_type":"llama","hidden_size":512,"intermediate_size":1024,)"
                                  R"("num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":8,)"
                                  R"("vocab_size":1000,"max_position_embeddings":2048,"torch_dtype":"float16"})");
  const Run run = run_program({"compare", half, "--engine", "llama.cpp", "--json"});
  REQUIRE(run.exit == 0);
  int own = 0;
  const Json report = Json::parse(run.out);
  for (const Json& answer : report["answers"])
    own += answer["weights_dtype"] == "float16" && answer["kv_cache_dtype"] == "float16";
  CHECK(own == 1);
  // ggml's types have no published loss, so the column is left out.
  CHECK_FALSE(has(run_program({"compare", half, "--engine", "llama.cpp"}).out, "typical loss"));
  const Run bits = run_program({"compare", half});
  CHECK(has(bits.out, "under 0.5 %"));
  CHECK(has(bits.out, "published for the weight type"));
}

TEST_CASE("reading: types that differ by layer are named, not the tool that wrote them") {
  const TemporaryFolder folder;
  const std::string mixed = folder.write(
      "config.json",
      R"({"model_type":"llama","hidden_size":512,"intermediate_size":1024,"num_hidden_layers":2,)"
      R"("num_attention_heads":8,"num_key_value_heads":8,"vocab_size":1000,"max_position_embeddings":2048,)"
      R"("torch_dtype":"bfloat16","quantization_config":{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION",)"
      R"("quantized_layers":{"model.layers.0.mlp.up_proj":{"quant_algo":"NVFP4","group_size":16},)"
      R"("model.layers.1.mlp.up_proj":{"quant_algo":"FP8"}}}})");
  CHECK(has(run_program({mixed}).out, "nvfp4/fp8"));
}

TEST_CASE("reading: a diff shows the capacity, the verdict and their cause") {
  const TemporaryFolder folder;
  const auto plan = [&](const std::string& name, std::vector<std::string> options) {
    const std::string path = folder.path() + "/" + name;
    options.insert(options.begin(), {kLlamaConfig, "--engine", "vllm", "--gpu", "l4", "--max-model-len", "8k"});
    options.insert(options.end(), {"--json", "-o", path});
    run_program(options);
    return path;
  };
  const std::string before = plan("before.json", {});
  const std::string after = plan("after.json", {"--gpu-memory-utilization", "0.8"});
  const Run table = run_program({"diff", before, after});
  CHECK(table.exit == 1);  // it fitted before
  CHECK(has(table.out, "gpu_memory_utilization 0.92 -> 0.8"));
  CHECK(has(table.out, "max context"));
  CHECK(has(table.out, "fits  does not fit"));
  const Json json = Json::parse(run_program({"diff", before, after, "--json"}).out);
  CHECK(json["verdict"]["after"] == "does_not_fit");
  CHECK(json["capacity"].size() == 3);
  CHECK(json["limit"]["exceeded"] == false);
  // 16k more tokens are 2 GiB, which is more than 1 %.
  const std::string longer = plan("longer.json", {"--max-model-len", "24k"});
  for (const char* form : {"table", "markdown"}) {
    const Run run = run_program({"diff", before, longer, "--fail-over", "1%", "--format", form});
    CHECK(run.exit == 1);
    CHECK(has(run.out, "+2.00 GiB is more than --fail-over 1%"));
  }
  const Run limit = run_program({"diff", before, longer, "--fail-over", "1%", "--json"});
  CHECK(Json::parse(limit.out)["limit"]["exceeded"] == true);
  const Run github = run_program({"diff", before, longer, "--fail-over", "1%", "--format", "github"});
  CHECK(github.out.starts_with("::error file=" + kLlamaConfig + ","));
}

}  // namespace
}  // namespace kvplan
