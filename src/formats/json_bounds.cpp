#include "formats/json_bounds.h"

#include "kvplan/error.h"

namespace kvplan {

std::string excess_of(std::string_view json, const JsonBounds& bounds) {
  std::size_t depth = 0;
  // Outside strings, every value except the first has a bracket or a comma before it.
  std::size_t values = 1;
  for (std::size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '"':
        for (++i; i < json.size() && json[i] != '"'; ++i)
          if (json[i] == '\\') ++i;
        continue;
      case '[':
      case '{':
        if (++depth > bounds.depth) return "nests deeper than " + std::to_string(bounds.depth) + " levels";
        ++values;
        break;
      case ',': ++values; break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        continue;
      default: continue;
    }
    if (values > bounds.values) return "has more than " + std::to_string(bounds.values) + " values";
  }
  return "";
}

void refuse_nul(std::string_view json) {
  if (json.find('\0') != std::string_view::npos) fail("not valid JSON (a NUL byte)", "give a whole file, in UTF-8");
}

}  // namespace kvplan
