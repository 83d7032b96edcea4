// Reads a JSON plan that kvplan wrote earlier, for `kvplan diff`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvplan {

// What `diff` compares: named values in the order of the report.
struct PlanDigest {
  std::string source;                                       // the file
  std::vector<std::pair<std::string, std::string>> config;  // key and value of the model, as JSON text
  std::vector<std::pair<std::string, std::string>> request;
  std::vector<std::pair<std::string, std::uint64_t>> memory;  // parts, summed over all GPUs: "weights", "kv_cache" ...
  std::uint64_t total = 0;
  std::uint64_t fullest = 0;  // the total of the fullest GPU
  std::uint64_t bytes_per_token = 0;
  std::string verdict;
  // What fits on the GPU: "tokens", "max_model_len" and "max_num_seqs", if the plan has them.
  std::vector<std::pair<std::string, std::uint64_t>> capacity;
  std::string model_file;  // "" if the model is not a file
};

// Throws Error(kBadInput) for text that is not a plan, or a plan with another schema version.
PlanDigest parse_plan(std::string_view text, std::string_view source);
PlanDigest load_plan(const std::string& path);
// Whether a file is a report by kvplan rather than a model's config.
bool is_report(const std::string& path);

}  // namespace kvplan
