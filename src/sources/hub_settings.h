// Settings for the Hub, from the environment and the command line: its address, the token, and the caches.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sources/load.h"

namespace kvplan {

struct HubSettings {
  std::string endpoint;  // "https://huggingface.co", without a slash at the end
  std::string token;     // "" for none; sent to the endpoint and nowhere else
  bool offline = false;
  std::string hf_cache;                      // the Hugging Face tools' cache: folders models--org--name
  std::string own_cache;                     // kvplan's own cache; "" if there is no folder for one
  std::chrono::milliseconds timeout{10000};  // for a connection, and for a pause in the data
};

// Reads HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, XDG_CACHE_HOME, KVPLAN_CACHE and
// KVPLAN_HTTP_TIMEOUT_MS. `options` take precedence. Throws Error(kBadInput), whose message never contains the token.
HubSettings read_hub_settings(const HubOptions& options);

// The folder of the Hugging Face tools' cache; "" if it is unknown.
std::string hf_cache_folder();

// The variable's value; "" if it is unset.
std::string environment(const char* name);
// A folder under the user's home; "" if that is unknown.
std::string home_folder(std::string_view beneath);

// "scheme://host[:port]" in lower case, for a plain URL: http or https, no user name, no unusual characters. "" for
// anything else, so that no two programs can read different hosts from one URL.
std::string origin_of(std::string_view url);

// Names of models on the Hub: `org/name[:quantization][@revision]`, or the address of a model's page. Both come from
// outside and become parts of URLs and cache paths, so anything that is not clearly a name is refused.

struct HubId {
  std::string repo;      // "org/name"
  std::string revision;  // a branch, tag or commit; "" if not given
  std::string gguf;      // "Q4_K_M", or the path of a *.gguf in the repository; "" if not given
};

bool is_hub_url(std::string_view argument);
// Whether an argument names something on this machine rather than on the Hub.
bool is_local_path(std::string_view argument);
// Whether a name is safe as one part of a path: it has only letters, digits, '.', '_' and '-', and cannot leave the
// folder.
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
