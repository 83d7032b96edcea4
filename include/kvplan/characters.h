// Characters of a text that may be anything: which are valid, which may be printed, and how the others are written.
#ifndef KVPLAN_CHARACTERS_H_
#define KVPLAN_CHARACTERS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kvplan {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no valid UTF-8 begins here
};
Character character_at(std::string_view text, std::size_t at);

// Controls, and what changes the order or the look of the text beside it.
bool is_hidden(char32_t code);

// How many bytes of a token of the Hub begin the text; 0 where none does.
std::size_t token_bytes(std::string_view text);
// What is printed in its place.
inline constexpr std::string_view kHiddenToken = "hf_***";

// A string of JSON, in its quotes, that YAML reads as the same: hidden characters are escaped, and what is no UTF-8
// becomes the replacement character.
std::string json_string(std::string_view text);
// A whole text of JSON, in which hidden characters stand in strings alone, line ends aside: they are escaped there.
// What looks like a token of the Hub is not repeated.
std::string printable_json(std::string_view json);

}  // namespace kvplan

#endif  // KVPLAN_CHARACTERS_H_
