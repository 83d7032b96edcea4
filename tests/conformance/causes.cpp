#include "conformance/causes.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>

#include "conformance/planner.h"

namespace kvplan::conformance {

namespace {

const std::string kCauses = kFolder + "causes.json";
const std::string kCounts = kFolder + "counts.jsonl";

// One of the patterns fits, or there are none but exceptions ("!vllm*"), and no exception does.
bool fits(const Json& patterns, const std::string& text) {
  bool wants_one = false, has_one = false;
  for (const Json& each : patterns.is_array() ? patterns : Json::array({patterns})) {
    std::string pattern = each;
    const bool is_exception = pattern.starts_with('!');
    if (is_exception) pattern.erase(0, 1);
    const bool hit = fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    if (is_exception && hit) return false;
    wants_one = wants_one || !is_exception;
    has_one = has_one || (!is_exception && hit);
  }
  return has_one || !wants_one;
}

bool is_between(double number, const Json& ends) {
  return ends.at(0).get<double>() <= number && number <= ends.at(1).get<double>();
}

// One condition of a cause.
bool holds(const std::string& key, const Json& value, const Case& subject, const Figure& figure) {
  const auto off = figure.off();
  if (key == "off") return off && is_between(*off, value);
  if (key == "by") return off && is_between(*figure.planned - *figure.truth, value);
  if (key == "planned") return value.get<bool>() == figure.planned.has_value();
  const std::map<std::string, const std::string*> texts{{"release", &subject.release}, {"model", &subject.model},
                                                        {"type", &subject.type},       {"settings", &subject.settings},
                                                        {"figure", &figure.name},      {"detail", &figure.detail},
                                                        {"words", &figure.words}};
  const auto text = texts.find(key);
  if (text == texts.end()) throw std::runtime_error("causes.json: no condition is called " + key);
  return fits(value, *text->second);
}

bool explains(const Json& cause, const Case& subject, const Figure& figure) {
  if (cause.at("engine") != subject.engine) return false;
  for (const auto& [key, value] : cause.at("where").items())
    if (!holds(key, value, subject, figure)) return false;
  return true;
}

std::vector<Json> read_causes() {
  std::ifstream file(kCauses);
  return file ? Json::parse(file).get<std::vector<Json>>() : std::vector<Json>{};
}

// A cause on a few lines: what it is, where, why, and its numbers.
std::string laid_out(const std::vector<Json>& causes) {
  std::string out = "[\n";
  for (const Json& cause : causes) {
    std::string line;
    for (const auto& [key, value] : cause.items()) {
      const bool breaks = key == "where" || key == "why" || key == "misses";
      line += (line.empty() ? "" : breaks ? ",\n   " : ", ") + Json(key).dump() + ": " + value.dump(-1, ' ', false);
    }
    out += "  {" + line + "}" + (&cause == &causes.back() ? "\n" : ",\n");
  }
  return out + "]\n";
}

// Others that write to the folder wait.
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

Causes::Causes() : causes_(read_causes()) {}

const Json* Causes::find(const Case& subject, const Figure& figure) const {
  const auto found =
      std::find_if(causes_.begin(), causes_.end(), [&](const Json& cause) { return explains(cause, subject, figure); });
  return found == causes_.end() ? nullptr : &*found;
}

Numbers listed_misses(const Causes& causes, const std::string& engine, const std::string& release) {
  Numbers out;
  for (const Json& cause : causes.all())
    if (cause.at("engine") == engine && cause.contains("misses") && cause["misses"].contains(release))
      out[cause.at("cause")] = cause["misses"][release];
  return out;
}

void write_misses(const std::string& engine, const std::string& release, const Numbers& misses) {
  const FolderLock lock;
  std::vector<Json> causes = read_causes();
  for (Json& cause : causes) {
    if (cause.at("engine") != engine) continue;
    std::map<std::string, std::uint64_t> numbers;
    if (cause.contains("misses")) numbers = cause["misses"].get<std::map<std::string, std::uint64_t>>();
    numbers.erase(release);
    const auto now = misses.find(cause.at("cause"));
    if (now != misses.end()) numbers[release] = now->second;
    cause["misses"] = Json::object();
    for (const auto& [name, number] : numbers) cause["misses"][name] = number;
  }
  std::ofstream(kCauses) << laid_out(causes);
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
