#ifndef KVPLAN_FORMATS_JSON_BOUNDS_H_
#define KVPLAN_FORMATS_JSON_BOUNDS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kvplan {

// What a text may be that is parsed into a tree: a value takes 16 to 180 bytes of memory, whatever it takes in the
// file. An empty list or object counts for two. The largest config of a model has some 200,000 values.
struct JsonBounds {
  std::size_t depth = 64;
  std::size_t values = 500'000;
};

// Which bound the text breaks: "nests deeper than 64 levels", "has more than 500000 values"; "" for none. Asked
// before a parse: a callback of the parser that watches the depth costs a search of the enclosing list for each object
// in it, the square of the file's size.
std::string excess_of(std::string_view json, const JsonBounds& bounds);

// Error(kBadInput) for a NUL byte: the parser would take it for the end, whatever follows.
void refuse_nul(std::string_view json);

// The JSON of a file of kvplan's own; `refuse` throws, and is told why.
template <class Json, class Refuse>
Json parse_own_json(std::string_view text, const JsonBounds& bounds, const Refuse& refuse) {
  refuse_nul(text);
  if (const std::string excess = excess_of(text, bounds); !excess.empty()) refuse("it " + excess);
  Json out = Json::parse(text.begin(), text.end(), nullptr, false);
  if (out.is_discarded()) refuse("it is not valid JSON");
  return out;
}

}  // namespace kvplan

#endif  // KVPLAN_FORMATS_JSON_BOUNDS_H_
