#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/os.h"

namespace kvplan::os {

static FileFacts facts_in(const struct stat& status) {
  FileFacts out;
  const auto mode = status.st_mode;
  out.kind = S_ISREG(mode)                    ? FileKind::kRegular
             : S_ISDIR(mode)                  ? FileKind::kFolder
             : S_ISFIFO(mode)                 ? FileKind::kPipe
             : S_ISBLK(mode) || S_ISCHR(mode) ? FileKind::kDevice
             : S_ISLNK(mode)                  ? FileKind::kLink
                                              : FileKind::kOther;
  out.bytes = static_cast<std::uint64_t>(status.st_size);
  out.mode = mode & 0777U;
  out.owner = status.st_uid;
  out.group = status.st_gid;
  out.id = {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
  return out;
}

static std::string folder_with(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

void prepare_streams() {
  // If the reader closes the pipe (`| head`), the default action quietly ends the process.
  std::signal(SIGPIPE, SIG_DFL);
}

std::optional<FileFacts> facts_of(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return std::nullopt;
  FileFacts out = facts_in(status);
  if (out.kind == FileKind::kDevice && S_ISCHR(status.st_mode) && is_terminal(file)) out.kind = FileKind::kTerminal;
  return out;
}

std::optional<FileFacts> facts_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return facts_in(status);
}

std::optional<FileFacts> facts_of_name(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return facts_in(status);
}

std::string link_target(const std::string& path) {
  char target[4096];
  const ssize_t size = readlink(path.c_str(), target, sizeof target);
  return size > 0 && size < static_cast<ssize_t>(sizeof target) ? std::string(target, static_cast<std::size_t>(size))
                                                                : "";
}

bool is_planted(const std::string& path, const FileFacts& facts) {
  struct stat folder {};
  if (stat(folder_with(path).c_str(), &folder) != 0) return true;
  const bool is_shared = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return is_shared && facts.owner != geteuid() && facts.owner != folder.st_uid;
}

std::optional<OpenFile> open_file(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty() || name.size() > 9 || name.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(folder_with(path).c_str(), nullptr), &std::free);
  const std::string folder = real ? real.get() : "";
  const bool is_of_process = folder.starts_with("/proc/") && folder.ends_with("/fd");
  if (!is_of_process && folder != "/dev/fd") return std::nullopt;
  if (is_of_process && !folder.starts_with("/proc/" + std::to_string(getpid()) + "/")) return OpenFile{};
  // Only streams that kvplan was started with count. Its own files are closed on exec.
  const int number = std::stoi(name);
  const int flags = fcntl(number, F_GETFD);
  return OpenFile{true, flags < 0 || (flags & FD_CLOEXEC) != 0 ? -1 : number};
}

int open_to_read(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int open_in_place(const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);  // makes a limit on file sizes an error of the write
  return open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
}

int open_to_append(const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  return open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int create(const std::string& path, unsigned mode) {
  std::signal(SIGXFSZ, SIG_IGN);
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

void wait_in_calls(int file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
}

std::int64_t read(int file, char* to, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(file, to, size);
    if (got >= 0 || errno != EINTR) return got;
  }
}

bool read_at(int file, char* to, std::size_t size, std::uint64_t at) {
  while (size > 0) {
    const ssize_t got = pread(file, to, size, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    at += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) {  // a pipe that its owner does not wait for
      pollfd room{file, POLLOUT, 0};
      poll(&room, 1, -1);
      continue;
    }
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool close(int file) {
  return ::close(file) == 0;
}

bool sync(int file) {
  return fsync(file) == 0 || errno == EINVAL || errno == ENOSYS || errno == EROFS;
}

void sync_folder(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  ::close(file);
}

bool set_mode(int file, unsigned mode) {
  return fchmod(file, mode & 0777U) == 0;
}

bool set_owner(int file, const FileFacts& like) {
  struct stat status {};
  if (fstat(file, &status) != 0) return false;
  return (status.st_uid == like.owner && status.st_gid == like.group) || fchown(file, like.owner, like.group) == 0;
}

bool set_length(int file, std::uint64_t bytes) {
  return ftruncate(file, static_cast<off_t>(bytes)) == 0;
}

bool may_write(const std::string& path) {
  return access(path.c_str(), W_OK) == 0;
}

bool rename(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

bool remove_file(const std::string& path) {
  return unlink(path.c_str()) == 0;
}

bool make_own_folder(const std::string& path) {
  return mkdir(path.c_str(), 0700) == 0;
}

int lock_folder(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file >= 0) flock(file, LOCK_EX);
  return file;
}

void become(const std::string& program, const std::string& self, char* const* arguments) {
  const auto slash = self.rfind('/');
  execvp((slash == std::string::npos ? program : self.substr(0, slash + 1) + program).c_str(), arguments);
}

bool is_terminal(int file) {
  return isatty(file) == 1;
}

std::optional<int> columns(int file) {
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return size.ws_col;
}

std::string home() {
  const char* const value = std::getenv("HOME");
  return value == nullptr ? "" : value;
}

std::string plain_path(std::string path) {
  return path;
}

bool begins_with_drive(std::string_view) {
  return false;
}

}  // namespace kvplan::os
