// MLX: parameters, weights in several widths, and the cache after a prompt and after single tokens.
#include <algorithm>
#include <tuple>

#include "conformance/engines.h"
#include "conformance/places.h"

namespace kvplan::conformance {

namespace {

// The number of tokens that marks a refused cache type.
constexpr const char* kAnyTokens = "5000";

}  // namespace

Figures mlx_figures(const Json& row, const std::string& engine, Planner& planner) {
  const auto ask = [&](const std::string& tokens, Words more) {
    more.insert(more.begin(), {"--max-model-len", tokens});
    return planner.ask(row.at("config"), engine, more);
  };
  Figures out;
  if (row.contains("refused")) {
    out.push_back(start(row, ask("1", {})));
    return out;
  }
  const Reply plain = ask("1", {"--weights", "bf16"});
  out.push_back(start(row, plain));
  out.push_back({"parameters", row.at("params"), plain.number(kParameters)});
  if (row.at("dtype") == "bfloat16")
    out.push_back({"weights, 16 bit", row.at("weight_bytes"), plain.number(kWeightsBytes)});
  for (const char* bits : {"4", "8", "6", "3"}) {
    const std::string group = std::string(bits) + "g64";
    if (!row.contains("quantized") || !row["quantized"].contains(group) || !row["quantized"][group].is_number())
      continue;
    const Reply reply = ask("1", {"--weights", std::string("mlx-") + bits + "bit"});
    out.push_back({std::string("weights, ") + bits + " bit", row["quantized"][group], reply.number(kWeightsBytes)});
  }
  const Words kByToken{"--max-num-batched-tokens", "1"};
  for (const auto& [way, name, more] : {std::tuple{"prompt", "cache after a prompt", Words{}},
                                        std::tuple{"decode", "cache, token by token", kByToken}}) {
    if (!row.contains(way)) continue;
    for (const auto& [tokens, bytes] : row[way].items()) {
      Figure figure{name, bytes.is_array() ? bytes.at(0) : bytes, ask(tokens, more).number(kCacheBytes)};
      figure.detail = tokens + " tokens";
      out.push_back(figure);
    }
  }
  for (const char* bits : {"4", "8"}) {
    const std::string key = std::string("kv") + bits + "g64", name = std::string("KV in ") + bits + " bit";
    const Words type{"--kv-cache-dtype", std::string("int") + bits};
    if (!row.contains(key)) continue;
    if (row[key].is_string()) out.push_back(refusal(name, ask(kAnyTokens, type)));
    if (!row[key].is_object()) continue;
    for (const auto& [tokens, bytes] : row[key].items()) {
      Figure figure{name, bytes, ask(tokens, type).number(kCacheBytes)};
      figure.detail = tokens + " tokens";
      out.push_back(figure);
    }
  }
  if (row.contains("max_kv_size_4096")) {
    for (const auto& [tokens, bytes] : row["max_kv_size_4096"].items()) {
      Figure figure{"cache of --max-kv-size 4096", bytes, ask(tokens, {"--max-kv-size", "4096"}).number(kCacheBytes)};
      figure.detail = tokens + " tokens";
      out.push_back(figure);
    }
  }
  return out;
}

}  // namespace kvplan::conformance
