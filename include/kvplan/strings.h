// Text helpers: numbers, lists of words as the tables write them ("qwen2 qwen3"), lists in sentences, lower case.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kvplan {

// The pieces between separators, without empty ones. They point into `text`.
std::vector<std::string_view> split(std::string_view text, char separator = ' ');
// The same, including empty ones.
std::vector<std::string_view> parts_of(std::string_view text, char separator);

// Whether `words`, a list separated by spaces, contains `word`.
bool has_word(std::string_view words, std::string_view word);

// The word of a list in the order of an enumeration; "" after the last one.
std::string_view nth_word(std::size_t n, std::string_view words, char separator = ' ');
template <class Enumeration>
requires std::is_enum_v<Enumeration> std::string_view nth_word(Enumeration value, std::string_view words,
                                                               char separator = ' ') {
  return nth_word(static_cast<std::size_t>(value), words, separator);
}

// Rows of an embedded text with sections. "[section]" and a word at the start of a line stand above their rows, which
// are indented by two blanks, and what belongs to a row by four. Lines with "#" and empty lines are left out.
struct SectionRow {
  std::string_view section, word;  // "" before the first word
  std::string_view text;           // "" for the line of the word
  bool belongs = false;            // to the row before it
};
std::vector<SectionRow> section_rows(std::span<const std::string_view> lines);

// `text` without white space at its ends. Points into `text`.
std::string_view trimmed(std::string_view text);
bool is_letter_or_digit(char c);  // of ASCII

// ASCII letters in lower case; other bytes stay as they are.
std::string lower(std::string_view text);
// Letters and digits only, in lower case: "NVIDIA H100 80GB" -> "nvidiah10080gb".
std::string folded(std::string_view text);

// `text` with each of the characters written as its replacement.
std::string replaced(std::string_view text, std::initializer_list<std::pair<char, std::string_view>> replacements);

// The whole number that a text begins with; nothing if it begins with none, or with one beyond 2^64.
std::optional<std::uint64_t> whole_number(std::string_view text, int base = 10);

// The decimal number that a text begins with, as std::from_chars reads it, but without infinity and NaN. (libc++ 14 has
// no from_chars for doubles.)
std::from_chars_result parse_real(std::string_view text, double& value,
                                  std::chars_format format = std::chars_format::general);

// "a, b, c". `text_of` turns an item of the list into text.
template <class List, class TextOf = std::identity>
std::string join(const List& list, std::string_view between = ", ", TextOf text_of = {}) {
  std::string out;
  std::string_view before;
  for (const auto& item : list) {
    out += before;
    out += std::invoke(text_of, item);
    before = between;
  }
  return out;
}

// The known names nearest to an unknown one, and the remedy of an error about it.

// "did you mean vllm?" if a known word is near, otherwise "use one of vllm, ...". If several words are equally near,
// the first ones are named.
std::string nearest_remedy(std::string_view wrong, std::span<const std::string_view> known);
// The same, with words separated by spaces.
std::string nearest_remedy(std::string_view wrong, std::string_view known);
// The known words near enough to have been meant, nearest first.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> known);

// What a user may have meant by `spelling`. Several spellings may have the same name.
struct Candidate {
  std::string_view spelling;
  std::string_view name;
};

// The fewest insertions, deletions, replacements and swaps of neighbouring characters that turn `a` into `b`. Only
// letters and digits count, in any case, and only the first 64 characters of long texts.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The names nearest to `wanted`, nearest first, each once. Equally near names keep the order of `known`. A name of any
// length is near if it begins with `wanted`, or if `wanted` begins with it.
std::vector<std::string_view> nearest_names(std::string_view wanted, std::span<const Candidate> known,
                                            std::size_t count = 3);

// The digest as 64 hexadecimal digits (FIPS 180-4).
std::string sha256(std::string_view text);

// Characters of arbitrary text: which ones are valid, which ones may be printed, and how the others are written.

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no valid UTF-8 begins here
};
Character character_at(std::string_view text, std::size_t at);

void append_utf8(char32_t code, std::string& out);

// Control characters, and characters that change the order or the look of the text around them.
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
