#include "formats/own_files.h"

#include <nlohmann/json.hpp>

#include "formats/json_bounds.h"

namespace kvplan {

std::optional<std::vector<std::string>> paths_in(std::string_view page) {
  if (!excess_of(page, {8}).empty()) return std::nullopt;
  const auto list = nlohmann::json::parse(page.data(), page.data() + page.size(), nullptr, false);
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> out;
  for (const auto& entry : list) {
    if (!entry.is_object()) continue;
    const auto path = entry.find("path");
    if (path != entry.end() && path->is_string()) out.push_back(path->get_ref<const std::string&>());
  }
  return out;
}

std::string sizes_text(const KeptSizes& sizes) {
  return nlohmann::json{{"weight_bytes", sizes.weight_bytes},
                        {"file_bytes", sizes.file_bytes},
                        {"gguf", sizes.gguf},
                        {"gguf_path", sizes.gguf_path}}
      .dump();
}

}  // namespace kvplan
