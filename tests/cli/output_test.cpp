// Where a report goes: it is complete or not there, it never overwrites its input, and files of other runs do not
// matter.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "cli/command_line.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("output: a file that kvplan read is never overwritten") {
  const TemporaryFolder folder;
  const std::string config = file_text(std::string(KVPLAN_SOURCE_DIR) + "/" + kLlamaConfig);
  const std::string model = folder.write("model.json", config);
  const std::string other = folder.write("other.json", config);
  fs::create_symlink(model, folder.path() + "/link.json");
  fs::create_hard_link(model, folder.path() + "/hard.json");
  fs::create_directories(folder.path() + "/folder");
  const std::string inside = folder.write("folder/config.json", config);
  const auto refused = [&](const std::vector<std::string>& words, const std::string& input = "/dev/null") {
    check_refused(run_program(words, input), "is an input file; name another one with -o");
  };
  refused({model, "-o", model});
  refused({model, "-o", folder.path() + "/link.json"});
  refused({model, "-o", folder.path() + "/hard.json"});
  refused({folder.path() + "/link.json", "--json", "-o", model});
  refused({folder.path() + "/folder", "-o", inside});
  refused({model, other, "-o", other});
  refused({"compare", model, "-o", folder.path() + "/./model.json"});
  const std::string plan = folder.path() + "/plan.json";
  REQUIRE(run_program({model, "--json", "-o", plan}).exit == 0);
  refused({"diff", plan, plan, "-o", plan});
  refused({"-", "-o", model}, model);
  for (const std::string& path : {model, other, inside}) CHECK(file_text(path) == config);
}

TEST_CASE("output: a read-only file stays") {
  const TemporaryFolder folder;
  const std::string there = folder.write("there.txt", "old");
  fs::permissions(there, fs::perms::owner_read | fs::perms::group_read);
  check_refused(run_program({kLlamaConfig, "-o", there}), "cannot be written (Permission denied)");
  CHECK(file_text(there) == "old");
}

TEST_CASE("output: files left by killed runs do no harm") {
  const TemporaryFolder folder;
  const std::string there = folder.path() + "/there.txt";
  // Every name that kvplan could form from a process number.
  for (int i = 1; i < 200; ++i) folder.write("there.txt.part" + std::to_string(i), "");
  const std::size_t before = files_in(folder.path());
  CHECK(run_program({kLlamaConfig, "-o", there}).exit == 0);
  CHECK(file_text(there) == run_program({kLlamaConfig}).out);
  CHECK(files_in(folder.path()) == before + 1);
  struct stat status {};
  REQUIRE(stat(there.c_str(), &status) == 0);
  const mode_t mask = umask(0);
  umask(mask);
  CHECK((status.st_mode & 0777U) == (0666U & ~mask));
}

TEST_CASE("output: a link to nothing stays a link") {
  const TemporaryFolder folder;
  const std::string link = folder.path() + "/link.txt";
  fs::create_symlink("there.txt", link);
  CHECK(run_program({kLlamaConfig, "-o", link}).exit == 0);
  CHECK(fs::is_symlink(link));
  CHECK(fs::is_regular_file(folder.path() + "/there.txt"));
  fs::create_symlink("loop.txt", folder.path() + "/loop.txt");
  check_refused(run_program({kLlamaConfig, "-o", folder.path() + "/loop.txt"}), "Too many levels of symbolic links");
  CHECK(fs::is_symlink(folder.path() + "/loop.txt"));
  CHECK(files_in(folder.path()) == 3);
}

TEST_CASE("output: a file that could not be written completely is removed") {
  const TemporaryFolder folder;
  check_refused(run_program({kLlamaConfig, "-o", folder.path() + "/no/such/folder.txt"}), "cannot be written");
  check_refused(run_program({kLlamaConfig, "-o", folder.path() + "/" + std::string(300, 'x')}), "cannot be written");
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("input: a device is refused as a file") {
  const TemporaryFolder folder;
  for (const char* device : {"/dev/zero", "/dev/full", "/dev/urandom", "/dev/null"}) {
    const std::string link = folder.path() + "/config.json";
    fs::remove(link);
    fs::create_symlink(device, link);
    const Run run = run_program({folder.path()});
    check_refused(run, "is a device, not a file");
    CHECK(run.processor_seconds < 0.5);
    check_refused(run_program({"check-log", kLlamaConfig, link}), "is a device, not a file");
  }
}

}  // namespace
}  // namespace kvplan
