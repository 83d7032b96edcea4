// What a hub sends besides a config and headers: a list of files, and an index. Any bytes become paths within the
// repository, or an Error of one line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "answer.h"
#include "formats/safetensors.h"
#include "kvplan/error.h"
#include "sources/hub_http.h"

namespace {

using kvplan::fuzz::answer;
using namespace kvplan;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  answer([&] {
    const std::vector<std::string> paths = gguf_paths({text});
    const std::string chosen = choose_gguf(paths, "q4_k_m");
    if (chosen.empty()) return;
    const std::vector<std::string> files = files_of_set(chosen);
    if (files.empty() || files.front() != chosen) __builtin_trap();
  });
  answer([&] {
    for (const std::string& name : parse_safetensors_index(text).files)
      if (name.empty() || name == "." || name == ".." || name.size() > 255 ||
          name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
        __builtin_trap();
  });
  return 0;
}
