#include "launch/find_commands.h"

#include <doctest/doctest.h>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "launch/containers.h"

namespace kvplan {
namespace {

// "vllm 0.8.4: serve m" for each command: its engine, release and words.
std::string found(const std::string& text) {
  return join(find_commands(text), "\n", [](const LaunchCommand& each) {
    const std::string gpus = each.gpus ? " on " + std::to_string(*each.gpus) : "";
    return std::string(each.engine->name) + (each.release.empty() ? "" : " " + each.release) + gpus + ": " +
           join(each.words, " ", &ShellWord::text);
  });
}

TEST_CASE("The engine's command is found behind prompts, wrappers and other commands") {
  CHECK(found("$ vllm serve m --x") == "vllm: vllm serve m --x");
  CHECK(found("root@box:/w# vllm serve m") == "vllm: vllm serve m");
  CHECK(found("# vllm serve m") == "vllm: vllm serve m");
  CHECK(found("pip install vllm\ncd /x && nohup python3 -m vllm.entrypoints.openai.api_server --model m > l 2>&1 &") ==
        "vllm: -m vllm.entrypoints.openai.api_server --model m");
  CHECK(found("numactl --membind=1 mpirun -np 2 trtllm-serve m") == "tensorrt-llm: trtllm-serve m");
  CHECK(found("systemd-run --scope -p MemoryMax=8G ../llama-server -m x.gguf") ==
        "llama.cpp: ../llama-server -m x.gguf");
  CHECK(found("while true; do\n  /v/bin/mlx_lm.server --model m\n  sleep 3\ndone") ==
        "mlx: /v/bin/mlx_lm.server --model m");
  CHECK(found("llama-server.exe -m \"C:\\x.gguf\"") == "llama.cpp: llama-server.exe -m C:\\x.gguf");
  CHECK(found("vllm serve a\nsglang serve --model-path b") ==
        "vllm: vllm serve a\nsglang: sglang serve --model-path b");
  CHECK(found("ssh box \"cd /x && nohup llama-server -m x.gguf > log 2>&1 &\"") == "llama.cpp: llama-server -m x.gguf");
  CHECK(found("docker run image bash -c -i \"vllm serve m\"") == "vllm: vllm serve m");
  CHECK(found("CMD [\"/bin/bash\", \"-c\", \"llama-server -m x.gguf\"]") == "llama.cpp: llama-server -m x.gguf");
  CHECK(found("CMD=\"vllm serve m --x\"\neval \"$CMD\"") == "vllm: vllm serve m --x");
  CHECK(found("SERVE_COMMAND=\"vllm serve m\" bash run.sh") == "vllm: vllm serve m");
  CHECK(found("mpirun -n 1 numactl --all -C 0-47 python -m vllm.entrypoints.openai.api_server --model m : -n 1 x y") ==
        "vllm: -m vllm.entrypoints.openai.api_server --model m");
  CHECK(found("[Unit]\nDescription=x\n[Service]\nEnvironment=\"A=1\"\nExecStart=/v/bin/vllm serve m \\\n  -tp 2\n") ==
        "vllm: /v/bin/vllm serve m -tp 2");
  CHECK(found("[program:x]\ncommand=/v/bin/llama-server -m x.gguf -c 512\nautostart=true") ==
        "llama.cpp: /v/bin/llama-server -m x.gguf -c 512");
  CHECK(found("$M = \"C:\\m\\x.gguf\"\n.\\llama-server.exe -m $M") ==
        "llama.cpp: .\\llama-server.exe -m C:\\m\\x.gguf");
  CHECK(found("$a = @(\n  \"-m\", \"x.gguf\",\n  \"-c\", \"512\"\n)\n& .\\llama-server.exe @a") ==
        "llama.cpp: .\\llama-server.exe -m x.gguf -c 512");
  CHECK(found("Start-Process -FilePath \"llama-server.exe\" -ArgumentList \"-m x.gguf -c 512\" -NoNewWindow") ==
        "llama.cpp: llama-server.exe -m x.gguf -c 512");
  CHECK(found("uvx vllm@0.10.2 serve m") == "vllm 0.10.2: vllm@0.10.2 serve m");
  CHECK(found("singularity run --nv docker://vllm/vllm-openai:v0.10.0 --model m") == "vllm 0.10.0: --model m");
  CHECK(found("apptainer exec --nv docker://lmsysorg/sglang:v0.5.3 python3 -m sglang.launch_server --tp 2") ==
        "sglang 0.5.3: -m sglang.launch_server --tp 2");
  CHECK(found("llama serve -hf a/b") == "llama.cpp: llama serve -hf a/b");
  CHECK(found("[\"vllm\",\"serve\",\"m\",\"-tp\",\"2\"]") == "vllm: vllm serve m -tp 2");
  CHECK(found("cmd = ['vllm', 'serve', 'm']\nrun(cmd)") == "vllm: vllm serve m");
  CHECK(found("Popen(\"vllm serve m -tp 2\", shell=True)") == "vllm: vllm serve m -tp 2");
  CHECK(found("<string>/b/llama-server</string>\n<string>-m</string>\n<string>x.gguf</string>") ==
        "llama.cpp: /b/llama-server -m x.gguf");
  CHECK_THROWS_AS(found("image: vllm/vllm-openai:v0.9.0\ncommand: --model m"), Error);
  CHECK_THROWS_AS(found("docker run --entrypoint bash vllm/vllm-openai:v0.19.0 -c \"pip install x\""), Error);
  // Commands as they appear in Markdown, mails and PowerShell.
  CHECK(found("I run `vllm serve m -tp 2` and it fails") == "vllm: vllm serve m -tp 2");
  CHECK(found("> llama-server -m x.gguf -c 512") == "llama.cpp: llama-server -m x.gguf -c 512");
  CHECK(found("`& \"$D\\llama-server.exe\" `\n  -m x.gguf `\n  --jinja`") ==
        "llama.cpp: $D\\llama-server.exe -m x.gguf --jinja");
  // The release from a package's name, and from an image's tag.
  CHECK(found("pip install vllm==0.10.2\nvllm serve m") == "vllm 0.10.2: vllm serve m");
  CHECK(found("uv pip install \"sglang[all]==0.5.8\"\nvllm serve m") == "vllm: vllm serve m");
  // The environment of a server without a model applies to the models that are run later.
  CHECK(found("OLLAMA_NUM_PARALLEL=2 ollama serve &\nollama run m") == "ollama: ollama run m");
  CHECK(find_commands("OLLAMA_NUM_PARALLEL=2 ollama serve &\nollama run m").front().environment ==
        Assignments{{"OLLAMA_NUM_PARALLEL", "2"}});
  CHECK_THROWS_AS(find_commands("echo llama-server\nwhich vllm\npip install sglang"), Error);
  CHECK_THROWS_AS(find_commands(""), Error);
}

TEST_CASE("docker run, with the image's own entry point or a program") {
  CHECK(found("docker run --gpus '\"device=0,1\"' -e A=1 --rm -it vllm/vllm-openai:v0.8.4 --model m -tp 2") ==
        "vllm 0.8.4 on 2: --model m -tp 2");
  CHECK(
      found(
          "sudo docker run --gpus all lmsysorg/sglang:v0.4.5.post3-cu121 python3 -m sglang.launch_server --model m") ==
      "sglang 0.4.5: -m sglang.launch_server --model m");
  CHECK(found("docker run x/vllm:r36.4.3-cu126 /bin/bash -c 'vllm serve m --x'") == "vllm: vllm serve m --x");
  CHECK(found("docker run ghcr.io/ggml-org/llama.cpp:server-cuda -m x.gguf -c 4096") == "llama.cpp: -m x.gguf -c 4096");
  CHECK(found("docker run nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc1\n\ntrtllm-serve m") ==
        "tensorrt-llm: trtllm-serve m");
  CHECK(release_of_image("vllm/vllm-openai:latest").empty());
  CHECK(release_of_image("localhost:5000/vllm").empty());
  CHECK(release_of_image("ghcr.io/ggml-org/llama.cpp:server-cuda-b6900") == "b6900");
}

TEST_CASE("Containers as JSON, and a Modelfile") {
  const std::string pod =
      R"j({"spec": {"containers": [{"image": "vllm/vllm-openai:v0.30.0", "args": ["--model", "$(M)"],)j"
      R"j( "env": [{"name": "M", "value": "org/m"}], "resources": {"limits": {"nvidia.com/gpu": 2}}}]}})j";
  CHECK(found(pod) == "vllm 0.30.0 on 2: --model org/m");
  const std::string compose =
      R"({"services": {"x": {"image": "lmsysorg/sglang", "entrypoint": "python3 -m sglang.launch_server",)"
      R"( "command": ["--model-path", "m"]}}})";
  CHECK(found(compose) == "sglang: -m sglang.launch_server --model-path m");
  CHECK(found("FROM gpt-oss:20b\nPARAMETER num_ctx 32000\nSYSTEM \"\"\"\nPARAMETER top_k 1\n\"\"\"\n") ==
        "ollama: ollama run num_ctx 32000 gpt-oss:20b");
  CHECK_THROWS_WITH_AS(find_commands("services:\n  x:\n    image: vllm/vllm-openai\n"), doctest::Contains("YAML"),
                       Error);
  CHECK_THROWS_AS(find_commands("{\"image\": 1"), Error);
}

TEST_CASE("The size of a text is limited") {
  CHECK_THROWS_AS(find_commands(std::string((std::size_t{1} << 20) + 1, 'a')), Error);
  std::string many;
  for (int i = 0; i < 65; ++i) many += "vllm serve m\n";
  CHECK_THROWS_AS(find_commands(many), Error);
  CHECK_THROWS_AS(find_commands(std::string(500000, '[')), Error);
}

}  // namespace
}  // namespace kvplan
