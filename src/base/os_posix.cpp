#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/os.h"

namespace kvplan::os {

namespace {

FileFacts facts_in(const struct stat& status) {
  FileFacts out;
  const auto mode = status.st_mode;
  out.kind = S_ISREG(mode)                    ? FileKind::kRegular
             : S_ISDIR(mode)                  ? FileKind::kFolder
             : S_ISFIFO(mode)                 ? FileKind::kPipe
             : S_ISBLK(mode) || S_ISCHR(mode) ? FileKind::kDevice
                                              : FileKind::kOther;
  out.bytes = static_cast<std::uint64_t>(status.st_size);
  out.mode = mode & 0777U;
  out.id = {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
  return out;
}

}  // namespace

void prepare_streams() {
  // A closed pipe (`| head`) is the reader's choice and no error: the default action ends the process quietly.
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

int open_to_read(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int open_in_place(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
}

int create(const std::string& path, unsigned mode) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes becomes an error of the write
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

void wait_in_calls(int file) {
  fcntl(file, F_SETFL, 0);
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

void* map(int file, std::size_t bytes) {
  void* const begin = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (begin == MAP_FAILED) return nullptr;
#ifdef MADV_NOHUGEPAGE
  madvise(begin, bytes, MADV_NOHUGEPAGE);  // a header is read a little at a time
#endif
  return begin;
}

void unmap(void* begin, std::size_t bytes) {
  munmap(begin, bytes);
}

void release_pages(const void* begin, const void* end) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Alignment is a property of the address, which only this cast gives.
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto last = reinterpret_cast<std::uintptr_t>(end) / page * page;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
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
