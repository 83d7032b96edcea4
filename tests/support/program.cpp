#include "support/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace kvplan {

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

namespace {

// Only async-signal-safe calls, because this runs between fork and exec.
[[noreturn]] void become(char* const* arguments, char* const* environment, const char* in, const char* out,
                         const char* err) {
  const int from = open(in, O_RDONLY);
  const int to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int errors = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (from < 0 || to < 0 || errors < 0 || chdir(KVPLAN_SOURCE_DIR) != 0) _exit(126);
  dup2(from, STDIN_FILENO);
  dup2(to, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  const rlimit seconds{30, 30};  // a process that hangs becomes a failure
  setrlimit(RLIMIT_CPU, &seconds);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

}  // namespace

Run run_program(const std::vector<std::string>& arguments, const std::string& standard_input,
                const std::vector<std::string>& environment) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const std::string err = folder.path() + "/err";
  const std::string used = folder.path() + "/used";
  std::vector<std::string> words{KVPLAN_LAUNCHER, used, KVPLAN_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::vector<std::string> variables = environment;
  // Tests ignore a calibration in the user's folder.
  if (std::none_of(environment.begin(), environment.end(),
                   [](const std::string& v) { return v.starts_with("XDG_CONFIG_HOME="); }))
    variables.emplace_back("XDG_CONFIG_HOME=/nonexistent");
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view given(*each);
    const std::string_view name = given.substr(0, given.find('=') + 1);
    if (std::none_of(variables.begin(), variables.end(), [&](const std::string& v) { return v.starts_with(name); }))
      variables.emplace_back(given);
  }
  std::vector<char*> variable_pointers;
  for (std::string& variable : variables) variable_pointers.push_back(variable.data());
  variable_pointers.push_back(nullptr);

  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(pointers.data(), variable_pointers.data(), standard_input.c_str(), out.c_str(), err.c_str());
  int status = 0;
  waitpid(child, &status, 0);
  Run run;
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double peak_kib = 0;
  if (!(std::ifstream(used) >> status >> run.processor_seconds >> peak_kib))
    throw std::runtime_error("the launcher did not say what the program used");
  run.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.peak_mib = peak_kib / 1024;
  run.out = file_text(out);
  run.err = file_text(err);
  return run;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "kvplan-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace kvplan
