// kvplan's own files: calibrations, a user's list of GPUs, plans to compare, the catalogue, the Hub's lists and sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvplan/calibration.h"
#include "kvplan/gpu.h"

namespace kvplan {

// A calibration file that --save-calibration wrote. Throws Error(kBadInput) for text that is not one.
Calibration parse_calibration(std::string_view text);
Calibration load_calibration(const std::string& path);  // the same, with the source set

// The path of the user's own calibration: $XDG_CONFIG_HOME/kvplan/calibration.json, else
// ~/.config/kvplan/calibration.json; "" if neither folder is known.
std::string default_calibration_path();

// The calibration that --calibration names: a file, "none", or "" for the default file if it exists. Null if there is
// none.
std::shared_ptr<const Calibration> choose_calibration(const std::string& named);

// A user's own list of GPUs as JSON: the output of `kvplan gpus --json`, edited, or the short form [{"name":
// "lab-card", "memory": "40GiB", "bandwidth": 900}].

// Throws Error(kBadInput) for any other text.
std::vector<GpuRecord> parse_gpu_file(std::string_view text);
std::vector<GpuRecord> read_gpu_file(const std::string& path);

// Reads a plan that kvplan wrote as JSON, for `kvplan diff`.

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

// Config files as the catalogue of models stores them: each one as its difference from another.

struct PublishedFiles {
  std::string config, hf_quant_config;  // JSON; "" if the checkpoint has no such file
};

// Merges `differences`, which scripts/published.py wrote, the first one from nothing. "$7" is the key keys[7].
PublishedFiles merged_files(std::span<const std::string_view> differences, std::span<const std::string_view> keys);

// The Hub's small JSON files: its list of a repository's files, and the sizes that the cache keeps next to a model.

// The paths of one page of the list; nothing if it is not a list.
std::optional<std::vector<std::string>> paths_in(std::string_view page);

// {"weight_bytes": N, "file_bytes": N, "gguf": [N, ...], "gguf_path": PATH}: bytes of the tensors, of the files, of
// each part.
struct KeptSizes {
  std::uint64_t weight_bytes = 0, file_bytes = 0;
  std::vector<std::uint64_t> gguf;
  std::string gguf_path;
};
std::string sizes_text(const KeptSizes& sizes);

}  // namespace kvplan
