#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "formats/file.h"
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

// Where a link leads to, so that the link stays one; also where nothing is there yet.
std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;
  std::array<char, 4096> target{};
  for (int i = 0; i < kMostLinks; ++i) {
    const ssize_t length = readlink(path.c_str(), target.data(), target.size());
    if (length <= 0 || static_cast<std::size_t>(length) == target.size()) break;
    const std::string next(target.data(), static_cast<std::size_t>(length));
    path = next.starts_with('/') ? next : folder_of(path) + "/" + next;
  }
  return path;
}

// On its way to the disk before it has the name that others look for.
bool is_synced(int fd) {
  return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == EROFS;
}

void sync_folder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

// A new file beside `place`, and its name: random, since a run that was killed leaves its own behind.
int open_part(const std::string& place, std::string& part) {
  int fd = -1;
  for (int tries = 0; fd < 0 && tries < 4; ++tries) {
    part = folder_of(place) + "/.kvplan-part-" + random_name();
    fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  return fd;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void write_report(const std::string& path, std::string_view text) {
  if (!path.empty() && path != "-" && was_read(path))
    with_source(path, [] { fail("is one of the files that were read", "name another one with -o"); });
  write_output(path, text);
}

// A file is written beside its place and then renamed: nothing half-written stays.
void write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") return write_all(STDOUT_FILENO, text, "standard output");
  struct stat status {};
  const bool there = stat(path.c_str(), &status) == 0;
  if (there && !S_ISREG(status.st_mode)) return write_in_place(path, text);
  // To replace a file needs no right to write it; one that is read-only is meant to stay.
  if (there && ((status.st_mode & 0222U) == 0 || access(path.c_str(), W_OK) != 0)) {
    errno = EACCES;
    cannot_write(path);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on files' sizes is an error of the write
  const std::string place = behind_links(path);
  std::string part;
  const int fd = open_part(place, part);
  if (fd < 0) cannot_write(path);
  try {
    if (there) fchmod(fd, status.st_mode & 0777U);
    write_all(fd, text, path);
    const bool synced = is_synced(fd);
    if (close(fd) != 0 || !synced || rename(part.c_str(), place.c_str()) != 0) cannot_write(path);
    sync_folder(folder_of(place));
  } catch (const Error&) {
    unlink(part.c_str());
    throw;
  }
}

}  // namespace kvplan
