// A file mapped for reading.
#ifndef KVPLAN_FORMATS_MAPPING_H_
#define KVPLAN_FORMATS_MAPPING_H_

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace kvplan {

class Mapping {
 public:
  // Throws Error(kBadInput) where the path is no regular file that can be read. An empty file maps to nothing.
  explicit Mapping(const std::string& path);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(size_, other.size_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return {begin_, size_}; }
  // The whole pages between these will not be needed soon. They stay readable.
  static void release(const std::byte* begin, const std::byte* end);

 private:
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kvplan

#endif  // KVPLAN_FORMATS_MAPPING_H_
