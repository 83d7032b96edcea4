// The library in one header: a model, a request, and the same answer as on the command line.
//
//   const kvplan::Model model = kvplan::Model::load("deepseek-ai/DeepSeek-V3");
//   kvplan::Request request;
//   request.max_model_len = kvplan::Tokens(32768);
//   const kvplan::MemoryPlan plan = model.plan("vllm", request);
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/note.h"
#include "kvplan/plan.h"
#include "kvplan/request.h"

namespace kvplan {

struct ModelSpec;

struct LoadOptions {
  bool assume = false;   // plan an unknown architecture from its common fields, with a note
  bool offline = false;  // Hub ids are only looked up in the caches
  std::string revision;  // the revision of a Hub id that has none
  std::string token;     // "" for HF_TOKEN or the token file
};

struct MemoryPlan {
  std::string engine, engine_version;
  KvCachePlan kv_cache;
  std::vector<GpuMemory> memory;  // one for each GPU
  TotalReport total;
  std::optional<Capacity> capacity;  // absent without a GPU, a size or a budget
  VerdictReport verdict;
  std::string reason;  // of the verdict, in one sentence
  std::vector<Note> notes;
};

// A model that has been read. Copies share it; several threads may use a const Model at once.
class Model {
 public:
  // MODEL as on the command line: a path, a Hub id or a model of a local store. Throws Error.
  static Model load(const std::string& name, const LoadOptions& options = {});
  // Reads the text of a config.json; messages call it `name`. Opens no file and no network connection. Throws
  // Error.
  static Model from_config(std::string_view config, const std::string& name = "config.json",
                           const LoadOptions& options = {});

  // `engine` as --engine takes it: "logical", "vllm", "vllm@0.20". It overrides the request's own. Throws Error.
  MemoryPlan plan(std::string_view engine = "logical", const Request& request = {}) const;
  // The plan as a report: "json", "table", "markdown", ... as --format takes it. Throws Error.
  std::string report(std::string_view engine = "logical", const Request& request = {},
                     std::string_view format = "json") const;

 private:
  explicit Model(std::shared_ptr<const ModelSpec> spec) : spec_(std::move(spec)) {}
  std::shared_ptr<const ModelSpec> spec_;
};

}  // namespace kvplan
