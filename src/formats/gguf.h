// The GGUF container: metadata by key, and the list of tensors. Only the header is read.
//
//   "GGUF" | u32 version | u64 tensors | u64 keys | keys x {string key, u32 type, value}
//   | tensors x {string name, u32 dims, u64 dim[dims], u32 type, u64 offset} | padding | data
//
// Files are untrusted: every length is checked against the rest of the file before it is used, and no allocation is
// proportional to a number that the header merely claims. Arrays of strings (a vocabulary of 260k tokens) are skipped,
// not stored. Files are read in pieces and not mapped, so a file that is cut short meanwhile is an error and not a
// signal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// For all files of a set. A vocabulary of 260,000 tokens and its merges take 16 MiB.
inline constexpr std::size_t kMaxGgufHeader = 64 * kMiB;

struct GgufTensor {
  std::string_view name;  // valid as long as the Gguf
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};
  std::uint32_t num_dims = 0;
  std::uint32_t type = 0;    // kvplan/ggml_types.h
  std::uint64_t offset = 0;  // from the start of the shard's data
  std::uint32_t shard = 0;

  std::span<const std::uint64_t> shape() const { return {dims.data(), num_dims}; }
};

// Copies of what a Gguf needs from its files. Their addresses do not change.
using GgufStore = std::deque<std::string>;

class Gguf {
 public:
  // Reads the header in `bytes`, which are a whole file and must outlive this object. Throws Error(kBadInput).
  static Gguf parse(std::span<const std::byte> bytes);
  // For files of which only the beginnings are available: one file, or a split set in order. The bytes must outlive
  // this object. Throws Error(kBadInput), also if a header continues beyond its bytes.
  struct Beginning {
    std::span<const std::byte> bytes;
    std::uint64_t file_bytes = 0;
  };
  static Gguf parse(std::span<const Beginning> parts);
  // Opens a file, or all files of a split set if `path` is one of them. `file_bytes` is the length of the file if only
  // its beginning is on disk. Throws Error(kBadInput).
  static Gguf open(const std::string& path, std::uint64_t file_bytes = 0);

  bool contains(std::string_view key) const { return find(key) != nullptr; }
  bool is_array(std::string_view key) const;
  // Each returns nothing if the key is absent, and throws Error(kBadInput) with the key if the value has another type.
  // A count is any integer that is not negative, or, in an array, a bool.
  std::optional<std::uint64_t> count(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  // Any number, or 0 and 1 for a bool; nothing for another value.
  std::optional<double> real(std::string_view key) const;
  std::optional<std::vector<std::uint64_t>> counts(std::string_view key) const;
  // Elements of an array of any kind.
  std::optional<std::uint64_t> length(std::string_view key) const;
  std::vector<std::string_view> keys() const;  // sorted

  // In the order of the file, shard after shard. Offsets and sizes are within their files.
  std::span<const GgufTensor> tensors() const { return tensors_; }
  bool has_tensor(std::string_view name) const;
  // Bytes from the start of the (first) file to the end of its list of tensors.
  std::uint64_t header_bytes() const { return header_bytes_; }

  std::uint32_t version() const { return version_; }
  bool big_endian() const { return big_endian_; }

 private:
  struct Entry {
    std::string_view key;
    std::uint32_t type = 0;
    std::uint32_t element = 0;  // type number of an array's elements
    std::uint64_t length = 0;   // of an array or a string
    const std::byte* value = nullptr;
  };

  const Entry* find(std::string_view key) const;
  std::uint64_t integer(const Entry& entry, std::uint32_t type, const std::byte* at) const;
  // Totals over the files of a set, so far.
  struct Walked {
    std::uint64_t keys = 0, strings = 0, bytes = 0;
  };
  static Gguf parse_one(class GgufCursor& cursor, std::uint64_t file_bytes, Walked& walked);
  void read_tensors(GgufCursor& cursor, std::uint64_t count, std::uint64_t file_bytes);
  void add_shard(Gguf&& shard, std::uint64_t number);
  void check_part(std::uint64_t number, std::uint64_t count) const;
  void check_set() const;
  void check_names() const;

  std::shared_ptr<const GgufStore> store_;  // nothing if the caller has the bytes
  std::vector<Entry> entries_;              // sorted by key
  std::vector<GgufTensor> tensors_;
  std::uint64_t header_bytes_ = 0;
  std::uint32_t version_ = 0;
  bool big_endian_ = false;
};

}  // namespace kvplan
