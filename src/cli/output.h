// Where a report goes: standard output, or a file, which is replaced atomically if the system can. SECURITY.md
// has the rules.
#pragma once

#include <string>
#include <string_view>

namespace kvplan {

// "" and "-" are standard output. Throws Error, also for a file that this run has read.
void write_report(const std::string& path, std::string_view text);
// The same, but a file that was read is allowed, for files that are read, changed and written again.
void write_output(const std::string& path, std::string_view text);

// The folder that a path lies in; "." if it has none.
std::string folder_of(const std::string& path);

}  // namespace kvplan
