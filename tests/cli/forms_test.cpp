// Output formats through the real program: formats that a command lacks, files that cannot be written, a reader that
// goes away; help that fits a screen; suggestions for mistyped words; the HTML page.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/command_line.h"
#include "cli/shell.h"
#include "kvplan/strings.h"
#include "report/renderers/renderers.h"
#include "report/report.h"

namespace kvplan {
namespace {

TEST_CASE("forms: a form that a command does not have is one line and exit 2") {
  check_refused(run_program({"compare", kLlamaConfig, "--format", "args"}), "compare has no format \"args\"");
  check_refused(run_program({"compare", kLlamaConfig, "--gpu-memory", "24GiB", "--format", "k8s"}),
                "compare has no format \"k8s\"");
  check_refused(run_program({kLlamaConfig, kLlamaConfig, "--format", "args"}),
                "a table of models has no format \"args\"");
  check_refused(run_program({"diff", "a.json", "b.json", "--format", "csv"}), "diff has no format \"csv\"");
  check_refused(run_program({"explain", kLlamaConfig, "--format", "args"}), "explain has no format \"args\"");
  check_refused(run_program({"formulas", "--format", "csv"}), "formulas has no format \"csv\"");
  check_refused(run_program({"gpus", "--format", "csv"}), "gpus has no format \"csv\"");
}

TEST_CASE("forms: every form of every command ends in a line end and exits 0 or 1") {
  for (const ReportForm& form : forms()) {
    CAPTURE(form.name);
    const std::string name(form.name);
    const auto check = [&](const Run& run) {
      CAPTURE(run.err);
      CHECK(run.exit <= 1);
      CHECK(run.out.ends_with("\n"));
    };
    if (form.name != "args" && form.name != "k8s")
      check(run_program({kLlamaConfig, "--gpu-memory", "24GiB", "--format", name}));
    if (!form.has_launch) check(run_program({kLlamaConfig, "testdata/configs/mamba-2.8b.json", "--format", name}));
    for (const Command& command : commands()) {
      CAPTURE(command.name);
      std::vector<std::string> arguments{std::string(command.name)};
      if (command.name == "measure") {  // its forms are those of a measurement
        if (name == "table" || name == "json")
          check(run_program({"measure", kLlamaConfig, "--device", "host", "-c", "256", "--format", name}));
        continue;
      }
      if (command.arguments.starts_with("MODEL ["))
        arguments.insert(arguments.end(), {kLlamaConfig, "--gpu-memory", "24GiB"});
      else if (!command.is_reference || !command.only.starts_with("--format"))
        continue;
      arguments.insert(arguments.end(), {"--format", name});
      if (form.has_launch && command.name == "fit") arguments.insert(arguments.end(), {"--engine", "vllm"});
      if (has_word(command.lacks, name))
        check_refused(run_program(arguments), "has no format \"" + name + "\"");
      else
        check(run_program(arguments));
    }
  }
}

TEST_CASE("forms: CSV has one GPU's figures in a row, and as many fields in each") {
  const auto fields = [](const std::string& line) {
    std::vector<std::string> out{""};
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted)
        out.emplace_back();
      else
        out.back() += c;
    }
    return out;
  };
  const auto lines = [](const Run& run) {
    std::vector<std::string> out;
    std::istringstream text(run.out);
    for (std::string line; std::getline(text, line);) out.push_back(line);
    return out;
  };
  // With two stages, the second one has the output head and is the fuller one.
  const auto plan = lines(run_program({kLlamaConfig, "-pp", "2", "--format", "csv"}));
  REQUIRE(plan.size() == 2);
  std::map<std::string, std::string> row;
  for (std::size_t i = 0; i < fields(plan[0]).size(); ++i) row[fields(plan[0])[i]] = fields(plan[1]).at(i);
  const auto value = [&](const char* key) { return std::stod(row.at(key)); };
  CHECK(value("total_low_bytes") <= value("total_bytes"));
  CHECK(value("total_bytes") <= value("total_high_bytes"));
  CHECK(value("weights_bytes") + value("kv_cache_bytes") + value("activation_bytes") + value("runtime_bytes") ==
        value("total_bytes"));
  const Run table = run_program({kLlamaConfig, "-pp", "2"});
  std::ostringstream gib;
  gib.precision(2);
  gib << std::fixed << value("total_bytes") / 1073741824.0;
  CHECK(table.out.find(gib.str()) != std::string::npos);
  const auto fleet = lines(run_program({kLlamaConfig, "testdata/bad/truncated.json", "--format", "csv"}));
  REQUIRE(fleet.size() == 3);
  for (const std::string& line : fleet) CHECK(fields(line).size() == fields(fleet[0]).size());
}

