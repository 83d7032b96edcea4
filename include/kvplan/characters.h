// Characters of arbitrary text: which are valid, which may be printed, and how the others are written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvplan {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no valid UTF-8 begins here
};
Character character_at(std::string_view text, std::size_t at);

void append_utf8(char32_t code, std::string& out);

// Control characters, and those that change the order or the look of the text around them.
bool is_hidden(char32_t code);

// The length in bytes of a Hub token (hf_...) at the start of the text; 0 if there is none.
std::size_t token_bytes(std::string_view text);
// Printed in place of a token.
inline constexpr std::string_view kHiddenToken = "hf_***";

// A JSON string with its quotes, which YAML reads in the same way: hidden characters are escaped, and invalid UTF-8
// becomes the replacement character.
std::string json_string(std::string_view text);
// A whole JSON text with the hidden characters in its strings escaped (outside of strings only line ends may occur).
// Anything that looks like a Hub token is replaced by kHiddenToken.
std::string printable_json(std::string_view json);

}  // namespace kvplan
