#include "formats/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kvplan/error.h"

namespace kvplan {

namespace {

// All of a file where addresses suffice; else more than any header has.
constexpr std::uint64_t kMostMapped =
    sizeof(std::size_t) < 8 ? 64 * std::uint64_t{kMiB} : std::numeric_limits<std::uint64_t>::max();

// `out`: what was read already; `hint`: the size of all, where it is known.
std::string drain(int fd, std::string out, std::size_t hint, std::size_t limit) {
  std::size_t size = out.size();
  for (;;) {
    if (size == out.size()) out.resize(size < hint ? hint + 1 : size + std::max<std::size_t>(size, 65536));
    const ssize_t got = read(fd, out.data() + size, out.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("cannot be read (") + std::strerror(errno) + ")", "check the file");
    size += static_cast<std::size_t>(got);
    if (size > limit) fail("larger than " + std::to_string(limit >> 20) + " MiB", "check that it is the file you mean");
    if (got == 0) break;
  }
  out.resize(size);
  return out;
}

// The files that were read, so that a report is not written over one of them.
using FileId = std::pair<dev_t, ino_t>;

std::vector<FileId>& files_read() {
  static std::vector<FileId> files;
  return files;
}

void remember(int fd) {
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const FileId id{status.st_dev, status.st_ino};
  std::vector<FileId>& files = files_read();
  if (files.empty() || files.back() != id) files.push_back(id);
}

// A device may have no end, or wait for ever; a terminal has somebody who types.
void refuse_device(int fd, const struct stat& status) {
  if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && isatty(fd) != 1))
    fail("is a device, no file", "name a file");
}

// The first bytes of a pipe with a name, which was opened without waiting: one that nobody writes to would be waited
// for without end. One that has a writer may take its time, as standard input may: `kvplan <(curl ...)`.
std::string first_of_pipe(int fd) {
  constexpr int kTries = 20;
  constexpr int kEach = 50;  // milliseconds
  std::string out(4096, '\0');
  for (int i = 0; i < kTries; ++i) {
    const ssize_t got = read(fd, out.data(), out.size());
    if (got != 0) {
      out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
      return out;
    }
    poll(nullptr, 0, kEach);
  }
  fail("a pipe that nobody writes to", "name a file, or write to the pipe");
}

}  // namespace

Descriptor::Descriptor(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  remember(fd_);
}

Descriptor::~Descriptor() {
  if (fd_ > 2) close(fd_);
}

void fail_to_open() {
  fail(std::string("cannot be opened (") + std::strerror(errno) + ")", "check the path");
}

std::string read_file(const std::string& path, std::size_t limit) {
  const Descriptor file(path);
  if (!file.is_open()) fail_to_open();
  struct stat status {};
  const bool known = fstat(file.get(), &status) == 0;
  if (known) refuse_device(file.get(), status);
  std::string head = known && S_ISFIFO(status.st_mode) ? first_of_pipe(file.get()) : "";
  fcntl(file.get(), F_SETFL, 0);
  std::size_t size = 0;
  if (known && S_ISREG(status.st_mode)) {
    size = static_cast<std::size_t>(status.st_size);
    if (size > limit) fail("larger than " + std::to_string(limit >> 20) + " MiB", "check that it is the file you mean");
  }
  return drain(file.get(), std::move(head), size, limit);
}

std::string read_stdin(std::size_t limit) {
  remember(STDIN_FILENO);
  return drain(STDIN_FILENO, "", 0, limit);
}

void read_pieces(const std::string& path, const std::function<void(std::string_view)>& take) {
  const bool is_stdin = path == "-";
  const Descriptor file(is_stdin ? "/dev/null" : path);
  if (!file.is_open()) fail_to_open();
  const int fd = is_stdin ? STDIN_FILENO : file.get();
  remember(fd);
  struct stat status {};
  if (!is_stdin && fstat(fd, &status) == 0) {
    refuse_device(fd, status);
    if (S_ISFIFO(status.st_mode)) take(first_of_pipe(fd));
    fcntl(fd, F_SETFL, 0);
  }
  std::string piece(std::size_t{64} << 10, '\0');
  for (;;) {
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("cannot be read (") + std::strerror(errno) + ")", "check the file");
    if (got == 0) return;
    take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
  }
}

bool was_read(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  const std::vector<FileId>& files = files_read();
  return std::find(files.begin(), files.end(), FileId{status.st_dev, status.st_ino}) != files.end();
}

std::string random_name() {
  std::random_device source;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x%08x", source(), source());
  return digits.data();
}

Mapping::Mapping(const std::string& path) {
  const Descriptor file(path);
  if (!file.is_open()) fail_to_open();
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    fail("is not a regular file", "give the path of a *.gguf file");
  file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  size_ = static_cast<std::size_t>(std::min(file_bytes_, kMostMapped));
  void* address = size_ == 0 ? nullptr : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) {
    size_ = 0;
    fail(std::string("cannot be mapped (") + std::strerror(errno) + ")", "check the file");
  }
  begin_ = static_cast<std::byte*>(address);
}

Mapping::~Mapping() {
  if (begin_ != nullptr) munmap(begin_, size_);
}

void Mapping::release(const std::byte* begin, const std::byte* end) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Alignment is a matter of the address, which only this cast gives.
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto last = reinterpret_cast<std::uintptr_t>(end) / page * page;
  // The pages are clean copies of the file: dropped, they are read again when somebody looks.
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

}  // namespace kvplan
