#include "sources/hub_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/fields.h"
#include "formats/file.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "sources/hub_id.h"

namespace kvplan {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRef = 256;
// Of a file with a hole: no file system keeps a longer one.
constexpr std::uint64_t kMaxKeptLength = std::uint64_t{1} << 42;

// A name that no other run uses, in any process.
std::string part_name() {
  static unsigned count = 0;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return ".part-" + std::to_string(getpid()) + "-" + std::to_string(now) + "-" + std::to_string(++count);
}

// Folders that only their owner reads: a private model's config may lie there.
bool make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

bool write_file(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  const bool synced = fsync(fd) == 0;
  return close(fd) == 0 && synced && text.empty();
}

// What runs that were killed left behind.
void sweep(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().filename().string().starts_with(".part-") &&
        fs::last_write_time(it->path(), ignored) < fs::file_time_type::clock::now() - std::chrono::hours(1) && !ignored)
      fs::remove_all(it->path(), ignored);
  }
}

// weights.json: {"weight_bytes": N, "file_bytes": N, "gguf": [N, ...]}
std::string weights_text(const HubSnapshot& snapshot) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const GgufHeader& part : snapshot.gguf) sizes.push_back(part.file_bytes);
  return nlohmann::json{{"weight_bytes", snapshot.weight_bytes},
                        {"file_bytes", snapshot.file_bytes},
                        {"gguf", sizes},
                        {"gguf_path", snapshot.gguf_path}}
      .dump();
}

std::string gguf_name(std::size_t index) {
  return "/gguf-" + std::to_string(index + 1) + ".header";
}

std::string snapshot_name(const std::string& commit, const std::string& gguf) {
  return gguf.empty() ? commit : commit + "~" + percent_encoded(gguf);
}

std::string files_name(const std::string& commit, const std::string& what) {
  return commit + "~+" + percent_encoded(what);
}

// Of a cache: damage of any sort is an Error.
std::string read_kept(const std::string& path, std::size_t limit) {
  if (!is_file(path)) fail("no file", "");
  return read_file(path, limit);
}

HubSnapshot read_snapshot(const std::string& folder) {
  HubSnapshot out;
  const Fields weights = Fields::parse(read_kept(folder + "/weights.json", 65536));
  if (const auto sizes = weights.counts("gguf"); sizes && !sizes->empty()) {
    std::vector<Gguf::Beginning> parts;
    for (const std::uint64_t size : *sizes)
      out.gguf.push_back({read_kept(folder + gguf_name(out.gguf.size()), kMaxGgufHeader), size});
    for (const GgufHeader& part : out.gguf) parts.push_back({std::as_bytes(std::span(part.bytes)), part.file_bytes});
    Gguf::parse(parts);
    out.gguf_path = weights.find_string("gguf_path").value_or("");
    return out;
  }
  out.config = read_kept(folder + "/config.json", kMaxConfigBytes);
  Fields::parse(out.config);
  if (exists(folder + "/hf_quant_config.json")) {
    out.quant_config = read_kept(folder + "/hf_quant_config.json", kMaxConfigBytes);
    Fields::parse(out.quant_config);
  }
  out.weight_bytes = weights.find_count("weight_bytes").value_or(0);
  out.file_bytes = weights.find_count("file_bytes").value_or(0);
  if (out.file_bytes > 0) {
    out.header = read_kept(folder + "/weights.header", kMaxSafetensorsHeader + 8);
    parse_safetensors(std::as_bytes(std::span(out.header)), out.file_bytes, [](const SafeTensor&) {});
  }
  return out;
}

bool write_snapshot(const std::string& folder, const HubSnapshot& snapshot) {
  bool done = write_file(folder + "/weights.json", weights_text(snapshot));
  if (done && !snapshot.config.empty()) done = write_file(folder + "/config.json", snapshot.config);
  if (done && !snapshot.quant_config.empty())
    done = write_file(folder + "/hf_quant_config.json", snapshot.quant_config);
  if (done && snapshot.file_bytes > 0) done = write_file(folder + "/weights.header", snapshot.header);
  for (std::size_t i = 0; done && i < snapshot.gguf.size(); ++i)
    done = write_file(folder + gguf_name(i), snapshot.gguf[i].bytes);
  return done;
}

}  // namespace

