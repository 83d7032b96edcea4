#include "sources/hub_safetensors.h"

#include <span>

#include "formats/fields.h"
#include "formats/safetensors.h"
#include "kvplan/quantity.h"

namespace kvplan {

namespace {

// Longer than the headers of most models of one file, so that one request is enough.
constexpr std::size_t kFirstPart = 128 * kKiB;

}  // namespace

std::optional<SafetensorsBeginning> fetch_safetensors(HubClient& client, const std::string& revision,
                                                      const std::string& name) {
  HubMissing missing;
  auto first = client.part(revision, name, 0, kFirstPart, missing);
  if (!first) return std::nullopt;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8 && i < first->body.size(); ++i)
    length |= std::uint64_t{static_cast<unsigned char>(first->body[i])} << (8 * i);
  try {
    if (first->body.size() < 8 || length > kMaxSafetensorsHeader || length + 8 > first->total_bytes)
      fail("its header's length cannot be", "");
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
    throw HubUnreachable("the server's " + one_line(name, 80) + " is broken (" + one_line(error.what(), 160) + ")",
                         "try again, or check HF_ENDPOINT");
  }
  return SafetensorsBeginning{std::move(first->body), first->total_bytes};
}

void check_json(const HubFile& file, const std::string& name) {
  const auto first = file.body.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos || file.body[first] != '{')
    throw HubUnreachable("the server answers " + name + " with something else (" +
                             (first != std::string::npos && file.body[first] == '<' ? "a web page" : "no JSON object") +
                             ")",
                         "check HF_ENDPOINT and the proxy");
  try {
    Fields::parse(file.body);
  } catch (const Error& error) {
    throw HubUnreachable("the server's " + name + " is broken (" + one_line(error.what(), 160) + ")",
                         "try again, or check HF_ENDPOINT");
  }
}

}  // namespace kvplan
