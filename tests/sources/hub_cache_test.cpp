// kvplan's own cache with every kind of damage. A damaged entry is treated as missing, and repaired.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "sources/site.h"

namespace kvplan {
namespace {

struct Kept : Site {
  Run first;
  std::string snapshot, refs;

  Kept() {
    const std::string file = safetensors(
        R"({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [1000, 64], "data_offsets": [0, 128000]}})",
        128000);
    serve("org/small", {{"config.json", with_commit(kSmallConfig)},
                        {"model.safetensors", with_commit(file)},
                        {"model.safetensors.index.json", refusal(404, "EntryNotFound")}});
    first = run({"org/small", "--json"});
    for (const auto& entry : fs::recursive_directory_iterator(home.path())) {
      if (entry.path().filename() == kCommit) snapshot = entry.path().string();
      if (entry.path().filename() == "refs") refs = entry.path().string();
    }
  }
};

TEST_CASE("hub: a damaged copy in the cache is not used offline, and the next fetch replaces it") {
  if (!has_curl()) return;
  const auto cut = [](const std::string& path) { fs::resize_file(path, fs::file_size(path) / 2); };
  const auto replaced = [](const std::string& path, const std::function<void()>& by) {
    fs::remove_all(path);
    by();
  };
  using Damage = std::function<void(const std::string& path)>;
  const std::vector<std::pair<std::string, Damage>> damages{
      {"half", cut},
      {"empty", [](const std::string& path) { fs::resize_file(path, 0); }},
      {"gone", [](const std::string& path) { fs::remove_all(path); }},
      {"a link to nothing",
       [&](const std::string& path) { replaced(path, [&] { fs::create_symlink("/nowhere/at/all", path); }); }},
      {"a link to itself", [&](const std::string& path) { replaced(path, [&] { fs::create_symlink(path, path); }); }},
      {"a folder", [&](const std::string& path) { replaced(path, [&] { fs::create_directories(path + "/x"); }); }},
      {"a pipe", [&](const std::string& path) { replaced(path, [&] { mkfifo(path.c_str(), 0600); }); }},
      {"a device", [&](const std::string& path) { replaced(path, [&] { fs::create_symlink("/dev/zero", path); }); }},
      {"another object",
       [](const std::string& path) { std::ofstream(path, std::ios::trunc) << R"({"weight_bytes": 7})"; }},
      {"other bytes", [](const std::string& path) { std::ofstream(path, std::ios::trunc) << std::string(64, '\xff'); }},
  };
  for (const std::string name : {"config.json", "weights.json", "weights.header", "SHA256SUMS", "refs/main"})
    for (const auto& each : damages) {
      const auto& what = each.first;
      CAPTURE(name);
      CAPTURE(what);
      const Kept site;
      REQUIRE(site.first.exit == 0);
      each.second(name == "refs/main" ? site.refs + "/main" : site.snapshot + "/" + name);
      const Run offline = site.run({"org/small", "--offline"});
      check_refused(offline, Exit::kHub, "no copy");
      CHECK(offline.seconds < 5);
      CHECK(site.run({"org/small", "--json"}).out == site.first.out);
      CHECK(site.run({"org/small", "--json", "--offline"}).out == site.first.out);
      CHECK_FALSE(has(site.all_files(), ".part-"));
    }
}

TEST_CASE("hub: files of a killed run are removed, those of a running one stay") {
  if (!has_curl()) return;
  const Kept site;
  const std::string folder = fs::path(site.snapshot).parent_path().string();
  for (const std::string part : {"old", "new"}) {
    fs::create_directories(folder + "/.part-" + part);
    std::ofstream(folder + "/.part-" + part + "/config.json") << kSmallConfig.substr(0, 40);
  }
  fs::last_write_time(folder + "/.part-old", fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::remove_all(site.snapshot);
  CHECK(site.run({"org/small", "--json"}).out == site.first.out);
  CHECK_FALSE(fs::exists(folder + "/.part-old"));
  CHECK(fs::exists(folder + "/.part-new"));
}

TEST_CASE("hub: several runs at once repair one damaged cache") {
  if (!has_curl()) return;
  const Kept site;
  for (int round = 0; round < 3; ++round) {
    std::ofstream(site.snapshot + "/weights.json", std::ios::trunc) << "{";
    std::vector<Run> runs(4);
    std::vector<std::thread> threads;
    for (Run& run : runs) threads.emplace_back([&site, &run] { run = site.run({"org/small", "--json"}); });
    for (std::thread& thread : threads) thread.join();
    for (const Run& run : runs) CHECK(run.out == site.first.out);
    CHECK(site.run({"org/small", "--json", "--offline"}).out == site.first.out);
  }
  CHECK_FALSE(has(site.all_files(), ".part-"));
}

TEST_CASE("hub: kvplan does not wait for pipes in the HF tools' cache") {
  Site site;
  const std::string model = site.home.path() + "/hf/hub/models--org--local";
  fs::create_directories(model + "/refs");
  fs::create_directories(model + "/snapshots/" + kCommit);
  site.home.write("hf/hub/models--org--local/refs/main", kCommit);
  mkfifo((model + "/snapshots/" + kCommit + "/config.json").c_str(), 0600);
  check_refused(site.run({"org/local", "--offline"}), Exit::kHub, "no copy");
  fs::remove(model + "/refs/main");
  mkfifo((model + "/refs/main").c_str(), 0600);
  check_refused(site.run({"org/local", "--offline"}), Exit::kHub, "no copy");
}

TEST_CASE("hub: only the owner reads the cache") {
  if (!has_curl()) return;
  const Kept site;
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(site.home.path() + "/cache")) {
    const auto others = fs::perms::group_all | fs::perms::others_all;
    CHECK((entry.status().permissions() & others) == fs::perms::none);
    ++count;
  }
  CHECK(count > 5);
}

}  // namespace
}  // namespace kvplan