TEST_CASE("forms: output that cannot be written leaves no file behind") {
  const TemporaryFolder folder;
  for (const std::string form : {"table", "json", "html"}) {
    check_refused(run_program({kLlamaConfig, "--format", form, "-o", folder.path() + "/none/report"}),
                  "cannot be written");
    check_refused(run_program({kLlamaConfig, "--format", form, "-o", folder.path()}), "cannot be written");
    check_refused(run_program({kLlamaConfig, "--format", form, "-o", "/dev/null/report"}), "cannot be written");
  }
  check_refused(run_program({kLlamaConfig, "-o", ""}), "an empty name");
  CHECK(std::filesystem::is_empty(folder.path()));
  // An existing report is replaced completely, or not at all.
  const std::string old = folder.write("report", "old");
  check_refused(run_program({"testdata/bad/truncated.json", "-o", old}), "truncated.json");
  std::ifstream kept(old);
  std::string text;
  CHECK(std::getline(kept, text));
  CHECK(text == "old");
  CHECK(run_program({kLlamaConfig, "-o", old}).exit == 0);
  CHECK(std::filesystem::file_size(old) > 100);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("forms: a full disk is an error, a closed pipe is not") {
  if (std::filesystem::exists("/dev/full")) {
    const std::string command =
        std::string(KVPLAN_BINARY) + " " + KVPLAN_SOURCE_DIR + "/" + kLlamaConfig + " --json >/dev/full 2>/dev/null";
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 2);
  }
  // The reader reads one line of a report that is much larger than a pipe's buffer. Standard error stays empty.
  const TemporaryFolder folder;
  const std::string command = std::string("cd ") + KVPLAN_SOURCE_DIR + " && " + KVPLAN_BINARY +
                              " testdata/configs --json 2>" + folder.path() + "/err | head -n 1 >/dev/null";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(std::filesystem::file_size(folder.path() + "/err") == 0);
}

TEST_CASE("forms: an engine's option without its engine gives a note, and is not dropped silently") {
  const std::string model = std::string(KVPLAN_SOURCE_DIR) + "/testdata/configs/mixtral-8x7b.json";
  const Run idle = run_program({model, "--n-cpu-moe", "10", "--json"});
  CHECK(idle.exit == 0);
  CHECK(idle.out.find("\"option_of_an_engine\"") != std::string::npos);
  CHECK(run_program({model, "--n-cpu-moe", "10", "--engine", "llama.cpp", "--json"}).out.find("option_of_an_engine") ==
        std::string::npos);
  CHECK(run_program({model, "--block-size", "16", "--json"}).out.find("option_of_an_engine") == std::string::npos);
  CHECK(run_program({model, "--draft-weights", "zzz"}).exit == 2);
}

