// Adapters and projectors by their names on the Hub: kvplan turns them into local files that can be read like the
// originals.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "sources/load.h"
#include "sources/site.h"
#include "support/environment.h"
#include "support/gguf_writer.h"

namespace kvplan {
namespace {

// The environment that Site gives to the program, for calls within this process.
struct Environment : ScopedEnvironment {
  explicit Environment(const Site& site)
      : ScopedEnvironment({{"HF_ENDPOINT", site.hub.url()},
                           {"HF_HOME", site.home.path() + "/hf"},
                           {"KVPLAN_CACHE", site.home.path() + "/cache"},
                           {"KVPLAN_HTTP_TIMEOUT_MS", "2000"},
                           {"HF_HUB_CACHE", ""},
                           {"HF_HUB_OFFLINE", ""},
                           {"NO_PROXY", "*"},
                           {"HF_TOKEN", kSecret}}) {}
};

SourceOptions offline() {
  SourceOptions out;
  out.hub.offline = true;
  return out;
}

void check_fails(const std::string& argument, Companion what, const SourceOptions& options, Exit code) {
  CAPTURE(argument);
  try {
    local_companion(argument, what, options);
    FAIL("an answer");
  } catch (const Error& error) {
    CAPTURE(error.line());
    CHECK(error.code() == code);
    CHECK(error.source() == argument);
    CHECK_FALSE(has(error.line(), kSecret));
  }
}

TEST_CASE("hub: an adapter becomes a local folder with the header of its weights") {
  if (!has_curl()) return;
  Site site;
  const Environment environment(site);
  const std::string file =
      safetensors(R"({"a.lora_A.weight": {"dtype": "F32", "shape": [16, 4096], "data_offsets": [0, 262144]}})", 262144);
  site.serve("org/adapter", {{"adapter_config.json", with_commit(R"({"peft_type": "LORA", "r": 16})")},
                             {"adapter_model.safetensors", with_commit(file)}});
  const auto [folder, file_bytes] = local_companion("org/adapter", Companion::kAdapter, {});
  CHECK(site.hub.seen().size() == 2);
  CHECK(file_bytes == file.size());
  CHECK(fs::file_size(folder + "/adapter_model.safetensors") == file.size() - 262144);
  std::uint64_t bytes = 0;
  const auto add = [&](const SafeTensor& tensor) { bytes += tensor.bytes; };
  read_safetensors(folder + "/adapter_model.safetensors", add, file_bytes);
  CHECK(bytes == 262144);
  CHECK(fs::exists(folder + "/adapter_config.json"));
  const AdapterFile adapter = load_adapter("org/adapter", {});
  CHECK(adapter.source == "org/adapter");
  CHECK(adapter.rank == 16);
  CHECK(adapter.bytes == Bytes(262144));
  // Online, the revision is requested again, but its files are not. Offline, nothing is requested.
  site.hub.forget();
  CHECK(local_companion("org/adapter", Companion::kAdapter, {}).path == folder);
  CHECK(site.hub.seen().size() == 1);
  site.hub.forget();
  CHECK(local_companion("org/adapter", Companion::kAdapter, offline()).path == folder);
  CHECK(local_companion("org/adapter@" + kCommit, Companion::kAdapter, {}).path == folder);
  CHECK(site.hub.seen().empty());
  CHECK_FALSE(has(site.all_files(), kSecret));
  // Half a file is treated as missing, and replaced.
  fs::resize_file(folder + "/adapter_model.safetensors", 20);
  check_fails("org/adapter", Companion::kAdapter, offline(), Exit::kHub);
  CHECK(local_companion("org/adapter", Companion::kAdapter, {}).path == folder);
  CHECK(local_companion("org/adapter", Companion::kAdapter, offline()).path == folder);
}

TEST_CASE("hub: a projector by its repository, its type or its address") {
  if (!has_curl()) return;
  Site site;
  const Environment environment(site);
  const std::string file = GgufWriter("clip").tensor({"v.patch_embd.weight", {64, 100}, 1, 12800}).file();
  Answer list;
  list.body = R"([{"path": "x-Q4_K_M.gguf"}, {"path": "mmproj-x-Q8_0.gguf"}, {"path": "mmproj-x-f16.gguf"}])";
  site.hub.on("/api/models/org/x/tree/main?recursive=true", {list});
  site.serve("org/x", {{"mmproj-x-f16.gguf", with_commit(file)}, {"mmproj-x-Q8_0.gguf", with_commit(file)}});
  struct Row {
    std::string name, asked;
  };
  for (const Row& row : {Row{"org/x", "mmproj-x-f16.gguf"}, Row{"org/x:q8_0", "mmproj-x-Q8_0.gguf"},
                         Row{"https://huggingface.co/org/x/blob/main/mmproj-x-Q8_0.gguf", "mmproj-x-Q8_0.gguf"}}) {
    CAPTURE(row.name);
    site.hub.forget();
    const auto [path, file_bytes] = local_companion(row.name, Companion::kProjector, {});
    CHECK(file_bytes == file.size());
    CHECK(fs::file_size(path) < file.size());
    CHECK(Gguf::open(path, file_bytes).tensors().size() == 1);
    CHECK(has(site.hub.seen().back().path, row.asked));
    CHECK(local_companion(row.name, Companion::kProjector, offline()).path == path);
  }
}

TEST_CASE("hub: paths stay paths, and missing files have their own error") {
  Site site;
  const Environment environment(site);
  for (const std::string path : {"./x", "/nowhere", "~/adapter", "x/adapter_config.json", "a.gguf", "b.safetensors"})
    CHECK(local_companion(path, Companion::kAdapter, {}).path == path);
  CHECK(local_companion(site.home.path(), Companion::kAdapter, {}).path == site.home.path());
  check_fails("org/../x", Companion::kAdapter, {}, Exit::kBadInput);
  check_fails("org/x:Q4_K_M", Companion::kAdapter, {}, Exit::kBadInput);
  check_fails("org/none", Companion::kAdapter, offline(), Exit::kHub);
  CHECK(site.hub.seen().empty());
  if (!has_curl()) return;
  check_fails("org/none", Companion::kAdapter, {}, Exit::kHub);
  check_fails("org/none", Companion::kProjector, {}, Exit::kHub);
  site.hub.fallback(with_commit("<html>"));
  check_fails("org/page", Companion::kAdapter, {}, Exit::kHub);
  check_fails("org/page", Companion::kProjector, {}, Exit::kHub);
  // The full length comes from the server. An impossible length is refused.
  Answer liar = with_commit(GgufWriter("clip").file());
  liar.content_range = "bytes 0-31/18446744073709551615";
  site.hub.fallback(liar);
  check_fails("https://huggingface.co/org/x/blob/main/mmproj.gguf", Companion::kProjector, {}, Exit::kHub);
}

}  // namespace
}  // namespace kvplan
