// Several models, engines, GPUs and weight types in one call, and options that contradict each other.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/command_line.h"
#include "engines/engine.h"
#include "kvplan/strings.h"
#include "report/words.h"

namespace kvplan {
namespace {

const std::string kQwen = "testdata/configs/qwen3-0.6b.json";
const std::string kMamba = "testdata/configs/mamba-2.8b.json";

TEST_CASE("several GPUs give one table, in every format") {
  const std::vector<std::string> asked{kLlamaConfig, kMamba, "--gpu", "4090,H100", "--max-model-len", "8k"};
  const Run table = run_program(asked);
  CHECK(table.exit == 0);
  CHECK(has(table.out, "rtx-4090"));
  CHECK(has(table.out, "h100-80gb"));
  for (const std::string form : {"json", "markdown", "csv", "html"}) {
    CAPTURE(form);
    std::vector<std::string> arguments = asked;
    arguments.insert(arguments.end(), {"--format", form});
    const Run run = run_program(arguments);
    CHECK(run.exit == 0);
    CHECK(has(run.out, "h100-80gb"));
    CHECK(run.out.ends_with("\n"));
  }
  check_refuses({kLlamaConfig, "--gpu", "4090,h100", "--format", "args"}, "has no form");
  // Llama in 16 bit is 15 GiB of weights.
  CHECK(run_program({kLlamaConfig, "--gpu", "rtx-3060,h100"}).exit == 1);
}

TEST_CASE("a fleet that is too wide for the screen has a line for each model, and a heat map in HTML") {
  const std::vector<std::string> asked{kLlamaConfig,
                                       kMamba,
                                       "--engine",
                                       "vllm",
                                       "--gpu",
                                       "gtx-1080-ti,t4,rtx-3060,rtx-3090,rtx-4090,rtx-5090,a10,a40,l4,l40s,a100,h100,"
                                       "h200,b200"};
  const Run table = run_program(asked);
  CHECK(has(table.out, "n b200"));
  CHECK(has(table.out, "● fits"));
  // One line for each model. There are no kernels for the first GPU; the others have 15 and 12 GiB for 15 GiB of
  // weights.
  CHECK(has(table.out, "llama-3.1-8b.json"));
  CHECK(has(table.out, "  · · · "));
  CHECK(!has(table.out, "in tokens"));  // marks instead of figures
  std::vector<std::string> page = asked;
  page.insert(page.end(), {"--format", "html"});
  const std::string html = run_program(page).out;
  CHECK(has(html, "class=\"n none\" title="));
  CHECK(has(html, ">no</td>"));
  CHECK(!has(html, ">-"));
  // The page's policy names the hash of its script, so no other script runs.
  const std::size_t from = html.find("<script>") + 8;
  const std::string digest = sha256(html.substr(from, html.find("</script>") - from));
  std::string base64;
  for (std::size_t at = 0; at < 64; at += 3) {  // 3 hexadecimal digits are 2 digits of base64
    const auto three = std::stoul((digest + "00").substr(at, 3), nullptr, 16);
    constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    base64 += kDigits[three >> 6];
    base64 += kDigits[three & 63];
  }
  CHECK(has(html, "script-src 'sha256-" + base64.substr(0, 43) + "='"));
}

TEST_CASE("a table of models lists a hybrid's layers, and CSV the size of each model") {
  // Gemma 4 26B: 30 layers, every sixth with full attention.
  const Words models{kLlamaConfig, "testdata/configs/gemma-4-26b.json"};
  CHECK(has(run_program(models).out, "5 gqa + 25 window"));
  for (const char* cards : {"h100", "h100,l40s"}) {
    Words sheet = models;
    sheet.insert(sheet.end(), {"--gpu", cards, "--format", "csv"});
    CHECK(has(run_program(sheet).out, ",8030261248\n"));
  }
}

TEST_CASE("compare goes below 4 bits only if nothing else fits") {
  // 25.2B parameters in q4_k_m are 15 GiB. In 11.63 GiB only 3-bit types fit; for 23.52 GiB they are not listed.
  const Words asked{"compare", "testdata/configs/gemma-4-26b.json", "--engine", "llama.cpp", "--max-model-len", "8k",
                    "--gpu"};
  Words small = asked, large = asked;
  small.emplace_back("rtx-3060");
  large.emplace_back("rtx-4090");
  CHECK(has(run_program(small).out, "iq3_xxs"));
  CHECK(!has(run_program(large).out, "iq3_xxs"));
}

TEST_CASE("explain shows what multi-head attention would cache") {
  // DeepSeek-V3: expanded, each of 61 layers caches 128 heads x (192 + 128) elements instead of 512 + 64, 2 B each, for
  // 32,768 tokens.
  const Run run = run_program({"explain", "testdata/configs/deepseek-v3.json", "--max-model-len", "32k"});
  CHECK(has(run.out, "152.50 GiB, 71.1 times as much"));
}

TEST_CASE("the svg format has the pictures: bars of memory, and a curve for each of several models") {
  for (const std::vector<std::string>& models : {std::vector{kLlamaConfig}, std::vector{kLlamaConfig, kQwen}}) {
    std::vector<std::string> asked = models;
    asked.insert(asked.end(), {"--engine", "vllm", "--gpu", "l4", "-c", "8k", "--format", "svg"});
    const Run run = run_program(asked);
    CHECK(run.exit == 0);
    CHECK(run.out.starts_with("<svg xmlns="));
    CHECK(run.out.ends_with("</svg>\n"));
    CHECK(has(run.out, "prefers-color-scheme: dark"));
    CHECK(has(run.out, "<rect class=\"p1\""));
    CHECK(has(run.out, "class=\"curve l2\""));
  }
  check_refuses({"explain", kLlamaConfig, "--format", "svg"}, "has no form");
}

TEST_CASE("wide tables continue below, and no line is wider than the terminal") {
  const Run run =
      run_program({kLlamaConfig, kMamba, "--gpu", "rtx-3060,rtx-3090,rtx-4090,rtx-5090,a10,a40,l4,l40s,h100,h200"});
  std::size_t at = 0;
  for (std::size_t end = run.out.find('\n'); end != std::string::npos; end = run.out.find('\n', at)) {
    CHECK(text_width(run.out.substr(at, end - at)) <= 80);
    at = end + 1;
  }
  for (const std::string card : {"rtx-3060", "l40s", "h200-141gb"}) CHECK(has(run.out, card));
}

TEST_CASE("several weight types are further rows") {
  const Run cards = run_program({kLlamaConfig, "--gpu", "4090,h100", "--weights", "bf16,int4"});
  CHECK(has(cards.out, "bfloat16"));
  CHECK(has(cards.out, "int4"));
  const Run fleet = run_program({kLlamaConfig, "--weights", "bf16,int4"});
  CHECK(fleet.exit == 0);
  CHECK(has(fleet.out, "(int4)"));
  check_refuses({kLlamaConfig, "--weights", "bf16,intt4"}, "did you mean int4");
  CHECK(run_program({"compare", kLlamaConfig, "--weights", "bf16,int4"}).exit == 0);
}

TEST_CASE("a model that cannot be read is reported, and the others are planned") {
  const Run run = run_program({kLlamaConfig, "testdata/bad/truncated.json", "--gpu", "h100,h200"});
  CHECK(run.exit == 2);
  CHECK(has(run.out, "llama-3.1-8b.json"));
  CHECK(has(run.out, "not planned"));
}

TEST_CASE("if no model can be planned, only the errors are printed, one line each") {
  for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                               {"--gpu", "h100,h200"},
                                               {"--engine", "vllm"},
                                               {"--format", "markdown"},
                                               {"--format", "csv"}}) {
    std::vector<std::string> words{"testdata/bad/word.json", "testdata/bad/list.json"};
    words.insert(words.end(), more.begin(), more.end());
    const Run run = run_program(words);
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(has(run.err, "kvplan: testdata/bad/word.json: valid JSON, but not an object; give a model's config.json\n"));
    CHECK(has(run.err, "kvplan: testdata/bad/list.json: "));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 2);
  }
  const Run fits =
      run_program({"fit", kLlamaConfig, "--gpu", "h100,h200", "--engine", "mlx,mistralrs", "-ctk", "q4_1"});
  CHECK(fits.exit == 2);
  CHECK(fits.out.empty());
  // Programs get the whole list.
  CHECK(has(run_program({"testdata/bad/word.json", "testdata/bad/list.json", "--json"}).out, "\"exit\": 2"));
}

