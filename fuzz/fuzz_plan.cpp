// Everything from config to report: any config with any engine and request becomes a plan that adds up and prints in
// every format, or an Error of one line. A line "---" separates config.json from the eight bytes of the request.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engines/engine.h"
#include "formats/own_files.h"
#include "formulas/model.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "report/report.h"
#include "sources/load.h"

namespace {

using namespace kvplan;

constexpr std::string_view kSeparator = "\n---\n";
constexpr std::uint64_t kLengths[] = {1, 15, 16, 257, 4096, 32768, 131072, 1U << 30};
constexpr const char* kWeights[] = {"", "fp8", "int4", "nvfp4", "q4_k_m", "q8_0", "awq-int4", "bfloat16"};
constexpr const char* kCaches[] = {"auto", "fp8_e4m3", "q8_0", "q4_0"};

Request make_request(const std::array<std::uint8_t, 8>& bytes) {
  Request request;
  request.engine = &engines()[bytes[0] % engines().size()];
  if (bytes[1] & 7) request.max_model_len = Tokens(kLengths[bytes[1] & 7]);
  request.num_seqs = 1 + (bytes[1] >> 3);
  request.parallel.tensor = std::uint64_t{1} << (bytes[2] & 3);
  request.parallel.pipeline = 1 + ((bytes[2] >> 2) & 3);
  request.parallel.data = 1 + ((bytes[2] >> 4) & 1);
  request.parallel.expert = bytes[2] & 32;
  request.mtp = bytes[2] & 64;
  request.prefix_caching = bytes[2] & 128;
  const char* weights = kWeights[bytes[3] & 7];
  if (*weights != '\0') request.weights = weights;
  const char* cache = kCaches[(bytes[3] >> 3) & 3];
  if (std::string_view(cache) != "auto") request.cache_type_k = request.cache_type_v = parse_dtype(cache, "kv");
  request.llama_cpp.kv_unified = bytes[3] & 32;
  request.llama_cpp.swa_full = bytes[3] & 64;
  request.enforce_eager = bytes[3] & 128;
  if (bytes[4] != 0) request.card.memory = Bytes(std::uint64_t{bytes[4]} << 30);
  if (bytes[5] != 0) request.max_num_batched_tokens = Tokens(std::uint64_t{bytes[5]} * 64);
  if (bytes[6] != 0) request.max_num_seqs = bytes[6];
  if (bytes[7] != 0) request.kv_cache_memory_bytes = Bytes(std::uint64_t{bytes[7]} << 26);
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cut = text.find(kSeparator);
  std::array<std::uint8_t, 8> asked{};
  if (cut != std::string_view::npos) {
    const std::string_view tail = text.substr(cut + kSeparator.size(), asked.size());
    std::copy(tail.begin(), tail.end(), asked.begin());
  }
  try {
    const Request request = make_request(asked);
    const ModelSpec model = read_config(text.substr(0, cut), "", "fuzz", {false});
    const Plan plan = make_plan(model, request);
    Bytes total;
    for (const GpuMemory& gpu : plan.memory) {
      Bytes lines;
      for (const LedgerLine& line : gpu.lines) {
        if (line.low > line.bytes || line.bytes > line.high) __builtin_trap();
        lines += line.bytes;
      }
      if (lines != gpu.total) __builtin_trap();
      total += lines;
    }
    if (total != plan.total.bytes || plan.total.low > total || total > plan.total.high) __builtin_trap();
    for (const ReportForm& form : forms()) {
      if (form.has_launch) continue;
      const std::string report = form.write(reply_of(plan), {});
      if (form.name == "json") parse_plan(report, "fuzz");
    }
  } catch (const Error& error) {
    const std::string line = error.line();
    if (line.find('\n') != std::string::npos || !line.starts_with("kvplan: ")) __builtin_trap();
  }
  return 0;
}
