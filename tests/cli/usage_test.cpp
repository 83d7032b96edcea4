// Values that the command line refuses, and the error: one line that names the option as typed.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/command_line.h"

namespace kvplan {
namespace {

TEST_CASE("errors name the option that was typed") {
  check_refuses({kLlamaConfig, "--draft-weights", "zzz"}, "--draft-weights: \"zzz\" is not a weight type");
  check_refuses({kLlamaConfig, "--weights", "zzz"}, "--weights: \"zzz\"");
  check_refuses({kLlamaConfig, "-q", "zzz"}, "-q: \"zzz\"");
  check_refuses({kLlamaConfig, "--quantization", "q4_0,zzz"}, "--quantization: \"zzz\"");
  check_refuses({kLlamaConfig, "-ctkd", "zzz"}, "-ctkd: ");
  check_refuses({kLlamaConfig, "-ctk", "q8_0", "--ctx-size", "zzz"}, "--ctx-size: ");
  check_refuses({kLlamaConfig, "-c", "zzz"}, "-c: ");
  check_refuses({kLlamaConfig, "-czzz"}, "-c: ");
  check_refuses({kLlamaConfig, "-tp", "zzz"}, "command line: -tp: ");
  check_refuses({kLlamaConfig, "--tp", "zzz"}, "command line: --tp: ");
  check_refuses({kLlamaConfig, "--limit-mm-per-prompt", ""}, "--limit-mm-per-prompt: an empty list");
  check_refuses({kLlamaConfig, "--chunked-prefill-size=0"}, "--chunked-prefill-size: ");
  check_refuses({kLlamaConfig, "--mem-fraction-static", "2"}, "--mem-fraction-static: ");
}

TEST_CASE("options of other programs lead to those of kvplan") {
  check_refuses({kLlamaConfig, "--kv-dtype", "fp8"}, "use --kv-cache-dtype TYPE");
  check_refuses({kLlamaConfig, "--engine", "ktransformers"}, "is an engine that kvplan does not plan for; use one of");
  check_refuses({kLlamaConfig, "--engine", "exllama@1.0"}, "exllama is an engine that kvplan does not plan for");
  check_refuses({kLlamaConfig, "--engine", "koboldcpp"}, "koboldcpp runs llama.cpp; use --engine llama.cpp");
  check_refuses({kLlamaConfig, "--gpu", "cpu"}, "--gpu none --engine llama.cpp -ngl 0 --host-memory 32GiB");
  check_refuses({kLlamaConfig, "--gpu", "mac"}, "such as m3-max-36gb");
  check_refuses({kLlamaConfig, "--gpu", "rtx-4090,l4", "--gpu", "h100"}, "--gpu is given twice");
  CHECK(run_program({"version"}).out == run_program({"--version"}).out);
  const Run cpu = run_program(
      {kLlamaConfig, "-c", "8k", "--gpu", "none", "--engine", "llama.cpp", "-ngl", "0", "--host-memory", "32GiB"});
  CHECK(cpu.exit == 0);
  const std::vector<std::string> capped{kLlamaConfig, "--engine", "vllm", "--gpu", "h100", "--max-num-seqs", "64"};
  CHECK(has(run_program(capped).out, "Add --num-seqs 64"));
  std::vector<std::string> both = capped;
  both.insert(both.end(), {"--num-seqs", "64"});
  CHECK(!has(run_program(both).out, "Add --num-seqs"));
}

TEST_CASE("training, diffusion and vision are out of scope, and the error says so") {
  for (const char* option : {"--training", "--qlora", "--optimizer"})
    check_refuses({kLlamaConfig, option}, "kvplan plans inference only");
  for (const char* engine : {"trl", "unsloth"})
    check_refuses({kLlamaConfig, "--engine", engine}, "kvplan plans inference only");
  check_refuses({"finetune", kLlamaConfig}, "kvplan plans inference only");
  const TemporaryFolder folder;
  const auto refusal = [&](const char* name, const char* text) {
    const Run run = run_program({folder.write(name, text)});
    CHECK(run.exit == 3);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(has(refusal("model_index.json", R"({"_class_name": "FluxPipeline", "_diffusers_version": "0.30.0",
    "transformer": ["diffusers", "FluxTransformer2DModel"]})"),
            "FluxPipeline is a diffusion model"));
  CHECK(has(refusal("flux.json", R"({"_class_name": "FluxTransformer2DModel", "_diffusers_version": "0.30.0",
    "num_layers": 19, "num_attention_heads": 24, "attention_head_dim": 128})"),
            "kvplan plans language models"));
  CHECK(has(refusal("vit.json", R"({"architectures": ["ViTForImageClassification"], "model_type": "vit",
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072})"),
            "\"vit\" is an image or audio model"));
  CHECK(has(refusal("clip.json", R"({"architectures": ["CLIPModel"], "model_type": "clip",
    "text_config": {"model_type": "clip_text_model"}, "vision_config": {"model_type": "clip_vision_model"}})"),
            "kvplan plans language models"));
}

