#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvplan {

// Limits for a text that is parsed into a tree. A value takes 16 to 180 bytes of memory, whatever its size in the file.
// An empty list or object counts twice. The largest config of a model has some 200,000 values.
struct JsonBounds {
  std::size_t depth = 64;
  std::size_t values = 500'000;
};

// The limit that the text exceeds: "nests deeper than 64 levels", "has more than 500000 values"; "" for none. It is
// checked before parsing. A parser callback that watches the depth would search the enclosing list for every object in
// it, which is quadratic in the file's size.
std::string excess_of(std::string_view json, const JsonBounds& bounds);

// Throws Error(kBadInput) for a NUL byte, which the parser would take for the end of the text.
void refuse_nul(std::string_view json);

// An object's member; null if it has none, or its value is null.
template <class Json>
const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Parses the JSON of a file that kvplan itself writes; `refuse` gets the reason, and throws.
template <class Json, class Refuse>
Json parse_own_json(std::string_view text, const JsonBounds& bounds, const Refuse& refuse) {
  refuse_nul(text);
  if (const std::string excess = excess_of(text, bounds); !excess.empty()) refuse("it " + excess);
  Json out = Json::parse(text.begin(), text.end(), nullptr, false);
  if (out.is_discarded()) refuse("it is not valid JSON");
  return out;
}

}  // namespace kvplan
