// What the kernel reports in /proc and /sys about memory and processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

struct HostMemory {
  Bytes total;      // of the machine
  Bytes limit;      // for this process: the machine's memory, or the smallest limit of its control groups
  Bytes available;  // can still be allocated without swapping
};

// `root` is put before /proc and /sys: a test's folder, else "".
HostMemory host_memory(const std::string& root = "");

// A process and its descendants, by the kernel's /proc.

// `root`, its descendants, and the processes of its session, because an engine's workers may outlive their parent.
// Empty if the process is gone. `proc`: a test's folder, otherwise "/proc".
std::vector<pid_t> process_tree(pid_t root, const std::string& proc = "/proc");

// Resident bytes of all of them, including pages of files. Memory that was reserved but never touched is not resident.
Bytes resident_memory(const std::vector<pid_t>& processes, const std::string& proc = "/proc");

// Files of /proc and /sys that contain one value. If a file cannot be read there is no value.

inline std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// "max" in a control group is not a number.
inline std::optional<std::uint64_t> number_in(const std::string& path) {
  return whole_number(first_line(path));
}

}  // namespace kvplan
