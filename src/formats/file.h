// Files: read whole up to a limit, or in pieces; and standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os.h"
#include "kvplan/quantity.h"

namespace kvplan {

// The largest config of a model has 3 MB. The limit protects against endless streams.
inline constexpr std::size_t kMaxConfigBytes = 16 * kMiB;

// The whole file. Throws Error(kBadInput) if it cannot be read or is larger than `limit`.
std::string read_file(const std::string& path, std::size_t limit = kMaxConfigBytes);
std::string read_stdin(std::size_t limit = kMaxConfigBytes);
// Reads text of any length, and passes it on in pieces. "-" is standard input.
void read_pieces(const std::string& path, const std::function<void(std::string_view)>& take);
bool is_directory(const std::string& path);
// Whether it is a regular file, or a link to one. Nothing else is read from a cache, because a pipe would never end.
bool is_file(const std::string& path);
bool exists(const std::string& path);
// The paths of a folder's entries whose names end in `suffix`, sorted; empty if it cannot be listed.
std::vector<std::string> entries_of(const std::string& folder, std::string_view suffix = "");
// Whether this run has read the file at `path`, under any name.
bool was_read(const std::string& path);
// Sixteen random digits for the name of a temporary file. Process numbers are not unique across containers.
std::string random_name();

// Does not wait for a named pipe's writer.
os::File open_to_read(const std::string& path);
[[noreturn]] void fail_to_open();  // in the system's words

// Reads parts of a file.
class FileReader {
 public:
  // Throws Error(kBadInput) if the path is not a regular file or cannot be read.
  explicit FileReader(const std::string& path);
  std::uint64_t bytes() const { return bytes_; }  // as of its opening
  // Throws Error(kBadInput), for example if the file has become shorter.
  void read(std::uint64_t at, std::span<std::byte> to) const;

 private:
  os::File file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace kvplan
