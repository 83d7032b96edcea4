// Counts, tokens and bytes as different types with checked arithmetic: an overflow is an error that names what
// overflowed. Dimensionless counts (heads, widths, layers) stay plain uint64_t.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvplan {

// a * b, a + b, a - b; throw Error(kBadInput) that names `what` if the result does not fit 64 bits.
std::uint64_t checked_mul(std::uint64_t a, std::uint64_t b, std::string_view what);
std::uint64_t checked_add(std::uint64_t a, std::uint64_t b, std::string_view what);
// a - b with its sign. Throws Error if it does not fit in 63 bits.
std::int64_t signed_difference(std::uint64_t a, std::uint64_t b);
// value * factor (0 or more), rounded down.
std::uint64_t checked_scale(std::uint64_t value, double factor, std::string_view what);
std::uint64_t checked_sub(std::uint64_t a, std::uint64_t b, std::string_view what);

// ceil(a / b) and a rounded up to a multiple of b; b > 0.
constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}
std::uint64_t round_up(std::uint64_t a, std::uint64_t b, std::string_view what);

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;
inline constexpr std::uint64_t kTiB = 1024 * kGiB;

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::uint64_t count) : count_(count) {}
  constexpr std::uint64_t count() const { return count_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend Quantity operator+(Quantity a, Quantity b) { return Quantity(checked_add(a.count_, b.count_, Tag::kName)); }
  friend Quantity operator-(Quantity a, Quantity b) { return Quantity(checked_sub(a.count_, b.count_, Tag::kName)); }
  friend Quantity operator*(Quantity a, std::uint64_t n) { return Quantity(checked_mul(a.count_, n, Tag::kName)); }
  friend Quantity operator*(std::uint64_t n, Quantity a) { return a * n; }
  Quantity& operator+=(Quantity other) { return *this = *this + other; }

 private:
  std::uint64_t count_ = 0;
};

struct TokensTag {
  static constexpr std::string_view kName = "a number of tokens";
};
struct ElementsTag {
  static constexpr std::string_view kName = "a number of elements";
};
struct BytesTag {
  static constexpr std::string_view kName = "a number of bytes";
};

using Tokens = Quantity<TokensTag>;
using Elements = Quantity<ElementsTag>;
using Bytes = Quantity<BytesTag>;

// Quantities for sentences: reasons, notes, errors. Tables and JSON have their own formats.

// "24.00 GiB", always GiB.
std::string format_gib(Bytes bytes);
// "24.00 GiB", "1.5 MiB", "17.0 KiB", "12 bytes": in a unit that shows small differences.
std::string format_bytes(Bytes bytes);
// The same in GiB or MiB, rounded up, for a size that a user passes as an option.
std::string format_bytes_up(Bytes bytes);
// "1 sequence", "8 sequences".
std::string counted(std::uint64_t n, std::string_view word);

}  // namespace kvplan
