#include "cli/commands.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/os.h"
#include "formats/file.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

[[noreturn]] void cannot_write(const std::string& where, std::string_view how = "cannot be written") {
  fail_in(where, Exit::kBadInput, std::string(how) + " (" + std::strerror(errno) + ")",
          "check the path and the free space");
}

void write_all(int fd, std::string_view text, const std::string& where) {
  if (!os::write(fd, text)) cannot_write(where);
}

// The file to which a path leads. Links are followed here, so that they stay when a new file replaces the old one.
struct Destination {
  std::string path;
  std::optional<os::FileFacts> there;  // nothing if there is no such file yet
  std::optional<os::OpenFile> open;    // the path is another name of an open file
};

Destination find_destination(const std::string& path) {
  constexpr int kMostLinks = 40;
  // The kernel is tried first, because it may refuse to follow a link.
  if (!os::facts_of(path) && errno != ENOENT) cannot_write(path);
  Destination out{path, {}, {}};
  for (int links = 0;; ++links) {
    out.open = os::open_file(out.path);
    if (out.open) return out;
    out.there = os::facts_of_name(out.path);
    if (!out.there && errno != ENOENT) cannot_write(path);
    if (!out.there) return out;
    if (os::is_planted(out.path, *out.there))
      fail_in(path, Exit::kBadInput, "belongs to another user, in a folder that others can write to",
              "write to your own folder");
    if (out.there->kind != os::FileKind::kLink) return out;
    const std::string target = os::link_target(out.path);
    if (links == kMostLinks || target.empty()) {
      errno = ELOOP;
      cannot_write(path);
    }
    out.path = target.front() == '/' ? target : folder_of(out.path) + "/" + target;
  }
}

// An open file keeps its contents. The text is written at its current position, or at the end of another process's
// file.
void write_to_open(const Destination& place, const std::string& path, std::string_view text) {
  const os::OpenFile& file = *place.open;
  if (file.is_own) {
    if (file.number < 0) errno = EBADF;
    if (file.number < 0) cannot_write(path);
    return write_all(file.number, text, path);
  }
  os::File there(os::open_to_append(place.path));
  if (!there.is_open()) cannot_write(path);
  os::wait_in_calls(there.get());
  write_all(there.get(), text, path);
  if (!there.close()) cannot_write(path);
}

// Writes devices, pipes and files that cannot be replaced in place.
void write_in_place(const Destination& place, const std::string& path, std::string_view text) {
  // Does not wait for a pipe's reader. It fails if there is none.
  os::File there(os::open_in_place(place.path));
  if (!there.is_open()) cannot_write(path);
  const auto facts = os::facts_of(there.get());
  if (!facts || facts->id != place.there->id)
    fail_in(path, Exit::kBadInput, "was replaced while kvplan wrote it", "write it again");
  os::wait_in_calls(there.get());
  const bool is_file = facts->kind == os::FileKind::kRegular;
  bool done = os::write(there.get(), text);
  if (is_file) done = done && os::set_length(there.get(), text.size()) && os::sync(there.get());
  if (!done && is_file) cannot_write(path, "was written only in part");
  if (!done || !there.close()) cannot_write(path);
}

// Creates a new file next to `place` and sets `part` to its name. The name is random, because a killed run leaves its
// file behind.
int open_part(const Destination& place, std::string& part) {
  int fd = -1;
  for (int tries = 0; fd < 0 && tries < 4; ++tries) {
    part = folder_of(place.path) + "/.kvplan-part-" + random_name();
    fd = os::create(part, place.there ? place.there->mode & 0600U : 0666U);
    if (fd < 0 && errno != EEXIST) break;
  }
  return fd;
}

// Writes a new file with the owner and the mode of the old one, and gives it the old one's name. Returns whether that
// worked. If not, the old file is unchanged.
bool replace(const Destination& place, const std::string& path, std::string_view text) {
  std::string part;
  os::File file(open_part(place, part));
  if (!file.is_open()) return false;
  try {
    bool done =
        !place.there || (os::set_owner(file.get(), *place.there) && os::set_mode(file.get(), place.there->mode));
    if (done) {
      write_all(file.get(), text, path);
      // The file is on the disk before it gets its final name.
      if (const bool synced = os::sync(file.get()); !file.close() || !synced) cannot_write(path);
      done = os::rename(part, place.path);
    }
    if (!done) {
      const int why = errno;
      os::remove_file(part);
      errno = why;
      return false;
    }
    os::sync_folder(folder_of(place.path));
    return true;
  } catch (const Error&) {
    os::remove_file(part);
    throw;
  }
}

// A file mounted into a container, or in another user's folder, can be written but not replaced.
bool may_help_in_place(int why) {
  return why == EACCES || why == EPERM || why == EBUSY || why == EXDEV || why == EROFS;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void write_report(const std::string& path, std::string_view text) {
  if (!path.empty() && path != "-" && was_read(path))
    fail_in(path, Exit::kBadInput, "is an input file", "name another one with -o");
  write_output(path, text);
}

void write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") return write_all(os::kOutput, text, "standard output");
  const Destination place = find_destination(path);
  if (place.open) return write_to_open(place, path, text);
  if (place.there && place.there->kind != os::FileKind::kRegular) return write_in_place(place, path, text);
  // Replacing a file needs no permission to write it, but a read-only file is meant to stay.
  if (place.there && ((place.there->mode & 0222U) == 0 || !os::may_write(place.path))) {
    errno = EACCES;
    cannot_write(path);
  }
  if (replace(place, path, text)) return;
  if (!place.there || !may_help_in_place(errno)) cannot_write(path);
  write_in_place(place, path, text);
}

}  // namespace kvplan
