// Known differences between kvplan's figures and what the engines' own code gives. One table serves two purposes: the
// conformance tests explain every miss by a row, and the plan of an affected model says what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// What a plan prints about an error that affects it.
enum class Effect : std::uint8_t {
  kSilent,   // nothing: it changes no memory, or less than 0.1 %, or the plan has a range that
             // includes it
  kWarning,  // a warning: the error changes memory by at most 1 %
  kUnknown,  // a warning, and no verdict: the error changes memory by more
};

// The executed rows and figures that an error explains, for the tests. They are patterns as in a shell, separated by
// "|", with "!" before an exception. Empty means any.
struct ExplainedMisses {
  struct Range {
    double from = 0, to = 0;
  };
  std::string_view models{}, settings{}, figures{}, details{}, words{};
  std::optional<Range> off{};     // (planned - executed) / executed
  std::optional<Range> by{};      // planned - executed
  std::optional<bool> planned{};  // false: kvplan gives no such figure
};

struct KnownError {
  std::string_view engine{}, name{};  // a name, unique within the engine
  Effect effect = Effect::kSilent;
  // The models: model_types of the decoder or of the whole file, separated by spaces. Empty: all.
  std::string_view types{};
  Release since{}, until = kNoEnd;                   // the first release without the error
  bool (*when)(const EngineInput& input) = nullptr;  // a further condition on the plan; null: none
  const char* tells = "";                            // what is wrong, for the user; "" if it is silent
  std::string_view why{};                            // the cause
  ExplainedMisses misses{};  // no figures: the error is known from elsewhere, and no executed row shows it
};

// Rows of one engine are next to each other. If several explain a miss, the first one is used.
std::span<const KnownError> known_errors();
// Whether the error is about this engine, release and model type, whatever else it depends on.
bool concerns(const KnownError& error, std::string_view engine, Release release, std::string_view model_type,
              std::string_view root_type);
// Whether the error affects this plan.
bool affects(const KnownError& error, const EngineInput& input);

// The models that were run in each engine's own code: executed.txt, written by scripts/executed_models.py. A line has
// an engine, then model_types and classes. The first line is a comment.
std::span<const std::string_view> executed_lines();

// Whether the model's class was run in the engine's own code, or another checkpoint of its type.
bool was_executed(std::string_view engine, const ModelShape& model);

}  // namespace kvplan
