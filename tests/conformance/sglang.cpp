// SGLang: the share of the card and what follows from it, and the pools that it builds at its own tokens.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "conformance/engines.h"

namespace kvplan::conformance {

namespace {

constexpr const char* kShare = "/request/gpu_memory_utilization";
constexpr const char* kTokens = "/capacity/tokens";
constexpr const char* kRequests = "/capacity/max_num_seqs";
constexpr const char* kBudget = "/capacity/kv_cache_memory_bytes";
constexpr const char* kWeights = "/memory/0/weights_bytes";
constexpr const char* kPageSize = "/kv_cache/block_size";

// What the engine is planned with: by name, else the number in the formula of a line.
struct Setting {
  const char* place;
  const char* part;
  const char* line;
  const char* pattern;
};
constexpr Setting kChunk{"/engine_settings/max_num_batched_tokens", "activation", "chunk", R"(([\d,]+) tokens)"};
constexpr Setting kGraphSizes{"/engine_settings/cuda_graph_sizes", "runtime", "CUDA graphs", R"(([\d,]+) batch sizes)"};
constexpr Setting kSlotsOfRequest{"/engine_settings/state_slots_per_sequence", "kv_cache", "state pool",
                                  R"(([\d,]+) slots)"};

bool is_padding_slot(const Json& line) {
  return line.at("part") == "kv_cache" && is_called_like(line, "padding slot");
}
bool is_of_tokens(const Json& line) {
  return line.at("part") == "kv_cache" && !is_called_like(line, "state pool");
}
bool is_request_table(const Json& line) {
  return line.at("part") == "runtime" && is_called_like(line, "request") && is_called_like(line, "table");
}

constexpr double kPointers = 1 << 16;   // the real pools hold the addresses of their layers too, a few KB
constexpr const char* kShort = "1024";  // tokens, few enough for slots of states to be the limit

std::optional<double> number(const Reply& reply, const Setting& setting) {
  if (const auto named = reply.number(setting.place)) return named;
  const std::regex pattern(setting.pattern);
  const auto wanted = [&](const Json& line) {
    return line.at("part") == setting.part && is_called_like(line, setting.line);
  };
  for (const Json& line : reply.lines(0, wanted).value_or(std::vector<Json>{})) {
    std::smatch found;
    const std::string formula = line.at("formula");
    if (!std::regex_search(formula, found, pattern)) continue;
    std::string digits = found[1];
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    return std::stod(digits);
  }
  return std::nullopt;
}

std::string card(const std::string& gb) {
  static const std::map<std::string, std::string> kCards{{"24", "rtx-4090"},  {"40", "a100-40gb"}, {"48", "l40s"},
                                                         {"80", "h100-80gb"}, {"141", "h200"},     {"180", "b200"}};
  return kCards.at(gb);
}

Words words_of(const Json& row, const std::string& tokens, std::optional<double> share) {
  const std::string ranks = text(row.at("tp"));
  Words out{"--gpu", card(row.at("card")), "-tp", ranks, "--gpu-count", ranks, "--max-model-len", tokens};
  if (share) out.insert(out.end(), {"--mem-fraction-static", text(*share)});
  return out;
}

}  // namespace

std::string sglang_settings(const Json& row) {
  std::string out = fmt::format("{} GB tp{}", row.at("card").get<std::string>(), row.at("tp").get<int>());
  if (row.contains("given")) out += " " + row["given"].dump();
  return out;
}

Figures sglang_figures(const Json& row, const std::string& engine, Planner& planner) {
  const Json &config = row.at("config"), &args = row.at("args");
  Figures out;
  const std::string context = text(row.at("model").at("context_len"));
  const Words by_default = words_of(row, context, std::nullopt);
  const Reply plain = planner.ask(config, engine, by_default);
  if (row.contains("refused")) {
    out.push_back(start(row, plain));
    return out;
  }
  // The engine was told the weights: what kvplan's differ by goes back into the budget, so that the rules alone count.
  const auto with_told_weights = [&](const Reply& reply, Words words) {
    const auto weights = reply.number(kWeights), budget = reply.number(kBudget);
    const double differ = weights.value_or(0) - row.at("weights").get<double>();
    if (!weights || differ == 0 || budget.value_or(0) == 0) return reply;
    words.insert(words.end(), {"--kv-cache-memory-bytes", fmt::format("{:.0f}", std::max(0.0, *budget + differ))});
    return planner.ask(config, engine, words);
  };
  const Json& pool = row.at("pool");
  const double tokens = pool.at("max_total_num_tokens"), share = args.at("mem_fraction_static");
  if (!row.contains("given")) {
    out.push_back({"share of the card", share, plain.number(kShare), 1e-6});
    out.push_back({"tokens, from the card", tokens, with_told_weights(plain, by_default).number(kTokens)});
    out.push_back({"chunk", args.at("chunked_prefill_size"), number(plain, kChunk)});
    out.push_back({"decode graphs", args.at("decode_graph").at(2), number(plain, kGraphSizes)});
    out.push_back({"page size", args.at("page_size"), plain.number(kPageSize)});
  }
  const Words fixed = words_of(row, context, share);
  const Reply shared = planner.ask(config, engine, fixed);
  out.push_back({"tokens, at the engine's share", tokens, with_told_weights(shared, fixed).number(kTokens)});
  if (row.contains("state_slot")) {
    out.push_back({"state slot, bytes", row["state_slot"], shared.sum(0, is_padding_slot)});
    const std::uint64_t each = row.at("mamba_ratio"), slots = row.at("state_slots");
    out.push_back({"state slots of a request", row["mamba_ratio"], number(shared, kSlotsOfRequest)});
    const Words few = words_of(row, kShort, share);
    const Reply reply = with_told_weights(planner.ask(config, engine, few), few);
    out.push_back({"requests, by state slots", static_cast<double>(slots / each), reply.number(kRequests)});
  }
  if (row.contains("built")) {
    const Reply same = planner.ask(config, engine, words_of(row, text(tokens), std::nullopt));
    out.push_back({"pool bytes, at its tokens", row["built"].at("kv_bytes"), same.sum(0, is_of_tokens), kPointers});
    out.push_back({"request table, bytes", row["built"].at("req_table_bytes"), plain.sum(0, is_request_table)});
  }
  return out;
}

}  // namespace kvplan::conformance
