// GGUF files on the Hub, by range requests.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sources/site.h"
#include "support/gguf_writer.h"

namespace kvplan {
namespace {

GgufWriter small_gguf() {
  GgufWriter out("llama");
  out.u32(".block_count", 2).u32(".embedding_length", 64).u32(".context_length", 2048).u32(".attention.head_count", 4);
  out.u32(".vocab_size", 100);
  return out;
}

TEST_CASE("hub: a GGUF by its quantization, its address, or as the only kind of file") {
  if (!has_curl()) return;
  Site site;
  // With a vocabulary of 9 MB, one request is not enough for the header.
  const std::string file = small_gguf()
                               .strings("tokenizer.ggml.tokens", 300000, "a token of some length")
                               .tensor({"token_embd.weight", {64, 100}, 1, 12800})
                               .file();
  Answer list;
  list.body =
      R"([{"type": "file", "path": "README.md", "size": 9}, {"type": "file", "path": "x-Q4_K_M.gguf", "size": 9},
                  {"type": "file", "path": "sub/x-Q8_0.gguf", "size": 9}, {"type": "file", "path": "mmproj-x-Q8_0.gguf"}])";
  site.hub.on("/api/models/org/x-GGUF/tree/main?recursive=true", {list});
  site.serve("org/x-GGUF", {{"x-Q4_K_M.gguf", with_commit(file)}, {"sub/x-Q8_0.gguf", with_commit(file)}});
  struct Row {
    std::string name, chosen;
    std::size_t requests;
  };
  for (const Row& row : {Row{"org/x-GGUF", "x-Q4_K_M.gguf", 4}, Row{"org/x-GGUF:q8_0", "sub/x-Q8_0.gguf", 3},
                         Row{"https://huggingface.co/org/x-GGUF/blob/main/sub/x-Q8_0.gguf", "sub/x-Q8_0.gguf", 2}}) {
    CAPTURE(row.name);
    site.hub.forget();
    const Run run = site.run({row.name, "--json"});
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    CHECK(has(run.out, "planned from " + row.chosen));
    CHECK(site.hub.seen().size() == row.requests);
    site.hub.forget();
    CHECK(site.run({row.name, "--json", "--offline"}).out == run.out);
    CHECK(site.hub.seen().empty());
  }
  check_refused(site.run({"org/x-GGUF:Q2_K"}), Exit::kHub, "no GGUF of the quantization Q2_K");
  check_refused(site.run({"org/x-GGUF:"}), Exit::kBadInput, "quantization");
  check_refused(site.run({"https://huggingface.co/org/x-GGUF/blob/main/../../x.gguf"}), Exit::kBadInput, "");
}

TEST_CASE("hub: a list of files on several pages is read to its end") {
  if (!has_curl()) return;
  const std::string file = small_gguf().tensor({"token_embd.weight", {64, 100}, 1, 12800}).file();
  const std::string tree = "/api/models/org/x-GGUF/tree/main";
  const auto page = [](const std::string& path, const std::string& link) {
    Answer out;
    out.body = R"([{"type": "file", "path": ")" + path + R"(", "size": 9}])";
    if (!link.empty()) out.headers = {"Link: " + link};
    return out;
  };
  {
    Site site;
    HubServer elsewhere;
    site.serve("org/x-GGUF", {{"x-Q4_K_M.gguf", with_commit(file)}});
    // A mirror may return the Hub's own address. kvplan uses the address's query, not its host.
    site.hub.on(tree + "?recursive=true",
                {page("README.md", "<" + elsewhere.url() + tree + "?recursive=true&cursor=a%3D%3D>; rel=\"next\"")});
    site.hub.on(tree + "?recursive=true&cursor=a%3D%3D",
                {page("x-Q8_0.gguf", "<http://x/>; rel=\"prev\", <" + site.hub.url() + tree +
                                         "?recursive=true&cursor=b>; rel=\"next\"")});
    site.hub.on(tree + "?recursive=true&cursor=b", {page("x-Q4_K_M.gguf", "")});
    const Run run = site.run({"org/x-GGUF:Q4_K_M", "--json"}, {"HF_TOKEN=" + kSecret});
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    CHECK(has(run.out, "planned from x-Q4_K_M.gguf"));
    CHECK(site.hub.seen().size() == 4);
    CHECK(elsewhere.seen().empty());
    // A model without a config is fetched in the same way.
    site.hub.forget();
    CHECK(site.run({"org/x-GGUF", "--json"}).exit == 0);
    CHECK(site.hub.seen().size() == 5);
  }
  // A page that links to itself, and pages without end: a limited number of requests.
  for (const std::string& link :
       {"<" + tree + "?recursive=true>; rel=\"next\"", "<" + tree + "?cursor=same>; rel=\"next\""}) {
    Site site;
    site.hub.fallback(page("README.md", link));
    check_refused(site.run({"org/x-GGUF:Q4_K_M"}), Exit::kHub, "the list of files has no end");
    CHECK(site.hub.seen().size() <= 2);
  }
  {
    Site site;
    for (int i = 0; i < 100; ++i) {
      site.hub.on(tree + "?" + (i == 0 ? std::string("recursive=true") : "cursor=" + std::to_string(i)),
                  {page("README.md", "<" + tree + "?cursor=" + std::to_string(i + 1) + ">; rel=\"next\"")});
    }
    check_refused(site.run({"org/x-GGUF:Q4_K_M"}), Exit::kHub, "the list of files has no end");
    CHECK(site.hub.seen().size() == 40);
  }
  // Invalid links end the list.
  for (const std::string link : {"<", "<>; rel=\"next\"", "nonsense", "<http://x/a b?c>; rel=\"next\"",
                                 "<http://x/?\x01>; rel=\"next\"", "<http://x/?a>; rel=\"last\""}) {
    CAPTURE(link);
    Site site;
    site.hub.fallback(page("README.md", link));
    check_refused(site.run({"org/x-GGUF:Q4_K_M"}), Exit::kHub, "");
    CHECK(site.hub.seen().size() == 1);
  }
}

TEST_CASE("hub: a split GGUF, and broken ones") {
  if (!has_curl()) return;
  const auto part = [](GgufWriter writer, std::uint16_t number) {
    return writer.u16("split.no", number).u16("split.count", 2).i32("split.tensors.count", 2);
  };
  const std::string first = part(small_gguf(), 0).tensor({"token_embd.weight", {64, 100}, 1, 12800}).file();
  const std::string second = part(GgufWriter(), 1).tensor({"output.weight", {64, 100}, 1, 12800}).file();
  const std::string name = "https://huggingface.co/org/x/blob/main/x-00001-of-00002.gguf";
  {
    Site site;
    site.serve("org/x",
               {{"x-00001-of-00002.gguf", with_commit(first)}, {"x-00002-of-00002.gguf", with_commit(second)}});
    const Run run = site.run({name, "--json"});
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    CHECK(site.hub.seen().size() == 2);
    CHECK(site.run({name, "--json", "--offline"}).out == run.out);
  }
  for (const std::string& bad :
       {std::string("<html>"), std::string(), first.substr(0, 60), first, std::string("GGUF\xff\xff\xff\xff")}) {
    Site site;
    site.serve("org/x", {{"x-00001-of-00002.gguf", with_commit(first)}, {"x-00002-of-00002.gguf", with_commit(bad)}});
    check_refused(site.run({name}), Exit::kHub, "");
    CHECK_FALSE(site.has_cached_model());
  }
}

}  // namespace
}  // namespace kvplan
