// Where a report has what the figures of several engines are compared with.
#pragma once

namespace kvplan::conformance {

inline constexpr const char* kParameters = "/model/parameters/total";
inline constexpr const char* kWeightsBytes = "/memory/0/weights_bytes";
inline constexpr const char* kCacheBytes = "/kv_cache/reserved_bytes";
inline constexpr const char* kBlockSize = "/kv_cache/block_size";
inline constexpr const char* kCapacityTokens = "/capacity/tokens";
inline constexpr const char* kAtOnce = "/verdict/runs_at_once";
inline constexpr const char* kGraphSizes = "/engine_settings/cuda_graph_sizes";

}  // namespace kvplan::conformance
