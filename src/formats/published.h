// Config files as the catalogue of models keeps them: each by its difference from another one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvplan {

struct PublishedFiles {
  std::string config, hf_quant_config;  // JSON; "" if the checkpoint has no such file
};

// Merges `differences`, which scripts/published.py wrote, the first one from nothing. "$7" is the key keys[7].
PublishedFiles merged_files(std::span<const std::string_view> differences, std::span<const std::string_view> keys);

}  // namespace kvplan
