// Runs the real program and returns what a shell would see.
#pragma once

#include <string>
#include <vector>

namespace kvplan {

#ifdef KVPLAN_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
// The factor by which sanitizers increase a process's time and memory. Its limits are raised by the same factor.
inline constexpr double kSanitizerFactor = kSanitized ? 20 : 1;

struct Run {
  int exit = -1;  // 128 + the signal if one ended the program
  std::string out, err;
  double seconds = 0;
  double processor_seconds = 0;  // CPU seconds, which other programs do not affect
  double peak_mib = 0;
};

// kvplan ARGUMENTS < standard_input, in the source folder. `environment` ("NAME=VALUE") overrides the tests' own.
Run run_program(const std::vector<std::string>& arguments, const std::string& standard_input = "/dev/null",
                const std::vector<std::string>& environment = {});

// The text of a file; empty if there is none.
std::string file_text(const std::string& path);

// A temporary folder for a test's files; the destructor deletes it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace kvplan
