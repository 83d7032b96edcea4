#include "sources/hub_cache.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/os.h"
#include "formats/fields.h"
#include "formats/file.h"
#include "formats/gguf.h"
#include "formats/own_files.h"
#include "formats/safetensors.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "sources/hub_settings.h"

namespace kvplan {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSums = "SHA256SUMS";  // sha256sum's format, for all other files of the folder
constexpr std::size_t kMaxSums = 64 * kKiB;
constexpr const char* kHeader = "weights.header";
constexpr const char* kSizes = "weights.json";
constexpr std::size_t kMaxSizes = 64 * kKiB;
constexpr std::size_t kMaxKeptFile = kMaxSafetensorsHeader + 8;  // at least as long as a GGUF's beginning

std::string part_name() {
  return ".part-" + random_name();
}

// Makes folders that only their owner can read, because they may have a private model's config.
bool make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    if (const std::string each = path.substr(0, at); !os::make_own_folder(each) && !is_directory(each)) return false;
  return os::make_own_folder(path) || is_directory(path);
}

bool write_file(const std::string& path, std::string_view text) {
  const int file = os::create(path, 0600);
  if (file < 0) return false;
  const bool done = os::write(file, text) && os::sync(file);
  return os::close(file) && done;
}

// Removes temporary files of runs that were killed.
void sweep(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().filename().string().starts_with(".part-") &&
        fs::last_write_time(it->path(), ignored) < fs::file_time_type::clock::now() - std::chrono::hours(1) && !ignored)
      fs::remove_all(it->path(), ignored);
  }
}

std::string gguf_name(std::size_t index) {
  return "gguf-" + std::to_string(index + 1) + ".header";
}

std::string snapshot_name(const std::string& commit, const std::string& gguf) {
  return gguf.empty() ? commit : commit + "~" + percent_encoded(gguf);
}

std::string files_name(const std::string& commit, const std::string& what) {
  return commit + "~+" + percent_encoded(what);
}

// Reads a folder of the cache. Throws Error if anything is damaged.
class KeptFolder {
 public:
  explicit KeptFolder(const std::string& path) : path_(path) {
    const std::string text = read_regular(kSums, kMaxSums);
    for (const std::string_view line : split(text, '\n'))
      if (const auto gap = line.find("  "); gap != std::string_view::npos)
        sums_.emplace(line.substr(gap + 2), line.substr(0, gap));
  }
  bool has(const std::string& name) const { return sums_.contains(name); }
  std::string read(const std::string& name, std::size_t limit) const {
    std::string out = read_regular(name, limit);
    const auto sum = sums_.find(name);
    if (sum == sums_.end() || sum->second != sha256(out)) fail("not the file that was fetched", "");
    return out;
  }

 private:
  std::string read_regular(const std::string& name, std::size_t limit) const {
    const std::string file = path_ + "/" + name;
    if (!is_file(file)) fail("no file", "");
    return read_file(file, limit);
  }

  std::string path_;
  std::map<std::string, std::string, std::less<>> sums_;
};

// Writes what a KeptFolder reads.
bool write_folder(const std::string& path, const NamedBytes& files) {
  std::string sums;
  for (const auto& [name, bytes] : files) {
    if (!write_file(path + "/" + name, bytes)) return false;
    sums += sha256(bytes) + "  " + name + "\n";
  }
  return write_file(path + "/" + kSums, sums);
}

HubSnapshot read_snapshot(const std::string& path) {
  HubSnapshot out;
  const KeptFolder folder(path);
  const Fields weights = Fields::parse(folder.read(kSizes, kMaxSizes));
  if (const auto sizes = weights.counts("gguf"); sizes && !sizes->empty()) {
    for (const std::uint64_t size : *sizes)
      out.gguf.push_back({folder.read(gguf_name(out.gguf.size()), kMaxGgufHeader), size});
    parse_headers(out.gguf);
    out.gguf_path = weights.find_string("gguf_path").value_or("");
    return out;
  }
  out.config = folder.read(kConfigFile, kMaxConfigBytes);
  Fields::parse(out.config);
  if (folder.has(kQuantConfig)) {
    out.quant_config = folder.read(kQuantConfig, kMaxConfigBytes);
    Fields::parse(out.quant_config);
  }
  out.weight_bytes = weights.find_count("weight_bytes").value_or(0);
  out.file_bytes = weights.find_count("file_bytes").value_or(0);
  if (out.file_bytes > 0) {
    out.header = folder.read(kHeader, kMaxSafetensorsHeader + 8);
    parse_safetensors(std::as_bytes(std::span(out.header)), out.file_bytes, [](const SafeTensor&) {});
  }
  return out;
}

}  // namespace

Gguf parse_headers(const std::vector<GgufHeader>& headers) {
  std::vector<Gguf::Beginning> parts;
  for (const GgufHeader& header : headers) parts.push_back({std::as_bytes(std::span(header.bytes)), header.file_bytes});
  return Gguf::parse(parts);
}

