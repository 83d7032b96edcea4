// Looks for cases that lack an executed row: caches that are much larger than the architecture needs, in an engine that
// was never run with the model, without a note.
#include <doctest/doctest.h>

#include "conformance/planner.h"
#include "kvplan/strings.h"

namespace kvplan::conformance {
namespace {

constexpr double kFar = 6;  // reserved bytes over logical ones
// SGLang keeps every token of window layers unless the model is on its list (is_hybrid_swa_model). These models are not
// on it.
constexpr std::string_view kWindowsKeptWhole = "default/idefics2 default/ministral variant/ministral";

TEST_CASE("conformance: a cache far larger than the need is executed, or the plan has a note") {
  Planner planner;
  std::uint64_t planned = 0, far = 0;
  for (const std::string& name : planner.names()) {
    for (const std::string engine : {"vllm", "sglang", "mlx", "transformers", "llama.cpp"}) {
      CAPTURE(name);
      CAPTURE(engine);
      const Reply reply = planner.ask(name, engine, {"--max-model-len", "32768"});
      const auto reserved = reply.number("/kv_cache/reserved_bytes");
      const auto logical = reply.number("/kv_cache/logical_bytes_per_gpu");
      if (!reserved || !logical) continue;
      ++planned;
      if (*reserved <= kFar * *logical || reply.is_refused()) continue;
      ++far;
      if (engine == "sglang" && has_word(kWindowsKeptWhole, name)) continue;
      CHECK((reply.has_warning() || !reply.has_note("not_verified")));
    }
  }
  CHECK(planned > 1000);
  CHECK(far > 10);
}

}  // namespace
}  // namespace kvplan::conformance
