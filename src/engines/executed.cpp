#include "engines/executed.h"

#include "kvplan/strings.h"

namespace kvplan {

bool was_executed(std::string_view engine, const ModelShape& model) {
  // llama.cpp runs only the decoder. In other engines the class of the whole file decides, which includes its towers.
  const bool whole = engine != "llama.cpp" && !model.root_type.empty();
  const std::string_view type = whole ? model.root_type : model.model_type;
  for (std::string_view line : executed_lines().subspan(1)) {
    const std::size_t space = line.find(' ');
    if (line.substr(0, space) != engine) continue;
    const std::string_view words = line.substr(space + 1);
    if (has_word(words, type) || has_word(words, model.architecture)) return true;
  }
  return false;
}

}  // namespace kvplan
