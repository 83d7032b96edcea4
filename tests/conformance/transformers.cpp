// transformers: the parameters of a class and its cache after a number of tokens of one sequence.
#include <algorithm>

#include "conformance/engines.h"
#include "conformance/places.h"

namespace kvplan::conformance {

Figures transformers_figures(const Json& row, const std::string& engine, Planner& planner) {
  const auto ask = [&](std::uint64_t tokens, std::uint64_t source, const Words& more = {}) {
    Words words{"--max-model-len", std::to_string(tokens), "--weights", "bf16", "--dtype", "bf16"};
    if (source > 0) words.insert(words.end(), {"--encoder-len", std::to_string(source)});
    words.insert(words.end(), more.begin(), more.end());
    return planner.ask(row.at("config"), engine, words);
  };
  Figures out;
  if (row.contains("refused")) {
    out.push_back(start(row, ask(100, 0)));
    return out;
  }
  if (row.contains("quantized")) {
    for (const auto& [type, bytes] : row["quantized"].items()) {
      if (!bytes.is_number()) continue;  // the quantizer refuses the class
      const Words words{"--weights", type, "--dtype", "bf16", "--max-model-len", "100"};
      Figure figure{"quantized weights", bytes.get<double>()};
      figure.planned = planner.ask(row.at("config"), engine, words).number("/memory/0/weights_bytes");
      figure.detail = type;
      out.push_back(figure);
    }
    return out;
  }
  out.push_back(start(row, ask(100, 0)));
  if (row.contains("parameters") && row["parameters"].is_number()) {
    // Both are correct: a tensor of the checkpoint may be a buffer in the class.
    const double parameters = row["parameters"], with_buffers = parameters + row.at("kept_buffers").get<double>();
    const auto planned = ask(100, 0).number(kParameters);
    out.push_back({"parameters", planned == with_buffers ? with_buffers : parameters, planned});
  }
  if (row.contains("encoder_only")) return out;
  if (row.contains("static")) {
    const std::string tokens = std::to_string(row["static"].at("tokens").get<std::uint64_t>());
    Figure figure{"static cache", row["static"].at("bytes")};
    figure.planned = ask(row["static"].at("tokens"), 0, {"--cache-implementation", "static"}).number(kCacheBytes);
    figure.detail = tokens + " tokens";
    out.push_back(figure);
  }
  if (!row.contains("cache")) return out;
  const Json& cache = row["cache"];
  const bool is_settled = std::any_of(cache.begin(), cache.end(), [](const Json& c) { return c.contains("storage"); });
  for (const Json& entry : cache) {
    // A window's view keeps the whole prompt in memory until the next token, which has a separate row.
    if (is_settled && entry.contains("pinned")) continue;
    const std::uint64_t tokens = entry.at("tokens"), source = entry.value("source", std::uint64_t{0});
    Figure figure{"cache", entry.value("storage", entry.at("bytes").get<double>()),
                  ask(tokens, source).number(kCacheBytes)};
    figure.detail = std::to_string(tokens) + " tokens";
    out.push_back(figure);
  }
  return out;
}

}  // namespace kvplan::conformance
