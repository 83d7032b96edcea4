// A short text that lies in its own place. A table of string_views is a table of pointers, and every start of the
// program writes each page of them anew, asked for or not; rows of Text are read where the file has them.
#ifndef KVPLAN_TEXT_H_
#define KVPLAN_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvplan {

// Of no more than `kMost` letters; a longer one does not compile.
template <std::size_t kMost>
class Text {
 public:
  template <std::size_t kSize>
  constexpr Text(const char (&text)[kSize]) : size_(kSize - 1) {
    static_assert(kSize - 1 <= kMost && kMost < 256);
    for (std::size_t i = 0; i + 1 < kSize; ++i) letters_[i] = text[i];
  }
  constexpr operator std::string_view() const { return {letters_, size_}; }
  friend constexpr bool operator==(const Text& a, std::string_view b) { return std::string_view(a) == b; }

 private:
  char letters_[kMost] = {};
  std::uint8_t size_;
};

}  // namespace kvplan

#endif  // KVPLAN_TEXT_H_
