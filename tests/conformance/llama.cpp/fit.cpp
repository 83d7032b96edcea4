// llama.cpp's own fit, for one model and simulated GPUs (stub.cpp): the -ngl, -c, -ts and -ot with which its programs
// would start. Compiled with common/fit.cpp of the source, linked with a release's library.
//
//   STUB_DEVICES=1 STUB_MEMORY=12288 fit STUB CPU FILE < CASES      a case a line: "n_ctx=8192 n_seq=4 unified=1
//   n_outputs=1"
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "fit.h"
#include "ggml-backend.h"
#include "llama.h"

namespace {

void quiet(ggml_log_level, const char*, void*) {}

std::string quoted(const char* text) {
  std::string out = "\"";
  for (; *text != 0; ++text) {
    if (*text == '\\' || *text == '"') out += '\\';
    out += *text;
  }
  return out + "\"";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  llama_log_set(quiet, nullptr);
  ggml_log_set(quiet, nullptr);
  if (std::string(argv[2]) != "-") ggml_backend_load(argv[2]);
  if (ggml_backend_load(argv[1]) == nullptr) return 4;
  const char* devices = getenv("STUB_DEVICES");
  const int gpus = devices != nullptr ? atoi(devices) : 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::map<std::string, unsigned> words;
    std::istringstream in(line);
    for (std::string word; in >> word;)
      if (const auto at = word.find('='); at != std::string::npos)
        words[word.substr(0, at)] = unsigned(atol(word.c_str() + at + 1));
    llama_model_params model = llama_model_default_params();
    model.use_extra_bufts = false;
    llama_context_params context = llama_context_default_params();
    context.n_ctx = words["n_ctx"];
    context.n_seq_max = words.count("n_seq") != 0 ? words["n_seq"] : 1;
    context.kv_unified = words["unified"] != 0;
    context.n_outputs_max = words["n_outputs"];
    context.swa_full = false;  // as in the programs
    context.n_batch = 2048;
    context.n_ubatch = 512;
    context.n_threads = context.n_threads_batch = 1;
    std::vector<float> split(llama_max_devices(), 0.0F);
    std::vector<llama_model_tensor_buft_override> overrides(llama_max_tensor_buft_overrides(), {nullptr, nullptr});
    std::vector<size_t> margins(llama_max_devices(), size_t(1) << 30);
    const auto status = common_fit_params(argv[3], &model, &context, split.data(), overrides.data(), margins.data(),
                                          4096, nullptr, GGML_LOG_LEVEL_ERROR);
    printf("{\"fitted\":%s,\"n_ctx\":%u,\"ngl\":%d,\"split\":[",
           status == COMMON_PARAMS_FIT_STATUS_SUCCESS ? "true" : "false", context.n_ctx, model.n_gpu_layers);
    for (int i = 0; i < gpus; ++i) printf("%s%g", i > 0 ? "," : "", split[i]);
    printf("],\"ot\":[");
    for (size_t i = 0; overrides[i].pattern != nullptr; ++i)
      printf("%s%s", i > 0 ? "," : "", quoted(overrides[i].pattern).c_str());
    printf("]}\n");
    fflush(stdout);
  }
  return 0;
}
