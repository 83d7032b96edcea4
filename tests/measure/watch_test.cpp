#include "measure/watch.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "kvplan/error.h"
#include "measure/measure.h"
#include "measure/proc.h"
#include "support/program.h"

namespace kvplan {
namespace {

const WatchedStage* stage(const Watched& seen, StartStage wanted) {
  for (const WatchedStage& each : seen.stages)
    if (each.stage == wanted) return &each;
  return nullptr;
}

// Tells the simulated engine which stages kvplan has seen.
class Seen {
 public:
  Seen() { setenv("KVPLAN_FAKE_SEEN", place_.c_str(), 1); }
  ~Seen() { unsetenv("KVPLAN_FAKE_SEEN"); }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;
  void tell(const Watched& seen) const { std::ofstream(place_) << seen.stages.size(); }

 private:
  TemporaryFolder folder_;
  std::string place_ = folder_.path() + "/seen";
};

WatchOptions start_of(std::vector<std::string> words) {
  WatchOptions out;
  out.command = {KVPLAN_FAKE_ENGINE};
  out.command.insert(out.command.end(), words.begin(), words.end());
  out.engine = "vllm";
  out.settles = 0.3;
  out.patience = 30;
  return out;
}

bool is_about(std::int64_t bytes, std::int64_t mib) {
  const std::int64_t play = 16;
  return bytes >= (mib - play) * (1 << 20) && bytes <= (mib + play) * (1 << 20);
}

TEST_CASE("watch: a process tree has its descendants, and their memory") {
  const std::vector<pid_t> own = process_tree(getpid());
  REQUIRE_FALSE(own.empty());
  CHECK(own.front() == getpid());
  CHECK(resident_memory(own) > Bytes(1 << 20));
  CHECK(process_tree(1 << 30).empty());
}

TEST_CASE("watch: a tree is read from /proc, whatever a process is called") {
  const TemporaryFolder folder;
  const std::filesystem::path root = folder.path();
  const auto add = [&](const char* pid, const char* stat, const char* statm) {
    std::filesystem::create_directories(root / pid);
    std::ofstream(root / pid / "stat") << stat;
    std::ofstream(root / pid / "statm") << statm;
  };
  add("10", "10 (engine) S 1 10 10 0", "900 100 1 1 0 1 0");
  add("11", "11 (a ) S 9 (b) R 10 10 10 0", "900 200 1 1 0 1 0");
  add("12", "12 (orphan) S 1 12 10 0", "900 300 1 1 0 1 0");  // not a descendant, but of the same session
  add("13", "13 (zombie) Z 10 10 10 0", "0 0 0 0 0 0 0");
  add("14", "14 (stranger) S 1 14 14 0", "900 400 1 1 0 1 0");
  add("self", "", "");
  const std::vector<pid_t> tree = process_tree(10, root.string());
  CHECK(tree == std::vector<pid_t>{10, 11, 12});
  CHECK(resident_memory(tree, root.string()) == Bytes(600) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST_CASE("watch: each stage of a start has the memory that the engine allocated in it") {
  const auto counter = host_counter();
  const Seen acknowledged;
  WatchOptions options = start_of({"192", "96"});
  options.progress = [&](const Watched& seen) { acknowledged.tell(seen); };
  const WatchedStart start = watch_start(options, *counter);
  CHECK(start.seen.status == WatchStatus::kStarted);
  const WatchedStage* const weights = stage(start.seen, StartStage::kWeights);
  REQUIRE(weights != nullptr);
  CHECK(is_about(weights->grew(), 192));
  REQUIRE(stage(start.seen, StartStage::kCache) != nullptr);
  CHECK(is_about(stage(start.seen, StartStage::kCache)->grew(), 96));
  CHECK(is_about(static_cast<std::int64_t>(start.seen.last.count()), 192 + 96));
  CHECK(start.seen.samples >= 10);
  CHECK(start.log.options.version == "0.11.0");
  // kvplan stopped the engine and deleted its log.
  CHECK(process_tree(static_cast<pid_t>(start.seen.pid)).empty());
  CHECK(start.seen.log_file.empty());
}

TEST_CASE("watch: if the engine dies, the report has its exit code and its log") {
  const auto counter = host_counter();
  const WatchedStart start = watch_start(start_of({"32", "32", "die"}), *counter);
  CHECK(start.seen.status == WatchStatus::kDied);
  CHECK(start.seen.exit_code == 1);
  REQUIRE_FALSE(start.seen.log_file.empty());
  CHECK(std::filesystem::remove(start.seen.log_file));
  bool tells = false;
  for (const LogEvent& event : start.log.events) tells = tells || event.id == LogEventId::kOutOfMemory;
  CHECK(tells);
}

TEST_CASE("watch: a program that cannot be started or joined is refused, and Ctrl-C ends the engine") {
  const auto counter = host_counter();
  WatchOptions options = start_of({});
  options.command = {"/no/such/engine"};
  CHECK_THROWS_WITH_AS(watch_start(options, *counter), doctest::Contains("cannot be started"), Error);
  options.command.clear();
  options.pid = 1 << 30;
  CHECK_THROWS_WITH_AS(watch_start(options, *counter), doctest::Contains("no such process"), Error);

  WatchOptions stopped = start_of({"16", "16"});
  std::int64_t pid = 0;
  stopped.progress = [&](const Watched& seen) { pid = seen.pid; };
  stopped.stop = [&] { return pid != 0; };
  CHECK_THROWS_AS(watch_start(stopped, *counter), Interrupted);
  CHECK(process_tree(static_cast<pid_t>(pid)).empty());
}

TEST_CASE("watch: with --keep the engine goes on, and can be joined") {
  const auto counter = host_counter();
  WatchOptions options = start_of({"48", "16"});
  options.keeps_engine = true;
  const WatchedStart start = watch_start(options, *counter);
  const auto pid = static_cast<pid_t>(start.seen.pid);
  CHECK_FALSE(process_tree(pid).empty());
  WatchOptions joining;
  joining.pid = pid;
  joining.settles = 0.3;
  const WatchedStart joined = watch_start(joining, *counter);
  CHECK(joined.seen.status == WatchStatus::kSteady);
  CHECK(is_about(static_cast<std::int64_t>(joined.seen.last.count()), 64));
  kill(pid, SIGKILL);
  std::filesystem::remove(start.seen.log_file);
}

TEST_CASE("watch: the wait for an engine that prints no known line ends") {
  const auto counter = host_counter();
  WatchOptions options = start_of({"16", "16", "mute"});
  options.quiet = 1;
  const WatchedStart start = watch_start(options, *counter);
  CHECK(start.seen.status == WatchStatus::kSteady);
  REQUIRE(start.seen.remarks.size() == 1);
  CHECK(start.seen.remarks[0].find("did not change for 1 s") != std::string::npos);
}

TEST_CASE("watch: an engine ends when kvplan ends for any reason, unless --keep is given") {
  for (const bool keeps : {false, true}) {
    const TemporaryFolder folder;
    const std::string place = folder.path() + "/pid";
    const pid_t kvplan = fork();
    if (kvplan == 0) {
      WatchOptions options = start_of({"16", "16"});
      options.keeps_engine = keeps;
      options.progress = [&](const Watched& seen) {
        if (seen.stages.empty()) return;
        std::ofstream(place + "~") << seen.pid;
        std::filesystem::rename(place + "~", place);
      };
      const auto counter = host_counter();
      watch_start(options, *counter);
      _exit(0);
    }
    pid_t engine = 0;
    for (int i = 0; i < 400 && engine == 0; ++i) {
      usleep(25000);
      std::ifstream(place) >> engine;
    }
    REQUIRE(engine > 0);
    kill(kvplan, SIGKILL);
    waitpid(kvplan, nullptr, 0);
    for (int i = 0; i < 80 && !keeps && !process_tree(engine).empty(); ++i) usleep(25000);
    CHECK(process_tree(engine).empty() != keeps);
    kill(engine, SIGKILL);
  }
}

// Writes the ids of a process that left the engine's process tree and session, and of one in another session, and
// waits.
std::string leaving(const std::string& place) {
  return "(setsid sh -c 'echo $$ >" + place + "/daemon~; mv " + place + "/daemon~ " + place +
         "/daemon; exec sleep 300' &); setsid sleep 300 & echo $! >" + place + "/child~; mv " + place + "/child~ " +
         place + "/child; sleep 300 & ";
}

pid_t number_in(const std::string& path) {
  pid_t out = 0;
  for (int i = 0; i < 400 && out == 0; ++i) {
    std::ifstream(path) >> out;
    if (out == 0) usleep(25000);
  }
  return out;
}

TEST_CASE("watch: processes that an engine started end with it, or when kvplan is killed") {
  for (const bool is_killed : {false, true}) {
    CAPTURE(is_killed);
    const TemporaryFolder folder;
    const std::string& place = folder.path();
    const pid_t kvplan = fork();
    if (kvplan == 0) {
      WatchOptions options = start_of({});
      options.command = {"sh", "-c",
                         leaving(place) + (is_killed ? "wait" : "while [ ! -e " + place + "/go ]; do sleep 0.1; done")};
      watch_start(options, *host_counter());
      _exit(0);
    }
    const pid_t daemon = number_in(place + "/daemon"), child = number_in(place + "/child");
    REQUIRE(daemon > 0);
    REQUIRE(child > 0);
    CHECK_FALSE(process_tree(daemon).empty());
    CHECK_FALSE(process_tree(child).empty());
    if (is_killed)
      kill(kvplan, SIGKILL);
    else
      folder.write("go", "");
    waitpid(kvplan, nullptr, 0);
    // If kvplan ends normally, these processes end first.
    for (int i = 0; i < 400 && is_killed && !(process_tree(daemon).empty() && process_tree(child).empty()); ++i)
      usleep(25000);
    CHECK(process_tree(daemon).empty());
    CHECK(process_tree(child).empty());
  }
}

TEST_CASE("watch: memory of a process that left the engine's tree counts") {
  const auto counter = host_counter();
  WatchOptions options = start_of({});
  options.command = {"sh", "-c", std::string("(setsid ") + KVPLAN_FAKE_ENGINE + " 96 64 >/dev/null &); sleep 300"};
  options.engine = "";
  options.settles = 2;
  options.quiet = 4;
  const WatchedStart start = watch_start(options, *counter);
  CHECK(start.seen.status == WatchStatus::kSteady);
  CHECK(is_about(static_cast<std::int64_t>(start.seen.peak.count()), 96 + 64));
}

TEST_CASE("watch: an engine's end is noticed even if SIGCHLD was ignored") {
  std::signal(SIGCHLD, SIG_IGN);
  const auto counter = host_counter();
  WatchOptions options = start_of({});
  options.command = {"sh", "-c", "exit 3"};
  const WatchedStart start = watch_start(options, *counter);
  std::signal(SIGCHLD, SIG_DFL);
  CHECK(start.seen.status == WatchStatus::kDied);
  CHECK(start.seen.exit_code == 3);
  CHECK(start.seen.seconds < 10);
  std::filesystem::remove(start.seen.log_file);
}

TEST_CASE("watch: if the engine goes on after Ctrl-C, its log is kept") {
  const auto counter = host_counter();
  WatchOptions options = start_of({"16", "16"});
  options.keeps_engine = true;
  bool stop = false;
  options.progress = [&](const Watched&) { stop = true; };
  options.stop = [&] { return stop; };
  pid_t left = 0;
  std::string log;
  options.on_left_running = [&](pid_t pid, const std::string& file) {
    left = pid;
    log = file;
  };
  CHECK_THROWS_AS(watch_start(options, *counter), Interrupted);
  REQUIRE(left > 0);
  CHECK_FALSE(process_tree(left).empty());
  CHECK(std::filesystem::exists(log));
  kill(left, SIGKILL);
  std::filesystem::remove(log);
}

TEST_CASE("watch: memory of GPUs, by process or by the GPU's counter") {
  const TemporaryFolder folder;
  const std::string place = folder.path() + "/processes";
  const auto processes = [&](const char* lines) { std::ofstream(place) << lines; };
  setenv("KVPLAN_FAKE_CARDS", "NVIDIA L4=23034+100", 1);
  setenv("KVPLAN_FAKE_PROCESSES", place.c_str(), 1);
  processes("77 500\n");
  const auto counter = nvidia_counter(KVPLAN_FAKE_NVML);
  REQUIRE(counter != nullptr);
  CHECK(counter->of({5}) == Bytes(0));

  SUBCASE("by process") {
    processes("77 500\n5 2048\n");
    CHECK(counter->of({5}) == Bytes(2048 * kMiB));
    CHECK(counter->disturbances().empty());
    CHECK(counter->describe() == "memory of its processes on the GPU");
    processes("77 700\n5 2048\n");
    CHECK(counter->of({5}) == Bytes(2048 * kMiB));
    CHECK(counter->disturbances().size() == 1);
  }
  SUBCASE("in a container, where the process has another number") {
    processes("77 500\n40005 3000\n");
    CHECK(counter->of({5}) == Bytes(3000 * kMiB));
    CHECK(counter->disturbances().empty());
    CHECK(counter->describe() == "what the counter of the GPU grew by");
  }
  SUBCASE("a newcomer") {
    processes("77 500\n5 2048\n78 10\n");
    counter->of({5});
    CHECK(counter->disturbances().size() == 1);
  }
  unsetenv("KVPLAN_FAKE_CARDS");
  unsetenv("KVPLAN_FAKE_PROCESSES");
}

TEST_CASE("watch: lines of real logs end the stages") {
  struct Row {
    const char* engine;
    const char* line;
    StartStage ended;
  };
  const Row rows[] = {
      {"vllm", "INFO 03-18 08:46:53 [model_runner.py:1146] Model loading took 18.9082 GB and 16.6 seconds",
       StartStage::kWeights},
      {"vllm",
       "INFO 03-18 08:59:54 [llm_engine.py:441] init engine (profile, create kv cache, warmup model) took 780.78 s",
       StartStage::kCache},
      {"sglang", "[2025-02-09 20:33:21 TP0] Load weight end. type=DeepseekV2ForCausalLM, avail mem=14.34 GB",
       StartStage::kWeights},
      {"llama.cpp", "llama_context: constructing llama_context", StartStage::kWeights},
      {"llama.cpp", "0.00.631.354 I sched_reserve: graph: nodes = 254, splits = 1, input objects = 4",
       StartStage::kCache},
      {"llama.cpp", "0.00.687.355 I srv  llama_server: listening on http://127.0.0.1:8124", StartStage::kServing},
      {"llama.cpp", "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
       StartStage::kServing},
      {"vllm", "INFO 11-23 22:05:01 [default_loader.py:502] Loading weights took 1.37 seconds", StartStage::kWeights},
      {"mlx", "2026-11-23 21:47:15,034 - INFO - Starting httpd at 127.0.0.1 on port 8125...", StartStage::kProcess},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    CHECK(stage_ended_by(row.engine, row.line) == row.ended);
  }
  CHECK_FALSE(stage_ended_by("vllm", "INFO: 127.0.0.1 - GET /health").has_value());
}

TEST_CASE("watch: a start is compared with the plan") {
  WatchReport report;
  GpuMemory gpu;
  gpu.lines.push_back(exact_line(Section::kWeights, "weights", Bytes(1000 * kMiB), "", ""));
  gpu.lines.push_back(exact_line(Section::kKvCache, "cache", Bytes(500 * kMiB), "", ""));
  report.plan.memory.push_back(gpu);
  report.seen.stages = {{StartStage::kProcess, 1, Bytes(0), Bytes(300 * kMiB), Bytes(300 * kMiB)},
                        {StartStage::kWeights, 2, Bytes(300 * kMiB), Bytes(1310 * kMiB), Bytes(1310 * kMiB)}};
  report.seen.last = Bytes(1500 * kMiB);
  compare_start(report);  // on a GPU the context and everything else count
  REQUIRE(report.lines.size() == 3);
  CHECK(report.lines[0].is_inside);
  CHECK(report.lines[2].is_whole);
  CHECK(report.lines[2].is_inside);
  CHECK(report.agrees);
  report.seen.last = Bytes(1600 * kMiB);
  compare_start(report);
  CHECK_FALSE(report.agrees);
  report.seen.is_host = true;  // in resident memory, only weights get a verdict
  compare_start(report);
  CHECK(report.agrees);
  report.seen.stages[1].after = Bytes(1600 * kMiB);
  compare_start(report);
  CHECK_FALSE(report.agrees);
  report.seen.status = WatchStatus::kDied;
  compare_start(report);
  CHECK_FALSE(report.agrees);
}

}  // namespace
}  // namespace kvplan
