#include "cli/output.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/os.h"
#include "formats/file.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

[[noreturn]] void cannot_write(const std::string& where) {
  Error error(Exit::kBadInput, std::string("cannot be written (") + std::strerror(errno) + ")",
              "check the path and the space");
  error.set_source(where);
  throw error;
}

void write_all(int fd, std::string_view text, const std::string& where) {
  if (!os::write(fd, text)) cannot_write(where);
}

// Devices and pipes are written to, not replaced.
void write_in_place(const std::string& path, std::string_view text) {
  // Does not wait for a pipe's reader: it fails where there is none.
  const int fd = os::open_in_place(path);
  if (fd < 0) cannot_write(path);
  os::wait_in_calls(fd);
  try {
    write_all(fd, text, path);
  } catch (const Error&) {
    os::close(fd);
    throw;
  }
  if (!os::close(fd)) cannot_write(path);
}

// The target of a link, so that the link itself stays; the target need not exist yet.
std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error || next.empty()) break;
    path = next.is_absolute() ? next.string() : folder_of(path) + "/" + next.string();
  }
  return path;
}

// Creates a new file beside `place` and sets `part` to its name, which is random: a run that was killed leaves its file
// behind.
int open_part(const std::string& place, std::string& part) {
  int fd = -1;
  for (int tries = 0; fd < 0 && tries < 4; ++tries) {
    part = folder_of(place) + "/.kvplan-part-" + random_name();
    fd = os::create(part, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  return fd;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void write_report(const std::string& path, std::string_view text) {
  if (!path.empty() && path != "-" && was_read(path))
    with_source(path, [] { fail("is one of the files that were read", "name another one with -o"); });
  write_output(path, text);
}

// Writes the file beside its place and then renames it, so that no half-written file stays.
void write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") return write_all(os::kOutput, text, "standard output");
  const auto there = os::facts_of(path);
  if (there && there->kind != os::FileKind::kRegular) return write_in_place(path, text);
  // Replacing a file needs no permission to write it; but a read-only file is meant to stay.
  if (there && ((there->mode & 0222U) == 0 || !os::may_write(path))) {
    errno = EACCES;
    cannot_write(path);
  }
  const std::string place = behind_links(path);
  std::string part;
  const int fd = open_part(place, part);
  if (fd < 0) cannot_write(path);
  try {
    if (there) os::set_mode(fd, there->mode);
    write_all(fd, text, path);
    const bool synced = os::sync(fd);  // before it gets the name that others look for
    if (!os::close(fd) || !synced || !os::rename(part, place)) cannot_write(path);
    os::sync_folder(folder_of(place));
  } catch (const Error&) {
    os::remove_file(part);
    throw;
  }
}

}  // namespace kvplan
