// Names of models on the Hub: `org/name[:quantization][@revision]`, or the address of a model's page. Both come from
// outside and become parts of URLs and cache paths, so anything that is not clearly a name is refused.
#pragma once

#include <string>
#include <string_view>

namespace kvplan {

struct HubId {
  std::string repo;      // "org/name"
  std::string revision;  // a branch, tag or commit; "" if not given
  std::string gguf;      // "Q4_K_M", or the path of a *.gguf in the repository; "" if not given
};

bool is_hub_url(std::string_view argument);
// Whether an argument names something on this machine rather than on the Hub.
bool is_local_path(std::string_view argument);
// Whether it is safe as one part of a path: letters, digits, '.', '_' and '-', and it cannot leave the folder.
bool is_plain_name(std::string_view name);
// Throws Error(kBadInput) for anything else. `endpoint` is a mirror whose addresses are accepted in addition to the
// Hub's.
HubId parse_hub_id(std::string_view argument, std::string_view endpoint);

// Throws Error(kBadInput) unless it is a plain branch, tag, commit or "refs/pr/1".
void check_revision(std::string_view revision);
bool is_commit(std::string_view revision);  // a full hash

// Encodes bytes other than letters, digits, '.', '_' and '-' as %XX, for one part of a URL's path or a file name.
std::string percent_encoded(std::string_view text);
std::string percent_decoded(std::string_view text);

}  // namespace kvplan
