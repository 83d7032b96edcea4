// Storage types of a cache. Only here do terms become bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvplan/quantity.h"
#include "kvplan/terms.h"

namespace kvplan {

enum class Dtype : std::uint8_t {
  kFloat32,
  kFloat16,
  kBfloat16,
  kFp8E4m3,
  kFp8E5m2,
  kFp8PerTokenHead,
  kFp8DsMla,
  kInt8,
  kInt4,
  kNvfp4,
  kTurboquantK8V4,
  kTurboquant4bit,
  kTurboquantK3V4,
  kTurboquant3bit,
  kQ8_0,
  kQ5_1,
  kQ5_0,
  kQ4_1,
  kQ4_0,
  kIq4Nl,
  kMxfp8,
};

// How one vector (or, for llama.cpp's block types, one row of all units) becomes bytes:
// ceil(elements * block_bytes / block) + extra.
struct PackRule {
  std::uint64_t block = 1;        // elements of a block
  std::uint64_t block_bytes = 1;  // bytes of a block
  std::uint64_t extra = 0;        // bytes of each vector in addition to its elements (scales, zero points)
  bool over_row = false;          // blocks extend over all units of the row, as ggml packs them
};

struct DtypeInfo {
  Dtype id;
  std::string_view name;     // as reports spell it
  std::string_view aliases;  // what users type, separated by spaces
  PackRule key, value;
  bool kv_only;  // a cache layout only; no model computes in it
  std::string_view note;
};

// The table behind look-up, `kvplan dtypes` and the help.
std::span<const DtypeInfo> dtypes();
const DtypeInfo& info(Dtype type);
inline std::string_view name(Dtype type) {
  return info(type).name;
}

// By name or alias, ignoring case, with or without "torch."; nothing if unknown.
std::optional<Dtype> find_dtype(std::string_view text);
// As `find_dtype`, but throws Error(kBadInput) that names `option` and lists the known types.
Dtype parse_dtype(std::string_view text, std::string_view option);
// Bytes of one element if the type has no blocks or scales (float32, bfloat16, fp8_e4m3 ...); 0 if it has some.
std::uint64_t plain_bytes(Dtype type);
// Mean bytes per element of a vector of `width`.
double bytes_per_element(const PackRule& rule, std::uint64_t width);

// The types that a plan chose for a model's cache.
struct CacheTypes {
  Dtype key = Dtype::kBfloat16;
  Dtype value = Dtype::kBfloat16;
  Dtype state = Dtype::kBfloat16;  // recurrent state
  Dtype model = Dtype::kBfloat16;  // convolution state, and whatever has the model's own type
  friend bool operator==(const CacheTypes&, const CacheTypes&) = default;
};

// The types of keys and values as reports name them: "float16", "q8_0/q4_0".
std::string cache_types_name(const CacheTypes& types);

// The type that `term` is stored in (float32 and scaled FP8 terms have their own).
Dtype term_dtype(const Term& term, const CacheTypes& types);
// The same, as reports name it: "bfloat16", "fp8_e4m3+scale".
std::string term_dtype_name(const Term& term, const CacheTypes& types);

// Bytes of one entry of the term with `units` of its units (a rank's part, or term.shape.units for all) and
// `columns_kept` convolution columns (ignored if the term has none). Throws Error(kBadInput) if the type cannot store
// the term (fp8_ds_mla in a layer without MLA).
Bytes entry_bytes(const Term& term, const CacheTypes& types, std::uint64_t units, std::uint64_t columns_kept);
// As above, for the whole term and columns - 1.
Bytes entry_bytes(const Term& term, const CacheTypes& types);

}  // namespace kvplan
