// Values that the command line refuses, and what it then says: one line, which names the option as it was typed.
#include <doctest/doctest.h>

#include <algorithm>

#include "support/program.h"

namespace kvplan {
namespace {

const std::string kLlama = "testdata/configs/llama-3.1-8b.json";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void check_refused(const std::vector<std::string>& arguments, const std::string& part) {
  const Run run = run_program(arguments);
  CAPTURE(run.err);
  CAPTURE(part);
  CHECK(run.exit == 2);
  CHECK(run.out.empty());
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(has(run.err, part));
}

TEST_CASE("errors name the option that was typed") {
  check_refused({kLlama, "--draft-weights", "zzz"}, "--draft-weights: \"zzz\" is no weight type");
  check_refused({kLlama, "--weights", "zzz"}, "--weights: \"zzz\"");
  check_refused({kLlama, "-q", "zzz"}, "-q: \"zzz\"");
  check_refused({kLlama, "--quantization", "q4_0,zzz"}, "--quantization: \"zzz\"");
  check_refused({kLlama, "-ctkd", "zzz"}, "-ctkd: ");
  check_refused({kLlama, "-ctk", "q8_0", "--ctx-size", "zzz"}, "--ctx-size: ");
  check_refused({kLlama, "-c", "zzz"}, "-c: ");
  check_refused({kLlama, "-czzz"}, "-c: ");
  check_refused({kLlama, "--chunked-prefill-size=0"}, "--chunked-prefill-size: ");
  check_refused({kLlama, "--mem-fraction-static", "2"}, "--mem-fraction-static: ");
}

TEST_CASE("a size without a unit is no handful of bytes") {
  check_refused({kLlama, "--gpu-memory", "24"},
                "24 without a unit is 24 bytes; did you mean 24GiB? Bytes are written 24B");
  check_refused({kLlama, "--gpu-memory", "24576"}, "did you mean 24576MiB?");
  check_refused({kLlama, "--max-vram", "0.5"}, "not a size");
  check_refused({kLlama, "--kv-cache-memory-bytes", "80"}, "did you mean 80GiB?");
  // Bytes that say so, and bytes by the million, are taken.
  CHECK(run_program({kLlama, "--gpu-memory", "24B", "--max-model-len", "8k"}).exit == 1);
  CHECK(run_program({kLlama, "--gpu-memory", "25769803776", "--max-model-len", "8k"}).exit == 0);
}

TEST_CASE("bounds of speed want a machine's figures") {
  for (const char* option : {"--gpu-tflops", "--gpu-bandwidth"})
    for (const char* value : {"1e-300", "1e-10", "0", "-1", "nan", "inf", "1e9", "1e309", "", "5x"})
      check_refused({kLlama, option, value}, "from 0.01 to 1000000");
  const Run slow = run_program({kLlama, "--gpu-bandwidth", "0.05", "--gpu-tflops", "0.01", "--max-model-len", "8k"});
  CHECK(slow.exit == 0);
  CHECK(has(slow.out, "by 0.05 GB/s"));
}

TEST_CASE("--speculative-config: a value of the wrong type names its key") {
  const std::string eagle = R"("method": "ngram")";
  const auto refused = [&](const std::string& json, const std::string& part) {
    check_refused({kLlama, "--speculative-config", json}, part);
  };
  for (const char* value :
       {"\"three\"", "\"3\"", "true", "[3]", "{}", "2.5", "-1", "0", "1e30", "18446744073709551616"})
    refused("{" + eagle + ", \"num_speculative_tokens\": " + value + "}", "\"num_speculative_tokens\" is");
  for (const char* value : {"3", "true", "[\"ngram\"]", "{}"}) {
    refused(R"({"method": )" + std::string(value) + "}", "\"method\" is");
    refused("{" + eagle + ", \"model\": " + value + "}", "\"model\" is");
    refused("{" + eagle + ", \"quantization\": " + value + "}", "\"quantization\" is");
  }
  refused(R"({"model": "d", "quantization": "zzz"})", "\"quantization\": \"zzz\" is no weight type");
  // null is vLLM's own word for what nobody named.
  CHECK(run_program({kLlama, "--max-model-len", "8k", "--speculative-config",
                     "{" + eagle + R"(, "model": null, "num_speculative_tokens": null})"})
            .exit == 0);
  const Run unknown = run_program({kLlama, "--max-model-len", "8k", "--speculative-config",
                                   "{" + eagle + R"(, "num_speculativ_tokens": 5, "prompt_lookup_max": 4})"});
  CHECK(unknown.exit == 0);
  CHECK(has(unknown.err + unknown.out, "\"num_speculativ_tokens\" is not read"));
  CHECK_FALSE(has(unknown.err + unknown.out, "prompt_lookup_max"));
}

}  // namespace
}  // namespace kvplan
