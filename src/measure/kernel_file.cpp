#include "measure/kernel_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

namespace kvplan {

namespace {
constexpr std::size_t kMost = std::size_t{64} << 20;  // smaps of a process with a hundred thousand mappings
}

std::string kernel_file(const std::string& path) {
  std::string out;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (file == nullptr) return out;
  char piece[4096];
  while (out.size() < kMost) {
    const std::size_t got = std::fread(piece, 1, sizeof piece, file.get());
    if (got == 0) break;
    out.append(piece, got);
  }
  return out;
}

std::optional<std::string_view> next_line(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

std::string first_line_in(const std::string& path) {
  const std::string text = kernel_file(path);
  std::string_view rest = text;
  return std::string(next_line(rest).value_or(""));
}

std::optional<std::uint64_t> number_at(std::string_view text, int base) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end != text.data() ? std::optional(out) : std::nullopt;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  return number_at(first_line_in(path));
}

}  // namespace kvplan
