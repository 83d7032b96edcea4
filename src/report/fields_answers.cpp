// The fields of answers made of plans: several models, compare and fit, grids, diffs. Also CSV, with a line for each
// plan.
#include "report/fields_tables.h"
#include "report/report.h"
#include "report/words.h"

namespace kvplan {

namespace {

// An entry without a plan: the error, and the exit code that it would give as the only entry.
struct Failed {
  std::string_view source, error;
  Exit exit = Exit::kAnswered;
};
template <class Entry>
Failed failure_of(const Entry& entry) {
  return {entry.source, entry.error, entry.exit};
}

// The answer of each entry, or the reason why it has none.
template <class Result, class Entry>
auto results_of(std::span<const Entry> entries, std::optional<Result> Entry::*result) {
  std::vector<std::variant<const Result*, Failed>> out;
  for (const Entry& entry : entries)
    entry.*result ? out.emplace_back(&*(entry.*result)) : out.emplace_back(failure_of(entry));
  return out;
}

// A cell of a grid; its values are null if the engine refused.
struct CellOf {
  const Grid* grid;
  const GridCard* card;
  const GridCell* cell;
};
template <auto... members>
struct IfPlanned {
  auto operator()(const CellOf& of) const {
    return of.cell->error.empty() ? std::optional(At<&CellOf::cell, members...>()(of)) : std::nullopt;
  }
};
template <auto... members>
constexpr IfPlanned<members...> if_planned;
struct RowOf {
  const Grid* grid;
  const GridRow* row;
};
struct CardOf {
  const Grid* grid;
  const GridCard* card;
};

std::vector<CellOf> cells_of_row(const RowOf& of) {
  std::vector<CellOf> out;
  for (std::size_t c = 0; c < of.row->cells.size(); ++c)
    out.push_back({of.grid, &of.grid->cards[c], &of.row->cells[c]});
  return out;
}
std::vector<CardOf> cards_of_grid(const Grid& grid) {
  std::vector<CardOf> out;
  for (const GridCard& card : grid.cards) out.push_back({&grid, &card});
  return out;
}
std::vector<std::variant<RowOf, Failed>> rows_of_grid(const Grid& grid) {
  std::vector<std::variant<RowOf, Failed>> out;
  for (const GridRow& row : grid.rows)
    row.cells.empty() ? out.emplace_back(failure_of(row)) : out.emplace_back(RowOf{&grid, &row});
  return out;
}

struct GrowthLimitOf {
  const PlanDiff* diff;
};
struct VerdictsOf {
  const PlanDiff* diff;
};
struct TotalOf {
  const PlanDiff* diff;
};

std::vector<Note> all_notes(const Answers& answers) {
  std::vector<Note> out = answers.asked.notes;
  for (const Template& sentence : answers.sentences) out.push_back({NoteLevel::kInfo, "answer", sentence});
  return out;
}

// The order of the columns, on which spreadsheets depend. New columns are added at the end.
constexpr std::string_view kPlanColumns =
    "source error answer attention engine max_model_len num_seqs weights_dtype kv_cache_dtype bytes_per_token "
    "bytes_per_sequence logical_bytes reserved_bytes gpus weights_bytes kv_cache_bytes activation_bytes runtime_bytes "
    "total_bytes capacity_tokens longest_context most_sequences verdict close total_low_bytes total_high_bytes "
    "host_bytes tokens_per_s tokens_per_s_batch gpu headroom_bytes gpu_count tensor_parallel_size "
    "pipeline_parallel_size "
    "data_parallel_size decode_context_parallel_size enable_expert_parallel enable_dp_attention "
    "longest_context_by_memory command copies parameters";
constexpr std::string_view kFitColumns = "source error gpu answer ";
constexpr std::string_view kGridColumns =
    "source error engine weights_dtype kv_cache_dtype max_model_len num_seqs gpu gpu_count tensor_parallel_size "
    "pipeline_parallel_size verdict headroom_bytes total_bytes longest_context most_sequences close "
    "data_parallel_size decode_context_parallel_size enable_expert_parallel enable_dp_attention "
    "longest_context_by_memory command parameters";

// The cells of all parts in one row. A null pointer gives only the titles.
template <class... Part>
Cells cells_of(const Part*... parts) {
  Cells out;
  (Schema<Part>::table.cells(parts, out), ...);
  return out;
}

Cells grid_cells(const Failed* failed, const RowOf* row = nullptr, const CardOf* card = nullptr,
                 const CellOf* cell = nullptr, const VerdictReport* verdict = nullptr) {
  return cells_of(failed, row, card, cell, verdict);
}

}  // namespace

template <>
const Table<Failed> Schema<Failed>::table("failed", "what has no plan",
                                          {{"source", at<&T::source>, column()},
                                           {"error", at<&T::error>, column()},
                                           {"exit", [](const T& of) { return static_cast<unsigned>(of.exit); },
                                            "the exit code for only this model",
                                            limit(R"("minimum": 1, "maximum": 5)")}});

template <>
const Table<SharedCard> Schema<SharedCard>::table(
    {{"gpu", or_null<&T::card>},
     {"gpu_memory_bytes", at<&T::memory>, "of one GPU"},
     {"total_bytes", at<&T::total>, "what all models need of it; with sleep mode one of them is awake"},
     {"asleep_bytes", at<&T::asleep>, "what engines with --enable-sleep-mode keep of it while they sleep"},
     {"budget_bytes", at<&T::usable>, "of it, without what is kept free"},
     {"headroom_bytes", [](const T& of) { return signed_difference(of.usable.count(), of.total.count()); }},
     {"status", at<&T::status>}});

template <>
const Table<Fleet> Schema<Fleet>::table(
    "fleet", "kvplan MODEL MODEL... or a directory of configs; also with one entry",
    {{"plans", [](const T& of) { return results_of(of.entries, &FleetEntry::plan); }},
     {"shared_card", [](const T& of) { return of.shared == nullptr ? std::nullopt : std::optional(*of.shared); },
      "kvplan MODEL + MODEL: models that share a GPU"}},
    TableKind::kReport);

template <>
const Table<Answer> Schema<Answer>::table(
    "answer", "a plan, with the options in which it differs from the request",
    {{"name", at<&T::name>, column("answer")},
     {"changes", at<&T::changes>, "option and value"},
     {"weights_dtype", [](const T& of) { return if_any(of.plan.weights_dtype); }},
     {"kv_cache_dtype", [](const T& of) { return cache_types_name(of.plan.types); }},
     {"layout", [](const T& of) { return layout_name(of.plan.request.parallel); }, "as people write it"},
     {"note", or_null<&T::note>, "why this layout"},
     {"other_checkpoint", at<&T::other_checkpoint>, "these weights need another checkpoint"},
     {"stored", at<&T::stored>, "models in local stores with such weights"},
     {"max_model_len", bounded<&T::longest>, "of a layout: the longest context that fits at the requested sequences"},
     {"max_num_seqs", bounded<&T::most_seqs>, "of a layout: the most sequences that fit at the requested length"},
     {"copies", at<&T::copies>, "--users: of the layout, each a separate server", column()},
     {"kv_cache", at<&T::plan, &Plan::kv_cache>},
     {"memory", at<&T::plan, &Plan::memory>, "a row for each GPU", limit(R"("minItems": 1)")},
     {"total", at<&T::plan, &Plan::total>},
     {"capacity", at<&T::plan, &Plan::capacity>},
     {"verdict", at<&T::plan, &Plan::verdict>},
     {"command", [](const T& of) { return replay_text(of.plan.command); }, kReplayed},
     {"plan", at<&T::plan>, csv_only()}});

template <>
const Table<UsersAnswer> Schema<UsersAnswer>::table(
    {{"users", at<&T::users>, "at once"},
     {"users_of_a_copy", at<&T::of_a_copy>},
     {"copies", at<&T::copies>, "of the layout of the answer \"users\""},
     {"gpus", at<&T::gpus>, "of all copies"},
     {"nodes", at<&T::nodes>, "of 8 GPUs"},
     {"max_users", bounded<&T::most>, "users that these GPUs serve at once"},
     {"price_per_hour", at<&T::price>, "--price: of all GPUs"}});

template <>
const Table<Answers> Schema<Answers>::table("answers", "kvplan compare and kvplan fit",
                                            {{"model", [](const T& of) { return ModelOf{&of.asked}; }},
                                             {"request", [](const T& of) { return RequestOf{&of.asked}; }},
                                             {"answers", at<&T::rows>},
                                             {"users", at<&T::users>, "--users: what serves them all at once"},
                                             {"notes", at<all_notes>}},
                                            TableKind::kReport);

template <>
const Table<std::vector<FitEntry>> Schema<std::vector<FitEntry>>::table(
    "fits", "kvplan fit with several engines or GPUs: one answer for each",
    {{"fits", [](const T& of) { return results_of(std::span(of), &FitEntry::answers); }}}, TableKind::kReport);

template <>
const Table<CardOf> Schema<CardOf>::table({{"gpu", at<&T::card, &GridCard::name>, column()},
                                           {"gpu_count", at<&T::grid, &Grid::gpu_count>, column().limit(kFromOne)},
                                           {"gpu_memory_bytes", at<&T::card, &GridCard::memory>, "of one GPU"}});

template <>
const Table<CellOf> Schema<CellOf>::table(
    "", "if the engine refuses, all but gpu, error and command are null",
    {{"gpu", at<&T::card, &GridCard::name>, column()},
     {"error", or_null<&T::cell, &GridCell::error>, "why the engine refuses", column()},
     {"planned_model_len", at<&T::cell, &GridCell::max_model_len>,
      "tokens of a sequence that it was planned with: the row's max_model_len, or the cell's, if that is auto",
      column("max_model_len").limit(kFromOne)},
     {"tensor_parallel_size", if_planned<&GridCell::parallel, &Parallel::tensor>, column().limit(kFromOne)},
     {"pipeline_parallel_size", if_planned<&GridCell::parallel, &Parallel::pipeline>, column().limit(kFromOne)},
     {"data_parallel_size", if_planned<&GridCell::parallel, &Parallel::data>, column().limit(kFromOne)},
     {"decode_context_parallel_size", if_planned<&GridCell::parallel, &Parallel::decode_context>,
      column().limit(kFromOne)},
     {"enable_expert_parallel", if_planned<&GridCell::parallel, &Parallel::expert>, column()},
     {"enable_dp_attention", if_planned<&GridCell::parallel, &Parallel::dp_attention>, column()},
     {"total_bytes", if_planned<&GridCell::total>, "of the fullest GPU", column()},
     {"max_model_len", bounded<if_planned<&GridCell::longest>>,
      "the longest that fits at the requested sequences, at most the model's maximum", column("longest_context")},
     {"max_model_len_by_memory", bounded<if_planned<&GridCell::longest_by_memory>>,
      "the same without the model's maximum", column("longest_context_by_memory")},
     {"max_num_seqs", bounded<if_planned<&GridCell::most_seqs>>, "the most at the requested length",
      column("most_sequences")},
     {"verdict", if_planned<&GridCell::verdict>},
     {"command", [](const T& of) { return replay_text(of.cell->command); }, kReplayed, column()}});

template <>
const Table<RowOf> Schema<RowOf>::table(
    "grid_row", "",
    {{"source", at<&T::row, &GridRow::source>, column()},
     {"engine", at<&T::row, &GridRow::engine>, column()},
     {"engine_version", at<&T::row, &GridRow::engine_version>},
     {"weights_dtype", or_null<&T::row, &GridRow::weights>, column()},
     {"kv_cache_dtype", [](const T& of) { return cache_types_name(of.row->types); }, column()},
     {"max_model_len", at<&T::row, &GridRow::max_model_len>, "as requested", limit(kFromOne)},
     {"parameters", at<&T::row, &GridRow::parameters>, "of the main model; null where not known", column()},
     {"num_seqs", at<&T::grid, &Grid::num_seqs>, column().limit(kFromOne)},
     {"cells", at<cells_of_row>, "one per GPU, in the order of `cards`"}});

template <>
const Table<Grid> Schema<Grid>::table(
    "grid", "kvplan MODEL... --gpu A,B: models, engines and weight types as rows, GPUs as columns",
    {{"cards", at<cards_of_grid>}, {"rows", at<rows_of_grid>}}, TableKind::kReport);

template <>
const Table<MemoryChange> Schema<MemoryChange>::table({{"part", at<&T::part>},
                                                       {"before_bytes", at<&T::before>},
                                                       {"after_bytes", at<&T::after>},
                                                       {"change_bytes", at<&T::difference>}});

template <>
const Table<TotalOf> Schema<TotalOf>::table({{"before_bytes", at<&T::diff, &PlanDiff::total, &MemoryChange::before>},
                                             {"after_bytes", at<&T::diff, &PlanDiff::total, &MemoryChange::after>},
                                             {"change_bytes",
                                              at<&T::diff, &PlanDiff::total, &MemoryChange::difference>}});

template <>
const Table<CapacityChange> Schema<CapacityChange>::table(
    {{"what", at<&T::what>, limit(R"("enum": ["tokens", "max_model_len", "max_num_seqs"])")},
     {"before", at<&T::before>},
     {"after", at<&T::after>}});

template <>
const Table<VerdictsOf> Schema<VerdictsOf>::table({{"before", or_null<&T::diff, &PlanDiff::before, &DiffSide::verdict>},
                                                   {"after", or_null<&T::diff, &PlanDiff::after, &DiffSide::verdict>}});

template <>
const Table<GrowthLimitOf> Schema<GrowthLimitOf>::table(
    {{"bytes", at<&T::diff, &PlanDiff::limit, &GrowthLimit::bytes>},
     {"percent", at<&T::diff, &PlanDiff::limit, &GrowthLimit::percent>, limit(kFromZero)},
     {"exceeded", at<&T::diff, &PlanDiff::is_too_much>}});

template <>
const Table<ValueChange> Schema<ValueChange>::table({{"where", at<&T::where>,
                                                      limit(R"("enum": ["config", "request"])")},
                                                     {"key", at<&T::key>},
                                                     {"before", or_null<&T::before>},
                                                     {"after", or_null<&T::after>}});

template <>
const Table<PlanDiff> Schema<PlanDiff>::table(
    "diff", "kvplan diff OLD NEW",
    {{"headline", at<diff_headline>, "one sentence for a reviewer"},
     {"total", [](const T& diff) { return TotalOf{&diff}; }},
     {"memory", at<&T::memory>, "parts that changed, biggest first"},
     {"capacity", at<&T::capacity>, "capacity of the GPU, if it changed"},
     {"verdict", [](const T& diff) { return VerdictsOf{&diff}; }},
     {"limit", [](const T& diff) { return GrowthLimitOf{&diff}; }, "--fail-over, and whether the total grew by more"},
     {"fit_lost", at<&T::lost_fit>, "the old plan fits, the new one does not"},
     {"broken_limits", at<&T::broken>, "--max-vram, --min-context and --min-seqs that the new plan breaks"},
     {"changes", at<&T::values>}},
    TableKind::kReport);

std::string csv_of(const Plan& plan) {
  return csv_text(kPlanColumns, cells_of<Plan>(nullptr), {cells_of(&plan)});
}

std::string csv_of(const Fleet& fleet) {
  std::vector<Cells> lines;
  for (const FleetEntry& entry : fleet.entries) {
    const Failed failure = failure_of(entry);
    lines.push_back(cells_of(&failure, entry.plan ? &*entry.plan : nullptr));
  }
  return csv_text(kPlanColumns, cells_of<Failed, Plan>(nullptr, nullptr), lines);
}

std::string csv_of(const Answers& answers) {
  std::vector<Cells> lines;
  for (const Answer& answer : answers.rows) lines.push_back(cells_of(&answer));
  return csv_text(kPlanColumns, cells_of<Answer>(nullptr), lines);
}

std::string csv_of(const std::vector<FitEntry>& entries) {
  std::vector<Cells> lines;
  for (const FitEntry& entry : entries) {
    const Failed failure = failure_of(entry);
    if (!entry.answers) lines.push_back(cells_of<Failed, Answer>(&failure, nullptr));
    if (!entry.answers) continue;
    for (const Answer& answer : entry.answers->rows) lines.push_back(cells_of(&failure, &answer));
  }
  return csv_text(std::string(kFitColumns) + std::string(kPlanColumns), cells_of<Failed, Answer>(nullptr, nullptr),
                  lines);
}

// A line for each cell.
std::string csv_of(const Grid& grid) {
  std::vector<Cells> lines;
  for (const GridRow& row : grid.rows) {
    const RowOf of{&grid, &row};
    const Failed failure = failure_of(row);
    if (row.cells.empty()) lines.push_back(grid_cells(&failure));
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const GridCell& cell = row.cells[c];
      const CardOf card{&grid, &grid.cards[c]};
      const CellOf figures{&grid, &grid.cards[c], &cell};
      const Failed refused{row.source, cell.error, row.exit};
      lines.push_back(grid_cells(&refused, &of, &card, &figures, cell.error.empty() ? &cell.verdict : nullptr));
    }
  }
  return csv_text(kGridColumns, grid_cells(nullptr), lines);
}

}  // namespace kvplan
