// llama.cpp: the buffers of each GPU and of the host, by content.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "conformance/engines.h"
#include "kvplan/quantity.h"

namespace kvplan::conformance {

namespace {

// The three sorts of buffers, in the order of a row, and the ledger lines of each.
constexpr std::array<const char*, 3> kParts{"weights", "KV and states", "compute"};

std::size_t part_of(const Json& line) {
  if (line.at("part") == "weights") return 0;
  if (line.at("part") == "kv_cache") return 1;
  return called(line).starts_with("compute buffer") ? 2 : kParts.size();
}
bool is_logits(const Json& line) {
  return called(line) == "logits";
}
bool is_states(const Json& line) {
  return line.at("part") == "kv_cache" && is_called_like(line, "state");
}

constexpr double kHundredthOfMib = 6000;  // bytes: half of 0.01 MiB, as it is printed, and a little

// "n_ctx=8192 n_outputs=1" as pairs.
std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    out.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  return out;
}

// kvplan's options; nothing if it has none for a word of the case.
std::optional<Words> words_of(const Json& row, const std::string& engine, Planner& planner) {
  static const std::map<std::string, std::string> kSame{{"n_ctx", "-c"},    {"n_seq", "-np"},   {"n_ubatch", "-ub"},
                                                        {"type_k", "-ctk"}, {"type_v", "-ctv"}, {"fa", "-fa"},
                                                        {"ngl", "-ngl"}};
  Words out;
  std::uint64_t gpus = row.at("gpus");
  bool all_logits = true;
  for (const auto& [key, value] : pairs_of(row.at("case"))) {
    if (kSame.contains(key)) out.insert(out.end(), {kSame.at(key), value});
    if (key == "unified") out.emplace_back("-kvu");
    if (key == "swa_full") out.emplace_back("--swa-full");
    if (key == "offload_kqv") out.emplace_back("-nkvo");
    if (key == "ot" && value.starts_with("blk")) out.insert(out.end(), {"-ncmoe", "20"});
    if (key == "ot" && !value.starts_with("blk")) out.emplace_back("-cmoe");
    if (key == "split") {
      if (!planner.knows(engine, {"--tensor-split", value})) return std::nullopt;
      out.insert(out.end(), {"--tensor-split", value});
    }
    if (key == "sm") gpus = 1;  // none: all on the first
    if (key == "n_outputs") all_logits = false;
  }
  if (all_logits && planner.knows(engine, {"--tool", "cli"})) out.insert(out.end(), {"--tool", "cli"});
  if (gpus > 1) out.insert(out.end(), {"-pp", std::to_string(gpus)});
  return out;
}

// Compute buffers are grouped by what makes them hard to predict.
std::string kind_of(const Json& row) {
  const std::string settings = row.at("case");
  const auto has = [&](const char* word) { return settings.find(word) != std::string::npos; };
  if (row.at("model").get<std::string>().starts_with("fixture:")) return "fixtures";
  if (row.at("gpus") > 1 && !has("sm=none")) return "2 GPUs";
  if (has("ngl") || has("ot=") || has("offload_kqv")) return "placed";
  return has("n_outputs") ? "1 GPU" : "all logits";
}

// The three buffers of a device: the row's figures, and the sums of the report's lines.
void add_place(const std::array<double, 3>& truths, const std::optional<std::vector<Json>>& lines,
               const std::string& where, const std::string& kind, const std::string& detail, Figures& out) {
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    std::vector<Json> picked;
    for (const Json& line : lines.value_or(std::vector<Json>{}))
      if (part_of(line) == part) picked.push_back(line);
    Figure figure{std::string(kParts[part]) + ", " + where + (part == 2 ? ", " + kind : ""), truths[part]};
    if (lines) figure.planned = sum_of(picked);
    if (truths[part] == 0 && figure.planned.value_or(0) == 0) continue;
    if (part == 2 && !picked.empty()) figure.range = {sum_of(picked, "low_bytes"), sum_of(picked, "high_bytes")};
    figure.detail = detail;
    out.push_back(figure);
  }
}

bool is_card(const std::string& name) {
  static const std::regex kCard("[A-Z]+[0-9]+");
  return std::regex_match(name, kCard);
}

// Sizes of the library's own lines on recurrent states, in MiB.
std::vector<double> state_sizes(const Json& row) {
  static const std::regex kSize(R"(size = +([\d.]+) MiB.*)");
  std::vector<double> out;
  if (!row.contains("caches")) return out;
  for (const Json& line : row["caches"]) {
    std::smatch found;
    const std::string words = line;
    if (words.find(" R (") != std::string::npos && std::regex_match(words, found, kSize))
      out.push_back(std::stod(found[1]));
  }
  return out;
}

}  // namespace

std::string llama_cpp_settings(const Json& row) {
  return fmt::format("x{} {}", row.at("gpus").get<int>(), row.at("case").get<std::string>());
}

Figures llama_cpp_figures(const Json& row, const std::string& engine, Planner& planner) {
  const std::string file = row.at("model").get<std::string>() + ".gguf";
  const auto words = words_of(row, engine, planner);
  const Reply reply = words ? planner.ask(file, engine, *words) : Reply("no option for a word of the case", false);
  Figures out;
  if (row.contains("refused")) {
    out.push_back(start(row, reply));
    return out;
  }
  const std::string kind = kind_of(row);
  const auto any = [](const Json&) { return true; };
  std::map<std::string, std::array<double, 3>> cards;
  std::array<double, 3> host_truth{};
  for (const auto& [name, sizes] : row.at("buffers").items()) {
    if (is_card(name)) cards[name] = sizes.get<std::array<double, 3>>();
    for (std::size_t part = 0; !is_card(name) && part < 3; ++part) host_truth[part] += sizes.at(part).get<double>();
  }
  std::size_t gpu = 0;
  for (const auto& [name, sizes] : cards) add_place(sizes, reply.lines(gpu++, any), "GPU", kind, name, out);
  add_place(host_truth, reply.lines(kHost, any), "host", kind, "host", out);

  if (row.contains("output_mib"))
    out.push_back({"output buffer", std::round(row["output_mib"].get<double>() * kMiB), reply.sum(kHost, is_logits),
                   kHundredthOfMib});
  if (const std::vector<double> states = state_sizes(row); !states.empty()) {
    double truth = 0;
    for (const double size : states) truth += size;
    Figure figure{"states", std::round(truth * kMiB)};
    figure.tolerance = kHundredthOfMib * static_cast<double>(states.size());
    if (reply.is_report()) {
      figure.planned = reply.sum(kHost, is_states);
      for (gpu = 0; const auto sum = reply.sum(gpu, is_states); ++gpu) *figure.planned += *sum;
    }
    out.push_back(figure);
  }
  return out;
}

}  // namespace kvplan::conformance
