// The request that a log's options describe, with assumptions for what the log does not show.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kvplan/observation.h"
#include "kvplan/request.h"

namespace kvplan {

struct LogRequest {
  Request request;
  std::vector<std::string> read;  // "--max-model-len 40960"
  std::vector<std::string> assumed;
  // An assumption affects every model's cache, so differences mean nothing.
  bool assumes_cache = false;
  bool assumes_types = false, assumes_ranks = false, assumes_release = false;
  // An assumption affects models with windows or states, which depend on batches, sequences and cached prefixes.
  bool assumes_batch = false;

  template <class Value>
  void note(std::string_view option, const Value& value) {
    if constexpr (std::is_arithmetic_v<Value>)
      read.push_back(std::string(option) + " " + std::to_string(value));
    else
      read.push_back(std::string(option) + " " + std::string(value));
  }
  // A figure from the log, used if the command line gives none.
  template <class Value>
  void take(std::optional<Value>& field, const std::optional<std::uint64_t>& said, std::string_view option) {
    if (field || !said) return;
    field = Value(*said);
    note(option, *said);
  }
  void take(bool& field, bool said, std::string_view option) {
    if (field || !said) return;
    field = true;
    read.emplace_back(option);
  }
  void assume(std::string what, bool cache) {
    assumed.push_back(std::move(what));
    (cache ? assumes_cache : assumes_batch) = true;
  }
};

// For logs of llama.cpp, and of ollama, which runs llama.cpp (llama_cpp/log_request.cpp).
void llama_cpp_read_request(const LogReading& log, LogRequest& out);
// Whether a device name of llama.cpp means host memory.
bool is_host_device(std::string_view device);

}  // namespace kvplan
