// A hub on loopback with models as a test needs them, and runs of the real program against it with a separate home
// folder.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "kvplan/error.h"
#include "support/hub_server.h"
#include "support/program.h"
#include "support/words.h"

namespace kvplan {

namespace fs = std::filesystem;

inline const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";
inline const std::string kSecret = "hf_aVerySecretTokenOfTheTests";
inline const std::string kConfig =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
        "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "tie_word_embeddings": false})";
inline const std::string kSmallConfig =
    R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 2048, "torch_dtype": "bfloat16"})";

// The library is not linked, so it may be missing. Then there is nothing to test.
inline bool has_curl() {
  static const bool found = dlopen("libcurl.so.4", RTLD_LAZY) != nullptr;
  if (!found) MESSAGE("SKIPPED: libcurl.so.4 is not on this machine (scripts/setup installs libcurl4)");
  return found;
}

inline std::string index_of(int shards, std::uint64_t total, const std::string& suffix = "weight") {
  std::string text = "{\"metadata\": {\"total_size\": " + std::to_string(total) + "}, \"weight_map\": {";
  for (int i = 1; i <= shards; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05d-of-%06d.safetensors", i, shards);
    text += (i > 1 ? ", " : "") + ("\"model.layers." + std::to_string(i)) + ".mlp.up_proj." + suffix + "\": \"" + name +
            "\"";
  }
  return text + "}}";
}

inline std::string safetensors(const std::string& header, std::size_t data) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(header.size() >> (8 * i));
  return out + header + std::string(data, '\0');
}

inline Answer with_commit(std::string body) {
  Answer out;
  out.body = std::move(body);
  out.headers = {"X-Repo-Commit: " + kCommit};
  return out;
}

inline Answer refusal(int status, const std::string& code) {
  Answer out;
  out.status = status;
  out.body = "no";
  if (!code.empty()) out.headers = {"X-Error-Code: " + code};
  return out;
}

struct Site {
  HubServer hub;
  TemporaryFolder home;

  // A model with `files` at main and at its commit.
  void serve(const std::string& repo, const std::vector<std::pair<std::string, Answer>>& files) {
    for (const auto& [name, answer] : files)
      for (const std::string& revision : {std::string("main"), kCommit})
        hub.on("/" + repo + "/resolve/" + revision + "/" + name, {answer});
  }

  Run run(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> environment = more;
    const auto put = [&](const std::string& name, const std::string& value) {
      if (std::none_of(more.begin(), more.end(), [&](const std::string& v) { return v.starts_with(name + "="); }))
        environment.push_back(name + "=" + value);
    };
    put("HF_ENDPOINT", hub.url());
    put("HOME", home.path());
    put("HF_HOME", home.path() + "/hf");
    put("XDG_CACHE_HOME", home.path() + "/cache");
    put("KVPLAN_HTTP_TIMEOUT_MS", "5000");
    put("NO_PROXY", "*");
    put("no_proxy", "*");
    for (const char* name : {"HF_TOKEN",
                             "HUGGING_FACE_HUB_TOKEN",
                             "HF_TOKEN_PATH",
                             "HF_HUB_CACHE",
                             "HUGGINGFACE_HUB_CACHE",
                             "HF_HUB_OFFLINE",
                             "TRANSFORMERS_OFFLINE",
                             "KVPLAN_CACHE",
                             "HF_HUB_DISABLE_IMPLICIT_TOKEN",
                             "SSL_CERT_FILE",
                             "SSL_CERT_DIR",
                             "CURL_CA_BUNDLE",
                             "REQUESTS_CA_BUNDLE",
                             "http_proxy",
                             "HTTP_PROXY",
                             "https_proxy",
                             "HTTPS_PROXY",
                             "all_proxy",
                             "ALL_PROXY",
                             "REQUEST_METHOD"})
      put(name, "");
    return run_program(arguments, "/dev/null", environment);
  }

  // Every file beneath the home, and their names.
  std::string all_files() const {
    std::ostringstream text;
    for (const auto& entry : fs::recursive_directory_iterator(home.path())) {
      text << entry.path().string() << '\n';
      if (entry.is_regular_file()) text << std::ifstream(entry.path(), std::ios::binary).rdbuf() << '\n';
    }
    return text.str();
  }
  bool has_cached_model() const {
    return all_files().find("/snapshots/") != std::string::npos && all_files().find("config.json") != std::string::npos;
  }
};

inline void check_refused(const Run& run, Exit exit, const std::string& part) {
  CAPTURE(run.err);
  CHECK(run.exit == static_cast<int>(exit));
  CHECK(run.out.empty());
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(run.err.find("; ") != std::string::npos);
  CHECK_MESSAGE(run.err.find(part) != std::string::npos, part);
}

}  // namespace kvplan