TEST_CASE("a list file names models") {
  const TemporaryFolder folder;
  const std::string list = folder.write("models.txt", "# ours\n" + kLlamaConfig + "\n\n  " + kMamba + "  # small\r\n");
  const Run run = run_program({"@" + list});
  CHECK(run.exit == 0);
  CHECK(has(run.out, "llama-3.1-8b.json"));
  CHECK(has(run.out, "mamba-2.8b.json"));
  CHECK(run_program({"@" + list, "--gpu", "h100,h200"}).exit == 0);
  // A list whose name is nearly that of a command, with options after it.
  folder.write("mann", kLlamaConfig + "\n");
  CHECK(run_program({"@" + folder.path() + "/mann", "--max-model-len", "8k"}).exit == 0);
  CHECK(run_program({"@" + folder.write("marked", "\xEF\xBB\xBF" + kLlamaConfig + "\n")}).exit == 0);
  check_refuses({"@many", "--max-model-len", "8k"}, "kvplan: many: cannot be opened");
  check_refuses({"@" + folder.write("empty", "# none\n")}, "names no model");
  check_refuses({"@" + folder.write("nested.txt", "@" + list + "\n")}, "another list");
  check_refuses({"@" + folder.write("config.txt", "{\"model_type\": \"llama\"}")}, "not a list of models");
  check_refuses({"@" + folder.path() + "/none"}, "none");
}

