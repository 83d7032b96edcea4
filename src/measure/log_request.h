// The request that a log's own words make: what they tell, and what has to be assumed where they are silent.
#ifndef KVPLAN_MEASURE_LOG_REQUEST_H_
#define KVPLAN_MEASURE_LOG_REQUEST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/observation.h"
#include "kvplan/request.h"

namespace kvplan {

struct LogRequest {
  Request request;
  std::vector<std::string> read;  // "--max-model-len 40960"
  std::vector<std::string> assumed;
  // What the cache of any model rests on is assumed: a difference then tells nothing.
  bool assumes_cache = false;
  bool assumes_types = false, assumes_ranks = false, assumes_release = false;
  // The same for models with windows or states: batches, sequences, cached prefixes.
  bool assumes_batch = false;
};

// What `base` names wins. Throws Error where no line told the engine and `base` does not.
LogRequest read_request(const LogReading& reading, const Request& base);

bool is_llama(const Request& request);
// Of llama.cpp's device names: host memory.
bool is_host_device(std::string_view device);
// The first figure of that name, the smallest one.
std::optional<double> first_figure(const LogReading& reading, std::string_view what);
std::optional<double> smallest_figure(const LogReading& reading, std::string_view what);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_REQUEST_H_
