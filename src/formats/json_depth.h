#ifndef KVPLAN_FORMATS_JSON_DEPTH_H_
#define KVPLAN_FORMATS_JSON_DEPTH_H_

#include <cstddef>
#include <string_view>

namespace kvplan {

// Whether brackets outside of strings nest deeper. Asked before a parse: a callback of the parser that watches the
// depth costs a search of the enclosing list for each object in it, the square of the file's size.
bool nests_deeper(std::string_view json, std::size_t most);

// Error(kBadInput) for a NUL byte: the parser would take it for the end, whatever follows.
void refuse_nul(std::string_view json);

// The JSON of a file of kvplan's own; `refuse` throws, and is told why.
template <class Json, class Refuse>
Json parse_own_json(std::string_view text, std::size_t most, const Refuse& refuse) {
  refuse_nul(text);
  if (nests_deeper(text, most)) refuse("it nests too deeply");
  Json out = Json::parse(text.begin(), text.end(), nullptr, false);
  if (out.is_discarded()) refuse("it is not valid JSON");
  return out;
}

}  // namespace kvplan

#endif  // KVPLAN_FORMATS_JSON_DEPTH_H_
