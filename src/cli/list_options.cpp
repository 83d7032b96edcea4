#include "cli/list_options.h"

#include "engines/engine.h"
#include "weights/weigh.h"

namespace kvplan {

std::vector<std::string_view> parts_of(std::string_view list, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto end = list.find(separator);
    out.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return out;
    list.remove_prefix(end + 1);
  }
}

std::optional<Dtype> type_or_auto(std::string_view value, std::string_view name) {
  if (value == "auto") return std::nullopt;
  return parse_dtype(value, name);
}

// "vllm", or several: "vllm,sglang".
void set_engines(Invocation& call, std::string_view list, std::string_view) {
  call.engines.clear();
  call.engine_given = true;
  if (list.find(',') == std::string_view::npos) {
    find_engine(list, call.request);
    return;
  }
  for (const std::string_view name : parts_of(list, ',')) {
    find_engine(name, call.request);
    call.engines.emplace_back(name);
  }
}

void set_weights(Invocation& call, std::string_view list, std::string_view option) {
  call.weights.clear();
  call.request.weights.reset();
  if (list.find(',') == std::string_view::npos) {
    check_weight_type(list, option);
    call.request.weights = std::string(list);
    return;
  }
  for (const std::string_view name : parts_of(list, ',')) {
    check_weight_type(name, option);
    call.weights.emplace_back(name);
  }
}

// "fp8", or several for compare: "auto,fp8".
void set_kv_types(Invocation& call, std::string_view list, std::string_view option) {
  call.kv_types.clear();
  call.request.cache_type_k = call.request.cache_type_v = std::nullopt;
  for (const std::string_view name : parts_of(list, ',')) {
    const std::optional<Dtype> type = type_or_auto(name, option);
    call.kv_types.emplace_back(type ? kvplan::name(*type) : "auto");
    call.request.cache_type_k = call.request.cache_type_v = type;
  }
  if (call.kv_types.size() == 1) return call.kv_types.clear();
  call.request.cache_type_k = call.request.cache_type_v = std::nullopt;
}

}  // namespace kvplan
