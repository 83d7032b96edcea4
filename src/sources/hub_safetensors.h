// The header of a safetensors file on the Hub, by one range request or two.
#ifndef KVPLAN_SOURCES_HUB_SAFETENSORS_H_
#define KVPLAN_SOURCES_HUB_SAFETENSORS_H_

#include <cstdint>
#include <string>

#include "sources/hub_http.h"

namespace kvplan {

struct SafetensorsBeginning {
  std::string bytes;             // to the end of the header
  std::uint64_t file_bytes = 0;  // of the whole file
};

// Nothing where there is no such file. Throws Error(kHub) for one that is broken.
std::optional<SafetensorsBeginning> fetch_safetensors(HubClient& client, const std::string& revision,
                                                      const std::string& name);

// Throws HubUnreachable unless the text is a JSON object: a page that says "log in" comes with status 200 too.
void check_json(const HubFile& file, const std::string& name);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_SAFETENSORS_H_
