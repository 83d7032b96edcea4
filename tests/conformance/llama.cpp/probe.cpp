// Makes contexts with the real libllama, and prints what each takes.
//
//   probe STUB.so CPU.so|- MODEL.gguf < CASES
//
// A case is a line of words, "n_ctx=8192 n_seq=4 ngl=20 ot=exps" (cases.py); for each a JSON object is printed:
// {"buffers": {type: [weights, KV and states, compute]}, "said": [lines]} or {"errors": [lines]}. CPU.so is the backend
// of the CPU if the library has it in a separate file. Nothing is allocated: the mode of the library's own --fit.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml.h"
#include "llama.h"
#if __has_include("llama-ext.h")
#include "llama-ext.h"
#else  // builds of the beginning of 2026
#include "llama-context.h"
#endif

// Sets a field of a struct if this build has it.
#define SET_IF_THERE(params, field, value)                                                      \
  [&](auto& its) {                                                                              \
    if constexpr (requires { its.field; }) its.field = static_cast<decltype(its.field)>(value); \
  }(params)

namespace {

constexpr int kAllLayers = 999;
constexpr size_t kMostDevices = 128;

using Lines = std::vector<std::string>;

// Collects what the library prints, by line. The first piece of a line has its level.
struct Log {
  Lines said, errors;
  std::string line;
  bool is_error = false;

  void clear() { *this = {}; }
  void add(ggml_log_level level, const char* text) {
    if (line.empty()) is_error = level == GGML_LOG_LEVEL_ERROR;
    for (; *text != 0; ++text) {
      if (*text != '\n') {
        line += *text;
        continue;
      }
      said.push_back(line);
      if (is_error) errors.push_back(line);
      line.clear();
    }
  }
};
Log log_of_case;

void keep(ggml_log_level level, const char* text, void*) {
  log_of_case.add(level, text);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out + "\"";
}
void print(const char* key, const Lines& lines) {
  std::printf("\"%s\":[", key);
  for (size_t i = 0; i < lines.size(); ++i) std::printf("%s%s", i > 0 ? "," : "", quoted(lines[i]).c_str());
  std::printf("]");
}
void print_errors() {
  std::printf("{");
  print("errors", log_of_case.errors);
  std::printf("}\n");
}

class Case {
 public:
  explicit Case(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) words_[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  std::string word(const std::string& key, const std::string& otherwise = "") const {
    const auto found = words_.find(key);
    return found == words_.end() ? otherwise : found->second;
  }
  long number(const std::string& key, long otherwise) const {
    return words_.count(key) ? std::atol(words_.at(key).c_str()) : otherwise;
  }
  bool has(const std::string& key) const { return words_.count(key) > 0; }
  // Cases with these settings in common use the same loaded model.
  std::string placement() const { return word("ngl") + "|" + word("split") + "|" + word("ot") + "|" + word("sm"); }

 private:
  std::map<std::string, std::string> words_;
};

ggml_type type_of(const std::string& name) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const char* known = ggml_type_name(static_cast<ggml_type>(i));
    if (known && name == known) return static_cast<ggml_type>(i);
  }
  std::fprintf(stderr, "no type %s\n", name.c_str());
  std::exit(2);
}

llama_model* load(const char* path, const Case& subject) {
  llama_model_params params = llama_model_default_params();
  params.no_alloc = true;
  params.use_extra_bufts = false;
  SET_IF_THERE(params, load_mode, 0);  // LLAMA_LOAD_MODE_NONE
  SET_IF_THERE(params, use_mmap, false);
  SET_IF_THERE(params, load_mtp, false);
  params.n_gpu_layers = static_cast<int>(subject.number("ngl", kAllLayers));
  params.split_mode = subject.word("sm") == "none" ? LLAMA_SPLIT_MODE_NONE : LLAMA_SPLIT_MODE_LAYER;
  std::vector<float> shares(kMostDevices, 0.0F);
  if (subject.has("split")) {
    std::istringstream parts(subject.word("split"));
    size_t i = 0;
    for (std::string part; std::getline(parts, part, ',');) shares.at(i++) = std::stof(part);
    params.tensor_split = shares.data();
  }
  const std::string on_host = subject.word("ot");
  const llama_model_tensor_buft_override overrides[] = {{on_host.c_str(), ggml_backend_cpu_buffer_type()},
                                                        {nullptr, nullptr}};
  if (!on_host.empty()) params.tensor_buft_overrides = overrides;
  return llama_model_load_from_file(path, params);
}

llama_context* make_context(llama_model* model, const Case& subject) {
  const auto number = [&](const char* key, long otherwise) {
    return static_cast<uint32_t>(subject.number(key, otherwise));
  };
  llama_context_params params = llama_context_default_params();
  params.n_ctx = number("n_ctx", 4096);
  params.n_batch = 2048;
  params.n_ubatch = number("n_ubatch", 512);
  params.n_seq_max = number("n_seq", 1);
  SET_IF_THERE(params, n_outputs_max, number("n_outputs", 0));
  params.kv_unified = number("unified", 0) != 0;
  params.swa_full = number("swa_full", 0) != 0;
  params.offload_kqv = number("offload_kqv", 1) != 0;
  params.op_offload = true;
  params.type_k = type_of(subject.word("type_k", "f16"));
  params.type_v = type_of(subject.word("type_v", "f16"));
  params.flash_attn_type = subject.word("fa") == "off" ? LLAMA_FLASH_ATTN_TYPE_DISABLED : LLAMA_FLASH_ATTN_TYPE_AUTO;
  params.n_threads = params.n_threads_batch = 1;
  return llama_init_from_model(model, params);
}

auto breakdown_of(llama_context* context) {
#if __has_include("llama-ext.h")
  return llama_get_memory_breakdown(context);
#else
  return context->memory_breakdown();
#endif
}

void print_context(llama_context* context) {
  std::printf("{\"buffers\":{");
  const char* comma = "";
  for (const auto& [type, bytes] : breakdown_of(context)) {
    std::printf("%s%s:[%zu,%zu,%zu]", comma, quoted(ggml_backend_buft_name(type)).c_str(), bytes.model, bytes.context,
                bytes.compute);
    comma = ",";
  }
  std::printf("},");
  print("said", log_of_case.said);
  std::printf("}\n");
}

bool load_backend(const std::string& path) {
  if (path == "-" || ggml_backend_load(path.c_str())) return true;
  std::fprintf(stderr, "%s is no backend of this library\n", path.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  llama_log_set(keep, nullptr);
  if (!load_backend(argv[2]) || !load_backend(argv[1])) return 3;
  llama_model* model = nullptr;
  std::string loaded;
  for (std::string line; std::getline(std::cin, line); std::fflush(stdout)) {
    const Case subject(line);
    log_of_case.clear();
    if (!model || subject.placement() != loaded) {
      if (model) llama_model_free(model);
      loaded = subject.placement();
      model = load(argv[3], subject);
    }
    if (!model) {
      print_errors();
      continue;
    }
    log_of_case.clear();
    if (llama_context* context = make_context(model, subject)) {
      print_context(context);
      llama_free(context);
    } else {
      print_errors();
    }
  }
  return 0;
}
