// What the environment and the command line say of the Hub: where it is, who asks, and where copies lie.
#ifndef KVPLAN_SOURCES_HUB_SETTINGS_H_
#define KVPLAN_SOURCES_HUB_SETTINGS_H_

#include <chrono>
#include <string>
#include <string_view>

#include "sources/load.h"

namespace kvplan {

struct HubSettings {
  std::string endpoint;  // "https://huggingface.co", no slash at the end
  std::string token;     // "" for none; goes to the endpoint alone, and nowhere else
  bool offline = false;
  std::string hf_cache;                      // the HF tools' cache: folders models--org--name
  std::string own_cache;                     // kvplan's own; "" where there is no place for one
  std::chrono::milliseconds timeout{10000};  // for a connection, and for a silence
};

// Reads HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, XDG_CACHE_HOME, KVPLAN_CACHE and
// KVPLAN_HTTP_TIMEOUT_MS; `options` wins. Throws Error(kBadInput), which never holds the token.
HubSettings read_hub_settings(const HubOptions& options);

// The folder of the HF tools' cache; "" where it is unknown.
std::string hf_cache_folder();

// The variable's value; "" where it is unset.
std::string environment(const char* name);
// A folder beneath the user's home; "" where that is unknown.
std::string home_folder(std::string_view beneath);

// "scheme://host[:port]" in small letters, of a URL that is plainly one: http or https, no user, no odd characters.
// "" for anything else, so that no two readers can take one URL for two hosts.
std::string origin_of(std::string_view url);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_SETTINGS_H_
