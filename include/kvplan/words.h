// Lists of words separated by spaces, as the tables keep them.
#ifndef KVPLAN_WORDS_H_
#define KVPLAN_WORDS_H_

#include <cstddef>
#include <string_view>

namespace kvplan {

// Letter by letter: the lists are short, and asked by the hundred before anything is printed.
inline bool has_word(std::string_view words, std::string_view word) {
  if (word.empty()) return false;
  const char* at = words.data();
  const char* const end = at + words.size();
  while (static_cast<std::size_t>(end - at) >= word.size()) {
    std::size_t same = 0;
    while (same < word.size() && at[same] == word[same] && at[same] != ' ') ++same;
    at += same;
    if (same == word.size() && (at == end || *at == ' ')) return true;
    while (at != end && *at != ' ') ++at;
    if (at == end) return false;
    ++at;
  }
  return false;
}

}  // namespace kvplan

#endif  // KVPLAN_WORDS_H_
