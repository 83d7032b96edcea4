// The built-in catalogue: each entry against its file of testdata/published and the published count, and names.
#include "sources/catalogue.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/shell.h"
#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "plan/plan.h"
#include "plan/questions.h"
#include "report/report.h"
#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using nlohmann::json;

json published(std::string_view id) {
  std::string name(id);
  name.replace(name.find('/'), 1, "--");
  return json::parse(file_text(std::string(KVPLAN_SOURCE_DIR) + "/testdata/published/" + name + ".json"));
}

// The report of a plan, without lines that mention the catalogue. There, lists of modules have another order.
std::string report_of(ModelSpec model, std::string_view engine) {
  std::erase_if(model.notes, [](const Note& note) { return note.code == "catalogue"; });
  std::erase_if(model.facts, [](const ConfigFact& fact) { return has(fact.value, "layers."); });
  Request request;
  request.max_model_len = Tokens(512);
  find_engine(engine, request);
  try {
    const Plan plan = make_plan(model, request);
    return reply_of(plan).json();
  } catch (const Error& error) {
    return error.line();
  }
}

// The published count may include layers for multi-token prediction, which plans leave out. The entries that differ
// otherwise are listed, and why.
struct KnownDifference {
  std::string_view id, why;
};
constexpr std::array kDifferences{
    KnownDifference{"google/gemma-4-E4B-it", "its files have keys and values of the 18 layers that share others'"},
    KnownDifference{"Qwen/Qwen3-Embedding-8B", "its files have no head, which the config does not say"},
    KnownDifference{"Qwen/Qwen3-0.6B", "its files store the tied head"},
    KnownDifference{"Qwen/Qwen3-1.7B", "its files store the tied head"},
    KnownDifference{"google/gemma-4-26B-A4B", "its files store the tied head"},
    KnownDifference{"Qwen/Qwen3-Next-80B-A3B-Instruct", "its files have a layer that the config does not name: MTP"},
    KnownDifference{"stepfun-ai/Step-3.7-Flash", "its files have one of the three MTP layers that the config names"},
    KnownDifference{"stepfun-ai/Step-3.7-Flash-FP8",
                    "its files have one of the three MTP layers that the config names"},
};

TEST_CASE("catalogue: an id and its published config give the same answer, in every engine") {
  CHECK(catalogue().size() > 150);
  for (const PublishedModel& model : catalogue()) {
    CAPTURE(model.id);
    const json file = published(model.id);
    CHECK(file["id"] == model.id);
    CHECK(!file["source"].get<std::string>().empty());
    const std::string quant = file.contains("hf_quant_config") ? file["hf_quant_config"].dump() : "";
    const ModelSpec from_file = read_config(file["config"].dump(), quant, model.id, {});
    const ModelSpec from_catalogue = load_published(model, std::string(model.id), {});
    for (const Engine& engine : engines())
      CHECK_MESSAGE((report_of(from_catalogue, engine.name) == report_of(from_file, engine.name)),
                    model.id << " in " << engine.name);
  }
}

