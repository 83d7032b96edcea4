// Figures of a calibration in place of a plan's estimates, where card and engine match.
#ifndef KVPLAN_PLAN_CALIBRATE_H_
#define KVPLAN_PLAN_CALIBRATE_H_

#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "kvplan/calibration.h"
#include "kvplan/request.h"
#include "plan/answer.h"

namespace kvplan {

// The model and the options that activations and graphs depend on, as a record names them.
std::string calibration_subject(const EngineInput& input);
// The layout that what a process takes beside its tensors depends on.
std::string calibration_layout(const Request& request);

// The figure for the card of `request`, by what runs on it: figures of the card match the card alone; those of an
// engine its name and release too; those of a model its subject too. Nothing where no record matches or no card is
// named.
std::optional<AppliedFigure> find_figure(const Request& request, std::string_view name, std::string_view subject = "");
// What a program sees of the card; bytes it reads and writes a second (for a bound of the decode speed).
std::optional<Bytes> calibrated_memory(const Request& request);
std::optional<Figure> calibrated_bandwidth(const Request& request);

// Replaces estimates among the overhead lines of a GPU, and says which.
void calibrate(const EngineInput& input, std::vector<LedgerLine>& lines, std::vector<AppliedFigure>& applied);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_CALIBRATE_H_
