#include "conformance/causes.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "conformance/planner.h"

namespace kvplan::conformance {

namespace {

const std::string kCounts = kFolder + "counts.jsonl";

// True if one of the patterns matches and no exception does. A list of only exceptions ("!vllm*") matches everything
// else.
bool fits(std::string_view patterns, const std::string& text) {
  bool wants_one = false, has_one = false;
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find('|'), patterns.size());
    std::string pattern(patterns.substr(0, end));
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
    const bool is_exception = pattern.starts_with('!');
    if (is_exception) pattern.erase(0, 1);
    const bool hit = fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    if (is_exception && hit) return false;
    wants_one = wants_one || !is_exception;
    has_one = has_one || (!is_exception && hit);
  }
  return has_one || !wants_one;
}

bool is_between(double number, const ExplainedMisses::Range& ends) {
  return ends.from <= number && number <= ends.to;
}

// Other processes that write to the folder wait.
class FolderLock {
 public:
  FolderLock() : fd_(open(kFolder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX) != 0) throw std::runtime_error("cannot lock " + kFolder);
  }
  ~FolderLock() { close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

bool is_of(const Json& line, const std::string& engine, const std::string& release) {
  return line.at("engine") == engine && line.at("release") == release;
}

}  // namespace

bool explains(const KnownError& error, const Case& subject, const Figure& figure) {
  const ExplainedMisses& misses = error.misses;
  if (misses.figures.empty() && misses.planned != false) return false;  // no executed row here shows it
  Request request;
  find_engine(subject.engine + "@" + subject.release, request);
  if (!concerns(error, subject.engine, release_of(request), subject.type, subject.root_type)) return false;
  const auto off = figure.off();
  return fits(misses.models, subject.model) && fits(misses.settings, subject.settings) &&
         fits(misses.figures, figure.name) && fits(misses.details, figure.detail) && fits(misses.words, figure.words) &&
         (!misses.off || (off && is_between(*off, *misses.off))) &&
         (!misses.by || (off && is_between(*figure.planned - *figure.truth, *misses.by))) &&
         (!misses.planned || *misses.planned == figure.planned.has_value());
}

const KnownError* cause_of(const Case& subject, const Figure& figure) {
  for (const KnownError& error : known_errors())
    if (explains(error, subject, figure)) return &error;
  return nullptr;
}

std::vector<Json> listed_counts(const std::string& engine, const std::string& release) {
  std::vector<Json> out;
  for (const Json& line : read_lines(kCounts))
    if (is_of(line, engine, release)) out.push_back(line);
  return out;
}

void write_counts(const std::string& engine, const std::string& release, const std::vector<Json>& counts) {
  const FolderLock lock;
  std::vector<Json> lines = read_lines(kCounts);
  std::erase_if(lines, [&](const Json& line) { return is_of(line, engine, release); });
  lines.insert(lines.end(), counts.begin(), counts.end());
  std::stable_sort(lines.begin(), lines.end(), [](const Json& a, const Json& b) {
    return std::pair(a.at("engine"), a.at("release")) < std::pair(b.at("engine"), b.at("release"));
  });
  std::ofstream file(kCounts);
  for (const Json& line : lines) file << line.dump() << '\n';
}

bool updating() {
  const char* update = std::getenv("KVPLAN_UPDATE_GOLDEN");
  return update != nullptr && *update == '1';
}

}  // namespace kvplan::conformance
