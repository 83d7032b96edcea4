#include "formats/json_depth.h"

#include "kvplan/error.h"

namespace kvplan {

bool nests_deeper(std::string_view json, std::size_t most) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '"':
        for (++i; i < json.size() && json[i] != '"'; ++i)
          if (json[i] == '\\') ++i;
        break;
      case '[':
      case '{':
        if (++depth > most) return true;
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      default: break;
    }
  }
  return false;
}

void refuse_nul(std::string_view json) {
  if (json.find('\0') != std::string_view::npos) fail("not valid JSON (a NUL byte)", "give a whole file, in UTF-8");
}

}  // namespace kvplan
