#include "sources/hub_http.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <span>

#include "formats/fields.h"
#include "formats/file.h"
#include "formats/gguf.h"
#include "formats/own_files.h"
#include "formats/safetensors.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

// Longer than the header of most single-file models, so that one request is enough.
constexpr std::size_t kFirstPartBytes = 128 * kKiB;

// Longer than most headers including their vocabulary. Later files of a set have no vocabulary.
constexpr std::size_t kFirstBytes = 8 * kMiB;
constexpr std::size_t kFurtherBytes = 128 * kKiB;

[[noreturn]] static void broken(const std::string& path, std::string_view why) {
  broken_file(path, why, "try again, or download the file");
}

// `left`: how many bytes the headers of the set may still take. The header's length is subtracted from it.
static GgufHeader fetch_header(HubClient& client, const std::string& revision, const std::string& path,
                               std::size_t count, std::size_t& left, std::string& commit) {
  GgufHeader out;
  count = std::min(count, left);
  for (;;) {
    HubMissing missing;
    auto part = client.part(revision, path, out.bytes.size(), count, missing);
    if (!part) fail(Exit::kHub, "the repository has no " + one_line(path, 80), "check the name of the file");
    if (commit.empty()) commit = part->commit;
    if (!out.bytes.empty() && part->total_bytes != out.file_bytes) broken(path, "it changed meanwhile");
    out.file_bytes = part->total_bytes;
    out.bytes += part->body;
    if (!out.bytes.starts_with("GGUF")) broken(path, "it does not start with GGUF");
    const Gguf::Beginning beginning{std::as_bytes(std::span(out.bytes)), out.file_bytes};
    try {
      out.bytes.resize(Gguf::parse(std::span(&beginning, 1)).header_bytes());
      out.bytes.shrink_to_fit();
      left -= out.bytes.size();
      return out;
    } catch (const Error& error) {
      // If the bytes are too few, or are not a header, a longer beginning will show it.
      if (out.bytes.size() >= out.file_bytes) broken(path, error.what());
    }
    if (out.bytes.size() >= left)
      broken(path, "with it the headers take more than " + std::to_string(kMaxGgufHeader >> 20) + " MiB");
    count = std::min(out.bytes.size(), left - out.bytes.size());
  }
}

std::optional<SafetensorsBeginning> fetch_safetensors(HubClient& client, const std::string& revision,
                                                      const std::string& name) {
  HubMissing missing;
  auto first = client.part(revision, name, 0, kFirstPartBytes, missing);
  if (!first) return std::nullopt;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8 && i < first->body.size(); ++i)
    length |= std::uint64_t{static_cast<unsigned char>(first->body[i])} << (8 * i);
  try {
    if (first->body.size() < 8 || length > kMaxSafetensorsHeader || length + 8 > first->total_bytes)
      fail("the length of its header is impossible", "");
    if (length + 8 > first->body.size()) {
      const std::size_t rest = length + 8 - first->body.size();
      const auto more = client.part(revision, name, first->body.size(), rest, missing);
      if (!more || more->body.size() != rest || more->total_bytes != first->total_bytes)
        fail("it changed meanwhile", "");
      first->body += more->body;
    }
    first->body.resize(length + 8);
    parse_safetensors(std::as_bytes(std::span(first->body)), first->total_bytes, [](const SafeTensor&) {});
  } catch (const HubUnreachable&) {
    throw;
  } catch (const Error& error) {
    broken_file(name, error.what());
  }
  return SafetensorsBeginning{std::move(first->body), first->total_bytes};
}

void check_json(const HubFile& file, const std::string& name) {
  const auto first = file.body.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos || file.body[first] != '{')
    throw HubUnreachable(
        "the server answers " + name + " with something else (" +
            (first != std::string::npos && file.body[first] == '<' ? "a web page" : "not a JSON object") + ")",
        "check HF_ENDPOINT and the proxy");
  try {
    Fields::parse(file.body);
  } catch (const Error& error) {
    broken_file(name, error.what());
  }
}