TEST_CASE("only @ makes a list: lines of any other file are not printed or looked up") {
  const TemporaryFolder folder;
  for (const char* name :
       {"secrets.txt", "secrets", "secrets.lst", "secrets.TXT", ".env", "models.txt.json", "@secrets.txt"}) {
    CAPTURE(name);
    const Run run = run_program({folder.write(name, "API_KEY=sk-live-0123\nadmin/hunter2\n")});
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(!has(run.err, "sk-live"));
    CHECK(!has(run.err, "hunter2"));
  }
  check_refuses({folder.write("models.txt", kLlamaConfig + "\n")}, "for a list of models write @" + folder.path());
}

TEST_CASE("fit for several engines and GPUs is one table") {
  const Run table =
      run_program({"fit", kLlamaConfig, "--engine", "vllm,llama.cpp", "--gpu", "h100", "--max-model-len", "8k"});
  CHECK(table.exit == 0);
  CHECK(has(table.out, "vllm 0."));
  CHECK(has(table.out, "llama.cpp 0."));
  const Run json = run_program({"fit", kLlamaConfig, "--engine", "vllm,mlx", "--json", "--max-model-len", "8k"});
  CHECK(has(json.out, "\"fits\""));
  CHECK(has(json.out, "\"answers\""));
  CHECK(run_program({"fit", kLlamaConfig, "--gpu", "h100,rtx-3060"}).exit == 1);
  check_refuses({"fit", kLlamaConfig, kMamba, "--engine", "vllm,mlx"}, "takes one MODEL");
}

TEST_CASE("a plan that does not fit names the change that makes it fit") {
  const std::vector<std::vector<std::string>> rows{
      {"--max-vram", "20GiB"},
      {"--gpu", "rtx-3060", "--max-model-len", "8k"},
      {"--gpu", "a10", "--engine", "vllm", "--max-model-len", "8k", "--min-context", "64k"},
      {"--gpu", "rtx-4090", "--engine", "llama.cpp", "-np", "8", "--no-offload"}};
  for (std::vector<std::string> arguments : rows) {
    arguments.insert(arguments.begin(), kLlamaConfig);
    const Run run = run_program([&] {
      std::vector<std::string> github = arguments;
      github.insert(github.end(), {"--format", "github"});
      return github;
    }());
    CHECK(run.exit == 1);
    const std::string lead = "; to make it fit: ";
    const std::size_t begin = run.out.find(lead) + lead.size();
    REQUIRE(begin > lead.size());
    const std::string remedy = run.out.substr(begin, run.out.find_first_of(",\n", begin) - begin);
    CAPTURE(remedy);
    const std::size_t space = remedy.find(' ');
    arguments.insert(arguments.end(), {remedy.substr(0, space), remedy.substr(space + 1)});
    // If an option is given twice the last one wins.
    CHECK(run_program(arguments).exit == 0);
  }
}

