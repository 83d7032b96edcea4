#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

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

// A device or a pipe stays what it is.
void write_in_place(const std::string& path, std::string_view text) {
  // Without waiting for a pipe's reader: without one this fails.
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) cannot_write(path);
  fcntl(fd, F_SETFL, 0);
  try {
    write_all(fd, text, path);
  } catch (const Error&) {
    close(fd);
    throw;
  }
  if (close(fd) != 0) cannot_write(path);
}

// Where a link leads to, so that the link stays one.
std::string behind_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A file is written beside its place and then renamed: nothing half-written stays.
void write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") return write_all(STDOUT_FILENO, text, "standard output");
  struct stat status {};
  const bool there = stat(path.c_str(), &status) == 0;
  if (there && !S_ISREG(status.st_mode)) return write_in_place(path, text);
  const std::string place = there ? behind_links(path) : path;
  const std::string part = place + ".part" + std::to_string(getpid());
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) cannot_write(path);
  try {
    if (there) fchmod(fd, status.st_mode & 0777U);
    write_all(fd, text, path);
    if (close(fd) != 0 || rename(part.c_str(), place.c_str()) != 0) cannot_write(path);
  } catch (const Error&) {
    unlink(part.c_str());
    throw;
  }
}

}  // namespace kvplan
