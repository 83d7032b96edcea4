// A fuzzer's bytes, or a random generator's, as numbers from which to build inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvplan::fuzz {

// Small numbers from the input; zeros when it is used up.
class Source {
 public:
  Source(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}
  std::uint64_t below(std::uint64_t limit) {
    std::uint64_t value = 0;
    for (int i = 0; i < 2 && !bytes_.empty(); ++i) {
      value = value << 8 | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return value % limit;
  }
  std::uint64_t from(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace kvplan::fuzz
