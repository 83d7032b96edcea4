// vLLM: weights before repacking, graph sizes, and the blocks that its cache manager makes of a budget.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "conformance/engines.h"
#include "conformance/places.h"
#include "kvplan/quantity.h"

namespace kvplan::conformance {

namespace {

// The harness stops when the cache is sized: it loads no weights and captures no graphs.
constexpr std::string_view kVllmLater = "sequences quantized_head";

constexpr const char* kBlocks = "/capacity/num_blocks";
constexpr const char* kConcurrency = "/capacity/max_concurrency";
constexpr const char* kLongest = "/capacity/max_model_len_by_memory";
constexpr const char* kDefaultLength = "/model/max_model_len";
constexpr const char* kNeeded = "/memory/0/kv_cache_bytes";  // the encoder cache is not part of the pool

bool is_encoder_cache(const Json& line) {
  return line.at("part") == "kv_cache" && called(line) == "encoder cache";
}
bool is_model(const Json& line) {
  static const std::regex kOther(R"(^loading|\bmtp\b|\bdraft)", std::regex::icase);
  return line.at("part") == "weights" && !std::regex_search(called(line), kOther);
}
bool is_graphs(const Json& line) {
  return line.at("part") == "runtime" && is_called_like(line, "CUDA graphs");
}

constexpr double kHundredthOfGib = 0.00501;  // of GiB, as they are printed
constexpr double kFourDecimals = 0.000051;   // of requests, as recorded

std::string card(const std::string& name) {
  return name == "h100" ? "h100-80gb" : name == "a100" ? "a100-80gb" : name;
}

const Json& args_of(const Json& row) {
  return row.at("args");
}

Words options_of(const Json& row, const std::string& engine, Planner& planner) {
  const Json& args = args_of(row);
  Words out{"--gpu", card(row.at("card")), "-tp", text(row.at("tp"))};
  // The settings that the engine chose, or for a case that stopped earlier, the requested ones.
  for (const Json* from : {&row, &args}) {
    if (!from->contains("max_model_len")) continue;
    out.insert(out.end(), {"--max-model-len", text((*from)["max_model_len"])});
    break;
  }
  for (const auto& [key, value] : args.items()) {
    // The number of nodes does not affect ranks.
    if (key == "max_model_len" || key == "nnodes" || key == "speculative_config") continue;
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    Words option{"--" + name};
    if (value == false) option = {"--no-" + name};
    if (!value.is_boolean()) option.push_back(value.is_string() ? value.get<std::string>() : text(value));
    if (planner.knows(engine, option)) out.insert(out.end(), option.begin(), option.end());
  }
  if (args.contains("speculative_config") && !args["speculative_config"].is_null())
    out.insert(out.end(),
               {"--mtp", "--num-speculative-tokens", text(args["speculative_config"].at("num_speculative_tokens"))});
  return out;
}

// If the report has no number of sizes, half of the number of graphs: each size is captured whole and in pieces.
std::optional<double> graph_sizes(const Reply& reply) {
  if (const auto sizes = reply.number(kGraphSizes)) return sizes;
  if (!reply.is_report()) return std::nullopt;
  static const std::regex kGraphs(R"(([\d,]+) graphs)");
  const std::vector<Json> lines = reply.lines(0, is_graphs).value_or(std::vector<Json>{});
  if (lines.empty()) return 0;
  for (const Json& line : lines) {
    std::smatch found;
    const std::string formula = line.at("formula");
    if (!std::regex_search(formula, found, kGraphs)) continue;
    std::string digits = found[1];
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    return std::stod(digits) / 2;
  }
  return std::nullopt;
}

// Figures that do not depend on the budget.
void add_once(const Json& row, const Reply& reply, Figures& out) {
  const Json& weights = row.at("weights");
  const double all =
      weights.at("parameters").get<double>() + weights.at("buffers").get<double>() + weights.at("plain").get<double>();
  out.push_back({"weights", all, reply.sum(0, is_model)});
  if (!args_of(row).contains("max_model_len"))
    out.push_back({"default length", row.at("max_model_len"), reply.number(kDefaultLength)});
  out.push_back({"graph sizes", row.at("graphs").at(1), graph_sizes(reply)});
  const auto is_of_new_runner = [](const Json& line) {
    return line.at("source").get<std::string>().find("a first start benchmarks") != std::string::npos;
  };
  if (const auto lines = reply.lines(0, is_of_new_runner); row.contains("v2") && lines)
    out.push_back({"new runner", row["v2"].get<bool>() ? 1 : 0, lines->empty() ? 0 : 1});
}

// The largest block of a paged group. For a model that only has states: the smallest block.
double block_size(const Json& groups) {
  std::vector<double> paged, all;
  for (const Json& group : groups) {
    all.push_back(group.at(2));
    if (group.at(0).get<std::string>().find("Mamba") == std::string::npos) paged.push_back(group.at(2));
  }
  return paged.empty() ? *std::min_element(all.begin(), all.end()) : *std::max_element(paged.begin(), paged.end());
}

std::optional<double> needed_gib(const Reply& reply) {
  const auto all = reply.number(kNeeded), images = reply.sum(0, is_encoder_cache);
  if (!all || !images) return std::nullopt;
  return std::round((*all - *images) / kGiB * 1e4) / 1e4;
}

// For a budget that is too small for one request.
void add_shortage(const Json& plan, const Reply& reply, Figures& out) {
  if (plan.contains("needed_gib") && !plan["needed_gib"].is_null())
    out.push_back({"KV needed, GiB", plan["needed_gib"], needed_gib(reply), kHundredthOfGib});
  if (plan.contains("longest") && !plan["longest"].is_null())
    out.push_back({"longest", plan["longest"], reply.number(kLongest)});
}

// The number of requests that the scheduler runs together if all have one length (or two in turn), and what the log
// prints about it.
void add_at_once(const Json& row, const std::string& engine, const Words& words, Planner& planner, Figures& out) {
  static const std::vector<std::pair<std::string, Words>> kLoads{
      {"32k", {}},
      {"8k", {"--avg-len", "8192"}},
      {"mix", {"--seq-lens", "2048,32768"}},
      {"shared", {"--avg-len", "32768", "--shared-prefix", "16384"}}};
  const std::size_t begin = out.size();
  for (const auto& [load, more] : kLoads) {
    if (row.at("at_once").is_null() || !row["at_once"].contains(load) || row["at_once"][load].is_null()) continue;
    Words with = words;
    with.insert(with.end(), more.begin(), more.end());
    const Reply reply = planner.ask(row.at("config"), engine, with);
    Figure figure{"runs at once, " + load, row["at_once"][load], reply.number(kAtOnce)};
    const auto concurrency = reply.number(kConcurrency);
    if (!figure.planned && load == "32k" && concurrency) figure.planned = std::floor(*concurrency);
    out.push_back(figure);
  }
  const Reply reply = planner.ask(row.at("config"), engine, words);
  if (row.contains("blocks")) out.push_back(start(row, reply, kVllmLater));
  if (row.contains("printed_concurrency") && !row["printed_concurrency"].is_null())
    out.push_back({"concurrency", row["printed_concurrency"], reply.number(kConcurrency), kFourDecimals});
  add_shortage(row, reply, out);
  for (std::size_t i = begin; i < out.size(); ++i) out[i].detail = text(row.at("mem").get<double>() / kGiB) + " GiB";
}

}  // namespace

std::string vllm_settings(const Json& row) {
  return fmt::format("{} tp{} {}", row.at("card").get<std::string>(), row.at("tp").get<int>(), args_of(row).dump());
}

Figures vllm_figures(const Json& row, const std::string& engine, Planner& planner) {
  Figures out;
  const Words words = options_of(row, engine, planner);
  if (row.contains("refused") || row.contains("starts")) {
    out.push_back(start(row, planner.ask(row.at("config"), engine, words), kVllmLater));
    return out;
  }
  if (row.contains("at_once")) {
    Words with = words;
    with.insert(with.end(), {"--kv-cache-memory-bytes", text(row.at("mem"))});
    add_at_once(row, engine, with, planner, out);
    return out;
  }
  bool first = true;
  for (const Json& plan : row.at("plans")) {
    Words with = words;
    with.insert(with.end(), {"--kv-cache-memory-bytes", text(plan.at("mem"))});
    const Reply reply = planner.ask(row.at("config"), engine, with);
    if (std::exchange(first, false)) add_once(row, reply, out);
    const std::size_t begin = out.size();
    if (plan.contains("tokens")) {
      out.push_back(start(plan, reply, kVllmLater));
      out.push_back({"tokens", plan["tokens"], reply.number(kCapacityTokens)});
      out.push_back({"blocks", plan.at("blocks"), reply.number(kBlocks)});
      out.push_back({"block size", block_size(plan.at("groups")), reply.number(kBlockSize)});
      const double concurrency = plan.at("concurrency");
      out.push_back({"concurrency", concurrency, reply.number(kConcurrency), 1e-9 * concurrency});
    } else {
      add_shortage(plan, reply, out);
    }
    for (std::size_t i = begin; i < out.size(); ++i) out[i].detail = text(plan.at("mem").get<double>() / kGiB) + " GiB";
  }
  return out;
}

}  // namespace kvplan::conformance
