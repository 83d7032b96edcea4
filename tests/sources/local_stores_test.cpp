// Models by the names of other tools, in folders laid out as those tools document them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "sources/local_stores.h"
#include "support/environment.h"
#include "support/gguf_writer.h"
#include "support/program.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;

std::string gguf() {
  return small_llama_gguf().file();
}

struct Stores {
  TemporaryFolder home;

  void put(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(home.path() + "/" + path).parent_path());
    home.write(path, text);
  }
  Run run(const std::vector<std::string>& arguments, const std::string& more = "KVPLAN_TEST=") const {
    std::vector<std::string> environment{more, "HOME=" + home.path()};
    for (const char* name : {"OLLAMA_MODELS", "LLAMA_CACHE", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE"})
      if (!more.starts_with(std::string(name) + "=")) environment.push_back(std::string(name) + "=");
    return run_program(arguments, "/dev/null", environment);
  }
  void check_found(const std::string& name, const std::string& more = "KVPLAN_TEST=") const {
    const Run found = run({name, "--json"}, more);
    CAPTURE(name);
    CAPTURE(found.err);
    CHECK(found.exit == 0);
    CHECK(found.out.find("\"source\": \"" + name + "\"") != std::string::npos);
  }
  void check_refused(const std::string& name, const std::string& part) const {
    const Run refused = run({name});
    CAPTURE(name);
    CAPTURE(refused.err);
    CHECK(refused.exit == 2);
    CHECK(refused.out.empty());
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
    CHECK_MESSAGE(refused.err.find(part) != std::string::npos, part);
  }
};

TEST_CASE("stores: compare names local models for the types that need another checkpoint") {
  const Stores stores;
  const std::string manifest = R"({"schemaVersion": 2, "layers": []})";
  stores.put(".ollama/models/manifests/registry.ollama.ai/library/llama3.1/8b-instruct-q4_K_M", manifest);
  stores.put(".ollama/models/manifests/registry.ollama.ai/library/qwen3/8b-q8_0", manifest);  // another model
  stores.put(".lmstudio/models/org/Llama-3.1-8B-Instruct-GGUF/Llama-3.1-8B-Instruct-Q6_K.gguf", gguf());
  const std::string repo = ".cache/huggingface/hub/models--org--Llama-3.1-8B-AWQ-INT4/";
  const std::string commit(40, 'c');
  stores.put(repo + "refs/main", commit);
  stores.put(repo + "snapshots/" + commit + "/config.json", R"({"model_type": "llama"})");
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  const std::string files =
      stores.run({"compare", model, "--engine", "llama.cpp", "--gpu", "rtx-4090", "--color", "never"}).out;
  CHECK(files.find("q4_k_m lies here as ollama:llama3.1:8b-instruct-q4_K_M") != std::string::npos);
  CHECK(files.find("q6_k lies here as\n  lmstudio:org/Llama-3.1-8B-Instruct-GGUF@Llama-3.1-8B-Instruct-Q6_K") !=
        std::string::npos);
  CHECK(files.find("qwen3") == std::string::npos);
  CHECK(files.find("q8_0 lies here") == std::string::npos);
  const std::string served =
      stores.run({"compare", model, "--engine", "vllm", "--gpu", "l4", "--weights", "bf16,awq"}).out;
  CHECK(served.find("lies here as org/Llama-3.1-8B-AWQ-INT4") != std::string::npos);
}

TEST_CASE("stores: the number of entries is limited, per folder and in all") {
  const Stores stores;
  const std::string store = ".ollama/models/manifests/registry.ollama.ai/library/";
  const auto fill = [&](const std::string& model, int tags) {
    fs::create_directories(stores.home.path() + "/" + store + model);
    for (int i = 0; i < tags; ++i) stores.home.write(store + model + "/q" + std::to_string(i), "");
  };
  const ScopedEnvironment environment({{"HOME", stores.home.path()},
                                       {"OLLAMA_MODELS", stores.home.path() + "/.ollama/models"},
                                       {"HF_HOME", ""},
                                       {"HF_HUB_CACHE", ""},
                                       {"XDG_CACHE_HOME", ""}});
  fill("a", 4096);
  CHECK(stored_models().size() == 4096);
  fill("a", 4097);
  CHECK(stored_models().size() == 4096);
  // Four entries are those of the models themselves.
  for (const char* model : {"b", "c"}) fill(model, 4096);
  fill("d", 4092);
  CHECK(stored_models().size() == 16380);
  fill("d", 4093);
  CHECK(stored_models().size() == 16380);
}

TEST_CASE("stores: ollama's manifests and blobs") {
  const Stores stores;
  const std::string hash(64, 'a');
  const std::string manifest = R"({"schemaVersion": 2, "config": {"digest": "sha256:cc"}, "layers": [
      {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:bb"},
      {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" +
                               hash + "\"}]}";
  const std::string root = ".ollama/models/";
  stores.put(root + "blobs/sha256-" + hash, gguf());
  stores.put(root + "manifests/registry.ollama.ai/library/llama3.1/8b", manifest);
  stores.put(root + "manifests/registry.ollama.ai/library/small/latest", manifest);
  stores.put(root + "manifests/registry.ollama.ai/someone/small/q8", manifest);
  stores.put(root + "manifests/hf.co/org/name-GGUF/Q4_K_M", manifest);
  for (const char* name :
       {"ollama:llama3.1:8b", "ollama:small", "ollama:someone/small:q8", "ollama:hf.co/org/name-GGUF:Q4_K_M"})
    stores.check_found(name);
  fs::rename(stores.home.path() + "/.ollama/models", stores.home.path() + "/elsewhere");
  stores.check_refused("ollama:small", "no model of that name");
  stores.check_found("ollama:small", "OLLAMA_MODELS=" + stores.home.path() + "/elsewhere");
  fs::rename(stores.home.path() + "/elsewhere", stores.home.path() + "/.ollama/models");

  for (const char* name : {"ollama:../../x", "ollama:a/../b", "ollama:", "ollama::", "ollama:a:", "ollama:a/b/c/d",
                           "ollama:.x:8b", "ollama:x%2f"})
    stores.check_refused(name, "is not a");
  stores.put(root + "manifests/registry.ollama.ai/library/bad/a", "{\"layers\": [");
  stores.put(root + "manifests/registry.ollama.ai/library/bad/b", "{\"layers\": []}");
  stores.put(
      root + "manifests/registry.ollama.ai/library/bad/c",
      R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../../etc/passwd"}]})");
  stores.put(root + "manifests/registry.ollama.ai/library/bad/d",
             R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" +
                 std::string(64, 'd') + "\"}]}");
  stores.check_refused("ollama:bad:a", "kvplan: ollama:bad:a");
  stores.check_refused("ollama:bad:b", "names no GGUF");
  stores.check_refused("ollama:bad:c", "names a blob by");
  stores.check_refused("ollama:bad:d", "blob is missing from ollama");
}

TEST_CASE("stores: LM Studio's folders") {
  const Stores stores;
  stores.put(".lmstudio/models/pub/one/one-q8_0.gguf", gguf());
  stores.put(".lmstudio/models/pub/one/mmproj-one-f16.gguf", "none");
  stores.put(".lmstudio/models/pub/two/two-Q3_K_L.gguf", gguf());
  stores.put(".lmstudio/models/pub/two/two-Q6_K.gguf", gguf());
  for (const char* name : {"lmstudio:pub/one", "lmstudio:pub/two@q6_k", "lmstudio:pub/two@Q3_K_L"})
    stores.check_found(name);
  stores.check_refused("lmstudio:pub/two", "several files");
  stores.check_refused("lmstudio:pub/two@q2", "no model of that name");
  stores.check_refused("lmstudio:pub/../two", "is not a");
  stores.check_refused("lmstudio:../..", "is not a");
}

TEST_CASE("stores: llama.cpp's cache, in the old and the new layout") {
  const Stores stores;
  const std::string commit(40, 'e');
  stores.put(".cache/llama.cpp/org_old-GGUF_old-Q4_K_M.gguf", gguf());
  stores.put(".cache/llama.cpp/org_old-GGUF_old-Q8_0.gguf", gguf());
  stores.put(".cache/llama.cpp/org_old-GGUF_mmproj-old-Q8_0.gguf", "none");
  stores.put(".cache/huggingface/hub/models--org--new-GGUF/refs/main", commit);
  stores.put(".cache/huggingface/hub/models--org--new-GGUF/snapshots/" + commit + "/new-Q8_0.gguf", gguf());
  for (const char* name : {"llama.cpp:org/old-GGUF", "llama.cpp:org/old-GGUF:Q8_0", "llama.cpp:org/new-GGUF",
                           "llama.cpp:org/new-GGUF:q8_0"})
    stores.check_found(name);
  stores.check_refused("llama.cpp:org/none", "no model of that name");
  stores.check_refused("llama.cpp:org/../x", "not the name of a model");
}

}  // namespace
}  // namespace kvplan
