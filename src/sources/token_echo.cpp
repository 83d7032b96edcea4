#include "sources/token_echo.h"

#include <string>

#include "kvplan/numbers.h"

namespace kvplan {

namespace {

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view digits = text.substr(at + 1, 2);
    const bool is_escape = text[at] == '%' && digits.size() == 2 &&
                           digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    out += is_escape ? static_cast<char>(whole_number(digits, 16).value_or(0)) : text[at];
    if (is_escape) at += 2;
  }
  return out;
}

}  // namespace

bool contains_token(std::string_view text, std::string_view token) {
  if (token.empty()) return false;
  if (text.find(token) != std::string_view::npos) return true;
  if (text.find('%') == std::string_view::npos) return false;
  // Decoded in overlapping pieces, so that the copies stay small.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t at = 0; at < text.size(); at += kPiece)
    if (percent_decoded(text.substr(at, kPiece + 3 * token.size())).find(token) != std::string::npos) return true;
  return false;
}

}  // namespace kvplan
