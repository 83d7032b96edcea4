// The catalogue of cards.
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
  // The built-in cards and the user's own (--gpu-file); a card with a built-in name replaces that one.
  explicit GpuCatalogue(const std::vector<GpuRecord>& own = {});
  GpuCatalogue(const GpuCatalogue&) = delete;  // its cards point to its own strings
  GpuCatalogue& operator=(const GpuCatalogue&) = delete;

  // All cards but slices; the user's own first.
  std::span<const Gpu> cards() const { return rows_; }
  // A card or a slice by name or alias, ignoring case, spaces and dashes; null where unknown. It lives as long as the
  // catalogue.
  const Gpu* find(std::string_view text) const;
  // The same, or Error(kBadInput) with the nearest names.
  const Gpu& parse(std::string_view text, std::string_view option = "--gpu") const;
  // Cards of the same name in other sizes, where `text` does not say which one is meant: "a100".
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

// The built-in table alone.
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

// Slices of cards (MIG), which a program sees as cards. They are found by name alone: no search offers one, since
// nobody rents a slice in place of a card.
std::span<const Gpu> gpu_slices();
std::span<const std::string_view> gpu_lines();  // gpus.txt

}  // namespace kvplan