TEST_CASE("help: fits a screen, and each command has three examples") {
  const auto check_screen = [](const std::string& text) {
    CHECK(std::count(text.begin(), text.end(), '\n') <= 50);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
      CHECK((line.empty() || line.back() != ' '));
    }
  };
  check_screen(main_help());
  CHECK(run_program({"--help"}).out == main_help());
  CHECK(run_program({"-h"}).out == main_help());
  for (const Command& command : commands()) {
    CAPTURE(command.name);
    if (command.name != "plan") {
      const std::string text = run_program({std::string(command.name), "--help"}).out;
      CHECK(text == command_help(command, false));
      check_screen(text);
    }
    CHECK(std::count(command.examples.begin(), command.examples.end(), '\n') == 2);
  }
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"help"}, {"help", "plan"}, {"plan", "-h"}})
    CHECK(run_program(asked).out == main_help());
  CHECK(run_program({"help", "fit"}).out == command_help(*find_command("fit"), false));
  const Run alone = run_program({});
  CHECK(alone.exit == 0);
  CHECK(std::count(alone.out.begin(), alone.out.end(), '\n') == 7);
  // The engine's own options, and no other engine's.
  const std::string vllm = run_program({"--engine", "vllm@0.20", "--help"}).out;
  CHECK(vllm.find("--enforce-eager") != std::string::npos);
  CHECK(vllm.find("--swa-full") == std::string::npos);
  // Nothing is hidden: --help all explains every option.
  std::string all = run_program({"--help", "all"}).out;
  const std::string wrap = "\n" + std::string(32, ' ');
  for (auto at = all.find(wrap); at != std::string::npos; at = all.find(wrap, at)) all.replace(at, wrap.size(), " ");
  for (const Option* option : options_of(commands().front())) {
    const std::string name(option->name());
    CAPTURE(name);
    CHECK(all.find(std::string(option->help)) != std::string::npos);
  }
}

TEST_CASE("mistakes: the message suggests what the user probably meant") {
  check_refused(run_program({kLlamaConfig, "--engin", "vllm"}), "did you mean --engine?");
  check_refused(run_program({kLlamaConfig, "--max-model-length", "4096"}), "--max-model-len");
  check_refused(run_program({kLlamaConfig, "--tensor-paralel-size=2"}), "did you mean --tensor-parallel-size?");
  check_refused(run_program({kLlamaConfig, "--completely-else"}), "see kvplan --help");
  check_refused(run_program({kLlamaConfig, "--engine", "vlm"}), "did you mean vllm?");
  check_refused(run_program({kLlamaConfig, "--engine", "lama.cpp"}), "did you mean llama.cpp?");
  check_refused(run_program({kLlamaConfig, "--engine", "x"}), "use one of logical");
  check_refused(run_program({kLlamaConfig, "--format", "jsn"}), "did you mean json?");
  check_refused(run_program({kLlamaConfig, "--format", "markdwon"}), "did you mean markdown?");
  check_refused(run_program({kLlamaConfig, "--kv-cache-dtype", "bfloat61"}), "bfloat16");
  check_refused(run_program({kLlamaConfig, "--weights", "intt4"}), "int4");
  check_refused(run_program({"compar", kLlamaConfig}), "did you mean compare?");
  check_refused(run_program({"completions", "bsh"}), "did you mean bash");
  // Values and files that look like mistakes but are valid are accepted.
  CHECK(run_program({kLlamaConfig, "--max-model-len=4096"}).exit == 0);
  CHECK(run_program({kLlamaConfig, "-c4096"}).exit == 0);
  CHECK(run_program({"--", kLlamaConfig}).exit == 0);
}

// --- HTML ---

std::string page(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--format", "html"});
  const Run run = run_program(all);
  CHECK(run.exit <= 1);
  return run.out;
}

