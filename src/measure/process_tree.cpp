#include "measure/process_tree.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "kvplan/numbers.h"
#include "kvplan/strings.h"
#include "measure/value_file.h"

namespace kvplan {

namespace {

struct Process {
  pid_t pid = 0, parent = 0, session = 0;
  bool is_gone = false;  // a zombie: ended, and not waited for
};

// "PID (NAME) STATE PARENT GROUP SESSION ..."; the name may contain anything.
Process read_process(const std::string& folder, pid_t pid) {
  Process out{.pid = pid, .is_gone = true};
  const std::string text = first_line(folder + "/stat");
  const auto end = text.rfind(')');
  if (end == std::string::npos) return out;
  const std::vector<std::string_view> fields = split(std::string_view(text).substr(end + 1));
  if (fields.size() < 4) return out;
  out.is_gone = fields[0] == "Z" || fields[0] == "X";
  out.parent = static_cast<pid_t>(whole_number(fields[1]).value_or(0));
  out.session = static_cast<pid_t>(whole_number(fields[3]).value_or(0));
  return out;
}

}  // namespace

std::vector<pid_t> process_tree(pid_t root, const std::string& proc) {
  std::vector<Process> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(proc, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const auto pid = whole_number(name))
      all.push_back(read_process(entry.path().string(), static_cast<pid_t>(*pid)));
  }
  std::erase_if(all, [](const Process& process) { return process.is_gone; });
  std::vector<pid_t> out;
  const auto add = [&](auto belongs) {
    for (const Process& process : all)
      if (belongs(process) && std::find(out.begin(), out.end(), process.pid) == out.end()) out.push_back(process.pid);
  };
  add([&](const Process& process) { return process.pid == root; });
  for (std::size_t next = 0; next < out.size(); ++next)
    add([&, parent = out[next]](const Process& process) { return process.parent == parent; });
  // A process that kvplan starts gets a new session.
  if (root != getpid()) add([&](const Process& process) { return process.session == root; });
  return out;
}

Bytes resident_memory(const std::vector<pid_t>& processes, const std::string& proc) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  Bytes out;
  for (const pid_t pid : processes) {
    const std::string text = first_line(proc + "/" + std::to_string(pid) + "/statm");
    const std::vector<std::string_view> fields = split(text);
    if (fields.size() < 2) continue;
    out += Bytes(whole_number(fields[1]).value_or(0)) * page;
  }
  return out;
}

}  // namespace kvplan
