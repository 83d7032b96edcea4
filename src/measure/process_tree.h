// A process and its descendants, by the kernel's /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// `root`, its descendants, and the processes of its session (an engine's workers may outlive their parent). Empty if
// the process is gone. `proc`: a test's folder, else "/proc".
std::vector<pid_t> process_tree(pid_t root, const std::string& proc = "/proc");

// Resident bytes of all of them, including pages of files. Memory that was reserved and never touched is not resident.
Bytes resident_memory(const std::vector<pid_t>& processes, const std::string& proc = "/proc");

}  // namespace kvplan
