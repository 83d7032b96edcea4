#include "sources/hub_settings.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/os.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

constexpr std::size_t kMaxName = 96;  // the Hub's own limit
constexpr std::size_t kMaxRevision = 200;

static bool is_plain(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
}

[[noreturn]] static void no_id(std::string_view argument, std::string_view why) {
  fail("no such file, and not the name of a model on the Hub (" + std::string(why) + ": \"" + one_line(argument, 60) +
           "\")",
       "give a path, or org/name");
}

static void check_repo(std::string_view repo) {
  const auto slash = repo.find('/');
  if (slash == std::string_view::npos) no_id(repo, "it has no organisation");
  if (repo.size() > kMaxName) no_id(repo, "longer than 96 characters");
  for (const std::string_view part : {repo.substr(0, slash), repo.substr(slash + 1)}) {
    if (part.empty() || !std::all_of(part.begin(), part.end(), is_plain))
      no_id(repo, "letters, digits and . _ - on both sides of one /");
    const auto edge = [](char c) { return c == '.' || c == '-'; };
    if (edge(part.front()) || edge(part.back()) || part.find("..") != std::string_view::npos ||
        part.find("--") != std::string_view::npos || part.ends_with(".git"))
      no_id(repo, "no part may begin or end with . or -, or contain .. or --");
  }
}

static std::string_view after_scheme(std::string_view url) {
  const auto at = url.find("://");
  return at == std::string_view::npos ? url : url.substr(at + 3);
}

static HubId parse_url(std::string_view url, std::string_view endpoint) {
  std::string_view rest = after_scheme(url.substr(0, url.find_first_of("?#")));
  const std::string host = lower(rest.substr(0, rest.find('/')));
  std::string_view mirror = after_scheme(endpoint);
  mirror = mirror.substr(0, mirror.find('/'));
  static constexpr std::array<std::string_view, 3> kHosts{"huggingface.co", "www.huggingface.co", "hf.co"};
  if (host != lower(mirror) && std::find(kHosts.begin(), kHosts.end(), host) == kHosts.end())
    fail("not a model's page on the Hub", "give org/name, and set HF_ENDPOINT for a mirror");
  std::vector<std::string_view> parts;
  while (rest.find('/') != std::string_view::npos) {
    rest.remove_prefix(rest.find('/') + 1);
    if (const std::string_view part = rest.substr(0, rest.find('/')); !part.empty()) parts.push_back(part);
  }
  if (parts.size() < 2 || parts[0] == "datasets" || parts[0] == "spaces" || parts[0] == "api")
    fail("the address is not a model's page", "give org/name");
  HubId id{std::string(parts[0]) + "/" + std::string(parts[1]), "", ""};
  if (parts.size() > 3 && (parts[2] == "tree" || parts[2] == "blob" || parts[2] == "resolve")) {
    id.revision = percent_decoded(parts[3]);  // the Hub writes refs/pr/1 as refs%2Fpr%2F1
    std::size_t next = 4;
    if (id.revision == "refs" && parts.size() > 5) {
      id.revision = "refs/" + std::string(parts[4]) + "/" + std::string(parts[5]);
      next = 6;
    }
    if (parts.back().ends_with(".gguf"))
      for (; next < parts.size(); ++next) id.gguf += (id.gguf.empty() ? "" : "/") + std::string(parts[next]);
  }
  return id;
}

bool is_hub_url(std::string_view argument) {
  return argument.starts_with("https://") || argument.starts_with("http://");
}

bool is_local_path(std::string_view argument) {
  const auto ends = [&](std::string_view suffix) { return argument.ends_with(suffix); };
  return argument.empty() || std::string_view("./~").find(argument.front()) != std::string_view::npos ||
         os::begins_with_drive(argument) || ends(".json") || ends(".gguf") || ends(".safetensors") ||
         exists(std::string(argument));
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name.front() != '.' && std::all_of(name.begin(), name.end(), is_plain);
}

bool is_commit(std::string_view revision) {
  return revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void check_revision(std::string_view revision) {
  const bool plain =
      std::all_of(revision.begin(), revision.end(), [](char c) { return is_plain(c) || c == '/' || c == '+'; });
  const auto edge = [](char c) { return c == '.' || c == '-' || c == '/'; };
  if (revision.empty() || revision.size() > kMaxRevision || !plain || edge(revision.front()) ||
      revision.back() == '/' || revision.find("..") != std::string_view::npos ||
      revision.find("//") != std::string_view::npos || revision.find("/.") != std::string_view::npos)
    fail("\"" + one_line(revision, 60) + "\" is not a revision", "name a branch, a tag or a commit");
}

HubId parse_hub_id(std::string_view argument, std::string_view endpoint) {
  HubId id;
  if (is_hub_url(argument)) {
    id = parse_url(argument, endpoint);
  } else {
    const auto at = argument.find('@');
    const std::string_view name = argument.substr(0, at);
    const auto colon = name.find(':');
    id.repo = name.substr(0, colon);
    if (colon != std::string_view::npos) {
      id.gguf = name.substr(colon + 1);
      if (id.gguf.empty() || id.gguf.size() > 64 || !std::all_of(id.gguf.begin(), id.gguf.end(), is_plain))
        no_id(argument, "the part after : is not a quantization");
    }
    if (at != std::string_view::npos) {
      id.revision = argument.substr(at + 1);
      check_repo(id.repo);
      check_revision(id.revision);
    }
  }
  check_repo(id.repo);
  if (!id.revision.empty()) check_revision(id.revision);
  if (is_hub_url(argument) && !id.gguf.empty()) check_revision(id.gguf);  // must be as plain a path as a branch
  return id;
}

std::string percent_encoded(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view digits = text.substr(at + 1, 2);
    const bool is_escape = text[at] == '%' && digits.size() == 2 &&
                           digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    out += is_escape ? static_cast<char>(whole_number(digits, 16).value_or(0)) : text[at];
    if (is_escape) at += 2;
  }
  return out;
}

}  // namespace kvplan
