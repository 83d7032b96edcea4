// The catalogue of GPUs.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/gpu.h"

namespace kvplan {

class GpuCatalogue {
 public:
  // The built-in GPUs and the user's own (--gpu-file). A GPU of the user with a built-in name replaces the built-in
  // one.
  explicit GpuCatalogue(const std::vector<GpuRecord>& own = {});
  GpuCatalogue(const GpuCatalogue&) = delete;  // its GPUs point to its own strings
  GpuCatalogue& operator=(const GpuCatalogue&) = delete;

  // All GPUs except slices, the user's own first.
  std::span<const Gpu> cards() const { return rows_; }
  // A GPU or a slice by name or alias, ignoring case, spaces and dashes; null if unknown. It lives as long as the
  // catalogue.
  const Gpu* find(std::string_view text) const;
  // As `find`, but throws Error(kBadInput) with the nearest names.
  const Gpu& parse(std::string_view text, std::string_view option = "--gpu") const;
  // GPUs of that name with other memory sizes, if `text` names no size: "a100".
  std::vector<std::string_view> other_sizes(std::string_view text) const;

 private:
  struct Own {
    GpuRecord record;
    std::string aliases;
  };
  std::vector<Own> own_;
  std::vector<Gpu> rows_;
  std::map<std::string_view, const Gpu*> names_;                // as written
  std::map<std::string, const Gpu*, std::less<>> known_names_;  // names and aliases, in small letters and digits
};

// Only the built-in table.
const GpuCatalogue& built_in_catalogue();
inline std::span<const Gpu> gpus() {
  return built_in_catalogue().cards();
}
inline const Gpu* find_gpu(std::string_view text) {
  return built_in_catalogue().find(text);
}
inline const Gpu& parse_gpu(std::string_view text) {
  return built_in_catalogue().parse(text);
}

// Slices of GPUs (MIG). A program sees a slice as a GPU. They are only found by name: no search offers one, because
// nobody rents a slice instead of a GPU.
std::span<const Gpu> gpu_slices();
std::span<const std::string_view> gpu_lines();  // gpus.txt

}  // namespace kvplan
