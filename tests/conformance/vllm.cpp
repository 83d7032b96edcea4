// vLLM: weights before repacking, graph sizes, and what its cache manager makes of a budget.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "conformance/engines.h"

namespace kvplan::conformance {

namespace {

constexpr const char* kTokens = "/capacity/tokens";
constexpr const char* kBlocks = "/capacity/num_blocks";
constexpr const char* kBlockSize = "/kv_cache/block_size";
constexpr const char* kConcurrency = "/capacity/max_concurrency";
constexpr const char* kAtOnce = "/verdict/runs_at_once";
constexpr const char* kLongest = "/capacity/max_model_len";
constexpr const char* kDefaultLength = "/model/max_model_len";
constexpr const char* kNeeded = "/memory/0/kv_cache_bytes";  // the encoder cache is none of the pool
constexpr const char* kGraphSizes = "/engine_settings/cuda_graph_sizes";

bool is_encoder_cache(const Json& line) {
  return line.at("part") == "kv_cache" && called(line) == "encoder cache";
}
bool is_draft(const Json& line) {
  static const std::regex kDraft(R"(\bmtp\b|\bdraft)", std::regex::icase);
  return line.at("part") == "weights" && std::regex_search(called(line), kDraft);
}
bool is_model(const Json& line) {
  return line.at("part") == "weights" && !called(line).starts_with("loading") && !is_draft(line);
}
bool is_graphs(const Json& line) {
  return line.at("part") == "runtime" && is_called_like(line, "CUDA graphs");
}

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kTwoDecimals = 0.00501;  // of GiB, as they are printed

std::string card(const std::string& name) {
  return name == "h100" ? "h100-80gb" : name == "a100" ? "a100-80gb" : name;
}

const Json& args_of(const Json& row) {
  return row.at("args");
}

Words words_of(const Json& row, const std::string& engine, Planner& planner) {
  const Json& args = args_of(row);
  Words out{"--gpu", card(row.at("card")), "-tp", text(row.at("tp")), "--max-model-len", text(row.at("max_model_len"))};
  if (args.contains("kv_cache_dtype")) out.insert(out.end(), {"--kv-cache-dtype", args["kv_cache_dtype"]});
  if (args.contains("enable_prefix_caching") && !args["enable_prefix_caching"].get<bool>() &&
      planner.knows(engine, {"--no-enable-prefix-caching"}))
    out.emplace_back("--no-enable-prefix-caching");
  if (args.contains("speculative_config") && !args["speculative_config"].is_null())
    out.insert(out.end(),
               {"--mtp", "--num-speculative-tokens", text(args["speculative_config"].at("num_speculative_tokens"))});
  return out;
}

// Half the number of graphs, where the report has no number of sizes: each is captured twice, whole and in pieces.
std::optional<double> graph_sizes(const Reply& reply) {
  if (const auto sizes = reply.number(kGraphSizes)) return sizes;
  static const std::regex kGraphs(R"(([\d,]+) graphs)");
  for (const Json& line : reply.lines(0, is_graphs).value_or(std::vector<Json>{})) {
    std::smatch found;
    const std::string formula = line.at("formula");
    if (!std::regex_search(formula, found, kGraphs)) continue;
    std::string digits = found[1];
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    return std::stod(digits) / 2;
  }
  return std::nullopt;
}

// What does not depend on the budget.
void add_once(const Json& row, const Reply& reply, Figures& out) {
  const Json& weights = row.at("weights");
  const double all =
      weights.at("parameters").get<double>() + weights.at("buffers").get<double>() + weights.at("plain").get<double>();
  out.push_back({"weights", all, reply.sum(0, is_model)});
  if (weights.contains("draft")) out.push_back({"weights of the draft", weights["draft"], reply.sum(0, is_draft)});
  if (!args_of(row).contains("max_model_len"))
    out.push_back({"default length", row.at("max_model_len"), reply.number(kDefaultLength)});
  out.push_back({"graph sizes", row.at("graphs").at(1), graph_sizes(reply)});
}

// The block of a paged group, the largest; of a model of states alone, the smallest of its own.
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

}  // namespace

std::string vllm_settings(const Json& row) {
  return fmt::format("{} tp{} {}", row.at("card").get<std::string>(), row.at("tp").get<int>(), args_of(row).dump());
}

Figures vllm_figures(const Json& row, const std::string& engine, Planner& planner) {
  Figures out;
  const Words words = words_of(row, engine, planner);
  if (row.contains("refused")) {
    out.push_back(refusal("refusal", planner.ask(row.at("config"), engine, words)));
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
      out.push_back({"tokens", plan["tokens"], reply.number(kTokens)});
      out.push_back({"blocks", plan.at("blocks"), reply.number(kBlocks)});
      out.push_back({"block size", block_size(plan.at("groups")), reply.number(kBlockSize)});
      const double concurrency = plan.at("concurrency");
      out.push_back({"concurrency", concurrency, reply.number(kConcurrency), 1e-9 * concurrency});
    } else {
      if (plan.contains("needed_gib") && !plan["needed_gib"].is_null())
        out.push_back({"KV needed, GiB", plan["needed_gib"], needed_gib(reply), kTwoDecimals});
      if (plan.contains("longest") && !plan["longest"].is_null())
        out.push_back({"longest", plan["longest"], reply.number(kLongest)});
    }
    for (std::size_t i = begin; i < out.size(); ++i) out[i].detail = text(plan.at("mem").get<double>() / kGiB) + " GiB";
  }
  return out;
}

}  // namespace kvplan::conformance
