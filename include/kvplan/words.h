// Lists of words separated by spaces, as the tables keep them.
#ifndef KVPLAN_WORDS_H_
#define KVPLAN_WORDS_H_

#include <string_view>

namespace kvplan {

inline bool has_word(std::string_view words, std::string_view word) {
  if (word.empty()) return false;
  for (std::string_view rest = words; !rest.empty();) {
    const auto space = rest.find(' ');
    if (rest.substr(0, space) == word) return true;
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
  return false;
}

}  // namespace kvplan

#endif  // KVPLAN_WORDS_H_