TEST_CASE("a command may come after its options") {
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  const Run behind = run_program({"--engine", "vllm", "--gpu", "l4", "fit", model, "--max-model-len", "8k"});
  const Run before = run_program({"fit", model, "--engine", "vllm", "--gpu", "l4", "--max-model-len", "8k"});
  CHECK(behind.exit == before.exit);
  CHECK(behind.out == before.out);
  CHECK(!before.out.empty());
  CHECK(run_program({model, "fit", "--engine", "vllm", "--gpu", "l4", "--max-model-len", "8k"}).out == before.out);
  // A folder of the repository has that name.
  CHECK(run_program({"help", "formulas"}).out == run_program({"formulas", "--help"}).out);
  // An option's value is not a command.
  CHECK(run_program({model, "--engine", "fit"}).exit == 2);
}

TEST_CASE("all spellings of an option have the same effect") {
  const std::string two = run_program({kLlamaConfig, "--tensor-parallel-size", "2", "--json"}).out;
  CHECK(has(two, "\"tensor_parallel_size\": 2"));
  for (const std::vector<std::string>& spelling : std::vector<std::vector<std::string>>{{"-tp", "2"},
                                                                                        {"-tp=2"},
                                                                                        {"--tp", "2"},
                                                                                        {"--tp=2"},
                                                                                        {"--tensor-parallel-size=2"},
                                                                                        {"-tp", "4", "--tp", "2"}}) {
    std::vector<std::string> arguments{kLlamaConfig, "--json"};
    arguments.insert(arguments.end(), spelling.begin(), spelling.end());
    CHECK(run_program(arguments).out == two);
    arguments.insert(arguments.begin(), "plan");
    CHECK(run_program(arguments).out == two);
  }
  CHECK(run_program({kLlamaConfig, "-c4096", "--json"}).out ==
        run_program({"--ctx-size=4k", "--json", kLlamaConfig}).out);
  CHECK(run_program({"--json", "--", kLlamaConfig}).out == run_program({kLlamaConfig, "--json"}).out);
}

TEST_CASE("unknown options, values and models of a command are refused") {
  check_refuses({kLlamaConfig, "--gpu"}, "--gpu needs a value");
  check_refuses({kLlamaConfig, "--gpu=", "h100"}, "--gpu needs a value");
  check_refuses({kLlamaConfig, "-tp"}, "-tp needs a value");
  check_refuses({kLlamaConfig, "--json=no"}, "--json takes no value; leave \"no\" out");
  check_refuses({kLlamaConfig, "--gpuu", "h100"}, "unknown option \"--gpuu\"; did you mean --gpu?");
  check_refuses({kLlamaConfig, "-x5"}, "unknown option \"-x5\"");
  check_refuses({kLlamaConfig, "-5"}, "unknown option \"-5\"");
  check_refuses({"--", "-x.json"}, "-x.json: ");
  check_refuses({"++"}, "++: ");
  check_refuses({"schema", "++"}, "schema takes no \"./++\"");
  // Options of other commands.
  check_refuses({"schema", "--gpu", "h100"}, "schema has no option --gpu; see kvplan schema --help");
  check_refuses({"diff", "a.json", "b.json", "--measure"}, "diff has no option --measure");
  check_refuses({"fit", kLlamaConfig, "--measure"}, "fit has no option --measure");
  check_refuses({"check-log", kLlamaConfig, "x.log", "--max-vram", "1GiB"}, "check-log has no option --max-vram");
  check_refuses({kLlamaConfig, "--fail-over", "5%"}, "plan has no option --fail-over; see kvplan --help");
}

