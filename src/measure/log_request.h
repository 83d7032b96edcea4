// The request that a log's options make, and what has to be assumed where the log is silent.
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
  // Something that any model's cache depends on is assumed: a difference then means nothing.
  bool assumes_cache = false;
  bool assumes_types = false, assumes_ranks = false, assumes_release = false;
  // The same for models with windows or states, which depend on batches, sequences, cached prefixes.
  bool assumes_batch = false;
};

// Options in `base` win. Throws Error where neither a line nor `base` names the engine.
LogRequest read_request(const LogReading& reading, const Request& base);

bool is_llama(const Request& request);
// Whether a device name of llama.cpp means host memory.
bool is_host_device(std::string_view device);
// The first figure of that name, and the smallest.
std::optional<double> first_figure(const LogReading& reading, std::string_view what);
std::optional<double> smallest_figure(const LogReading& reading, std::string_view what);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_REQUEST_H_
