// What the program needs from the operating system, except for measuring, which only works on Linux. os_posix.cpp and
// os_windows.cpp implement it. Paths are UTF-8. If a call fails, errno has the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kvplan::os {

inline constexpr int kInput = 0;
inline constexpr int kOutput = 1;
inline constexpr int kErrors = 2;

// Called once, before anything is read or printed.
void prepare_streams();

enum class FileKind { kRegular, kFolder, kPipe, kTerminal, kDevice, kLink, kOther };
struct FileFacts {
  FileKind kind = FileKind::kOther;
  std::uint64_t bytes = 0;
  unsigned mode = 0;  // permissions; 0 on a system that has none
  unsigned owner = 0, group = 0;
  std::pair<std::uint64_t, std::uint64_t> id;  // the same for every name of a file
};
// Of an open file, or of what a path leads to.
std::optional<FileFacts> facts_of(int file);
std::optional<FileFacts> facts_of(const std::string& path);
// Facts about the name itself, which may be a link. link_target: the path in that link, "" if it is not a link.
std::optional<FileFacts> facts_of_name(const std::string& path);
std::string link_target(const std::string& path);
// Whether another user may have put the file there: it is in a sticky folder that others can write to, like /tmp, and
// belongs neither to this user nor to the folder's owner. Linux refuses to follow such links and to write to such files
// (fs.protected_symlinks, _regular and _fifos), but that can be turned off.
bool is_planted(const std::string& path, const FileFacts& facts);
// The open file that a path in /dev/fd or /proc/PID/fd means.
struct OpenFile {
  bool is_own = false;  // of this process
  int number = -1;      // -1 if this process was started without that file
};
std::optional<OpenFile> open_file(const std::string& path);

// A file descriptor, or -1. The first three do not wait for the other end of a named pipe. After wait_in_calls(), reads
// and writes do.
int open_to_read(const std::string& path);
int open_in_place(const std::string& path);          // to write to an existing file; fails for a link
int open_to_append(const std::string& path);         // to append to an existing file; follows links
int create(const std::string& path, unsigned mode);  // to write a new file; fails if anything is there, even a link
void wait_in_calls(int file);
std::int64_t read(int file, char* to, std::size_t size);               // 0 at the end, -1 if it fails
bool read_at(int file, char* to, std::size_t size, std::uint64_t at);  // all `size` bytes
bool write(int file, std::string_view text);                           // all of it
bool close(int file);

// Closes its file at the end, unless that is a standard stream.
class File {
 public:
  explicit File(int file = -1) : file_(file) {}
  ~File() {
    if (file_ > kErrors) os::close(file_);
  }
  File(File&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  int get() const { return file_; }
  bool is_open() const { return file_ >= 0; }
  bool close() { return os::close(std::exchange(file_, -1)); }

 private:
  int file_;
};

// Flushes to the disk, as far as the disk reports that.
bool sync(int file);
void sync_folder(const std::string& path);
bool set_mode(int file, unsigned mode);
bool set_owner(int file, const FileFacts& like);
bool set_length(int file, std::uint64_t bytes);
bool may_write(const std::string& path);
// Replaces whatever has the name `to`.
bool rename(const std::string& from, const std::string& to);
bool remove_file(const std::string& path);
bool make_own_folder(const std::string& path);  // other users cannot look into it
// Others that lock the folder wait until this is closed. -1 on a system without such locks.
int lock_folder(const std::string& path);

// Replaces this process with another program: the one next to this one if `self` is a path, otherwise one found by
// PATH. Returns if there is none. `arguments` end with a null.
void become(const std::string& program, const std::string& self, char* const* arguments);

bool is_terminal(int file);
std::optional<int> columns(int file);  // of a terminal; nothing for other files

std::string home();  // the user's own folder; "" if it is not known
// The path with "/" between its parts on every system.
std::string plain_path(std::string path);
bool begins_with_drive(std::string_view path);  // "C:/models", which is not a Hub id

}  // namespace kvplan::os
