#include "input/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kvplan/error.h"

namespace kvplan {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > 2) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// `hint`: the size, where it is known.
std::string drain(int fd, std::size_t hint, std::size_t limit) {
  std::string out;
  std::size_t size = 0;
  for (;;) {
    if (size == out.size()) out.resize(size == 0 && hint > 0 ? hint + 1 : size + std::max<std::size_t>(size, 65536));
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

}  // namespace

std::string read_file(const std::string& path, std::size_t limit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(std::string("cannot be opened (") + std::strerror(errno) + ")", "check the path");
  struct stat status {};
  if (fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    if (static_cast<std::size_t>(status.st_size) > limit)
      fail("larger than " + std::to_string(limit >> 20) + " MiB", "check that it is the file you mean");
    return drain(file.get(), static_cast<std::size_t>(status.st_size), limit);
  }
  return drain(file.get(), 0, limit);
}

std::string read_stdin(std::size_t limit) {
  return drain(STDIN_FILENO, 0, limit);
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
