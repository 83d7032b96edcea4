// Bounded reading of files and standard input.
#ifndef KVPLAN_FORMATS_FILE_H_
#define KVPLAN_FORMATS_FILE_H_

#include <cstddef>
#include <string>

#include "kvplan/quantity.h"

namespace kvplan {

// The largest config that a model has is 3 MB; the bound keeps an endless stream from eating the machine.
inline constexpr std::size_t kMaxConfigBytes = 16 * kMiB;

// The whole file, or Error(kBadInput) where it cannot be read or is larger than `limit`.
std::string read_file(const std::string& path, std::size_t limit = kMaxConfigBytes);
std::string read_stdin(std::size_t limit = kMaxConfigBytes);
bool is_directory(const std::string& path);
// A regular file, or a link to one: in a cache nothing else is read, since a pipe would never end.
bool is_file(const std::string& path);
bool exists(const std::string& path);

}  // namespace kvplan

#endif  // KVPLAN_FORMATS_FILE_H_
