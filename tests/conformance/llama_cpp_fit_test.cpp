// Default placement compared with llama.cpp's own fit: its code of b11434 over the library of b11739, with simulated
// GPUs, on models that were not used to derive any rule. testdata/conformance/llama.cpp-fit.jsonl has their headers and
// its choices.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "conformance/gguf_header.h"
#include "conformance/planner.h"
#include "plan/plan.h"
#include "plan/search.h"
#include "plan/steps.h"
#include "sources/load.h"
#include "support/program.h"

namespace kvplan::conformance {
namespace {

// "n_ctx=8192 n_seq=1 n_outputs=1"
std::map<std::string, std::uint64_t> values_of(const std::string& text) {
  std::map<std::string, std::uint64_t> out;
  std::istringstream in(text);
  for (std::string word; in >> word;)
    out[word.substr(0, word.find('='))] = std::stoull(word.substr(word.find('=') + 1));
  return out;
}

Request fit_request(const Json& row) {
  Request out;
  find_engine("llama.cpp", out);
  auto words = values_of(row.at("case"));
  if (words["n_ctx"] > 0) out.llama_cpp.ctx_size = Tokens(words["n_ctx"]);
  out.num_seqs = words["n_seq"];
  out.llama_cpp.kv_unified = words.contains("unified");
  out.card.memory = Bytes(row.at("gib").get<std::uint64_t>() * kGiB);
  out.card.count = out.parallel.pipeline = row.at("gpus");
  out.parallel.given = true;
  return out;
}

struct FitTally {
  int rows = 0, same = 0, within_one = 0;
  std::string misses;

  void add(const std::string& what, double ours, double theirs, double one) {
    ++rows;
    if (ours == theirs) ++same;
    if (std::abs(ours - theirs) <= one)
      ++within_one;
    else
      misses += "\n  " + what + ": " + std::to_string(ours) + ", llama.cpp " + std::to_string(theirs);
  }
};

TEST_CASE("a plan places a model as llama.cpp's own fit does") {
  const TemporaryFolder folder;
  std::map<std::string, ModelSpec> models;
  FitTally layers, experts, contexts, splits;
  for (const Json& row : read_lines(kFolder + "llama.cpp-fit.jsonl")) {
    if (row.contains("tensors")) models.emplace(row.at("model"), load_gguf(write_gguf(row, folder.path()), {}));
    if (!row.contains("ngl")) continue;
    const ModelSpec& model = models.at(row.at("model"));
    PlanCache cache(model);
    const Request asked = fit_request(row);
    const Request found = fitted(cache, asked);
    const auto units = static_cast<double>(model.layers.size() + 1);
    const auto on_gpu = [&](double count) { return count < 0 ? units : count; };
    const std::string what = row.at("model").get<std::string>() + " on " + row.at("gpus").dump() + " x " +
                             row.at("gib").dump() + " GiB, " + row.at("case").get<std::string>();
    const auto& ngl = found.llama_cpp.gpu_layers;
    layers.add(what, ngl ? static_cast<double>(*ngl) : units, on_gpu(row.at("ngl")), 1);
    if (model.experts.count > 0) {
      // The first layers keep their experts on the GPU. The next layer may keep a part of them.
      const double theirs = row.contains("overridden") ? row["overridden"].at(0).get<double>() : units - 1;
      if (row.at("gpus") == 1)
        experts.add(what, units - 1 - static_cast<double>(found.llama_cpp.cpu_moe_layers.value_or(0)), theirs, 1);
    }
    const double tokens = static_cast<double>(load_of(model, found).max_model_len.count());
    const double slots = asked.llama_cpp.kv_unified ? 1 : static_cast<double>(asked.num_seqs);
    contexts.add(what + ", context", tokens * slots, row.at("n_ctx"), 256 * slots);
    if (row.contains("split") && model.experts.count == 0)
      for (std::size_t gpu = 0; gpu < row["split"].size(); ++gpu) {
        const auto& split = found.llama_cpp.tensor_split;
        splits.add(what + ", GPU " + std::to_string(gpu), gpu < split.size() ? split[gpu] : -1, row["split"][gpu], 1);
      }
  }
  CHECK(models.size() >= 20);
  for (const auto& [name, tally] :
       {std::pair{std::string("layers"), &layers}, {"experts", &experts}, {"context", &contexts}, {"split", &splits}}) {
    MESSAGE(name << ": " << tally->same << " the same, " << tally->within_one << " within one, of " << tally->rows);
    CHECK_MESSAGE(tally->within_one == tally->rows, name << tally->misses);
  }
}

}  // namespace
}  // namespace kvplan::conformance