std::vector<std::string> gguf_paths(const std::vector<std::string>& pages) {
  std::vector<std::string> out;
  for (const std::string& page : pages) {
    const auto paths = paths_in(page);
    if (!paths) throw HubUnreachable("the server answers the list of files with something else", "check HF_ENDPOINT");
    std::copy_if(paths->begin(), paths->end(), std::back_inserter(out),
                 [](const std::string& path) { return path.ends_with(".gguf") && path.size() < 1000; });
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<GgufHeader> fetch_gguf(HubClient& client, const std::string& revision, const std::string& path,
                                   std::string& commit) {
  std::vector<GgufHeader> out;
  std::size_t left = kMaxGgufHeader;
  for (const std::string& file : files_of_set(path)) {
    if (left == 0) broken(file, "the headers before it take " + std::to_string(kMaxGgufHeader >> 20) + " MiB");
    out.push_back(fetch_header(client, revision, file, out.empty() ? kFirstBytes : kFurtherBytes, left, commit));
  }
  try {
    parse_headers(out);
  } catch (const Error& error) {
    broken(path, error.what());
  }
  return out;
}

constexpr std::string_view kFirstPart = "-00001-of-";
constexpr unsigned kMaxParts = 400;  // at 3 GB each more than a terabyte

static std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Whether the file's name contains the quantization as a whole word: "q4_k" is not in "q4_k_m".
static bool names(std::string_view file, std::string_view quantization) {
  if (quantization.empty()) return true;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  for (auto at = file.find(quantization); at != std::string_view::npos; at = file.find(quantization, at + 1)) {
    const auto end = at + quantization.size();
    if ((at == 0 || !is_word(file[at - 1])) && (end == file.size() || !is_word(file[end]))) return true;
  }
  return false;
}

std::vector<std::string> gguf_files(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> out = entries_of(folder, ".gguf");
  std::erase_if(out, [&](const std::string& path) { return !file_name(path).starts_with(prefix) || !exists(path); });
  return out;
}

std::string choose_gguf(const std::vector<std::string>& files, std::string_view quantization) {
  const std::string wanted = lower(quantization);
  std::vector<std::string> out;
  for (const std::string& file : files) {
    if (!quantization.empty() && file == quantization) return file;
    const std::string name = lower(file_name(file));
    if (!name.ends_with(".gguf") || name.find("mmproj") != std::string::npos || name.starts_with("mtp-")) continue;
    if (name.find("-of-") != std::string::npos && name.find(kFirstPart) == std::string::npos) continue;
    if (names(name, wanted)) out.push_back(file);
  }
  if (out.empty()) return "";
  if (out.size() == 1) return out.front();
  // If no quantization is named, takes the usual first choice of tools.
  if (quantization.empty())
    for (const std::string& file : out)
      if (names(lower(file_name(file)), "q4_k_m")) return file;
  const std::string list = join(out, ", ", [](const std::string& file) { return one_line(file_name(file), 80); });
  fail("the name matches several files: " + one_line(list, 240), "give the quantization, too");
}

std::vector<std::string> files_of_set(const std::string& first) {
  const auto at = first.rfind(kFirstPart);
  unsigned count = 0;
  if (at != std::string::npos) {
    const char* const begin = first.data() + at + kFirstPart.size();
    const auto [end, error] = std::from_chars(begin, first.data() + first.size(), count);
    if (error != std::errc() || std::string_view(end) != ".gguf") count = 0;
    if (count > kMaxParts)
      fail(Exit::kHub,
           "the set has " + std::to_string(count) + " files, and kvplan fetches the headers of " +
               std::to_string(kMaxParts) + " at most",
           "download it and give the path of its first file");
  }
  if (count < 2) return {first};
  std::vector<std::string> out;
  for (unsigned i = 1; i <= count; ++i) {
    char number[16];
    std::snprintf(number, sizeof number, "-%05u-of-", i);
    out.push_back(first.substr(0, at) + number + first.substr(at + kFirstPart.size()));
  }
  return out;
}

}  // namespace kvplan
