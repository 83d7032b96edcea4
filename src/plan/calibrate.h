// Replaces a plan's estimates with a calibration's figures, if GPU and engine match.
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

// The model and its options that affect activations and graphs, as a record's `model` has them.
std::string calibration_subject(const EngineInput& input);
// The layout, which affects the memory of a process outside its tensors.
std::string calibration_layout(const Request& request);

// Figures that `kvplan verify` gets from the engine's code, in addition to those in kvplan/calibration.h.
constexpr std::string_view kWeightsFigure = "weights_bytes";   // of a rank, before repacking
constexpr std::string_view kBlockFigure = "block_bytes";       // of a block, in all layers of a rank
constexpr std::string_view kRequestFigure = "request_blocks";  // of a sequence of the longest context
constexpr std::string_view kBlockSizeFigure = "block_tokens";
constexpr std::string_view kGraphSizesFigure = "graph_sizes";  // batch sizes that are captured
constexpr std::string_view kTokenFigure = "token_bytes";       // of a token in SGLang's pool
constexpr std::string_view kPrefixFigure = "prefix_caching";   // 1 or 0

// The record of such figures ("weights_bytes=1,block_bytes=2"), for this plan's GPU, release, model and options.
CalibrationRecord calibration_of_engine(const Pieces& pieces, const Load& load, const std::string& said,
                                        std::string_view date);
// Replaces a rank's weights, what fits in the cache's budget, and the engine's sizes by such figures.
void calibrate_weights(const Pieces& pieces, const Load& load, std::vector<LedgerLine>& lines,
                       std::vector<AppliedFigure>& applied);
void calibrate_capacity(const Pieces& pieces, const Load& load, Capacity& capacity,
                        std::vector<AppliedFigure>& applied);
void calibrate_sizes(const Pieces& pieces, Plan& plan);

// The figure for the request's GPU; nothing if no record matches or no GPU is named. A GPU's figures only need the same
// GPU. An engine's figures also need its name and release, and a model's figures its subject.
std::optional<AppliedFigure> find_figure(const Request& request, std::string_view name, std::string_view subject = "");
// The GPU memory that a program sees, and the bytes per second that the GPU reads and writes (a bound of the decode
// speed).
std::optional<Bytes> calibrated_memory(const Request& request);
std::optional<Figure> calibrated_bandwidth(const Request& request);

// Replaces estimates among the overhead lines of a GPU, and lists those it replaced.
void calibrate(const EngineInput& input, std::vector<LedgerLine>& lines, std::vector<AppliedFigure>& applied);

}  // namespace kvplan