// What kvplan verify got from vLLM 0.33.0 and SGLang 0.5.23: parameters and buffers of the class. Plans leave out
// MiniMax-M3's chosen blocks and Qwen2.5-VL's frequencies.
TEST_CASE("catalogue: weights are those of the engine's class") {
  struct Row {
    const char *id, *engine;
    std::uint64_t ranks, bytes, left_out;
  };
  for (const Row& row : {Row{"zai-org/GLM-4.5-Air", "vllm@0.33", 4, 53'526'070'864, 0},
                         {"MiniMaxAI/MiniMax-M3", "vllm@0.33", 8, 107'065'512'352, 524'288},
                         {"Qwen/Qwen2.5-VL-7B-Instruct", "sglang@0.5.23", 1, 16'650'853'456, 512}}) {
    CAPTURE(row.id);
    const CatalogueName known = find_published(row.id);
    REQUIRE(known.model != nullptr);
    Request request;
    request.max_model_len = Tokens(4096);
    request.parallel.tensor = row.ranks;
    find_engine(row.engine, request);
    const Plan plan = make_plan(load_published(*known.model, row.id, {}), request);
    Bytes built;
    for (const LedgerLine& line : plan.memory.front().lines)
      if (line.part == Section::kWeights && line.id != LineId::kLoading) built += line.bytes;
    CHECK(built.count() + row.left_out == row.bytes);
  }
}

TEST_CASE("catalogue: parameters are the published count") {
  for (const PublishedModel& model : catalogue()) {
    if (model.parameters == 0) continue;
    CAPTURE(model.id);
    const ModelSpec spec = load_published(model, std::string(model.id), {});
    Request request;
    request.max_model_len = Tokens(512);
    const Plan plan = make_plan(spec, request);
    const double counted = static_cast<double>(model.parameters);
    const auto is_count = [&](std::uint64_t parameters) {
      return std::abs(static_cast<double>(parameters) / counted - 1) < 0.005;
    };
    const bool is_known = std::any_of(kDifferences.begin(), kDifferences.end(),
                                      [&](const KnownDifference& known) { return known.id == model.id; });
    const Parameters& parameters = plan.model->parameters;
    CAPTURE(parameters.total);
    CAPTURE(parameters.mtp);
    CAPTURE(model.parameters);
    CHECK(is_known != (is_count(parameters.total) || is_count(parameters.total + parameters.mtp)));
  }
}

TEST_CASE("catalogue: weights are the sum of the checkpoint's tensors") {
  // From the safetensors headers: github.com/gogongxt/python, at the commits that the entries name.
  for (const auto& [id, gib] : {std::pair{"moonshotai/Kimi-K2.6", "554.27 GiB"},
                                {"Qwen/Qwen3-32B-AWQ", "18.00 GiB"},
                                {"Qwen/Qwen3-8B-FP8", "8.79 GiB"}}) {
    CAPTURE(id);
    Request request;
    request.max_model_len = Tokens(512);
    const PublishedModel* model = find_published(id).model;
    REQUIRE(model != nullptr);
    const Plan plan = make_plan(load_published(*model, id, {}), request);
    CHECK(format_gib(*plan.fullest().weights) == gib);
  }
}

TEST_CASE("catalogue: who made a quantization is kept") {
  // quant_method is "fp8" there, and the producer ModelOpt: transformers has no quantizer for it.
  Request request;
  request.max_model_len = Tokens(512);
  find_engine("transformers", request);
  for (const std::string_view id : {"nvidia/DeepSeek-V4-Flash-NVFP4", "nvidia/DeepSeek-V4-Pro-NVFP4"})
    CHECK(make_plan(load_published(*find_published(id).model, std::string(id), {}), request).weights_dtype ==
          "bfloat16");
}

TEST_CASE("catalogue: names") {
  const auto id_of = [](std::string_view name) {
    const CatalogueName known = find_published(name);
    return known.model != nullptr ? std::string(known.model->id) : std::string();
  };
  CHECK(id_of("Qwen/Qwen3-8B") == "Qwen/Qwen3-8B");
  CHECK(id_of("qwen3-8b") == "Qwen/Qwen3-8B");
  for (const std::string_view file :
       {"Qwen3-8B-Q8_0.gguf", "/models/Qwen3-8B.Q8_0.gguf", "Qwen3-8B-Q8_0-00001-of-00002.gguf"}) {
    CHECK(id_of(file) == "Qwen/Qwen3-8B");
    CHECK(find_published(file).type == "q8_0");
  }
  CHECK(find_published("Qwen3-8B-UD-Q4_K_XL.gguf").type == "ud-q4_k_xl");
  CHECK(id_of("my-tune-of-Qwen3-8B-Q8_0.gguf").empty());
  CHECK(id_of("Llama-3.1-8B-Instruct") == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(id_of("meta-llama/Llama-3.1-8B") == "meta-llama/Meta-Llama-3.1-8B");
  CHECK(id_of("nvidia/Qwen3-8B").empty());
  // Names as people type them: other blanks, without "-Instruct", with the old "Meta-".
  for (const std::string_view typed : {"qwen3 8b", "qwen3_8b", "Qwen-3-8B", "qwen38b"})
    CHECK(id_of(typed) == "Qwen/Qwen3-8B");
  CHECK(id_of("llama3-8b") == "meta-llama/Meta-Llama-3-8B-Instruct");
  CHECK(id_of("gemma-3-12b") == "google/gemma-3-12b-it");
  CHECK(id_of("meta-llama/Meta-Llama-3.1-8B-Instruct") == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(id_of("mistral-7b").empty());  // two models
  // GGUF files of a model, by any publisher.
  CHECK(id_of("unsloth/Qwen3-8B-GGUF") == "Qwen/Qwen3-8B");
  CHECK(find_published("lmstudio-community/Qwen3-8B-GGUF:Q8_0").type == "q8_0");
  CHECK(find_published("lmstudio-community/Qwen3-8B-GGUF").is_gguf);
  CHECK(id_of("somebody/Qwen3-8B-uncensored-GGUF").empty());
  CHECK(id_of("ollama:hf.co/unsloth/Qwen3-8B-GGUF:Q8_0").empty());  // ollama's own copy
  CHECK(id_of("Qwen3-235B").empty());
  CHECK(id_of("").empty());
  CHECK(id_of(std::string(10000, 'q')).empty());
  CHECK(find_published("qwen3:8b").is_tag);
  CHECK(id_of("qwen3:8b") == "Qwen/Qwen3-8B");
  CHECK(id_of("ollama:qwen3:8b") == "Qwen/Qwen3-8B");
  CHECK(id_of("qwen3:30b") == "Qwen/Qwen3-30B-A3B");
  CHECK(find_published("qwen3:8b-q8_0").type == "q8_0");
  CHECK(find_published("llama3.1:8b-instruct-q8_0").type == "q8_0");
  CHECK(find_published("gemma3:27b-it-qat").type == "q4_0");  // 18 GB in ollama's library
  CHECK(id_of("qwen3:9b").empty());
  CHECK(id_of("ollama:qwen3").empty());
  // Tags without a size, as ollama's own pages have them.
  for (const std::string_view tag : {"llama3.2", "llama3.2:latest", "ollama:llama3.2", "llama3.2:3b"})
    CHECK(id_of(tag) == "meta-llama/Llama-3.2-3B-Instruct");
  CHECK(find_published("phi4").is_tag);
  CHECK(find_published("mistral-nemo").is_tag);
  CHECK_FALSE(find_published("phi-4").is_tag);
  for (const std::string_view typed : {"hf.co/Qwen/Qwen3-8B", "HF.co/Qwen/Qwen3-8B", "www.huggingface.co/Qwen/Qwen3-8B",
                                       "hf:Qwen/Qwen3-8B", "hf://Qwen/Qwen3-8B", " Qwen/Qwen3-8B\n", "Qwen/Qwen3-8B/"})
    CHECK(usual_name(std::string(typed)) == "Qwen/Qwen3-8B");
  for (const std::string_view typed :
       {"https://ollama.com/library/qwen3:8b", "ollama/qwen3:8b", "OLLAMA:qwen3:8b", "ollama://qwen3:8b",
        "ollama run qwen3:8b", "ollama pull qwen3:8b", "http://www.ollama.com/library/qwen3:8b/"})
    CHECK(usual_name(std::string(typed)) == "ollama:qwen3:8b");
  for (const std::string unchanged : {"https://huggingface.co/Qwen/Qwen3-8B", "", "/", "~/models/", "../x/", "-"})
    CHECK(usual_name(unchanged) == unchanged);
  CHECK(nearest_published("Qwen3-235B").starts_with("did you mean Qwen3-235B-A22B"));
  CHECK(nearest_published("Qwen/Qwen3-9B").find("Qwen/Qwen3-8B") != std::string::npos);
  CHECK(nearest_published("no-such-model-anywhere").empty());
  CHECK(nearest_published("qwen3:latest").starts_with("name a size: qwen3:0.6b, "));
  CHECK(nearest_published("llama3.1") == "name a size: llama3.1:8b, llama3.1:70b, llama3.1:405b");
  CHECK(nearest_published("unsloth/Qwen3-8B") == "did you mean Qwen/Qwen3-8B?");
  CHECK(nearest_published("Qwen/Qwen3-8B-Base") == "did you mean Qwen/Qwen3-8B?");
  CHECK(nearest_published("qwen3-8b-q4_k_m") == "did you mean Qwen3-8B?");
  // A word for many models: the newest, and where the others are.
  const std::string many = nearest_published("qwen");
  CAPTURE(many);
  CHECK(many.starts_with("did you mean Qwen3.8-27B or "));
  CHECK(many.ends_with("? kvplan models qwen lists all"));
  for (const std::string_view hostile : {"\x1b[31mqwen", "\xff\xfe", "-q", "-", "q", "-q-q", ":", "/", "a:/-q"})
    CHECK(nearest_published(hostile).size() < 200);
  CHECK(nearest_published("gemma3:9b").starts_with("name a size: gemma3:4b, gemma3:12b"));
}

Run offline(std::vector<std::string> arguments) {
  return run_program(arguments, "/dev/null",
                     {"HF_HUB_OFFLINE=1", "HF_HOME=/nonexistent", "OLLAMA_MODELS=/nonexistent"});
}

TEST_CASE("catalogue: a name without a network") {
  const Run by_name = offline({"Qwen3-8B", "--json"});
  CAPTURE(by_name.err);
  CHECK(by_name.exit == 0);
  CHECK(by_name.err.empty());
  CHECK(has(by_name.out, "\"source\": \"Qwen/Qwen3-8B\""));
  CHECK(has(by_name.out, "\"catalogue\""));
  CHECK(offline({"hf.co/Qwen/Qwen3-8B", "--json"}).out == by_name.out);
  CHECK(offline({"Qwen/Qwen3-8B", "--json"}).out == by_name.out);
  CHECK(offline({"https://huggingface.co/Qwen/Qwen3-8B/tree/main", "--json"}).exit == 0);
  CHECK(offline({"https://huggingface.co/Qwen/Qwen3-8B/tree/other", "--json"}).exit == 4);
  const Run files = offline({"unsloth/Qwen3-8B-GGUF:Q8_0", "--json"});
  CHECK(has(files.out, "\"engine\": \"llama.cpp\""));
  CHECK(has(files.out, "\"weights_dtype\": \"q8_0\""));
  // A tag means ollama's file, with ollama as the engine and the tag's usual type.
  const Run tag = offline({"qwen3:8b", "--json", "--gpu", "rtx-3060", "-c", "32k"});
  CAPTURE(tag.err);
  CHECK(has(tag.out, "\"engine\": \"ollama\""));
  CHECK(has(tag.out, "\"weights_dtype\": \"q4_k_m\""));
  CHECK(has(offline({"qwen3:8b-q8_0", "--json"}).out, "\"weights_dtype\": \"q8_0\""));
  CHECK(offline({"https://ollama.com/library/qwen3:8b", "--json"}).exit == 0);
  CHECK(has(offline({"gpt-oss:20b", "--json"}).out, "\"weights_dtype\": \"mxfp4\""));
  // ggml-org's file has matrices of 8 bits beside the experts: 59.02 GiB as llama.cpp prints it, 60.85 in ollama.
  CHECK(has(offline({"ggml-org/gpt-oss-120b-GGUF", "--json"}).out, "\"weights_dtype\": \"mxfp4_moe\""));
  CHECK(has(offline({"gpt-oss:120b-cloud"}).err, "ollama.com"));
  const Run typo = offline({"Qwen3-235B"});
  CHECK(typo.exit == 2);
  CHECK(typo.out.empty());
  CHECK(has(typo.err, "did you mean Qwen3-235B-A22B"));
  CHECK(offline({"qwen3:8b-zzz"}).exit == 2);
  for (const std::string& hostile : {std::string(100000, 'a'), std::string("\x1b[31mqwen"), std::string("\xff\xfe")})
    for (const std::vector<std::string>& words : {std::vector{hostile}, {"models", hostile}, {"pick", hostile}}) {
      const Run run = offline(words);
      CAPTURE(run.err);
      CHECK(run.exit == 2);
      CHECK(run.out.empty());
      CHECK(run.err.size() < 500);
      CHECK_FALSE(has(run.err, "internal error"));
    }
  CHECK(offline({"Qwen/Qwen3-8B", "--revision", "other"}).exit == 4);
}

TEST_CASE("models: lists and searches") {
  const json all = json::parse(run_program({"models", "--json"}).out);
  CHECK(all["models"].size() == catalogue().size());
  for (const json& model : all["models"]) CHECK_MESSAGE(model["parameters"].is_number_unsigned(), model["id"].dump());
  CHECK(all["catalogue_date"] == catalogue_date());
  const json embedding = json::parse(run_program({"models", "qwen3", "embedding", "--json"}).out);
  CHECK(embedding["models"].size() == 3);
  // Ids can be copied from the table.
  CHECK(run_program({"models", "meta-llama"}).out.find("meta-llama/Llama-3.2-90B-Vision-Instruct ") !=
        std::string::npos);
  const Run none = run_program({"models", "no-such-model"});
  CHECK(none.exit == 2);
  CHECK(none.out.empty());
}

TEST_CASE("pick: the models that run on a GPU, in the documented order, within a second") {
  const Run run = offline({"pick", "--gpu", "rtx-3060", "--host-memory", "32GiB", "--max-model-len", "16k", "--json"});
  CAPTURE(run.err);
  CHECK(run.exit == 0);
  CHECK(run.processor_seconds < kSanitizerFactor * 2);
  const json pick = json::parse(run.out);
  const json& rows = pick["picks"];
  CHECK(rows.size() > 5);
  std::vector<std::string> families;
  for (const json& row : rows) {
    CAPTURE(row["id"]);
    CHECK(row["gpu_bytes"] <= pick["memory_bytes"]);
    CHECK(row["host_bytes"] <= pick["host_memory_bytes"]);
    CHECK(row["max_model_len"] >= 8192);
    CHECK(row["command"].size() > 1);
  }
  // Each row agrees with its plan.
  const json& first = rows.front();
  CHECK(!first["weights_dtype"].get<std::string>().empty());
  // --all shows more rows. Rows with a part in main memory need its size.
  const json all = json::parse(
      offline({"pick", "--gpu", "rtx-3060", "--host-memory", "32GiB", "--max-model-len", "16k", "--all", "--json"})
          .out);
  CHECK(all["picks"].size() == rows.size() + pick["left_out"].get<std::size_t>());
  const json without = json::parse(offline({"pick", "--gpu", "rtx-3060", "--json"}).out);
  for (const json& row : without["picks"]) CHECK(row["host_bytes"] == 0);
}

TEST_CASE("pick: its commands are commands that kvplan reads, and they fit") {
  const TemporaryFolder folder;
  for (const std::string engine : {"llama.cpp", "ollama", "vllm", "sglang"})
    for (const std::string card : {"rtx-3060", "h100-80gb"}) {
      const json pick = json::parse(offline({"pick", "--gpu", card, "--engine", engine, "--json"}).out);
      for (const json& row : pick["picks"]) {
        // The length of a tag is the server's.
        const std::string command = (engine == "ollama" ? "OLLAMA_CONTEXT_LENGTH=8192 " : "") +
                                    join(row["command"].get<std::vector<std::string>>(), " ");
        CAPTURE(command);
        const Run run = offline({"--command", folder.write("command.txt", command), "--gpu", card, "--json"});
        CAPTURE(run.err);
        REQUIRE(run.exit == 0);
        const json plan = json::parse(run.out);
        CHECK(plan["request"]["engine"] == engine);
        CHECK(plan["request"]["weights_dtype"] == row["weights_dtype"]);
        CHECK(plan["verdict"]["status"] == "fits");
      }
    }
}

TEST_CASE("pick: engines, tasks and mistakes") {
  for (const std::string engine : {"vllm", "sglang", "ollama", "llama.cpp"}) {
    const json pick = json::parse(offline({"pick", "--gpu", "h100-80gb", "--engine", engine, "--json"}).out);
    CHECK(pick["engine"] == engine);
    CHECK(pick["picks"].size() > 3);
  }
  const json code = json::parse(offline({"pick", "--gpu", "rtx-4090", "--task", "code", "--json"}).out);
  CHECK(code["task"] == "code");
  CHECK(!code["picks"].empty());
  CHECK(json::parse(offline({"pick", "--gpu", "h100-80gb", "--users", "20", "--json"}).out)["engine"] == "vllm");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"pick", "Qwen3-8B", "--gpu", "l4"},
                                                {"pick", "--gpu", "none"},
                                                {"pick", "--gpu", "l4,h100"},
                                                {"pick", "--gpu", "l4", "--engine", "vllm,sglang"},
                                                {"pick", "--gpu", "l4", "--engine", "transformers"},
                                                {"pick", "--gpu", "l4", "--max-model-len", "auto"},
                                                {"pick", "--gpu", "l4", "--task", "poetry"}}) {
    const Run run = offline(wrong);
    CAPTURE(run.err);
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
  // ollama run has no option for the length.
  CHECK(has(offline({"pick", "--gpu", "l4", "--engine", "ollama", "--max-model-len", "16k", "--users", "2", "--format",
                     "markdown"})
                .out,
            "OLLAMA_CONTEXT_LENGTH=16384 OLLAMA_NUM_PARALLEL=2 ollama serve"));
  CHECK(has(offline({"pick", "--gpu", "rtx-3060+rtx-4090"}).out, "Models that run on rtx-3060+rtx-4090"));
  const Run none = offline({"pick", "--gpu-memory", "100MiB"});
  CHECK(none.exit == 1);
  CHECK(has(none.out, "NONE FITS"));
}

TEST_CASE("examples of the help run without files and without a network") {
  std::string lines;
  for (const std::string& part : {greeting(), std::string(commands().front().examples)}) lines += part + "\n";
  for (const Command& command : commands()) lines += std::string(command.examples) + "\n";
  std::size_t count = 0;
  for (const std::string_view line : split(lines, '\n')) {
    const std::string text(trimmed(line.substr(0, line.find("   ", 2))));
    if (!text.starts_with("kvplan ") || text.starts_with("kvplan measure") || has(text, ": how much")) continue;
    // Words that are not models: a log, a saved plan, an output file, and shell syntax.
    if (text.find_first_of("|<~") != std::string::npos || has(text, ".json") || has(text, ".log") || has(text, " -o "))
      continue;
    std::vector<std::string> words = words_of(text);
    words.erase(words.begin());
    CAPTURE(text);
    const Run run = offline(words);
    CAPTURE(run.err);
    CHECK(run.exit <= 1);
    CHECK(!run.out.empty());
    ++count;
  }
  CHECK(count > 20);
}

}  // namespace
}  // namespace kvplan
