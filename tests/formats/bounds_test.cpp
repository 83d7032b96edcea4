// Every limit on what a file may contain: at the limit the file is read, one beyond it is an error that names the
// limit.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "formats/bounds.h"
#include "formats/fields.h"
#include "formats/file.h"
#include "formats/gguf.h"
#include "formats/own_files.h"
#include "kvplan/error.h"
#include "measure/log_reader.h"
#include "sources/hub_http.h"
#include "sources/load.h"
#include "sources/local_stores.h"
#include "support/gguf_writer.h"
#include "support/program.h"

namespace kvplan {
namespace {

TEST_CASE("bounds: values and levels of a config") {
  // The object, the list and its numbers.
  const auto config = [](std::size_t values) { return "{\"a\":[" + repeated("0", values - 2) + "]}"; };
  CHECK(error_of([&] { Fields::parse(config(500'000)); }).empty());
  CHECK(has(error_of([&] { Fields::parse(config(500'001)); }), "has more than 500000 values"));
  const auto nested = [](std::size_t levels) {
    return "{\"a\":" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  CHECK(error_of([&] { Fields::parse(nested(64)); }).empty());
  CHECK(has(error_of([&] { Fields::parse(nested(65)); }), "nests deeper than 64 levels"));
  // Commas and brackets in strings are not counted.
  CHECK(error_of([] {
          Fields::parse("{\"a\":\"" + std::string(600'000, ',') + std::string(100, '[') + "\\\"[\"}");
        }).empty());
}

TEST_CASE("bounds: bytes of a config") {
  const TemporaryFolder folder;
  const auto file = [&](std::size_t bytes) {
    return folder.write("config.json", "{\"a\":0" + std::string(bytes - 7, ' ') + "}");
  };
  CHECK(error_of([&] { read_file(file(16 << 20)); }).empty());
  CHECK(has(error_of([&] { read_file(file((16 << 20) + 1)); }), "larger than 16 MiB"));
}

TEST_CASE("bounds: values of a plan") {
  const auto plan = [](std::size_t more) {
    return R"({"schema_version":1,"model":{},"request":{},"kv_cache":{},"total":{},"memory":[],"x":[)" +
           repeated("0", more) + "]}";
  };
  constexpr std::size_t kOthers = 13;  // the plan and its members; an empty one counts for two
  CHECK(error_of([&] { parse_plan(plan(500'000 - kOthers), "x"); }).empty());
  CHECK(has(error_of([&] { parse_plan(plan(500'001 - kOthers), "x"); }), "has more than 500000 values"));
}

TEST_CASE("bounds: facts of a plan") {
  const auto plan = [](std::size_t facts, std::size_t options) {
    std::string request = "\"o\":0";
    for (std::size_t i = 1; i < options; ++i) request += ",\"o" + std::to_string(i) + "\":0";
    return R"({"schema_version":1,"model":{"config":[)" + repeated(R"({"key":"a","value":1})", facts) +
           "]},\"request\":{" + request + R"(},"kv_cache":{},"total":{},"memory":[]})";
  };
  CHECK(error_of([&] { parse_plan(plan(10'000, 10'000), "x"); }).empty());
  CHECK(has(error_of([&] { parse_plan(plan(10'001, 1), "x"); }), "its config has more than 10000 entries"));
  CHECK(has(error_of([&] { parse_plan(plan(1, 10'001), "x"); }), "its request has more than 10000 entries"));
}

TEST_CASE("bounds: bytes and levels of a plan") {
  const TemporaryFolder folder;
  const auto plan = [&](std::size_t bytes, int levels) {
    std::string text = R"({"schema_version":1,"model":{},"request":{},"kv_cache":{},"total":{},"memory":[],"x":)";
    for (int i = 1; i < levels; ++i) text += '[';
    for (int i = 1; i < levels; ++i) text += ']';
    text += '}';
    return folder.write("plan.json", text + std::string(bytes - std::min(bytes, text.size()), ' '));
  };
  CHECK(error_of([&] { load_plan(plan(64 << 20, 32)); }).empty());
  CHECK(has(error_of([&] { load_plan(plan((64 << 20) + 1, 32)); }), "larger than 64 MiB"));
  CHECK(has(error_of([&] { load_plan(plan(0, 33)); }), "deeper than 32 levels"));
}

TEST_CASE("bounds: the user's own files, and GPUs") {
  const TemporaryFolder folder;
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  const auto refused = [](const Run& run, const std::string& why) {
    CAPTURE(run.err);
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(has(run.err, why));
  };
  const auto file = [&](const std::string& text, std::size_t bytes) {
    return folder.write("x", text + std::string(bytes - text.size(), '\n'));
  };
  CHECK(run_program({"@" + file(model, 1 << 20)}).exit == 0);
  refused(run_program({"@" + file(model, (1 << 20) + 1)}), "larger than 1 MiB");
  const std::vector<std::string> on_cards{model, "--engine", "vllm", "--gpu", "h100-80gb"};
  const auto with = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> words = on_cards;
    words.insert(words.end(), {option, value});
    return run_program(words);
  };
  const std::string card = R"([{"name":"own","memory":"80GiB"}])";
  CHECK(with("--gpu-file", file(card, 1 << 20)).exit == 0);
  refused(with("--gpu-file", file(card, (1 << 20) + 1)), "larger than 1 MiB");
  const std::string none = R"({"schema_version":1,"calibration":[]})";
  CHECK(with("--calibration", file(none, 4 << 20)).exit == 0);
  refused(with("--calibration", file(none, (4 << 20) + 1)), "larger than 4 MiB");
  CHECK(with("--gpu-count", "2048").exit == 0);
  refused(with("--gpu-count", "2049"), "at most 2048");
}

TEST_CASE("bounds: records and figures of calibrations") {
  const auto figures = [](std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i)
      out += (i > 0 ? ",{\"name\":\"f" : "{\"name\":\"f") + std::to_string(i) +
             "\",\"n\":1,\"low\":1,\"mean\":1,\"high\":1}";
    return out;
  };
  const auto read = [&](std::size_t records, std::size_t count, std::size_t letters) {
    const std::string record = "{\"device\":\"" + std::string(letters, 'x') +
                               R"(","source":"log","date":"2026-11-25","figures":[)" + figures(count) + "]}";
    return error_of(
        [&] { parse_calibration(R"({"schema_version":1,"calibration":[)" + repeated(record, records) + "]}"); });
  };
  CHECK(read(2000, 1, 300).empty());
  CHECK(has(read(2001, 1, 1), "more than 2000 records"));
  CHECK(read(1, 64, 1).empty());
  CHECK(has(read(1, 65, 1), "not a list of 1 to 64"));
  CHECK(has(read(1, 1, 301), "device of record 1 is longer than 300 bytes"));
  CHECK(has(error_of([] { parse_calibration(std::string((4 << 20) + 1, ' ')); }), "larger than 4 MiB"));
}

TEST_CASE("bounds: GPUs of a file, their names, aliases and sizes") {
  const auto card = [](const std::string& name, const std::string& memory, std::size_t aliases) {
    return "{\"name\":\"" + name + "\",\"memory\":\"" + memory + "\",\"aliases\":[" + repeated("\"a\"", aliases) + "]}";
  };
  const auto read = [](const std::string& cards) { return error_of([&] { parse_gpu_file("[" + cards + "]"); }); };
  CHECK(read(repeated(card("a", "1GiB", 0), 1000)).empty());
  CHECK(has(read(repeated(card("a", "1GiB", 0), 1001)), "more than 1000 GPUs"));
  CHECK(read(card(std::string(80, 'a'), "64TiB", 20)).empty());
  CHECK(has(read(card(std::string(81, 'a'), "1GiB", 0)), "is not a word of letters"));
  CHECK(has(read(card("a", "64.001TiB", 0)), "not between 64 MiB and 64 TiB"));
  CHECK(has(read(card("a", "1GiB", 21)), "not a list of at most 20"));
}

TEST_CASE("bounds: numbers of the command line that are lists") {
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  const auto run = [&](const std::string& engine, std::vector<std::string> more) {
    more.insert(more.begin(), {model, "--engine", engine});
    return run_program(more);
  };
  const auto refused = [](const Run& got, const std::string& why) {
    CAPTURE(got.err);
    CHECK(got.exit == 2);
    CHECK(has(got.err, why));
  };
  CHECK_FALSE(has(run("llama.cpp", {"--gpu", "63xrtx-4090+rtx-3060"}).err, "more than 64 GPUs"));
  refused(run("llama.cpp", {"--gpu", "64xrtx-4090+rtx-3060"}), "more than 64 GPUs");
  CHECK(run("vllm", {"--max-loras", "65536", "--max-lora-rank", "8"}).exit <= 1);
  refused(run("vllm", {"--max-loras", "65537", "--max-lora-rank", "8"}), "at most 65536");
  for (const char* option : {"--num-beams", "--num-samples"}) {
    CAPTURE(option);
    CHECK(run("vllm", {option, "1024"}).exit <= 1);
    refused(run("vllm", {option, "1025"}), "is more than kvplan plans; use at most 1024");
  }
  CHECK(run("vllm", {"--avg-len", "16", "--num-seqs", "1048576"}).exit <= 1);
  refused(run("vllm", {"--avg-len", "16", "--num-seqs", "1048577"}), "1048577 sequences");
}

TEST_CASE("bounds: an index of safetensors, and the parts of a GGUF beside it") {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type":"llama","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":2,
                                  "vocab_size":100,"intermediate_size":64})");
  const auto index = [&](std::size_t bytes) {
    const std::string text = R"({"metadata":{"total_size":5},"weight_map":{"a":"b.safetensors"}})";
    folder.write("model.safetensors.index.json", text + std::string(bytes - text.size(), ' '));
    return run_program({folder.path()});
  };
  CHECK(index(64 << 20).exit == 0);
  const Run larger = index((64 << 20) + 1);
  CHECK(larger.exit == 2);
  CHECK(has(larger.err, "larger than 64 MiB"));
  const auto parts = [&](std::uint16_t count) {
    return error_of([&] {
      Gguf::open(folder.write("x-00001-of-" + std::to_string(count) + ".gguf",
                              GgufWriter("llama").u16("split.no", 0).u16("split.count", count).file()),
                 0);
    });
  };
  CHECK_FALSE(has(parts(10'000), "\"split.count\" is"));
  CHECK(has(parts(10'001), "\"split.count\" is 10001"));
}

TEST_CASE("bounds: the rank and the modules of an adapter") {
  const TemporaryFolder folder;
  const auto read = [&](std::uint64_t rank, std::size_t modules) {
    std::string list = "\"m\"";
    for (std::size_t i = 1; i < modules; ++i) list += ",\"m" + std::to_string(i) + "\"";
    folder.write("adapter_config.json", "{\"r\":" + std::to_string(rank) + ",\"target_modules\":[" + list + "]}");
    return load_adapter(folder.path(), {});
  };
  CHECK(read(1 << 20, 1).rank == 1 << 20);
  CHECK(has(error_of([&] { read((1 << 20) + 1, 1); }), "\"r\" is 1048577; a LoRA's rank is a small number"));
  CHECK(read(8, 256).targets.size() == 256);
  CHECK(has(error_of([&] { read(8, 257); }), "names more than 256 modules"));
}

TEST_CASE("bounds: a manifest of ollama's") {
  const TemporaryFolder store;
  std::filesystem::create_directories(store.path() + "/manifests/registry.ollama.ai/library/x");
  const auto manifest = [&](std::size_t bytes) {
    const std::string text = R"({"layers":[]})";
    store.write("manifests/registry.ollama.ai/library/x/latest", text + std::string(bytes - text.size(), ' '));
    return run_program({"ollama:x"}, "/dev/null", {"OLLAMA_MODELS=" + store.path()}).err;
  };
  CHECK(has(manifest(1 << 20), "names no GGUF"));
  CHECK(has(manifest((1 << 20) + 1), "larger than 1 MiB"));
}

TEST_CASE("bounds: the number of models in a list") {
  const TemporaryFolder folder;
  const auto read = [&](std::size_t models) {
    return error_of([&] { read_model_list("@" + folder.write("list", repeated("x.json", models, "\n"))); });
  };
  CHECK(read(10'000).empty());
  CHECK(has(read(10'001), "more than 10000 models"));
  // A directory of configs, and a list of directories.
  std::filesystem::create_directories(folder.path() + "/many");
  const auto expand = [&](const std::string& argument) {
    bool is_fleet = false;
    return error_of([&] { expand_models({argument}, is_fleet); });
  };
  for (int i = 0; i < 10'000; ++i) folder.write("many/" + std::to_string(i) + ".json", "");
  CHECK(expand(folder.path() + "/many").empty());
  CHECK(has(expand("@" + folder.write("list", folder.path() + "/many\nx.json\n")), "more than 10000 models"));
  folder.write("many/10000.json", "");
  CHECK(has(expand(folder.path() + "/many"), "more than 10000 models"));
}

TEST_CASE("bounds: figures and events of a log") {
  const auto figures = [](int count) {
    std::string log;
    for (int i = 0; i < count; ++i) log += "INFO Model loading took " + std::to_string(i) + ".25 GiB memory\n";
    return read_log(log).observations.size();
  };
  CHECK(figures(20'000) == 20'000);
  CHECK(figures(20'001) == 20'000);
  const auto events = [](int count) {
    std::string log;
    for (int i = 0; i < count; ++i) log += "ValueError: " + std::to_string(i) + " is too much\n\n\n\n\n\n\n";
    return read_log(log).events.size();
  };
  CHECK(events(256) == 256);
  CHECK(events(257) == 256);
  // Of each line, the first 16 KiB.
  const std::string figure = "Model loading took 1.25 GiB memory";
  CHECK(read_log(std::string(16384 - figure.size(), 'x') + figure).observations.size() == 1);
  CHECK(read_log(std::string(16384, 'x') + figure).observations.empty());
}

TEST_CASE("bounds: a line of a log") {
  const TemporaryFolder folder;
  const auto log = [&](std::size_t bytes) {
    return run_program(
        {"check-log", folder.write("log", std::string(bytes, 'x') + "\nModel loading took 1.25 GiB memory\n")});
  };
  const Run longest = log(64 << 20);
  CAPTURE(longest.err);
  CHECK(longest.exit == 3);  // weights by themselves are not a start
  CHECK(longest.peak_mib < 50 * kSanitizerFactor);
  const auto refused = [](const Run& run) {
    CAPTURE(run.err);
    CHECK(run.exit == 2);
    CHECK(has(run.err, "has a line of more than 64 MiB"));
  };
  refused(log((64 << 20) + 1));
  // A disk image is not a log, and is not read to its end.
  std::filesystem::resize_file(folder.write("image", ""), std::uintmax_t{1} << 40);
  refused(run_program({"check-log", folder.path() + "/image"}));
}

TEST_CASE("bounds: parts of a GGUF on the Hub") {
  CHECK(files_of_set("x-00001-of-00400.gguf").size() == 400);
  try {
    files_of_set("x-00001-of-00401.gguf");
    FAIL("a set of 401 files");
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kHub);
    CHECK(has(error.what(), "the set has 401 files"));
  }
}

TEST_CASE("bounds: layers of a config and of a GGUF") {
  const auto config = [](std::uint64_t layers) {
    return error_of([&] {
      read_config(R"({"model_type":"llama","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":)" +
                      std::to_string(layers) + "}",
                  "", "x", {});
    });
  };
  CHECK(config(512).empty());
  CHECK(has(config(513), "a model has at most 512"));
  const auto gguf = [](std::uint32_t layers) {
    const std::string file = GgufWriter("llama")
                                 .u32(".block_count", layers)
                                 .u32(".embedding_length", 64)
                                 .u32(".context_length", 2048)
                                 .u32(".attention.head_count", 4)
                                 .u32(".vocab_size", 100)
                                 .file();
    return error_of([&] { read_gguf(Gguf::parse(bytes_of(file)), "x", {}); });
  };
  CHECK(gguf(512).empty());
  CHECK(has(gguf(513), "a model has at most 512 layers"));
}

}  // namespace
}  // namespace kvplan
