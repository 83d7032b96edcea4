// Every row of a table, a grid, compare and fit has the command that plans it again. That command gives the same
// totals, verdict and layout.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"

namespace kvplan {
namespace {

using CsvRow = std::map<std::string, std::string>;

// The fields of a CSV line. Quoted fields do not contain line breaks here.
std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> out{""};
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"')
      is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::size_t at = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos; end = text.find(separator, at)) {
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (at < text.size()) out.push_back(text.substr(at));
  return out;
}

std::vector<CsvRow> rows_of_csv(const std::string& csv) {
  const std::vector<std::string> lines = split_at(csv, '\n');
  std::vector<CsvRow> out;
  if (lines.empty()) return out;
  const std::vector<std::string> titles = csv_fields(lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = csv_fields(lines[i]);
    REQUIRE(cells.size() == titles.size());
    CsvRow& row = out.emplace_back();
    for (std::size_t c = 0; c < cells.size(); ++c) row[titles[c]] = cells[c];
  }
  return out;
}

// The only row of the CSV that the model's own command prints.
const CsvRow& replayed(const std::string& source, const std::string& row) {
  constexpr std::string_view kModel = "kvplan MODEL";
  REQUIRE(row.starts_with(kModel));
  const std::string command = source + row.substr(kModel.size());
  static std::map<std::string, CsvRow> known;
  if (const auto found = known.find(command); found != known.end()) return found->second;
  std::vector<std::string> words = split_at(command, ' ');
  words.insert(words.end(), {"--format", "csv"});
  const Run run = run_program(words);
  CAPTURE(command);
  CAPTURE(run.err);
  const std::vector<CsvRow> rows = rows_of_csv(run.out);
  REQUIRE(rows.size() == 1);
  return known[command] = rows.front();
}

// All objects of a report that have a command, at any depth, with their model.
void add_rows(const nlohmann::json& report, std::string source,
              std::vector<std::pair<std::string, const nlohmann::json*>>& out) {
  if (report.is_object()) {
    if (report.contains("source") && report["source"].is_string()) source = report["source"];
    if (report.contains("model") && report["model"].is_object()) source = report["model"].at("source");
    if (report.contains("command")) out.emplace_back(source, &report);
  }
  if (report.is_structured())
    for (const nlohmann::json& part : report) add_rows(part, source, out);
}

std::string cell_of_json(const nlohmann::json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

TEST_CASE("a row has the command that plans it again") {
  const std::string configs = "testdata/configs/";
  const std::string llama = kLlamaConfig, falcon = configs + "falcon-mamba-7b.json", qwen = configs + "qwen3-0.6b.json";
  const std::string gemma = configs + "gemma-4-26b.json", deepseek = configs + "deepseek-v3.json";
  const std::vector<std::vector<std::string>> calls{
      {falcon, qwen, "--engine", "sglang", "--gpu", "t4,l4", "--gpu-count", "8"},
      {gemma, "--engine", "vllm", "--gpu", "h100,l40s", "--gpu-count", "8", "--num-seqs", "200"},
      {deepseek, "--engine", "vllm,sglang", "--gpu", "h200,h100", "--gpu-count", "8", "--num-seqs", "208"},
      {llama, qwen, "--gpu", "l4,t4", "--engine", "vllm@0.20,llama.cpp,transformers", "--weights", "bf16,int4"},
      {llama, qwen, falcon, "--gpu", "l4", "--engine", "vllm"},
      {llama, qwen, "--engine", "vllm,llama.cpp,mlx", "-c", "8k", "--gpu-memory", "24GiB"},
      {llama, qwen, "--gpu", "rtx-4090,l4", "--engine", "vllm,sglang", "--max-model-len", "auto", "--num-seqs", "2"},
      {gemma, "--engine", "vllm", "--gpu", "h100", "--gpu-count", "8", "--num-seqs", "200"},
      {llama, "--engine", "llama.cpp", "--gpu", "rtx-3060", "-ngl", "auto", "-np", "2"},
      {"compare", llama, "--engine", "vllm,llama.cpp", "--gpu", "l4,h100", "--max-model-len", "16k"},
      {"compare", llama, "--engine", "sglang", "--gpu", "2xl4", "--weights", "bf16,fp8", "--kv", "auto,fp8",
       "--max-model-len", "auto"},
      {"compare", llama, "--engine", "llama.cpp", "--gpu", "rtx-3060", "-ngl", "auto", "--kv", "auto,q8_0"},
      {"fit", llama, "--engine", "vllm", "--gpu", "l4", "--gpu-count", "2", "--reserve", "1GiB"},
      {"fit", falcon, "--engine", "transformers", "--gpu", "t4,l4"},
      {"fit", llama, "--engine", "vllm", "--gpu", "rtx-4090", "--users", "16", "--avg-len", "4k", "--max-model-len",
       "32k"},
      {"fit", llama, "--engine", "llama.cpp", "--gpu", "rtx-4090", "--users", "16", "--avg-len", "4k"},
      {"fit", llama, "--engine", "sglang,mlx", "--max-model-len", "8k"},
      {"fit", deepseek, "--engine", "sglang", "--gpu", "8xh200", "--max-model-len", "16k"}};
  int rows = 0;
  for (const std::vector<std::string>& call : calls) {
    std::vector<std::string> arguments = call;
    arguments.insert(arguments.end(), {"--format", "csv"});
    const std::string typed = [&] {
      std::string out;
      for (const std::string& word : call) out += word + " ";
      return out;
    }();
    CAPTURE(typed);
    int of_call = 0;
    for (const CsvRow& row : rows_of_csv(run_program(arguments).out)) {
      const std::string& options = row.at("command");
      CAPTURE(options);
      if (row.contains("error") && !row.at("error").empty()) {
        CHECK(run_program({row.at("source"), "--json"}).exit <= 1);  // the source is a path
        continue;
      }
      REQUIRE_FALSE(options.empty());
      ++of_call;
      const CsvRow& again = replayed(row.at("source"), options);
      for (const auto& [title, value] : row) {
        if (title == "answer" || title == "error" || title == "command" || !again.contains(title)) continue;
        CAPTURE(title);
        CHECK(again.at(title) == value);
      }
      CHECK(again.at("command") == options);
    }
    CHECK(of_call > 0);
    rows += of_call;
    arguments.back() = "json";
    const nlohmann::json report = nlohmann::json::parse(run_program(arguments).out);
    std::vector<std::pair<std::string, const nlohmann::json*>> planned;
    add_rows(report, "", planned);
    for (const auto& [source, each] : planned) {
      if (each->at("verdict").is_null()) continue;  // refused
      const std::string options = each->at("command");
      CAPTURE(options);
      const CsvRow& again = replayed(source, options);
      CHECK(again.at("verdict") == cell_of_json(each->at("verdict").at("status")));
      CHECK(again.at("headroom_bytes") == cell_of_json(each->at("verdict").at("headroom_bytes")));
      if (each->contains("capacity") && !each->at("capacity").is_null()) {
        CHECK(again.at("longest_context") == cell_of_json(each->at("capacity").at("max_model_len")));
        CHECK(again.at("most_sequences") == cell_of_json(each->at("capacity").at("max_num_seqs")));
      } else if (each->contains("total_bytes")) {
        CHECK(again.at("total_bytes") == cell_of_json(each->at("total_bytes")));
        CHECK(again.at("longest_context") == cell_of_json(each->at("max_model_len")));
      }
      // The program accepts every option in "what changes".
      if (each->contains("changes"))
        for (const auto& [option, value] : each->at("changes").items()) CHECK(value != "any");
    }
    CHECK_FALSE(planned.empty());
  }
  CHECK(rows > 150);
}

TEST_CASE("a command never names a token") {
  const Run run = run_program({kLlamaConfig, "--token", "hf_secret", "--gpu", "l4,t4", "--format", "csv"});
  CHECK_FALSE(has(run.out, "secret"));
}

TEST_CASE("--format args keeps the exit code of the plan, also for types that the engine does not make") {
  for (const std::string engine : {"vllm", "sglang", "mlx", "tensorrt-llm"}) {
    const std::string card = engine == "mlx" ? "m3-max-64gb" : "h100";
    const std::vector<std::string> asked{kLlamaConfig,      "--engine", engine,      "--gpu", card,
                                         "--max-model-len", "8k",       "--weights", "awq"};
    std::vector<std::string> args = asked;
    args.insert(args.end(), {"--format", "args"});
    const Run run = run_program(args);
    CAPTURE(engine);
    CHECK(run.exit == run_program(asked).exit);
    CHECK(has(run.out, "llama-3.1-8b-awq-int4"));
    CHECK(has(run.err, "cannot convert to awq-int4 while loading"));
  }
}

}  // namespace kvplan