std::string stand_in_commit(const std::string& revision, const std::string& text) {
  return sha256(revision + "\n" + text).substr(0, 40);
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

bool HubCache::place(const std::string& name, const NamedBytes& files, const std::function<bool()>& is_sound) const {
  if (folder_.empty()) return false;
  const std::string snapshots = folder_ + "/snapshots";
  if (!make_folders(snapshots)) return false;
  sweep(snapshots);
  const std::string part = snapshots + "/" + part_name();
  const std::string there = snapshots + "/" + name;
  std::error_code ignored;
  bool done = os::make_own_folder(part) && write_folder(part, files);
  if (done && !os::rename(part, there)) {
    // Another run was faster, or the existing folder is damaged. In both cases this run's folder replaces it.
    const std::string old = snapshots + "/" + part_name();
    if (!is_sound()) os::rename(there, old);
    done = os::rename(part, there) || is_sound();
    fs::remove_all(old, ignored);
  }
  fs::remove_all(part, ignored);
  return done;
}

bool HubCache::write(const std::string& revision, const std::string& commit, const std::string& gguf,
                     const HubSnapshot& snapshot) const {
  KeptSizes sizes{snapshot.weight_bytes, snapshot.file_bytes, {}, snapshot.gguf_path};
  for (const GgufHeader& part : snapshot.gguf) sizes.gguf.push_back(part.file_bytes);
  const std::string weights = sizes_text(sizes);
  NamedBytes files{{kSizes, weights}};
  if (!snapshot.config.empty()) files.emplace_back(kConfigFile, snapshot.config);
  if (!snapshot.quant_config.empty()) files.emplace_back(kQuantConfig, snapshot.quant_config);
  if (snapshot.file_bytes > 0) files.emplace_back(kHeader, snapshot.header);
  for (std::size_t i = 0; i < snapshot.gguf.size(); ++i) files.emplace_back(gguf_name(i), snapshot.gguf[i].bytes);
  const bool done = place(snapshot_name(commit, gguf), files, [&] { return find(commit, gguf).has_value(); });
  if (done) write_ref(revision, commit);
  return done;
}

std::optional<KeptFiles> HubCache::find_files(const std::string& commit, const std::string& what,
                                              const std::vector<std::string>& names) const {
  const std::string path = folder_ + "/snapshots/" + files_name(commit, what);
  if (folder_.empty() || commit.empty() || !is_directory(path)) return std::nullopt;
  try {
    const KeptFolder folder(path);
    for (const std::string& name : names) folder.read(name, kMaxKeptFile);
    return KeptFiles{path, Fields::parse(folder.read(kSizes, kMaxSizes)).count_or("file_bytes", 0)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<KeptFiles> HubCache::write_files(const std::string& revision, const std::string& commit,
                                               const std::string& what, const std::vector<KeptFile>& files,
                                               std::uint64_t file_bytes) const {
  const std::string sizes = sizes_text({0, file_bytes, {}, ""});
  NamedBytes kept{{kSizes, sizes}};
  for (const KeptFile& file : files) kept.emplace_back(file.name, file.bytes);
  // What was just fetched replaces what was there.
  if (!place(files_name(commit, what), kept, [] { return false; })) return std::nullopt;
  write_ref(revision, commit);
  return KeptFiles{folder_ + "/snapshots/" + files_name(commit, what), file_bytes};
}

void HubCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (is_commit(revision) || commit_of(revision) == commit || !make_folders(folder_ + "/refs")) return;
  const std::string part = folder_ + "/refs/" + part_name();
  const std::string place = folder_ + "/refs/" + percent_encoded(revision);
  if (!write_file(part, commit + "\n")) {
    os::remove_file(part);
    return;
  }
  if (os::rename(part, place)) return;
  // A folder of that name belongs to something else.
  std::error_code ignored;
  if (is_directory(place)) fs::remove_all(place, ignored);
  if (!os::rename(part, place)) os::remove_file(part);
}

static bool is_usable(const std::string& snapshot) {
  const std::string config = snapshot + "/config.json";
  if (is_file(config)) {
    try {
      Fields::parse(read_file(config));
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  const std::vector<std::string> ggufs = entries_of(snapshot, ".gguf");
  return std::any_of(ggufs.begin(), ggufs.end(), is_file);
}

std::string snapshot_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision) {
  if (cache.empty()) return "";
  const std::string folder = cache + "/" + repo_folder(repo);
  std::string commit = revision;
  if (!is_commit(revision)) {
    const std::string ref = folder + "/refs/" + revision;
    if (!is_file(ref)) return "";
    try {
      commit = trimmed(read_file(ref, kMaxRef));
    } catch (const Error&) {
      return "";
    }
    if (!is_commit(commit)) return "";
  }
  std::string snapshot = folder + "/snapshots/" + commit;
  return is_directory(snapshot) ? snapshot : "";
}

std::string find_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision) {
  std::string snapshot = snapshot_in_hf_cache(cache, repo, revision);
  return !snapshot.empty() && is_usable(snapshot) ? snapshot : "";
}

}  // namespace kvplan
