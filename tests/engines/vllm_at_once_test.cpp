// How many requests vLLM's own scheduler ran together (rows "at_once" of testdata/conformance/vllm-*.jsonl), compared
// with the layout's rule: exact, or one request off; the few exceptions are listed.
#include "engines/vllm/at_once.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/planner.h"
#include "models/read.h"
#include "plan/plan.h"
#include "plan/steps.h"

namespace kvplan {

namespace {

using conformance::Json;
using conformance::kFolder;
using conformance::read_lines;
using Config = std::pair<std::string, std::string>;  // config.json, hf_quant_config.json

const std::map<std::string, Config>& named_configs() {
  static const std::map<std::string, Config> kConfigs = [] {
    std::map<std::string, Config> out;
    for (const Json& row : read_lines(kFolder + "configs.jsonl"))
      out[row.at("name")] = {row.at("config").dump(),
                             row.contains("hf_quant_config") ? row["hf_quant_config"].dump() : ""};
    return out;
  }();
  return kConfigs;
}

// The rows of one release: how many loads are equal, one request off, or further off.
struct Tally {
  int equal = 0, near = 0;
  std::string far;
};

void count(const std::string& model, const Json& row, const std::string& release, Tally& out) {
  const Config& config = named_configs().at(model);
  const ModelSpec spec = read_config(config.first, config.second, model, {});
  Request request;
  find_engine("vllm@" + release, request);
  const std::string card = row.at("card");
  request.card.gpu = &parse_gpu(card == "h100" ? "h100-80gb" : card);
  request.parallel.tensor = row.at("tp");
  request.prefix_caching = row.at("prefix_caching").get<bool>();
  request.max_model_len = Tokens(row.at("max_model_len").get<std::uint64_t>());
  if (row.at("args").contains("kv_cache_dtype")) request.cache_type_k = request.cache_type_v = Dtype::kFp8E4m3;
  const EngineInput input = engine_input(spec, request);
  std::vector<Note> notes;
  const auto layout = engine_of(request).layout(input, notes);
  Load load;
  load.max_model_len = *request.max_model_len;
  const std::vector<std::pair<std::string, Running>> loads{{"8k", {{Tokens(8192)}, {}}},
                                                           {"32k", {{Tokens(32768)}, {}}},
                                                           {"mix", {{Tokens(2048), Tokens(32768)}, {}}},
                                                           {"shared", {{Tokens(32768)}, Tokens(16384)}}};
  for (const auto& [name, running] : loads) {
    const Json& ran = row.at("at_once").at(name);
    const auto planned = layout->runs_at_once(Bytes(row.at("mem").get<std::uint64_t>()), load, running);
    if (ran.is_null() || !planned) continue;
    // The reserved bytes are the need of the running sequences: they fit in the cache, and one more sequence does not.
    const Bytes memory(row.at("mem").get<std::uint64_t>());
    if (name == "32k" && *planned > 1 && *planned < kAnyCount) {
      Load full = load;
      full.num_seqs = *planned;
      CHECK(layout->shortfall(memory, full).empty());
      // Most pools are full then: what is left is smaller than another sequence and its reserve for admission.
      Load one = load;
      one.num_seqs = 1;
      CHECK(layout->reserved(full) <= memory + layout->reserved(one));
      full.num_seqs = *planned + 1;
      CHECK_FALSE(layout->shortfall(memory, full).empty());
    }
    const auto off = static_cast<std::int64_t>(*planned) - ran.get<std::int64_t>();
    if (off == 0)
      ++out.equal;
    else if (off == 1 || off == -1)
      ++out.near;
    else
      out.far += model + ", " + name + ": " + std::to_string(*planned) + " for " + ran.dump() + "; ";
  }
}

Tally tally_of(const std::string& release) {
  Tally out;
  for (const Json& row : read_lines(kFolder + "vllm-" + release + ".jsonl"))
    if (row.contains("at_once") && !row["at_once"].is_null() && row["config"].is_string() &&
        named_configs().contains(row["config"]))
      count(row["config"], row, release, out);
  return out;
}

}  // namespace

TEST_CASE("vllm: requests that its scheduler ran at once") {
  struct Row {
    const char* release;
    int equal, near;
    std::string far;
  };
  const Row rows[] = {
      {"0.26.0", 228, 0, ""}, {"0.30.0", 258, 4, "moonshotai--Kimi-K3, mix: 39 for 37; "}, {"0.33.0", 260, 3, ""}};
  for (const Row& row : rows) {
    CAPTURE(row.release);
    const Tally tally = tally_of(row.release);
    CHECK(tally.equal == row.equal);
    CHECK(tally.near == row.near);
    CHECK(tally.far == row.far);
  }
}

// allocate_slots, by hand: requests of 1,000 tokens whose prompt is 936, the first 512 of them shared. The first
// request finds nothing in the cache; each later one finds two blocks of 256.
TEST_CASE("vllm: the smallest pool that runs a given number of requests at once") {
  VllmSpec full, state, window;
  full.block_size = state.block_size = 256;
  state.type = SpecType::kState;
  window.type = SpecType::kSliding;
  window.block_size = 16;
  window.window = 128;
  ChargeRules charge;
  VllmRules rules;
  rules.caches_states = false;
  VllmPool pool{0, {&full}, &charge, &rules, Tokens(1000)};
  const auto least = [&](std::uint64_t requests, Tokens prefix) {
    for (pool.blocks = 1; vllm_runs_at_once(pool, {{Tokens(1000)}, prefix}) < requests;) ++pool.blocks;
    return pool.blocks;
  };
  CHECK(least(1, Tokens(512)) == 4);
  CHECK(least(2, Tokens(512)) == 6);
  CHECK(least(3, Tokens(767)) == 8);  // whole blocks are shared
  CHECK(least(3, Tokens(768)) == 6);
  CHECK(least(3, Tokens(0)) == 12);

  // Before 0.27, a state for each block: a prompt needs 4 states in addition to its 4 blocks, and keeps one. After the
  // prefix it needs 2 and 2, and once more the state at the end of the prefix.
  charge.mamba_mode = MambaMode::kAll;
  pool.groups = {&full, &state};
  CHECK(least(1, Tokens(512)) == 8);
  CHECK(least(2, Tokens(512)) == 5 + 5);
  CHECK(least(3, Tokens(512)) == 5 + 3 + 5);
  rules.caches_states = rules.admits_whole = true;  // admitted as if nothing were shared
  CHECK(least(2, Tokens(512)) == 5 + 8);

  // A window of 128 in blocks of 16: admission counts the prompt's 59 blocks, and the request keeps 9 of 63.
  charge.mamba_mode = MambaMode::kNone;
  full.block_size = 16;
  pool.groups = {&full, &window};
  CHECK(least(2, Tokens(512)) == 63 + 9 + 59 + 59);
  rules.caches_states = rules.admits_whole = false;
  CHECK(least(2, Tokens(512)) == 63 + 9 + 59 + 59 - 32);

  // In mode align a prompt of one batch has two states, and a prompt of two batches three.
  charge.mamba_mode = MambaMode::kAlign;
  full.block_size = 256;
  pool.groups = {&full, &state};
  charge.batch_tokens = 936;
  CHECK(least(1, Tokens(0)) == 4 + 2);
  charge.batch_tokens = 935;
  CHECK(least(1, Tokens(0)) == 4 + 3);
}

}  // namespace kvplan
