#include "plan/plan_cache.h"

#include <algorithm>

#include "engines/known_errors.h"
#include "kvplan/strings.h"

namespace kvplan {

// Layers whose cache an engine keeps in one of two forms.
static bool has_latents(const EngineInput& input) {
  return std::any_of(input.caches.begin(), input.caches.end(),
                     [](const LayerCache& cache) { return cache.compact != cache.expanded; });
}

static void add_known_errors(const EngineInput& input, Doubts& out) {
  for (const KnownError& error : known_errors()) {
    if (error.effect == Effect::kSilent || !affects(error, input)) continue;
    warn(out.notes, "known_error", error.tells);
    if (error.effect == Effect::kUnknown && out.no_verdict.empty()) out.no_verdict = error.tells;
  }
}

Doubts doubts_of(const EngineInput& input) {
  Doubts out;
  const Engine& engine = engine_of(input.request);
  if (const std::vector<std::string>& options = input.request.command.unmodelled; !options.empty())
    // Without the speed of one request, a rate of requests does not show how many run at once.
    out.no_verdict =
        options.front() == "--tokens-per-second"
            ? Template(
                  "how many sequences run at once depends on the speed that you measure: add "
                  "--tokens-per-second N")
            : Template{"{options} can raise the memory of a GPU and is not modelled", {{"options", join(options)}}};
  if (engine.is_logical) return out;
  add_known_errors(input, out);
  if (input.draft != nullptr) add_known_errors(*input.draft, out);
  const bool executed = was_executed(engine.name, input.model);
  if (engine.names_latents != nullptr && !executed && out.no_verdict.empty() && has_latents(input) &&
      !engine.names_latents(input)) {
    out.no_verdict = {"kvplan does not know whether {engine} caches this model's latents or the K and V of every head",
                      {{"engine", engine.name}}};
    warn(out.notes, "unknown_latents", out.no_verdict);
  }
  if (!executed)
    inform(
        out.notes, "not_verified",
        {"not verified in {engine}: this plan was not compared with a run of this model", {{"engine", engine.name}}});
  return out;
}

}  // namespace kvplan
