#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kvplan/error.h"

namespace kvplan {

namespace {

[[noreturn]] void cannot_write(const std::string& where) {
  Error error(Exit::kBadInput, std::string("cannot be written (") + std::strerror(errno) + ")",
              "check the path and the space");
  error.set_source(where);
  throw error;
}

void write_all(int fd, std::string_view text, const std::string& where) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) cannot_write(where);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A file is written beside its place and then renamed: nothing half-written stays.
void write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") return write_all(STDOUT_FILENO, text, "standard output");
  const std::string part = path + ".part" + std::to_string(getpid());
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) cannot_write(path);
  try {
    write_all(fd, text, path);
    if (close(fd) != 0 || rename(part.c_str(), path.c_str()) != 0) cannot_write(path);
  } catch (const Error&) {
    unlink(part.c_str());
    throw;
  }
}

}  // namespace kvplan
