// safetensors: a file's header (length, then JSON) has every tensor's type, shape and place, so the exact bytes of a
// checkpoint are known without reading its data.
//
//   u64 little endian: header bytes | header: {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...} | data
//
// Files are untrusted: the header must be within the file, every tensor within its data, and no tensor over another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

struct SafeTensor {
  std::string_view name;   // valid during the call
  std::string_view dtype;  // "BF16", "F8_E4M3"
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  std::uint64_t rows = 1;  // the first number of its shape
};
using TensorVisitor = std::function<void(const SafeTensor&)>;

// The format allows headers of 100 MB; the longest known are a tenth of that.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 64 * kMiB;
inline constexpr std::uint64_t kMaxSafetensorsTensors = 1 << 19;  // of one file
// For all files of a checkpoint. 512 experts in 94 layers, quantized in groups, have 577,000 tensors in 92 MB.
inline constexpr std::uint64_t kMaxCheckpointHeaders = 128 * kMiB;
inline constexpr std::uint64_t kMaxCheckpointTensors = 1 << 20;
inline constexpr std::uint64_t kMaxCheckpointFiles = 10'000;
inline constexpr std::uint64_t kMaxIndexBytes = 64 * kMiB;

// Parses the JSON of a header whose file has `data_bytes` of data. Calls `visit` for each tensor in the header's order.
// Throws Error(kBadInput) if anything is incomplete; overlapping tensors are found after the last call.
void parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const TensorVisitor& visit);
// A whole file in memory, or its beginning: `file_bytes` is the length of the whole.
void parse_safetensors(std::span<const std::byte> beginning, std::uint64_t file_bytes, const TensorVisitor& visit);
// Reads the header of a file on disk, and none of its data. `file_bytes`: the length of the file where only its
// beginning is on disk. Returns the header's length.
std::uint64_t read_safetensors(const std::string& path, const TensorVisitor& visit, std::uint64_t file_bytes = 0);
// What has been read of a model so far, over all its checkpoints if it has several.
struct SafetensorsWalked {
  std::uint64_t tensors = 0, header_bytes = 0, index_bytes = 0;
};
// Reads the headers of a checkpoint's files.
void read_safetensors(const std::vector<std::string>& paths, const TensorVisitor& visit, SafetensorsWalked& walked);

// The contents of an index next to the shards.
struct SafetensorsIndex {
  std::vector<std::string> files;  // each once, in order
  std::uint64_t total_size = 0;    // metadata.total_size; 0 if it has none
};
SafetensorsIndex parse_safetensors_index(std::string_view text);

// The files of a directory that make up its checkpoint, each once: by the index, else model.safetensors, else a
// complete set of shards. Empty if there is none. `index_bytes` is set where shards of the index are missing. Throws
// Error(kBadInput) if files are missing that a set's numbers require, or an index that gives no sum.
std::vector<std::string> checkpoint_files(const std::string& directory, std::uint64_t& index_bytes,
                                          SafetensorsWalked& walked);

}  // namespace kvplan
