#include "sources/token_echo.h"

#include <string>

#include "sources/hub_id.h"

namespace kvplan {

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
