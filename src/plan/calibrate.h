// Replaces a plan's estimates by a calibration's figures, if GPU and engine match.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "kvplan/calibration.h"
#include "kvplan/request.h"
#include "plan/answer.h"

namespace kvplan {

struct Pieces;  // plan/ledger.h

// The model and the options that activations and graphs depend on, as a record's `model` has them.
std::string calibration_subject(const EngineInput& input);
// The layout, on which the memory of a process outside its tensors depends.
std::string calibration_layout(const Request& request);

// Figures that kvplan verify gets from the engine's code, in addition to those of kvplan/calibration.h.
constexpr std::string_view kWeightsFigure = "weights_bytes";   // of a rank, before repacking
constexpr std::string_view kBlockFigure = "block_bytes";       // of a block, in all layers of a rank
constexpr std::string_view kRequestFigure = "request_blocks";  // of a sequence of the longest context
constexpr std::string_view kBlockSizeFigure = "block_tokens";
constexpr std::string_view kGraphSizesFigure = "graph_sizes";  // batch sizes that are captured

// The record of such figures ("weights_bytes=1,block_bytes=2"), for this plan's GPU, release, model and options.
CalibrationRecord calibration_of_engine(const Pieces& pieces, const Load& load, const std::string& said,
                                        std::string_view date);
// Replaces a rank's weights, what fits in the cache's budget, and the engine's sizes by such figures.
void calibrate_weights(const Pieces& pieces, const Load& load, std::vector<LedgerLine>& lines,
                       std::vector<AppliedFigure>& applied);
void calibrate_capacity(const Pieces& pieces, const Load& load, Capacity& capacity,
                        std::vector<AppliedFigure>& applied);
void calibrate_sizes(const Pieces& pieces, Plan& plan);

// The figure for the request's GPU. Figures of a GPU need only the GPU to match; those of an engine also its name
// and release; those of a model also its subject. Nothing if no record matches or no GPU is named.
std::optional<AppliedFigure> find_figure(const Request& request, std::string_view name, std::string_view subject = "");
// The memory of the GPU that a program sees, and the bytes per second that the GPU reads and writes (for a bound of the
// decode speed).
std::optional<Bytes> calibrated_memory(const Request& request);
std::optional<Figure> calibrated_bandwidth(const Request& request);

// Replaces estimates among the overhead lines of a GPU, and lists those it replaced.
void calibrate(const EngineInput& input, std::vector<LedgerLine>& lines, std::vector<AppliedFigure>& applied);

}  // namespace kvplan