TEST_CASE("--gpu accepts what people type") {
  const auto report = [](const std::vector<std::string>& words) {
    std::vector<std::string> all{kLlamaConfig, "--engine", "vllm", "--max-model-len", "8k", "--json"};
    all.insert(all.end(), words.begin(), words.end());
    return run_program(all).out;
  };
  const std::string two = report({"--gpu", "rtx-4090", "--gpu-count", "2"});
  for (const char* text : {"2x4090", "2xrtx-4090", "2 x RTX 4090", "2*4090"}) CHECK(report({"--gpu", text}) == two);
  CHECK(has(report({"--gpu", "24GiB"}), "\"memory_fraction\"") == has(two, "\"memory_fraction\""));
  CHECK(report({"--gpu", "24GiB"}) == report({"--gpu-memory", "24GiB"}));
  CHECK(has(report({"--gpu", "24GB"}), "\"decimal_size\""));
  // nvidia-smi mig -lgip: 19.62 GiB.
  CHECK(has(run_program({kLlamaConfig, "--gpu", "a100-3g.20gb"}).out, "19.62 GiB"));
  CHECK(report({"--gpu", "NVIDIA A100-SXM4-40GB MIG 3g.20gb"}) == report({"--gpu", "a100-3g.20gb"}));
  CHECK(has(run_program({"gpus", "3g.40gb"}).out, "39.50"));
  check_refuses({kLlamaConfig, "--gpu", "2x"}, "is not a size");
  check_refuses({kLlamaConfig, "--gpu", "2xnone"}, "no GPU \"none\"");
  check_refuses({kLlamaConfig, "--vram", "24GB"}, "use --gpu-memory SIZE");
}

TEST_CASE("--reserve 0 is allowed") {
  const auto report = [](const std::string& reserve) {
    return run_program({kLlamaConfig, "--gpu", "h100-80gb", "--reserve", reserve}).out;
  };
  const std::string none = report("0%");
  CHECK_FALSE(none.empty());
  for (const std::string reserve : {"0", "0GiB", "0B", "0.0mb"}) CHECK(report(reserve) == none);
  for (const std::string reserve : {"-0", "0x", "0e5", "0 ", ""})
    check_refuses({kLlamaConfig, "--gpu", "h100-80gb", "--reserve", reserve}, "is not a size");
  check_refuses({kLlamaConfig, "--gpu-memory", "0GiB"}, "is not a size");
}

TEST_CASE("stated lengths decide the verdict") {
  // 200 sequences of 4,096 tokens at 131,072 B are 100 GiB; at 16,384 they would be 400.
  const auto plan = [](const std::string& card, const std::string& engine) {
    return run_program({kLlamaConfig, "--gpu", card, "--engine", engine, "--num-seqs", "200", "--avg-len", "4k",
                        "--max-model-len", "16k"});
  };
  for (const char* engine : {"vllm", "sglang", "logical"}) {
    const Run fits = plan("h200-141gb", engine);
    CHECK(fits.exit == 0);
    CHECK(has(fits.out, "FITS"));
  }
  const Run queues = plan("l40s", "vllm");
  CHECK(queues.exit == 1);
  CHECK(has(queues.out, "NOT ALL AT ONCE"));
  CHECK(plan("l40s", "logical").exit == 1);
  // Each of llama.cpp's slots has the full length.
  CHECK(plan("h200-141gb", "llama.cpp@b6900").exit == 1);
  // With --seq-lens each sequence has its own length: 3 x 8k and one of 16k are 5 GiB.
  const auto list = [](const char* budget) {
    return run_program({kLlamaConfig, "--engine", "vllm", "--seq-lens", "8k,8k,8k,16k", "--max-model-len", "16k",
                        "--kv-cache-memory-bytes", budget})
        .exit;
  };
  CHECK(list("5.1GiB") == 0);
  CHECK(list("4.9GiB") == 1);
}

