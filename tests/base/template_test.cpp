#include "kvplan/template.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"

namespace kvplan {
namespace {

TEST_CASE("template: values replace all uses of their names") {
  CHECK(in_words({"{tokens} tokens * 3 * {hidden_size} * 2 B = {tokens} * {row} B",
                  {{"tokens", Tokens(8192)}, {"hidden_size", std::uint64_t{4096}}, {"row", Bytes(24576)}}}) ==
        "8192 tokens * 3 * 4096 * 2 B = 8192 * 24576 B");
  CHECK(in_words("512 MiB a GPU") == "512 MiB a GPU");
  CHECK(in_words(Template()).empty());
}

TEST_CASE("template: counts of things, sizes, reals and words") {
  const auto said = [](const char* text, std::uint64_t value) { return in_words({text, {{"n", value}}}); };
  CHECK(said("{n:sequence}", 1) == "1 sequence");
  CHECK(said("{n:sequence}", 3) == "3 sequences");
  CHECK(said("{n:GiB}", 24 * kGiB) == "24.00 GiB");
  CHECK(said("{n:size}", kMiB + kMiB / 2) == "1.5 MiB");
  CHECK(said("{n:size_up}", kMiB + 1) == "1.1 MiB");
  CHECK(in_words({"{bits} bits", {{"bits", 4.5}}}) == "4.5 bits");
  CHECK(in_words({"no class for {model_type}", {{"model_type", "{tokens}"}}}) == "no class for {tokens}");
}

TEST_CASE("template: a template after another one has its own values") {
  Template sum("{n} x {entry} B", {{"n", std::uint64_t{2}}, {"entry", Bytes(64)}});
  const Template first = sum;
  sum += {" + {n} x {entry} B", {{"n", std::uint64_t{3}}, {"entry", Bytes(16)}}};
  CHECK(in_words(sum) == "2 x 64 B + 3 x 16 B");
  CHECK(in_words(first) == "2 x 64 B");
  CHECK(in_words(Template("the draft: ") + first) == "the draft: 2 x 64 B");
  CHECK(sum != first);
  CHECK(Template::quoted("as it {is}") == Template::quoted("as it {is}"));
  CHECK(in_words(Template::quoted("as it {is}")) == "as it {is}");
}

// A name without a value would be printed with its braces.
TEST_CASE("template: all values of a plan's templates are set") {
  std::size_t texts = 0;
  for (const char* engine : {"logical", "vllm", "sglang", "llama.cpp", "transformers", "mlx", "tensorrt-llm"})
    for (const char* model : {"llama-3.1-8b", "deepseek-v3", "gemma-4-26b", "kimi-linear-48b", "gpt-oss-20b",
                              "deepseek-v4-flash", "falcon-h1-1.5b", "qwen3.5-27b"}) {
      CAPTURE(engine);
      CAPTURE(model);
      for (const char* seqs : {"1", "200"}) {
        const std::string config = std::string("testdata/configs/") + model + ".json";
        const auto run = run_program(
            {config, "--engine", engine, "--gpu", "h100-80gb", "--max-model-len", "16k", "--num-seqs", seqs, "--json"});
        const auto plan = nlohmann::json::parse(run.out);
        const auto whole = [&](const nlohmann::json& text) {
          ++texts;
          CHECK_MESSAGE(text.get<std::string>().find('{') == std::string::npos, text);
        };
        for (const auto& line : plan["memory"][0]["lines"])
          for (const char* key : {"what", "formula"}) whole(line[key]);
        for (const auto& line : plan["kv_cache"]["gap"]) whole(line["reason"]);
        for (const auto& note : plan["notes"]) whole(note["message"]);
        whole(plan["verdict"]["reason"]);
      }
    }
  CHECK(texts > 1000);
}

}  // namespace
}  // namespace kvplan