TEST_CASE("html: text from outside is escaped") {
  CHECK(html_escape("<b a=\"1\" c='2'>&") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  CHECK(html_escape("\xff"
                    "a\xe2\x82") ==
        "\xEF\xBF\xBD"
        "a\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(html_escape("\xc0\xaf\xed\xa0\x80").find('\xed') == std::string::npos);
  CHECK(html_escape(std::string("\0\x1b", 2)) == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(html_escape("\xe2\x82\xac \xf0\x9f\x98\x80") == "\xe2\x82\xac \xf0\x9f\x98\x80");
  const TemporaryFolder folder;
  const std::string attack = "<script>alert(1)</script>\\\" onload=\\\"x";
  const std::string model = folder.write(
      "<img src=x onerror=alert(1)>.json",
      "{\"model_type\":\"llama\",\"architectures\":[\"" + attack +
          "\"],\"hidden_size\":64,\"intermediate_size\":128,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
          "\"vocab_size\":100,\"torch_dtype\":\"bfloat16\",\"max_position_embeddings\":4096}");
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{model},
                                                    {model, kLlamaConfig},
                                                    {"compare", model},
                                                    {"fit", model, "--gpu-memory", "8GiB"}}) {
    const std::string text = page(arguments);
    CHECK(text.find("<script") == std::string::npos);
    CHECK(text.find("<img") == std::string::npos);
    CHECK(text.find("\" onload") == std::string::npos);
  }
}

TEST_CASE("html: the bounds of speed have their own lines") {
  const Run run =
      run_program({kLlamaConfig, "--engine", "vllm", "--gpu", "l4", "--max-model-len", "8k", "--format", "html"});
  CHECK(run.out.find("Speed, upper bounds") != std::string::npos);
  CHECK(run.out.find("\xEF\xBF\xBD") == std::string::npos);
  CHECK(run.out.find("tokens/s<") != std::string::npos);
}

TEST_CASE("html: one file without network, with its pictures") {
  const std::string text = page({kLlamaConfig, "--gpu-memory", "24GiB", "--engine", "vllm"});
  for (const std::string wanted :
       {"<!DOCTYPE html>", "name=\"viewport\"", "prefers-color-scheme: dark", "class=\"bar\"", "KV cache budget",
        "Context vs sequences", "item by item", "fp8_e4m3", "bfloat16", "</html>"}) {
    CAPTURE(wanted);
    CHECK(text.find(wanted) != std::string::npos);
  }
  for (const std::string refused : {"http:", "https:", "//", "<script", "@import", "url(", "nan", "inf%", ">-0"}) {
    CAPTURE(refused);
    CHECK(text.find(refused) == std::string::npos);
  }
  CHECK(text.size() < 100000);
}

// WCAG's contrast of two colours "#rrggbb".
double contrast(const std::string& a, const std::string& b) {
  const auto luminance = [](const std::string& color) {
    double out = 0;
    const double weights[] = {0.2126, 0.7152, 0.0722};
    for (int i = 0; i < 3; ++i) {
      const double c = std::stoi(color.substr(1 + 2 * static_cast<std::size_t>(i), 2), nullptr, 16) / 255.0;
      out += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return out + 0.05;
  };
  const double x = luminance(a);
  const double y = luminance(b);
  return std::max(x, y) / std::min(x, y);
}

TEST_CASE("html: contrast of the light and the dark page") {
  CHECK(contrast("#000000", "#ffffff") == doctest::Approx(21));
  const std::string text = join(style_lines(), "\n");
  const std::size_t dark = text.find("prefers-color-scheme");
  for (const bool is_dark : {false, true}) {
    CAPTURE(is_dark);
    std::map<std::string, std::string> colors;
    for (std::size_t at = text.find("--", is_dark ? dark : 0); at != std::string::npos && (is_dark || at < dark);
         at = text.find("--", at + 2)) {
      const std::size_t colon = text.find(':', at);
      if (colon - at < 10 && text[colon + 2] == '#')
        colors[text.substr(at + 2, colon - at - 2)] = text.substr(colon + 2, 7);
    }
    REQUIRE(colors.size() == 17);
    for (const std::string ground : {"fits", "less", "none"}) CHECK(contrast(colors["text"], colors[ground]) >= 4.5);
    for (const std::string name : {"text", "muted", "good", "bad", "warn"})
      for (const std::string ground : {"page", "panel"}) {
        CAPTURE(name);
        CHECK(contrast(colors[name], colors[ground]) >= 4.5);
      }
    // Graphics need a contrast of 3 to 1, and a line in the page's colour separates the parts of a bar.
    for (const std::string name : {"s1", "s2", "s3", "s4", "s5", "s6", "bad"}) {
      CAPTURE(name);
      CHECK(contrast(colors[name], colors["page"]) >= 3);
    }
  }
}

}  // namespace
}  // namespace kvplan