std::string stand_in_commit(const std::string& revision, const std::string& text) {
  std::string out;
  for (std::uint64_t seed = 1; out.size() < 40; ++seed) {
    std::uint64_t hash = 0xcbf29ce484222325U + seed;
    for (const std::string* each : {&revision, &text})
      for (const char c : *each) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
    out += digits.data();
  }
  return out.substr(0, 40);
}

std::string repo_folder(const std::string& repo) {
  const auto slash = repo.find('/');
  return "models--" + repo.substr(0, slash) + "--" + repo.substr(slash + 1);
}

HubCache::HubCache(const HubSettings& settings, const std::string& repo) {
  if (!settings.own_cache.empty())
    folder_ = settings.own_cache + "/hub/" + percent_encoded(settings.endpoint) + "/" + repo_folder(repo);
}

std::string HubCache::commit_of(const std::string& revision) const {
  if (folder_.empty() || is_commit(revision)) return revision;
  const std::string path = folder_ + "/refs/" + percent_encoded(revision);
  if (!is_file(path)) return "";
  try {
    const std::string text = read_file(path, kMaxRef);
    return std::string(is_commit(trimmed(text)) ? trimmed(text) : "");
  } catch (const Error&) {
    return "";
  }
}

std::optional<HubSnapshot> HubCache::find(const std::string& commit, const std::string& gguf) const {
  const std::string folder = folder_ + "/snapshots/" + snapshot_name(commit, gguf);
  if (folder_.empty() || commit.empty() || !is_directory(folder)) return std::nullopt;
  try {
    return read_snapshot(folder);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool HubCache::place(const std::string& name, const std::function<bool(const std::string& folder)>& fill,
                     const std::function<bool()>& is_sound) const {
  if (folder_.empty()) return false;
  const std::string snapshots = folder_ + "/snapshots";
  if (!make_folders(snapshots)) return false;
  sweep(snapshots);
  const std::string part = snapshots + "/" + part_name();
  const std::string there = snapshots + "/" + name;
  std::error_code ignored;
  bool done = mkdir(part.c_str(), 0700) == 0 && fill(part);
  if (done && rename(part.c_str(), there.c_str()) != 0) {
    // Another run was faster, or what lies there is damaged: ours is as good, or better.
    const std::string old = snapshots + "/" + part_name();
    if (!is_sound()) rename(there.c_str(), old.c_str());
    done = rename(part.c_str(), there.c_str()) == 0 || is_sound();
    fs::remove_all(old, ignored);
  }
  fs::remove_all(part, ignored);
  return done;
}

bool HubCache::write(const std::string& revision, const std::string& commit, const std::string& gguf,
                     const HubSnapshot& snapshot) const {
  const bool done = place(
      snapshot_name(commit, gguf), [&](const std::string& part) { return write_snapshot(part, snapshot); },
      [&] { return find(commit, gguf).has_value(); });
  if (done) write_ref(revision, commit);
  return done;
}

std::string HubCache::find_files(const std::string& commit, const std::string& what,
                                 const std::vector<std::string>& names) const {
  const std::string folder = folder_ + "/snapshots/" + files_name(commit, what);
  if (folder_.empty() || commit.empty() || !is_directory(folder)) return "";
  for (const std::string& name : names)
    if (!is_file(folder + "/" + name)) return "";
  return folder;
}

std::string HubCache::write_files(const std::string& revision, const std::string& commit, const std::string& what,
                                  const std::vector<KeptFile>& files) const {
  const auto fill = [&](const std::string& part) {
    return std::all_of(files.begin(), files.end(), [&](const KeptFile& file) {
      const std::string path = part + "/" + file.name;
      return write_file(path, file.bytes) && file.file_bytes <= kMaxKeptLength &&
             (file.file_bytes <= file.bytes.size() || truncate(path.c_str(), static_cast<off_t>(file.file_bytes)) == 0);
    });
  };
  // What was fetched now goes over what lies there.
  if (!place(files_name(commit, what), fill, [] { return false; })) return "";
  write_ref(revision, commit);
  return folder_ + "/snapshots/" + files_name(commit, what);
}

void HubCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (is_commit(revision) || commit_of(revision) == commit || !make_folders(folder_ + "/refs")) return;
  const std::string part = folder_ + "/refs/" + part_name();
  const std::string place = folder_ + "/refs/" + percent_encoded(revision);
  if (!write_file(part, commit + "\n") || rename(part.c_str(), place.c_str()) != 0) unlink(part.c_str());
}

}  // namespace kvplan
