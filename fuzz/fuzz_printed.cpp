// Any string in a config, as a value or as a key, is harmless wherever it is printed: a terminal, a workflow's log,
// Markdown, a spreadsheet, a page, a shell, YAML.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/plan.h"
#include "report/report.h"
#include "report/words.h"
#include "sources/hub_http.h"
#include "sources/load.h"

namespace {

using namespace kvplan;
using Json = nlohmann::json;

constexpr std::string_view kPlaces[] = {"/model_type",
                                        "/architectures/0",
                                        "/hidden_act",
                                        "/torch_dtype",
                                        "/quantization_config/quant_method",
                                        "/quantization_config/modules_to_not_convert/0",
                                        "/vision_config/model_type",
                                        "/hidden_size"};

[[noreturn]] void found(const char* what, std::string_view form, std::string_view text) {
  std::fprintf(stderr, "%s in %s: %s\n", what, std::string(form).c_str(), std::string(text.substr(0, 2000)).c_str());
  std::abort();
}

void check_characters(std::string_view text, std::string_view form) {
  for (std::size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    if (next.bytes == 0) found("no UTF-8", form, text);
    if (is_hidden(next.code) && next.code != '\n')
      found("a hidden character", form, text.substr(at > 80 ? at - 80 : 0));
    at += next.bytes;
  }
  if (text.find("##[") != std::string_view::npos) found("a workflow's command", form, text);
}

// A workflow command of the second kind begins a line, after any blanks.
void check_lines(std::string_view text, std::string_view form) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const auto first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line.substr(first).starts_with("::"))
      found("a workflow's command", form, line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

// A cell is a formula if its first character says so, after the quote that opens it. "" in a quoted cell is a quote.
void check_cells(std::string_view text) {
  bool is_quoted = false;
  bool begins = true;
  for (const char c : text) {
    const bool opens = begins && !is_quoted && c == '"';
    if (begins && !opens && c != ' ') {
      if (std::string_view("=+@").find(c) != std::string_view::npos) found("a formula", "csv", text);
      begins = false;
    }
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c == ',' || c == '\n')) begins = true;
  }
}

void check_forms(const ModelSpec& model) {
  const Plan plan = make_plan(model, {});
  const Reply reply = reply_of(plan);
  for (const ReportForm& form : forms()) {
    if (form.has_launch) continue;
    const std::string report = form.write(reply, {});
    if (form.name == "json") {
      if (!Json::accept(report)) found("no JSON", form.name, report);
      continue;
    }
    check_characters(report, form.name);
    if (form.name != "github") check_lines(report, form.name);
    if (form.name == "csv") check_cells(report);
    if (form.name == "html" && report.find("<script>alert") != std::string::npos) found("a script", form.name, report);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  check_characters(one_line(text), "one line");
  check_characters(shell_word(text), "a shell's word");
  const std::string string = json_string(text);
  check_characters(string, "a string of JSON");
  if (!Json::accept(string)) found("no JSON", "a string of JSON", string);
  contains_token(text + "%41%4", text);
  static const Json kBase = Json::parse(R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"hidden_size":64,
    "num_hidden_layers":2,"num_attention_heads":4,"vocab_size":1000,"intermediate_size":128,"torch_dtype":"bfloat16",
    "quantization_config":{"quant_method":"awq","bits":4,"group_size":128,"modules_to_not_convert":["lm_head"]},
    "vision_config":{"model_type":"clip_vision_model","hidden_size":32,"num_hidden_layers":1}})");
  Json config = kBase;
  const std::size_t place = data[0] % (std::size(kPlaces) + 1);
  if (place == std::size(kPlaces))
    config[text] = text;
  else
    config[Json::json_pointer(std::string(kPlaces[place]))] = text;
  try {
    const std::string json = config.dump(-1, ' ', false, Json::error_handler_t::replace);
    check_forms(read_config(json, "", text.substr(0, 40), {true}));
  } catch (const Error& error) {
    check_characters(error.line(), "an error");
    check_lines(error.line(), "an error");
  }
  return 0;
}
