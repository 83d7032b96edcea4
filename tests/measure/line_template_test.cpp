// Templates of log lines, matched with lines that engines print.
#include "measure/log_reader.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engines/engine.h"

namespace kvplan {
namespace {

std::optional<LineTemplate::Match> match(std::string_view text, std::string_view line) {
  LogTemplate source;
  source.text = text;
  return LineTemplate(source).match(plain_line(line));
}

TEST_CASE("line template: values between fixed words") {
  auto found =
      match("Model loading took {weights:size} and {seconds:s}", "x] Model loading took 14.2487 GB and 36.2 s");
  REQUIRE(found);
  REQUIRE(found->values.size() == 2);
  CHECK(found->values[0].value == 14.2487);
  CHECK(found->values[0].unit == LogUnit::kGibibytes);
  CHECK(found->values[1].value == 36.2);
  // The word in front of the figure, any blanks, and thousands separators.
  found = match("{device:word} KV buffer size = {kv:size}", "llama_kv_cache:    Vulkan0 KV buffer size =   128.00 MiB");
  REQUIRE(found);
  CHECK(found->values[0].text == "Vulkan0");
  CHECK(found->values[1].unit == LogUnit::kMebibytes);
  found = match("KV cache size: {kv_tokens:tokens} tokens", "GPU KV cache size: 1,043,072 tokens");
  REQUIRE(found);
  CHECK(found->values[0].value == 1043072);
  CHECK(!match("KV cache size: {kv_tokens:tokens} tokens", "GPU KV cache size: none tokens"));
}

TEST_CASE("line template: arguments, as each engine writes them") {
  const std::string_view count = "tensor_parallel_size{=}{tp}";
  for (const std::string_view line : {"tensor_parallel_size=2, x", "{'tensor_parallel_size': 2}",
                                      "\"tensor_parallel_size\": 2", "tensor_parallel_size = 2"}) {
    CAPTURE(line);
    const auto found = match(count, line);
    REQUIRE(found);
    CHECK(found->values[0].value == 2);
  }
  const std::string_view word = "dtype{=}{dtype:word}";
  CHECK(match(word, "dtype=torch.bfloat16,")->values[0].text == "torch.bfloat16");
  CHECK(match(word, "{'dtype': 'bfloat16'}")->values[0].text == "bfloat16");
  CHECK(!match(word, "kv_cache_dtype=fp8"));  // another argument
  CHECK(!match(word, "dtype of the model"));
}

TEST_CASE("line template: texts and the characters allowed between them") {
  const auto found = match("using device {device:word} ({card:text})",
                           "using device CUDA0 (NVIDIA GeForce RTX 4090) - 23000 MiB free");
  REQUIRE(found);
  CHECK(found->values[1].text == "NVIDIA GeForce RTX 4090");
  CHECK(match("Load weight end. {*}mem usage={w:size}", "Load weight end. type=X, avail mem=9.5 GB, mem usage=1.5 GB.")
            ->values[0]
            .value == 1.5);
  CHECK(last_digit_of("2.38") == doctest::Approx(0.01));
  CHECK(last_digit_of("1,234") == 1);
}

TEST_CASE("line template: the figures of every engine can be found") {
  std::size_t rows = 0;
  for (const LogProgram& program : log_programs()) rows += program.log->figures.size();
  CHECK(rows > 200);
  CHECK_FALSE(log_index().candidates("GPU KV cache size: 1,043,072 tokens").empty());
  CHECK(log_index().candidates("abc").empty());
}

}  // namespace
}  // namespace kvplan
