// Texts and lists of words, as a command line has them.
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

using Words = std::vector<std::string>;

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline Words words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

// Each word, followed by a blank.
inline std::string text_of(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += word + " ";
  return out;
}

}  // namespace kvplan
