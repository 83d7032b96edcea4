// The fuzz targets without libFuzzer: they run seeds, and simple mutations of them, for some seconds. Coverage does not
// guide the mutations. This is for every run of the tests, and for compilers without libFuzzer.
//
//   kvplan_fuzz TARGET SECONDS SEEDS...    files, or folders of files
//
// What it tries only depends on the seeds. A target that finds something aborts; the input is then in found-TARGET.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#define KVPLAN_TARGET(name) extern "C" int name(const std::uint8_t* data, std::size_t size);
#include "targets.inc"
#undef KVPLAN_TARGET

// A function of a sanitizer's library, if one is linked: it ends the program without a signal.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

namespace fs = std::filesystem;
using Input = std::string;

struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t*, std::size_t);
};

constexpr Target kTargets[] = {
#define KVPLAN_TARGET(name) {#name, name},
#include "targets.inc"
#undef KVPLAN_TARGET
};

constexpr std::size_t kMostBytes = 8192;
constexpr std::string_view kTokens[] = {"18446744073709551615",
                                        "9223372036854775808",
                                        "-1",
                                        "1e308",
                                        "0",
                                        "null",
                                        "[]",
                                        "{}",
                                        "\"\"",
                                        "true",
                                        "\xff",
                                        "\x1b[",
                                        "GGUF",
                                        "..",
                                        "=",
                                        "\n"};

Input current;
std::string found;

void keep_current() {
  if (std::FILE* file = std::fopen(found.c_str(), "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
}

void keep_and_die(int signal) {
  keep_current();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void read_seed(const fs::path& path, std::vector<Input>& out) {
  std::ifstream file(path, std::ios::binary);
  Input text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  text.resize(std::min(text.size(), kMostBytes));
  out.push_back(std::move(text));
}

std::vector<Input> seeds_of(int count, char** paths) {
  std::vector<fs::path> files;
  for (int i = 0; i < count; ++i) {
    if (!fs::is_directory(paths[i]))
      files.emplace_back(paths[i]);
    else
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(paths[i]))
        if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> out{""};
  for (const fs::path& file : files) read_seed(file, out);
  return out;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<Input>& seeds) : seeds_(seeds) {}

  Input next() {
    Input out = seeds_[below(seeds_.size())];
    for (std::size_t n = below(6); n > 0; --n) mutate(out);
    out.resize(std::min(out.size(), kMostBytes));
    return out;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void mutate(Input& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t some = below(std::min<std::size_t>(text.size() - at, 64) + 1);
    switch (below(6)) {
      case 0: text.erase(at, some); break;
      case 1: text.insert(at, 1, static_cast<char>(below(256))); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << below(8)));
        break;
      case 3: text.insert(at, kTokens[below(std::size(kTokens))]); break;
      case 4: text.insert(at, text.substr(at, some)); break;
      default: {  // a part of another seed
        const Input& other = seeds_[below(seeds_.size())];
        const std::size_t from = below(other.size() + 1);
        text.replace(at, some, other.substr(from, below(256)));
      }
    }
  }

  const std::vector<Input>& seeds_;
  std::mt19937_64 random_{20261124};
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 2 ? argv[1] : "";
  const auto target =
      std::find_if(std::begin(kTargets), std::end(kTargets), [&](const Target& t) { return t.name == name; });
  if (target == std::end(kTargets)) {
    std::fputs("usage: kvplan_fuzz TARGET SECONDS SEEDS...\n", stderr);
    for (const Target& each : kTargets) std::fprintf(stderr, "  %s\n", each.name.data());
    return 2;
  }
  found = "found-" + std::string(name);
  for (const int signal : {SIGABRT, SIGILL, SIGSEGV, SIGFPE}) std::signal(signal, keep_and_die);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(keep_current);
  const std::vector<Input> seeds = seeds_of(argc - 3, argv + 3);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[2]));
  std::uint64_t runs = 0;
  const auto run = [&](Input input) {
    current = std::move(input);
    target->run(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
    ++runs;
  };
  for (const Input& seed : seeds) {
    if (std::chrono::steady_clock::now() > end) break;
    run(seed);
  }
  Mutator mutator(seeds);
  while (std::chrono::steady_clock::now() < end) run(mutator.next());
  std::printf("%s: %llu inputs of %zu seeds\n", argv[1], static_cast<unsigned long long>(runs), seeds.size());
  return 0;
}
