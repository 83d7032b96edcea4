// One page for each question.
#ifndef KVPLAN_REPORT_PAGES_PAGES_H_
#define KVPLAN_REPORT_PAGES_PAGES_H_

#include <span>
#include <vector>

#include "plan/answer.h"
#include "report/page.h"

namespace kvplan {

struct CardMeasurement;

// The first screen: the model, the verdict, the parts against the budget, remedies, the capacity.
Page plan_page(const Plan& plan);
// Every layer, every formula with its numbers, and where each number comes from.
Page explain_page(const Plan& plan);
Page fleet_page(const std::vector<FleetEntry>& entries);
Page shared_page(const SharedCard& shared);
// Engines side by side for one model, and why they differ.
Page engines_page(const std::vector<FleetEntry>& entries);
Page compare_page(const Answers& answers);
Page fit_page(const Answers& answers);
// `fit` for several engines or cards, side by side.
Page fits_page(const std::vector<FitEntry>& entries);
// Models against cards.
Page grid_page(const Grid& grid);
Page diff_page(const PlanDiff& diff);
Page check_log_page(const LogCheck& check);
Page watch_page(const WatchReport& report);
Page card_page(const CardMeasurement& seen);

// The built-in tables.
Page kinds_page(std::span<const KindInfo> kinds);
// One kind: its derivation, and its row among those of the others.
Page kind_page(const KindInfo& kind, const std::vector<std::string>& derivation, std::span<const KindInfo> beside);
Page dtypes_page();
Page engine_table_page(std::span<const EngineRow> rows);
Page gpus_page(std::span<const Gpu> cards);

// Blocks that plan and explain share.
void add_measurement(const Plan& plan, Page& page);  // for a plan that was measured
void add_speed(const Plan& plan, bool is_whole, Page& page);
void add_host(const Plan& plan, Page& page);
// The longest context for each number of sequences, as a curve.
void add_contexts_by_sequences(const ContextsBySequences& contexts, Page& page);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_PAGES_PAGES_H_
