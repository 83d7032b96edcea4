// SGLang: the fraction of the GPU and what depends on it, and the pools for the number of tokens that SGLang computed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "conformance/engines.h"
#include "conformance/places.h"
#include "kvplan/quantity.h"

namespace kvplan::conformance {

namespace {

// Kernels are chosen when weights are loaded, which the harness does not do.
constexpr std::string_view kSglangLater = "quantization card";

constexpr const char* kShare = "/request/gpu_memory_utilization";
constexpr const char* kRequests = "/capacity/max_num_seqs";
constexpr const char* kBudget = "/capacity/kv_cache_memory_bytes";

const Words kLight{"--weights", "iq1_s"};  // so few bytes that a GPU has memory left

// The engine's settings: by name, else the number in a line's formula.
struct Setting {
  const char* place;
  const char* part;
  const char* line;
  const char* pattern;
};
constexpr Setting kChunk{"/engine_settings/max_num_batched_tokens", "activation", "chunk", R"(([\d,]+) tokens)"};
constexpr Setting kSizesOfGraphs{kGraphSizes, "runtime", "CUDA graphs", R"(([\d,]+) batch sizes)"};
constexpr Setting kSlotsOfRequest{"/engine_settings/state_slots_per_sequence", "kv_cache", "state pool",
                                  R"(([\d,]+) slots)"};

bool is_weights(const Json& line) {
  return line.at("part") == "weights" && !called(line).starts_with("loading");
}
bool is_padding_slot(const Json& line) {
  return line.at("part") == "kv_cache" && is_called_like(line, "padding slot");
}
bool is_of_tokens(const Json& line) {
  return line.at("part") == "kv_cache" && !is_called_like(line, "state pool") && !is_padding_slot(line);
}
bool is_request_table(const Json& line) {
  return line.at("part") == "runtime" && is_called_like(line, "request") && is_called_like(line, "table");
}

constexpr double kPointers = 1 << 16;  // the real pools also contain the addresses of their layers, a few KB
constexpr const char* kShort = "1";    // tokens: so few that state slots are the limit
constexpr const char* kMany = "64";    // requests: more tokens than a chunk has

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

std::string card_of_memory(const std::string& gb) {
  static const std::map<std::string, std::string> kCards{{"24", "rtx-4090"},  {"40", "a100-40gb"}, {"48", "l40s"},
                                                         {"80", "h100-80gb"}, {"141", "h200"},     {"180", "b200"}};
  return kCards.at(gb);
}

// The engine's options, as kvplan calls them.
const std::map<std::string, std::string> kOptions{{"mem_fraction_static", "--mem-fraction-static"},
                                                  {"kv_cache_dtype", "--kv-cache-dtype"},
                                                  {"context_length", "--max-model-len"},
                                                  {"page_size", "--block-size"},
                                                  {"chunked_prefill_size", "--chunked-prefill-size"},
                                                  {"max_running_requests", "--max-num-seqs"},
                                                  {"disable_radix_cache", "--disable-radix-cache"},
                                                  {"disable_cuda_graph", "--enforce-eager"},
                                                  {"swa_full_tokens_ratio", "--swa-full-tokens-ratio"},
                                                  {"mamba_full_memory_ratio", "--mamba-full-memory-ratio"},
                                                  {"mamba_ssm_dtype", "--mamba-ssm-cache-dtype"},
                                                  {"enable_dp_attention", "--enable-dp-attention"},
                                                  {"dp_size", "--data-parallel-size"},
                                                  {"ep_size", "--enable-expert-parallel"},
                                                  {"disable_hybrid_swa_memory", "--disable-hybrid-swa-memory"},
                                                  {"cuda_graph_max_bs_decode", "--cuda-graph-max-bs-decode"},
                                                  {"attention_backend", "--attention-backend"}};
const std::vector<std::string> kFlags{"disable_radix_cache", "disable_cuda_graph", "enable_dp_attention", "ep_size",
                                      "disable_hybrid_swa_memory"};

// GPU, ranks and the given options; nothing if kvplan does not have one of them.
std::optional<Words> words_of(const Json& row) {
  const std::string ranks = text(row.at("tp"));
  Words out{"--gpu", card_of_memory(row.at("card")), "-tp", ranks, "--gpu-count", ranks};
  if (!row.contains("given")) return out;
  for (const auto& [key, value] : row["given"].items()) {
    if (!kOptions.contains(key)) return std::nullopt;
    out.push_back(kOptions.at(key));
    if (std::find(kFlags.begin(), kFlags.end(), key) != kFlags.end()) continue;
    // The type's current name, because 0.5.16 and newer refuse the old one.
    const bool older = value == "fp4_e2m1" && std::stoi(row.at("release").get<std::string>().substr(4)) < 16;
    out.push_back(older ? "nvfp4" : value.is_string() ? value.get<std::string>() : text(value));
  }
  return out;
}

// `words` and `more`; a value in `more` replaces the one in `words`. Every option in `more` has a value.
Words with(Words words, const Words& more) {
  for (std::size_t i = 0; i < more.size(); i += 2) {
    const auto named = std::find(words.begin(), words.end(), more[i]);
    if (named != words.end()) words.erase(named, named + 2);
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The cache's bytes in a row.
Words budget_of(const Json& row) {
  return {"--kv-cache-memory-bytes", text(row.at("mem"))};
}

// The number of requests that the scheduler runs together if all have one length, or two lengths in turn.
void add_at_once(const Json& row, const std::function<Reply(const Words&)>& ask, Figures& out) {
  static const std::vector<std::pair<std::string, Words>> kLoads{
      {"32k", {"--avg-len", "32768"}},
      {"8k", {"--avg-len", "8192"}},
      {"mix", {"--seq-lens", "2048,32768"}},
      {"shared", {"--avg-len", "32768", "--shared-prefix", "16384"}}};
  // The tokens that the engine computed from the bytes. For whole GiB, floating point makes 0.5.8 lose one token.
  Words budget = budget_of(row);
  if (row.contains("tokens")) budget.insert(budget.end(), {"--max-total-tokens", text(row["tokens"])});
  for (const auto& [load, more] : kLoads) {
    if (!row.at("at_once").contains(load) || row["at_once"][load].is_null()) continue;
    Figure figure{"runs at once, " + load, row["at_once"][load], ask(with(budget, more)).number(kAtOnce)};
    if (!figure.planned && load == "32k")  // if the report has no such figure: as many of that length as fit
      figure.planned = ask(with(budget, {"--max-model-len", "32768"})).number(kRequests);
    if (const auto bound = ask(with(budget, more)).number("/engine_settings/max_num_seqs"); bound && figure.planned)
      figure.planned = std::min(*figure.planned, *bound);
    figure.detail = text(row.at("mem").get<double>() / kGiB) + " GiB";
    out.push_back(figure);
  }
}

}  // namespace

std::string sglang_settings(const Json& row) {
  std::string out = fmt::format("{} GB tp{}", row.at("card").get<std::string>(), row.at("tp").get<int>());
  if (row.contains("given")) out += " " + row["given"].dump();
  return out;
}

Figures sglang_figures(const Json& row, const std::string& engine, Planner& planner) {
  const Json& config = row.at("config");
  const auto given = words_of(row);
  const auto ask = [&](const Words& more) {
    return given ? planner.ask(config, engine, with(*given, more)) : Reply("no option for what is given", false);
  };
  Figures out;
  if (row.contains("refused") || row.contains("starts")) {
    const Words budget = row.contains("mem") ? budget_of(row) : Words{};
    Figure& figure = out.emplace_back(start(row, ask(budget), kSglangLater));
    // SGLang sizes its pools at the start, and refuses to start if no token or no request fits. (Successful starts were
    // run without the weights, for any GPU.)
    const Reply least = ask(with(budget, {"--max-model-len", kShort}));
    if (row.contains("refused") && (least.number(kCapacityTokens) == 0 || least.number(kRequests) == 0)) {
      figure.refused = true;
      figure.planned.reset();
    }
    return out;
  }
  if (row.contains("at_once")) {
    add_at_once(row, ask, out);
    return out;
  }
  // The harness gave the engine the size of the weights and the free memory. The difference from kvplan's values is
  // added to the budget, so that only the rules are compared.
  const auto with_told_weights = [&](const Reply& reply, const Words& words) {
    Reply room = reply;
    if (reply.number(kBudget).value_or(0) == 0)
      room = ask(with(words, kLight));  // the same fraction, of which less is used
    const auto weights = room.number(kWeightsBytes), budget = room.number(kBudget);
    const double told = row.at("weights"), free = row.at("free_before");
    const double more =
        (free - std::round(free * 100) / 100) * row["args"].at("mem_fraction_static").get<double>() * kGiB;
    if ((reply.number(kWeightsBytes) == told && std::abs(more) < 1) || !weights || budget.value_or(0) == 0)
      return reply;
    return ask(with(
        words, {"--kv-cache-memory-bytes", fmt::format("{:.0f}", std::max(0.0, *budget + *weights - told + more))}));
  };
  const Json &args = row.at("args"), &pool = row.at("pool");
  const Words context{"--max-model-len", text(row.at("model").at("context_len"))};
  const Reply plain = ask(context);
  // For a GPU on which kvplan's weights leave memory, because the engine was given other weights.
  if (plain.number(kBudget).value_or(0) > 0) out.push_back(start(row, plain, kSglangLater));
  const double tokens = pool.at("max_total_num_tokens"), share = args.at("mem_fraction_static");
  if (row.contains("weights_built"))
    out.push_back(
        {"weights",
         row["weights_built"].at("parameters").get<double>() + row["weights_built"].at("buffers").get<double>(),
         plain.sum(0, is_weights)});
  if (!row.contains("given") || !row["given"].contains("mem_fraction_static")) {
    out.push_back({"share of the card", share, plain.number(kShare), 1e-6});
    out.push_back({"tokens, from the card", tokens, with_told_weights(plain, context).number(kCapacityTokens)});
    const Reply many = ask(with(context, {"--num-seqs", kMany}));
    // -1: prompts are not split into chunks, and kvplan has no number for that.
    const auto chunk = number(many, kChunk);
    out.push_back({"chunk", args.at("chunked_prefill_size"), many.is_report() && !chunk ? -1 : chunk});
    if (args.contains("decode_graph") && !args["decode_graph"].is_null())
      out.push_back(
          {"decode graphs",
           row.contains("given") && row["given"].contains("disable_cuda_graph") ? Json(0) : args["decode_graph"].at(2),
           number(plain, kSizesOfGraphs)});
    out.push_back({"page size", args.at("page_size"), plain.number(kBlockSize)});
  }
  const Words of_share{"--mem-fraction-static", text(share)};
  const Reply shared = ask(with(context, of_share));
  out.push_back({"tokens, at the engine's share", tokens,
                 with_told_weights(shared, with(context, of_share)).number(kCapacityTokens)});
  if (row.contains("state_slot")) {
    out.push_back({"state slot, bytes", row["state_slot"], shared.sum(0, is_padding_slot)});
    const std::uint64_t each = row.at("mamba_ratio"), slots = row.at("state_slots");
    const Reply one = ask(with(with(context, of_share), {"--max-num-seqs", "1"}));
    out.push_back({"state slots of a request", row["mamba_ratio"], number(one, kSlotsOfRequest)});
    const Words few = with({"--max-model-len", kShort}, of_share);
    const Reply reply = with_told_weights(ask(few), few);
    // The scheduler of 0.5.12 to 0.5.22 runs one fewer than the slots allow.
    out.push_back({"requests, by state slots", static_cast<double>(slots / each), reply.number(kRequests), 1});
  }
  if (row.contains("built")) {
    const Reply same = ask({"--max-model-len", text(tokens)});
    out.push_back({"pool bytes, at its tokens", row["built"].at("kv_bytes"), same.sum(0, is_of_tokens), kPointers});
    out.push_back({"request table, bytes", row["built"].at("req_table_bytes"),
                   with_told_weights(plain, context).sum(0, is_request_table)});
  }
  return out;
}

}  // namespace kvplan::conformance
