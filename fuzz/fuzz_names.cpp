// Names of models as people type them: any text names one entry of the catalogue or none, and the result of
// usual_name() does not change if it is applied again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "kvplan/strings.h"
#include "sources/catalogue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvplan;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string name = usual_name(text);
  if (name.size() > text.size() + std::string_view("ollama:").size()) __builtin_trap();
  const CatalogueName known = find_published(name);
  if (known.model == nullptr && known.is_tag) __builtin_trap();
  if (known.model != nullptr && find_published(lower(name)).model != known.model) __builtin_trap();
  if (!known.type.empty() && !name.ends_with(known.type) && !lower(name).ends_with(known.type)) __builtin_trap();
  nearest_published(name.substr(0, 200));
  return 0;
}