TEST_CASE("--max-model-len auto is the longest that fits, at most the model's maximum") {
  const auto length = [](const std::string& card, const std::string& model = kLlamaConfig,
                         const std::string& engine = "vllm") {
    const std::string out =
        run_program({model, "--engine", engine, "--gpu", card, "--max-model-len", "auto", "--json"}).out;
    const std::string key = "\"max_model_len\": ";
    return std::stoull(out.substr(out.find(key, out.find("\"request\"")) + key.size()));
  };
  CHECK(length("h100-80gb") == 131072);
  const std::uint64_t longest = length("rtx-4090");
  CHECK(longest < 131072);
  // Qwen3-8B on an RTX 4090 in 0.27. The first start printed 4.92 GiB for the cache, in blocks of 16 tokens of 144 KiB.
  const double room = 4.92 * 1024 * 1024 / 144;
  CHECK(static_cast<double>(length("rtx-4090", "testdata/observations/models/qwen3-8b.json", "vllm@0.27")) ==
        doctest::Approx(room).epsilon(0.03));
  const auto exit_at = [&](std::uint64_t tokens) {
    return run_program(
               {kLlamaConfig, "--engine", "vllm", "--gpu", "rtx-4090", "--max-model-len", std::to_string(tokens)})
        .exit;
  };
  CHECK(exit_at(longest) == 0);
  CHECK(exit_at(longest + 64) == 1);
}

TEST_CASE("with a GPU and no engine, the page does not promise a fit, and names the engines") {
  const Run run = run_program({kLlamaConfig, "--gpu", "h100-80gb", "--max-model-len", "8k"});
  CHECK(run.exit == 0);
  CHECK_FALSE(has(run.out, "FITS"));
  CHECK(has(run.out, "no engine given"));
  for (const char* engine : {"vllm", "sglang", "llama.cpp"})
    CHECK(has(run.out, engine + (" " + std::string(engine_named(engine)->versions.back().version))));
  CHECK_FALSE(has(run.out, "mlx"));
  CHECK(has(run_program({kLlamaConfig, "--gpu", "m3-max-64gb", "--max-model-len", "8k"}).out, "mlx"));
  CHECK(has(run_program({kLlamaConfig, "--gpu", "h100-80gb", "--engine", "logical", "--max-model-len", "8k"}).out,
            "FITS"));
}

TEST_CASE("options that contradict each other") {
  check_refuses({kLlamaConfig, "--max-model-len", "8k", "--min-context", "32k"}, "--min-context 32768 is more than");
  check_refuses({kLlamaConfig, "--min-seqs", "8", "--max-num-seqs", "4"}, "--max-num-seqs 4");
  check_refuses({kLlamaConfig, "--num-seqs", "2", "--min-seqs", "4"}, "--num-seqs 2");
  check_refuses({kLlamaConfig, "--gpu", "l4,a10", "--gpu-memory", "24GiB"}, "several GPUs");
  check_refuses({kLlamaConfig, "--gpu", "l4", "--kv-cache-memory-bytes", "30GiB"}, "of 30.00 GiB is more than the 22.");
  check_refuses({kLlamaConfig, "--max-vram", "24GiB", "--kv-cache-memory-bytes", "30GiB"}, "--max-vram");
  check_refuses({kLlamaConfig, "-tp", "4", "--gpu-count", "2"}, "needs 4 GPUs");
  check_refuses({kLlamaConfig, "--mtp", "--speculative-method", "ngram"}, "two drafting methods");
  CHECK(run_program({kLlamaConfig, "--mtp", "--speculative-method", "mtp", "--max-model-len", "8k"}).exit == 0);
  check_refuses({kLlamaConfig, "-c", "4k", "--max-model-len", "8k"}, "the same option");
  check_refuses({kLlamaConfig, "--gpu", "l4,auto"}, "auto cannot be combined");
  check_refuses({"explain", kLlamaConfig, "--gpu", "l4,a10"}, "takes one --gpu");
  // A request that does not fit is not an error. Neither is a limit that the GPU could keep.
  CHECK(run_program({kLlamaConfig, "--gpu-memory", "24GiB", "--max-model-len", "8k", "--min-context", "128k"}).exit ==
        1);
  CHECK(run_program({kLlamaConfig, "--gpu-memory", "80GiB", "--max-model-len", "8k", "--min-context", "128k"}).exit ==
        0);
  CHECK(run_program({kLlamaConfig, "-tp", "4", "--gpu-count", "4"}).exit == 0);
  CHECK(run_program({kLlamaConfig, "--max-vram", "200GiB", "--gpu", "l4", "--max-model-len", "8k"}).exit == 0);
}

}  // namespace
}  // namespace kvplan
