#include "formats/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "kvplan/error.h"

namespace kvplan {

// `out` has what was read before. `hint` is the total size, if known.
static std::string drain(int fd, std::string out, std::size_t hint, std::size_t limit) {
  std::size_t size = out.size();
  for (;;) {
    if (size == out.size()) out.resize(size < hint ? hint + 1 : size + std::max<std::size_t>(size, 65536));
    const std::int64_t got = os::read(fd, out.data() + size, out.size() - size);
    if (got < 0) fail(std::string("cannot be read (") + std::strerror(errno) + ")", "check the file");
    size += static_cast<std::size_t>(got);
    if (size > limit) fail("larger than " + std::to_string(limit >> 20) + " MiB", "check that it is the file you mean");
    if (got == 0) break;
  }
  out.resize(size);
  return out;
}

// The files that were read, so that no report overwrites one of them.
using FileId = decltype(os::FileFacts::id);

static std::vector<FileId>& files_read() {
  static std::vector<FileId> files;
  return files;
}

static void remember(int fd) {
  const auto facts = os::facts_of(fd);
  if (!facts || facts->kind != os::FileKind::kRegular) return;
  std::vector<FileId>& files = files_read();
  if (files.empty() || files.back() != facts->id) files.push_back(facts->id);
}

// Devices are refused: reading one may never end.
static void refuse_device(const os::FileFacts& facts) {
  if (facts.kind == os::FileKind::kDevice) fail("is a device, not a file", "name a file");
}

// The first bytes of a named pipe, which was opened without waiting. Without a writer a read would block for ever. A
// writer may take its time, as on standard input: `kvplan <(curl ...)`.
static std::string first_of_pipe(int fd) {
  constexpr int kTries = 20;
  constexpr std::chrono::milliseconds kEach(50);
  std::string out(4096, '\0');
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t got = os::read(fd, out.data(), out.size());
    if (got != 0) {
      out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
      return out;
    }
    std::this_thread::sleep_for(kEach);
  }
  fail("a pipe that nobody writes to", "name a file, or write to the pipe");
}

os::File open_to_read(const std::string& path) {
  os::File out(os::open_to_read(path));
  if (out.is_open()) remember(out.get());
  return out;
}

void fail_to_open() {
  fail(std::string("cannot be opened (") + std::strerror(errno) + ")", "check the path");
}

std::string read_file(const std::string& path, std::size_t limit) {
  const os::File file = open_to_read(path);
  if (!file.is_open()) fail_to_open();
  const os::FileFacts facts = os::facts_of(file.get()).value_or(os::FileFacts());
  refuse_device(facts);
  std::string head = facts.kind == os::FileKind::kPipe ? first_of_pipe(file.get()) : "";
  os::wait_in_calls(file.get());
  std::size_t size = 0;
  if (facts.kind == os::FileKind::kRegular) {
    size = static_cast<std::size_t>(facts.bytes);
    if (size > limit) fail("larger than " + std::to_string(limit >> 20) + " MiB", "check that it is the file you mean");
  }
  return drain(file.get(), std::move(head), size, limit);
}

std::string read_stdin(std::size_t limit) {
  remember(os::kInput);
  return drain(os::kInput, "", 0, limit);
}

void read_pieces(const std::string& path, const std::function<void(std::string_view)>& take) {
  const os::File file = path == "-" ? os::File(os::kInput) : open_to_read(path);
  if (!file.is_open()) fail_to_open();
  const int fd = file.get();
  remember(fd);
  if (path != "-") {
    const os::FileFacts facts = os::facts_of(fd).value_or(os::FileFacts());
    refuse_device(facts);
    if (facts.kind == os::FileKind::kPipe) take(first_of_pipe(fd));
    os::wait_in_calls(fd);
  }
  std::string piece(std::size_t{64} << 10, '\0');
  for (;;) {
    const std::int64_t got = os::read(fd, piece.data(), piece.size());
    if (got < 0) fail(std::string("cannot be read (") + std::strerror(errno) + ")", "check the file");
    if (got == 0) return;
    take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
  }
}

bool was_read(const std::string& path) {
  const auto facts = os::facts_of(path);
  const std::vector<FileId>& files = files_read();
  return facts && std::find(files.begin(), files.end(), facts->id) != files.end();
}

std::string random_name() {
  std::random_device source;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x%08x", source(), source());
  return digits.data();
}

FileReader::FileReader(const std::string& path) : file_(open_to_read(path)) {
  if (!file_.is_open()) fail_to_open();
  const auto facts = os::facts_of(file_.get());
  if (!facts || facts->kind != os::FileKind::kRegular) fail("is not a regular file", "give the path of a *.gguf file");
  bytes_ = facts->bytes;
}

void FileReader::read(std::uint64_t at, std::span<std::byte> to) const {
  errno = 0;
  if (os::read_at(file_.get(), reinterpret_cast<char*>(to.data()), to.size(), at)) return;
  if (errno != 0) fail(std::string("cannot be read (") + std::strerror(errno) + ")", "check the file");
  fail("became shorter while it was read", "wait until it is complete");
}

bool is_directory(const std::string& path) {
  const auto facts = os::facts_of(path);
  return facts && facts->kind == os::FileKind::kFolder;
}

bool is_file(const std::string& path) {
  const auto facts = os::facts_of(path);
  return facts && facts->kind == os::FileKind::kRegular;
}

bool exists(const std::string& path) {
  return os::facts_of(path).has_value();
}

std::vector<std::string> entries_of(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().ends_with(suffix)) out.push_back(it->path().generic_string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kvplan
