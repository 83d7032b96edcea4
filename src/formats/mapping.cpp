#include "formats/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "kvplan/error.h"

namespace kvplan {

Mapping::Mapping(const std::string& path) {
  // Without O_NONBLOCK a named pipe would wait here for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail(std::string("cannot be opened (") + std::strerror(errno) + ")", "check the path");
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    fail("is not a regular file", "give the path of a *.gguf file");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* address = size_ == 0 ? nullptr : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  close(fd);
  if (address == MAP_FAILED) {
    size_ = 0;
    fail(std::string("cannot be mapped (") + std::strerror(error) + ")", "check the file");
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

}  // namespace kvplan
