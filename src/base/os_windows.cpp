// The program's manifest makes UTF-8 the encoding of all calls that take narrow strings.
#include <fcntl.h>
#include <io.h>
#include <windows.h>
// Must come after windows.h.
#include <direct.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/os.h"

namespace kvplan::os {

static HANDLE handle_of(int file) {
  return reinterpret_cast<HANDLE>(_get_osfhandle(file));
}

// Sets errno from the error of a Windows call.
static void set_errno() {
  const DWORD code = GetLastError();
  const bool is_missing = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND || code == ERROR_INVALID_NAME ||
                          code == ERROR_BAD_NETPATH;
  const bool is_kept = code == ERROR_ACCESS_DENIED || code == ERROR_SHARING_VIOLATION || code == ERROR_LOCK_VIOLATION;
  errno = is_missing ? ENOENT : is_kept ? EACCES : EIO;
}

static std::optional<FileFacts> facts_in(HANDLE handle) {
  FileFacts out;
  DWORD mode = 0;
  switch (GetFileType(handle)) {
    case FILE_TYPE_CHAR: out.kind = GetConsoleMode(handle, &mode) != 0 ? FileKind::kTerminal : FileKind::kDevice; break;
    case FILE_TYPE_PIPE: out.kind = FileKind::kPipe; break;
    case FILE_TYPE_DISK: {
      BY_HANDLE_FILE_INFORMATION found{};
      if (GetFileInformationByHandle(handle, &found) == 0) {
        set_errno();
        return std::nullopt;
      }
      const auto joined = [](DWORD high, DWORD low) { return std::uint64_t{high} << 32U | low; };
      const bool is_folder = (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
      out.kind = is_folder ? FileKind::kFolder : FileKind::kRegular;
      out.bytes = joined(found.nFileSizeHigh, found.nFileSizeLow);
      out.mode = (found.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444 : 0666;
      out.id = {found.dwVolumeSerialNumber, joined(found.nFileIndexHigh, found.nFileIndexLow)};
      break;
    }
    default: break;
  }
  return out;
}

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;

void prepare_streams() {
  for (const int file : {kInput, kOutput, kErrors}) _setmode(file, _O_BINARY);
  static const UINT before = GetConsoleOutputCP();
  if (before != 0 && SetConsoleOutputCP(CP_UTF8) != 0) std::atexit([] { SetConsoleOutputCP(before); });
  for (const int file : {kOutput, kErrors}) {
    DWORD mode = 0;
    if (GetConsoleMode(handle_of(file), &mode) != 0)
      SetConsoleMode(handle_of(file), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

std::optional<FileFacts> facts_of(int file) {
  return facts_in(handle_of(file));
}

std::optional<FileFacts> facts_of(const std::string& path) {
  const HANDLE handle = CreateFileA(path.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (handle == INVALID_HANDLE_VALUE) {
    set_errno();
    return std::nullopt;
  }
  const auto out = facts_in(handle);
  CloseHandle(handle);
  return out;
}

std::optional<FileFacts> facts_of_name(const std::string& path) {
  return facts_of(path);
}

std::string link_target(const std::string&) {
  return "";
}

bool is_planted(const std::string&, const FileFacts&) {
  return false;
}

std::optional<OpenFile> open_file(const std::string&) {
  return std::nullopt;
}

int open_to_read(const std::string& path) {
  return _open(path.c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT);
}

int open_in_place(const std::string& path) {
  return _open(path.c_str(), _O_WRONLY | _O_BINARY | _O_NOINHERIT);
}

int open_to_append(const std::string& path) {
  return _open(path.c_str(), _O_WRONLY | _O_APPEND | _O_BINARY | _O_NOINHERIT);
}

int create(const std::string& path, unsigned) {
  return _open(path.c_str(), _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, 0600);
}

void wait_in_calls(int) {}

std::int64_t read(int file, char* to, std::size_t size) {
  return _read(file, to, static_cast<unsigned>(std::min(size, kMostAtOnce)));
}

bool read_at(int file, char* to, std::size_t size, std::uint64_t at) {
  if (_lseeki64(file, static_cast<std::int64_t>(at), SEEK_SET) < 0) return false;
  while (size > 0) {
    const std::int64_t got = read(file, to, size);
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write(int file, std::string_view text) {
  while (!text.empty()) {
    const int wrote = _write(file, text.data(), static_cast<unsigned>(std::min(text.size(), kMostAtOnce)));
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool close(int file) {
  return _close(file) == 0;
}

bool sync(int file) {
  return _commit(file) == 0;
}

void sync_folder(const std::string&) {}

bool set_mode(int, unsigned) {
  return true;
}

bool set_owner(int, const FileFacts&) {
  return true;
}

bool set_length(int file, std::uint64_t bytes) {
  return _chsize_s(file, static_cast<std::int64_t>(bytes)) == 0;
}

bool may_write(const std::string& path) {
  constexpr int kWrite = 2;
  return _access(path.c_str(), kWrite) == 0;
}

bool rename(const std::string& from, const std::string& to) {
  if (MoveFileExA(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0) return true;
  set_errno();
  return false;
}

bool remove_file(const std::string& path) {
  return _unlink(path.c_str()) == 0;
}

bool make_own_folder(const std::string& path) {
  return _mkdir(path.c_str()) == 0;
}

int lock_folder(const std::string&) {
  return -1;
}

bool is_terminal(int file) {
  DWORD mode = 0;
  return GetConsoleMode(handle_of(file), &mode) != 0;
}

std::optional<int> columns(int file) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (GetConsoleScreenBufferInfo(handle_of(file), &info) == 0) return std::nullopt;
  return info.srWindow.Right - info.srWindow.Left + 1;
}

void become(const std::string&, const std::string&, char* const*) {}

std::string home() {
  const char* const value = std::getenv("USERPROFILE");
  return value == nullptr ? "" : plain_path(value);
}

std::string plain_path(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  return path;
}

bool begins_with_drive(std::string_view path) {
  return path.size() > 1 && path[1] == ':' && ((path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z');
}

}  // namespace kvplan::os
