#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kvplan {

std::string gib_number(Bytes bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes.count()) / kGiB);
}

std::string gib(Bytes bytes) {
  return gib_number(bytes) + " GiB";
}

std::string human_bytes(Bytes bytes) {
  const auto count = static_cast<double>(bytes.count());
  if (bytes.count() < 100000) return grouped(bytes.count()) + " B";
  if (count < kMiB) return fmt::format("{:.1f} KiB", count / kKiB);
  if (count < kGiB) return fmt::format("{:.1f} MiB", count / kMiB);
  return gib(bytes);
}

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string tokens_text(std::uint64_t tokens) {
  if (tokens >= (1U << 20) && tokens % (1U << 20) == 0) return std::to_string(tokens >> 20) + "M";
  if (tokens >= 1024 && tokens % 1024 == 0) return std::to_string(tokens >> 10) + "k";
  return grouped(tokens);
}

std::string plural(std::uint64_t n, std::string_view word) {
  return fmt::format("{} {}{}", grouped(n), word, n == 1 ? "" : "s");
}

std::string tinted(std::string_view text, Tint tint, bool color) {
  if (!color || tint == Tint::kNone) return std::string(text);
  constexpr std::string_view kCodes[] = {"0", "1", "2", "31", "32", "33", "34", "35", "36"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(tint)], text);
}

std::size_t text_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++width;
  return width;
}

std::string columns(const std::vector<std::vector<std::string>>& rows, std::uint64_t right, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c >= widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], text_width(row[c]));
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - text_width(row[c]), ' ');
      const bool aligns_right = (right >> c & 1U) != 0;
      if (c > 0) line += "  ";
      line += aligns_right ? pad + row[c] : row[c] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string columns_within(std::vector<std::vector<std::string>> rows, std::uint64_t right, std::string_view indent,
                           std::size_t width, const std::vector<std::size_t>& drop) {
  std::vector<std::size_t> kept;
  for (std::size_t c = 0; c < rows.front().size(); ++c) kept.push_back(c);
  const auto total = [&] {
    std::size_t out = text_width(indent);
    for (const std::size_t c : kept) {
      std::size_t most = 0;
      for (const auto& row : rows)
        if (c < row.size()) most = std::max(most, text_width(row[c]));
      out += most + (c == kept.front() ? 0 : 2);
    }
    return out;
  };
  for (const std::size_t c : drop)
    if (total() > width) std::erase(kept, c);
  std::uint64_t aligned = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) aligned |= (right >> kept[i] & 1U) << i;
  for (auto& row : rows) {
    std::vector<std::string> cells;
    for (const std::size_t c : kept)
      if (c < row.size()) cells.push_back(std::move(row[c]));
    row = std::move(cells);
  }
  return columns(rows, aligned, indent);
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t at = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t space = rest.find(' ');
    const std::string_view word = rest.substr(0, space);
    const std::size_t wide = text_width(word);
    if (at > 2 && at + 1 + wide > width) {
      out += "\n  ";
      at = 2;
    } else if (!out.empty()) {
      out += ' ';
      ++at;
    }
    out += word;
    at += wide;
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
  return out;
}

std::string end_of(std::string_view text, std::size_t width) {
  if (text_width(text) <= width || width < 8) return std::string(text);
  std::size_t at = text.size();
  for (std::size_t kept = 0; at > 0 && kept < width - 3;) {
    --at;
    if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U) ++kept;
  }
  return "..." + std::string(text.substr(at));
}

}  // namespace kvplan
