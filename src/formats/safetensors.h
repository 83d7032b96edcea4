// safetensors: the header of a file (length, then JSON) names every tensor's type, shape and place, so the exact bytes
// of a checkpoint are known without reading its data.
//
//   u64 little endian: header bytes | header: {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...} | data
//
// Files are untrusted: the header must lie in the file, every tensor in its data, none over another.
#ifndef KVPLAN_FORMATS_SAFETENSORS_H_
#define KVPLAN_FORMATS_SAFETENSORS_H_

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
  std::uint64_t rows = 1;  // the first of its shape
};
using TensorVisitor = std::function<void(const SafeTensor&)>;

// The format allows headers of 100 MB; the longest known are a tenth of that.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 64 * kMiB;
inline constexpr std::uint64_t kMaxSafetensorsTensors = 1 << 19;  // of one file
// Of all files of a checkpoint. 512 experts of 94 layers, quantized by groups, have 577,000 tensors in 92 MB.
inline constexpr std::uint64_t kMaxCheckpointHeaders = 128 * kMiB;
inline constexpr std::uint64_t kMaxCheckpointTensors = 1 << 20;
inline constexpr std::uint64_t kMaxCheckpointFiles = 10'000;
inline constexpr std::uint64_t kMaxIndexBytes = 64 * kMiB;

// The header's JSON, of a file whose data is `data_bytes` long. Calls `visit` for each tensor in header order. Throws
// Error(kBadInput) for anything that is not whole; tensors that overlap are seen after the last call.
void parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const TensorVisitor& visit);
// A whole file in memory, or its beginning: `file_bytes` is what the file claims to be.
void parse_safetensors(std::span<const std::byte> beginning, std::uint64_t file_bytes, const TensorVisitor& visit);
// The header of a file on disk; reads no data. `file_bytes`: the length of the file where only its beginning is on
// disk. Returns the header's length.
std::uint64_t read_safetensors(const std::string& path, const TensorVisitor& visit, std::uint64_t file_bytes = 0);
// What has been read of a model so far, of all its checkpoints where it has several.
struct SafetensorsWalked {
  std::uint64_t tensors = 0, header_bytes = 0, index_bytes = 0;
};
// The headers of a checkpoint's files.
void read_safetensors(const std::vector<std::string>& paths, const TensorVisitor& visit, SafetensorsWalked& walked);

// What an index beside the shards says.
struct SafetensorsIndex {
  std::vector<std::string> files;  // each once, in order
  std::uint64_t total_size = 0;    // metadata.total_size; 0 where it has none
};
SafetensorsIndex parse_safetensors_index(std::string_view text);

// The files of a directory that make up its checkpoint, each once: by the index, else model.safetensors, else a whole
// set of shards. Empty where there is none. `index_bytes` is set where only the index is there. Throws Error(kBadInput)
// where the index or a set's numbers name files that are missing.
std::vector<std::string> checkpoint_files(const std::string& directory, std::uint64_t& index_bytes,
                                          SafetensorsWalked& walked);

}  // namespace kvplan

#endif  // KVPLAN_FORMATS_SAFETENSORS_H_
