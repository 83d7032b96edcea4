#include "sources/model_list.h"

#include <algorithm>

#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::size_t kMaxListBytes = kMiB;

}  // namespace

bool is_model_list(const std::string& argument) {
  return argument.size() > 1 && argument.front() == '@';
}

std::vector<std::string> read_model_list(const std::string& argument) {
  const std::string path = argument.substr(1);
  return with_source(path, [&] {
    std::vector<std::string> out;
    const std::string text = read_file(path, kMaxListBytes);
    const bool is_text = std::none_of(text.begin(), text.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
    });
    if (!is_text || trimmed(std::string_view(text).substr(0, text.find('\n'))).starts_with('{'))
      fail("this is no list of models", "write a MODEL on each line, or name a config *.json");
    // Some editors begin a text with a byte order mark.
    const std::string_view lines = text;
    for (std::string_view rest = lines.substr(lines.starts_with("\xEF\xBB\xBF") ? 3 : 0); !rest.empty();) {
      const auto end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      std::string name(trimmed(line.substr(0, line.find('#'))));
      if (name.empty()) continue;
      if (out.size() == kMostModels)
        fail("the list names more than " + std::to_string(kMostModels) + " models", "divide it");
      if (is_model_list(name)) fail("the list names a further list, " + one_line(name, 60), "name its models here");
      if (std::string beside = path.substr(0, path.rfind('/') + 1) + name;
          name.front() != '/' && !exists(name) && exists(beside))
        name = std::move(beside);
      out.push_back(std::move(name));
    }
    if (out.empty()) fail("the list names no model", "write a MODEL on each line");
    return out;
  });
}

}  // namespace kvplan
