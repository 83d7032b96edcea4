// A user's own list of GPUs as JSON: the output of `kvplan gpus --json`, edited, or the short form [{"name":
// "lab-card", "memory": "40GiB", "bandwidth": 900}].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kvplan/gpu.h"

namespace kvplan {

// Throws Error(kBadInput) for any other text.
std::vector<GpuRecord> parse_gpu_file(std::string_view text);
std::vector<GpuRecord> read_gpu_file(const std::string& path);

}  // namespace kvplan
