#include "sources/gguf_choice.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::string_view kFirstPart = "-00001-of-";
constexpr unsigned kMaxParts = 400;  // at 3 GB each more than a terabyte

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Whether the file's name contains the quantization as a whole: "q4_k" is not in "q4_k_m".
bool names(std::string_view file, std::string_view quantization) {
  if (quantization.empty()) return true;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  for (auto at = file.find(quantization); at != std::string_view::npos; at = file.find(quantization, at + 1)) {
    const auto end = at + quantization.size();
    if ((at == 0 || !is_word(file[at - 1])) && (end == file.size() || !is_word(file[end]))) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> gguf_files(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".gguf") && exists(it->path().string()))
      out.push_back(it->path().generic_string());
  }
  std::sort(out.begin(), out.end());
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
  // Without a quantization: the usual first choice of tools.
  if (quantization.empty())
    for (const std::string& file : out)
      if (names(lower(file_name(file)), "q4_k_m")) return file;
  const std::string list = join(out, ", ", [](const std::string& file) { return one_line(file_name(file), 80); });
  fail("the name stands for several files: " + one_line(list, 240), "give the quantization with it");
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