TEST_CASE("a small size without a unit is an error") {
  check_refuses({kLlamaConfig, "--gpu-memory", "24"},
                "24 without a unit is 24 bytes; did you mean 24GiB? Bytes are written 24B");
  check_refuses({kLlamaConfig, "--gpu-memory", "24576"}, "did you mean 24576MiB?");
  check_refuses({kLlamaConfig, "--max-vram", "0.5"}, "not a size");
  check_refuses({kLlamaConfig, "--kv-cache-memory-bytes", "80"}, "did you mean 80GiB?");
  // Bytes with a unit, and bytes without one from a million on, are accepted.
  CHECK(run_program({kLlamaConfig, "--gpu-memory", "24B", "--max-model-len", "8k"}).exit == 1);
  CHECK(run_program({kLlamaConfig, "--gpu-memory", "25769803776", "--max-model-len", "8k"}).exit == 0);
}

TEST_CASE("bounds of speed need a machine's figures") {
  for (const char* option : {"--gpu-tflops", "--gpu-bandwidth"})
    for (const char* value : {"1e-300", "1e-10", "0", "-1", "nan", "inf", "1e9", "1e309", "", "5x"})
      check_refuses({kLlamaConfig, option, value}, "from 0.01 to 1000000");
  const Run slow =
      run_program({kLlamaConfig, "--gpu-bandwidth", "0.05", "--gpu-tflops", "0.01", "--max-model-len", "8k"});
  CHECK(slow.exit == 0);
  CHECK(has(slow.out, "(0.05 GB/s memory bandwidth)"));
}

TEST_CASE("--speculative-config: a value of the wrong type names its key") {
  const std::string eagle = R"("method": "ngram")";
  const auto refused = [&](const std::string& json, const std::string& part) {
    check_refuses({kLlamaConfig, "--speculative-config", json}, part);
  };
  for (const char* value :
       {"\"three\"", "\"3\"", "true", "[3]", "{}", "2.5", "-1", "0", "1e30", "18446744073709551616"})
    refused("{" + eagle + ", \"num_speculative_tokens\": " + value + "}", "\"num_speculative_tokens\" is");
  for (const char* value : {"3", "true", "[\"ngram\"]", "{}"}) {
    refused(R"({"method": )" + std::string(value) + "}", "\"method\" is");
    refused("{" + eagle + ", \"model\": " + value + "}", "\"model\" is");
    refused("{" + eagle + ", \"quantization\": " + value + "}", "\"quantization\" is");
  }
  refused(R"({"model": "d", "quantization": "zzz"})", "\"quantization\": \"zzz\" is not a weight type");
  // vLLM writes null for an unset key.
  CHECK(run_program({kLlamaConfig, "--max-model-len", "8k", "--speculative-config",
                     "{" + eagle + R"(, "model": null, "num_speculative_tokens": null})"})
            .exit == 0);
  const Run unknown = run_program({kLlamaConfig, "--max-model-len", "8k", "--speculative-config",
                                   "{" + eagle + R"(, "num_speculativ_tokens": 5, "prompt_lookup_max": 4})"});
  CHECK(unknown.exit == 0);
  CHECK(has(unknown.err + unknown.out, "ignores \"num_speculativ_tokens\""));
  CHECK_FALSE(has(unknown.err + unknown.out, "prompt_lookup_max"));
}

}  // namespace
}  // namespace kvplan
