// What the program asks of the operating system, measuring aside, which is Linux's alone: os_posix.cpp and
// os_windows.cpp answer. Paths are UTF-8. Where a call fails, errno says why.
#ifndef KVPLAN_BASE_OS_H_
#define KVPLAN_BASE_OS_H_

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

// Once, before anything is read or printed.
void prepare_streams();

enum class FileKind { kRegular, kFolder, kPipe, kTerminal, kDevice, kOther };
struct FileFacts {
  FileKind kind = FileKind::kOther;
  std::uint64_t bytes = 0;
  unsigned mode = 0;                           // who may do what; 0 where a system has no such bits
  std::pair<std::uint64_t, std::uint64_t> id;  // of the file, by whatever name
};
// Of what is open, or of what a path leads to.
std::optional<FileFacts> facts_of(int file);
std::optional<FileFacts> facts_of(const std::string& path);

// A file's number, or -1. Neither of the first two waits for the other end of a named pipe; a read or a write does
// after wait_in_calls().
int open_to_read(const std::string& path);
int open_in_place(const std::string& path);          // to write what is there already
int create(const std::string& path, unsigned mode);  // to write what is not there yet, and no link either
void wait_in_calls(int file);
std::int64_t read(int file, char* to, std::size_t size);               // 0 at the end, -1 where it fails
bool read_at(int file, char* to, std::size_t size, std::uint64_t at);  // all of it
bool write(int file, std::string_view text);                           // all of it
bool close(int file);

// On its way to the disk, as far as the disk can tell.
bool sync(int file);
void sync_folder(const std::string& path);
bool set_mode(int file, unsigned mode);
bool may_write(const std::string& path);
// Whatever has the name `to` goes.
bool rename(const std::string& from, const std::string& to);
bool remove_file(const std::string& path);
bool make_own_folder(const std::string& path);  // which others do not look into
// Others that lock the folder wait until this is closed. -1 where a system has no such lock.
int lock_folder(const std::string& path);

// The beginning of a file in memory, to be read; nullptr where it fails.
void* map(int file, std::size_t bytes);
void unmap(void* begin, std::size_t bytes);
// The whole pages between these are read again when somebody looks.
void release_pages(const void* begin, const void* end);

bool is_terminal(int file);
std::optional<int> columns(int file);  // of a terminal

std::string home();  // the user's own folder; "" where it is not known
// A path with "/" between its parts, whatever a user may write here.
std::string plain_path(std::string path);
bool begins_with_drive(std::string_view path);  // "C:/models": nothing of the Hub

}  // namespace kvplan::os

#endif  // KVPLAN_BASE_OS_H_
