#include "measure/proc.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

// The bytes of a line "Name:   123 kB"; nothing for other lines.
std::optional<std::uint64_t> kilobytes(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(name.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const auto found = whole_number(line);
  return found && *found < (std::uint64_t{1} << 53) ? std::optional(*found * 1024) : std::nullopt;
}

// The bytes of "inactive_file 123" in a memory.stat, which the kernel frees on demand.
std::uint64_t reclaimable(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  const std::string start = std::string(key) + " ";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(start)) return whole_number(std::string_view(line).substr(start.size())).value_or(0);
  return 0;
}

struct GroupFiles {
  const char *limit, *used, *reclaimable;
};
constexpr GroupFiles kSecond{"/memory.max", "/memory.current", "inactive_file"};
constexpr GroupFiles kFirst{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};

// Applies the limits of a control group and all groups above it: the smallest limit, and the smallest remainder.
void apply_groups(const std::string& mount, std::string group, const GroupFiles& files, HostMemory& out) {
  for (;;) {
    const std::string folder = mount + (group == "/" ? "" : group);
    if (const auto limit = number_in(folder + files.limit); limit && Bytes(*limit) < out.total) {
      out.limit = std::min(out.limit, Bytes(*limit));
      const std::uint64_t used = number_in(folder + files.used).value_or(0);
      const std::uint64_t back = std::min(used, reclaimable(folder + "/memory.stat", files.reclaimable));
      const std::uint64_t held = used - back;
      out.available = std::min(out.available, Bytes(*limit > held ? *limit - held : 0));
    }
    if (group.empty() || group == "/") return;
    group.erase(group.find_last_of('/'));
  }
}

}  // namespace

HostMemory host_memory(const std::string& root) {
  HostMemory out;
  std::ifstream info(root + "/proc/meminfo");
  std::uint64_t free = 0;
  for (std::string line; std::getline(info, line);) {
    if (const auto total = kilobytes(line, "MemTotal:")) out.total = Bytes(*total);
    if (const auto bytes = kilobytes(line, "MemFree:")) free = *bytes;
    if (const auto available = kilobytes(line, "MemAvailable:")) out.available = Bytes(*available);
  }
  if (out.available == Bytes(0)) out.available = Bytes(free);
  out.limit = out.total;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" in version 2, "7:memory:/path" in version 1.
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) apply_groups(root + "/sys/fs/cgroup", group, kSecond, out);
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      apply_groups(root + "/sys/fs/cgroup/memory", group, kFirst, out);
  }
  // In a container, its own group is the visible root.
  apply_groups(root + "/sys/fs/cgroup", "/", kSecond, out);
  rlimit space{};
  if (root.empty() && getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    out.available = std::min(out.available, Bytes(space.rlim_cur));
  return out;
}

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
  // kvplan starts a process in a new session.
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
