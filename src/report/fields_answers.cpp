// The fields of answers made of plans: several models, compare and fit, grids, diffs. And CSV, with a line for each
// plan.
#include "report/fields_tables.h"
#include "report/report.h"
#include "report/words.h"

namespace kvplan {

namespace {

// For an entry without a plan: why, and the exit code it would have by itself.
struct Failed {
  std::string_view source, error;
  Exit exit = Exit::kAnswered;
};
template <class Entry>
Failed failure_of(const Entry& entry) {
  return {entry.source, entry.error, entry.exit};
}

using FleetItem = std::variant<const Plan*, Failed>;
struct Fleet {
  std::vector<FleetItem> plans;
  const SharedCard* shared = nullptr;
};
using FitItem = std::variant<const Answers*, Failed>;
struct Fits {
  std::vector<FitItem> fits;
};

// A cell of a grid; its values are null where the engine refused.
struct CellOf {
  const Grid* grid;
  const GridCard* card;
  const GridCell* cell;
  template <class Figure>
  std::optional<Figure> if_planned(Figure figure) const {
    return cell->error.empty() ? std::optional(figure) : std::nullopt;
  }
};
struct RowOf {
  const Grid* grid;
  const GridRow* row;
};
struct CardOf {
  const Grid* grid;
  const GridCard* card;
};
using GridItem = std::variant<RowOf, Failed>;

struct GrowthLimitOf {
  const PlanDiff* diff;
};
struct Sides {
  const PlanDiff* diff;
};

std::vector<Note> all_notes(const Answers& answers) {
  std::vector<Note> out = answers.asked.notes;
  for (const Template& sentence : answers.sentences) out.push_back({NoteLevel::kInfo, "answer", sentence});
  return out;
}

// The order of the columns, on which spreadsheets depend; later columns come after them.
constexpr std::string_view kPlanColumns =
    "source error answer attention engine max_model_len num_seqs weights_dtype kv_cache_dtype bytes_per_token "
    "bytes_per_sequence logical_bytes reserved_bytes gpus weights_bytes kv_cache_bytes activation_bytes runtime_bytes "
    "total_bytes capacity_tokens longest_context most_sequences verdict close total_low_bytes total_high_bytes "
    "host_bytes tokens_per_s tokens_per_s_batch gpu headroom_bytes gpu_count tensor_parallel_size "
    "pipeline_parallel_size "
    "data_parallel_size decode_context_parallel_size enable_expert_parallel enable_dp_attention "
    "longest_context_by_memory command";
constexpr std::string_view kFitColumns = "source error gpu answer ";
constexpr std::string_view kGridColumns =
    "source error engine weights_dtype kv_cache_dtype max_model_len num_seqs gpu gpu_count tensor_parallel_size "
    "pipeline_parallel_size verdict headroom_bytes total_bytes longest_context most_sequences close "
    "data_parallel_size decode_context_parallel_size enable_expert_parallel enable_dp_attention "
    "longest_context_by_memory command";

// The cells of all parts in a row; a null pointer gives titles without values.
template <class... Part>
Cells cells_of(const Part*... parts) {
  Cells out;
  (table<Part>().cells(parts, out), ...);
  return out;
}

template <class T>
const T* pointer_to(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

}  // namespace

template <>
const Table<Failed>& table() {
  using T = Failed;
  static constexpr auto rows =
      rows_of<T>({{"source", at<&T::source>, "", column()},
                  {"error", at<&T::error>, "", column()},
                  {"exit", [](const T& of) { return static_cast<unsigned>(of.exit); },
                   "the exit code that this model alone would have", limit(R"("minimum": 1, "maximum": 5)")}});
  static constexpr Table<T> fields("failed", "what has no plan", rows);
  return fields;
}

template <>
const Table<SharedCard>& table() {
  using T = SharedCard;
  static constexpr auto rows = rows_of<T>(
      {{"gpu", or_null<&T::card>},
       {"gpu_memory_bytes", at<&T::memory>, "of one card"},
       {"total_bytes", at<&T::total>, "that all models claim of it"},
       {"budget_bytes", at<&T::usable>, "of it, less what is kept free"},
       {"headroom_bytes", [](const T& of) { return signed_difference(of.usable.count(), of.total.count()); }},
       {"status", at<&T::status>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Fleet>& table() {
  static constexpr auto rows = rows_of<Fleet>(
      {{"plans", at<&Fleet::plans>},
       {"shared_card", [](const Fleet& of) { return of.shared == nullptr ? std::nullopt : std::optional(*of.shared); },
        "kvplan MODEL + MODEL: models that share a card"}});
  static constexpr Table<Fleet> fields("fleet", "kvplan MODEL MODEL... or a directory of configs; also with one entry",
                                       rows, TableKind::kReport);
  return fields;
}

template <>
const Table<Answer>& table() {
  using T = Answer;
  static constexpr auto rows = rows_of<T>(
      {{"name", at<&T::name>, "", column("answer")},
       {"changes", at<&T::changes>, "option and value"},
       {"weights_dtype", [](const T& of) { return if_any(of.plan.weights_dtype); }},
       {"kv_cache_dtype", [](const T& of) { return cache_types_name(of.plan.types); }},
       {"layout", [](const T& of) { return layout_name(of.plan.request.parallel); }, "as people write it"},
       {"note", [](const T& of) { return of.note.empty() ? std::nullopt : std::optional(in_words(of.note)); },
        "why a layout is so, or what it rests on"},
       {"other_checkpoint", at<&T::other_checkpoint>,
        "the engine does not make such weights of this model while it loads"},
       {"stored", at<&T::stored>, "models of local stores that have such weights"},
       {"max_model_len", [](const T& of) { return if_bounded(of.longest); },
        "of a layout: the longest context that fits at the requested sequences"},
       {"max_num_seqs", [](const T& of) { return if_bounded(of.most_seqs); },
        "of a layout: the most sequences that fit at the requested length"},
       {"kv_cache", at<&T::plan, &Plan::kv_cache>},
       {"memory", at<&T::plan, &Plan::memory>, "a row for each GPU", limit(R"("minItems": 1)")},
       {"total", at<&T::plan, &Plan::total>},
       {"capacity", at<&T::plan, &Plan::capacity>},
       {"verdict", at<&T::plan, &Plan::verdict>},
       {"command", [](const T& of) { return replay_text(of.plan.command); }, kReplayed},
       {"plan", at<&T::plan>, "", csv_only()}});
  static constexpr Table<T> fields("answer", "a plan, with the options in which it differs from the request", rows);
  return fields;
}

template <>
const Table<UsersAnswer>& table() {
  using T = UsersAnswer;
  static constexpr auto rows = rows_of<T>({{"users", at<&T::users>, "at once"},
                                           {"users_of_a_copy", at<&T::of_a_copy>},
                                           {"copies", at<&T::copies>, "of the layout of the answer \"users\""},
                                           {"gpus", at<&T::gpus>, "of all copies"},
                                           {"nodes", at<&T::nodes>, "of 8 GPUs"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Answers>& table() {
  using T = Answers;
  static constexpr auto rows = rows_of<T>({{"model", [](const T& of) { return ModelOf{&of.asked}; }},
                                           {"request", [](const T& of) { return RequestOf{&of.asked}; }},
                                           {"answers", at<&T::rows>},
                                           {"users", at<&T::users>, "--users: what holds them all at once"},
                                           {"notes", at<all_notes>}});
  static constexpr Table<T> fields("answers", "kvplan compare and kvplan fit", rows, TableKind::kReport);
  return fields;
}

template <>
const Table<Fits>& table() {
  static constexpr auto rows = rows_of<Fits>({{"fits", at<&Fits::fits>}});
  static constexpr Table<Fits> fields("fits", "kvplan fit with several engines or cards: an answer of fit for each",
                                      rows, TableKind::kReport);
  return fields;
}

template <>
const Table<CardOf>& table() {
  using T = CardOf;
  static constexpr auto rows = rows_of<T>({{"gpu", at<&T::card, &GridCard::name>, "", column()},
                                           {"gpu_count", at<&T::grid, &Grid::gpu_count>, "", column().limit(kFromOne)},
                                           {"gpu_memory_bytes", at<&T::card, &GridCard::memory>, "of one card"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<CellOf>& table() {
  using T = CellOf;
  static constexpr auto rows = rows_of<T>(
      {{"gpu", at<&T::card, &GridCard::name>, "", column()},
       {"error", [](const T& of) { return if_any(of.cell->error); }, "why the engine refuses", column()},
       {"planned_model_len", at<&T::cell, &GridCell::max_model_len>,
        "tokens of a sequence that it was planned with: the row's max_model_len, or the cell's own where that is auto",
        column("max_model_len").limit(kFromOne)},
       {"tensor_parallel_size", [](const T& of) { return of.if_planned(of.cell->parallel.tensor); }, "",
        column().limit(kFromOne)},
       {"pipeline_parallel_size", [](const T& of) { return of.if_planned(of.cell->parallel.pipeline); }, "",
        column().limit(kFromOne)},
       {"data_parallel_size", [](const T& of) { return of.if_planned(of.cell->parallel.data); }, "",
        column().limit(kFromOne)},
       {"decode_context_parallel_size", [](const T& of) { return of.if_planned(of.cell->parallel.decode_context); }, "",
        column().limit(kFromOne)},
       {"enable_expert_parallel", [](const T& of) { return of.if_planned(of.cell->parallel.expert); }, "", column()},
       {"enable_dp_attention", [](const T& of) { return of.if_planned(of.cell->parallel.dp_attention); }, "", column()},
       {"total_bytes", [](const T& of) { return of.if_planned(of.cell->total); }, "of the fullest GPU", column()},
       {"max_model_len", [](const T& of) { return if_bounded(of.if_planned(of.cell->longest)); },
        "the longest that fits at the requested sequences, at most the model's maximum", column("longest_context")},
       {"max_model_len_by_memory", [](const T& of) { return if_bounded(of.if_planned(of.cell->longest_by_memory)); },
        "the same without the model's maximum", column("longest_context_by_memory")},
       {"max_num_seqs", [](const T& of) { return if_bounded(of.if_planned(of.cell->most_seqs)); },
        "the most at the requested length", column("most_sequences")},
       {"verdict", [](const T& of) { return of.if_planned(of.cell->verdict); }},
       {"command", [](const T& of) { return replay_text(of.cell->command); }, kReplayed, column()}});
  static constexpr Table<T> fields("", "null but for gpu, error and command where the engine refuses", rows);
  return fields;
}

template <>
const Table<RowOf>& table() {
  using T = RowOf;
  static constexpr auto cells_of_row = [](const T& of) {
    std::vector<CellOf> out;
    for (std::size_t c = 0; c < of.row->cells.size(); ++c)
      out.push_back({of.grid, &of.grid->cards[c], &of.row->cells[c]});
    return out;
  };
  static constexpr auto rows =
      rows_of<T>({{"source", at<&T::row, &GridRow::source>, "", column()},
                  {"engine", at<&T::row, &GridRow::engine>, "", column()},
                  {"engine_version", at<&T::row, &GridRow::engine_version>},
                  {"weights_dtype", or_null<&T::row, &GridRow::weights>, "", column()},
                  {"kv_cache_dtype", [](const T& of) { return cache_types_name(of.row->types); }, "", column()},
                  {"max_model_len", at<&T::row, &GridRow::max_model_len>, "as requested", limit(kFromOne)},
                  {"num_seqs", at<&T::grid, &Grid::num_seqs>, "", column().limit(kFromOne)},
                  {"cells", cells_of_row, "one for each card, in the order of cards"}});
  static constexpr Table<T> fields("grid_row", "", rows);
  return fields;
}

template <>
const Table<Grid>& table() {
  using T = Grid;
  static constexpr auto cards_of = [](const T& grid) {
    std::vector<CardOf> out;
    for (const GridCard& card : grid.cards) out.push_back({&grid, &card});
    return out;
  };
  static constexpr auto rows_of_grid = [](const T& grid) {
    std::vector<GridItem> out;
    for (const GridRow& row : grid.rows)
      row.cells.empty() ? out.emplace_back(failure_of(row)) : out.emplace_back(RowOf{&grid, &row});
    return out;
  };
  static constexpr auto rows = rows_of<T>({{"cards", cards_of}, {"rows", rows_of_grid}});
  static constexpr Table<T> fields(
      "grid", "kvplan MODEL... --gpu A,B: models, engines and weight types as rows, cards as columns", rows,
      TableKind::kReport);
  return fields;
}

template <>
const Table<MemoryChange>& table() {
  using T = MemoryChange;
  static constexpr auto rows = rows_of<T>({{"part", at<&T::part>},
                                           {"before_bytes", at<&T::before>},
                                           {"after_bytes", at<&T::after>},
                                           {"change_bytes", at<&T::difference>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

namespace {
struct TotalChange {
  const MemoryChange* of;
};
}  // namespace

template <>
const Table<TotalChange>& table() {
  using T = TotalChange;
  static constexpr auto rows = rows_of<T>({{"before_bytes", [](const T& total) { return total.of->before; }},
                                           {"after_bytes", [](const T& total) { return total.of->after; }},
                                           {"change_bytes", [](const T& total) { return total.of->difference(); }}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<CapacityChange>& table() {
  using T = CapacityChange;
  static constexpr auto rows =
      rows_of<T>({{"what", at<&T::what>, "", limit(R"("enum": ["tokens", "max_model_len", "max_num_seqs"])")},
                  {"before", at<&T::before>},
                  {"after", at<&T::after>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Sides>& table() {
  using T = Sides;
  static constexpr auto rows = rows_of<T>({{"before", [](const T& of) { return if_any(of.diff->before.verdict); }},
                                           {"after", [](const T& of) { return if_any(of.diff->after.verdict); }}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<GrowthLimitOf>& table() {
  using T = GrowthLimitOf;
  static constexpr auto rows =
      rows_of<T>({{"bytes", [](const T& of) { return of.diff->limit.bytes; }},
                  {"percent", [](const T& of) { return of.diff->limit.percent; }, "", limit(kFromZero)},
                  {"exceeded", [](const T& of) { return of.diff->is_too_much; }}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<ValueChange>& table() {
  using T = ValueChange;
  static constexpr auto rows = rows_of<T>({{"where", at<&T::where>, "", limit(R"("enum": ["config", "request"])")},
                                           {"key", at<&T::key>},
                                           {"before", or_null<&T::before>},
                                           {"after", or_null<&T::after>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<PlanDiff>& table() {
  using T = PlanDiff;
  static constexpr auto rows = rows_of<T>(
      {{"headline", at<diff_headline>, "one sentence for a reviewer"},
       {"total", [](const T& diff) { return TotalChange{&diff.total}; }},
       {"memory", at<&T::memory>, "parts that changed, biggest first"},
       {"capacity", at<&T::capacity>, "what the card holds, where that changed"},
       {"verdict", [](const T& diff) { return Sides{&diff}; }},
       {"limit", [](const T& diff) { return GrowthLimitOf{&diff}; }, "--fail-over, and whether the total grew by more"},
       {"fit_lost", at<&T::lost_fit>, "the old plan fits, the new one does not"},
       {"broken_limits", at<&T::broken>, "--max-vram, --min-context and --min-seqs that the new plan breaks"},
       {"changes", at<&T::values>}});
  static constexpr Table<T> fields("diff", "kvplan diff OLD NEW", rows, TableKind::kReport);
  return fields;
}

void define_answers(Json& definitions) {
  table<Fleet>().schema(definitions);
  table<Answers>().schema(definitions);
  table<PlanDiff>().schema(definitions);
  table<Grid>().schema(definitions);
  table<Fits>().schema(definitions);
}

std::string plan_json(const Plan& plan, const ReportOptions&) {
  return table<Plan>().text(plan);
}

std::string fleet_json(const std::vector<FleetEntry>& entries, const ReportOptions&) {
  Fleet fleet;
  for (const FleetEntry& entry : entries)
    entry.plan ? fleet.plans.emplace_back(&*entry.plan) : fleet.plans.emplace_back(failure_of(entry));
  return table<Fleet>().text(fleet);
}

std::string shared_json(const SharedCard& shared, const ReportOptions&) {
  Fleet fleet;
  fleet.shared = &shared;
  for (const FleetEntry& entry : shared.models) fleet.plans.emplace_back(&*entry.plan);
  return table<Fleet>().text(fleet);
}

std::string answers_json(const Answers& answers, const ReportOptions&) {
  return table<Answers>().text(answers);
}

std::string fits_json(const std::vector<FitEntry>& entries, const ReportOptions&) {
  Fits fits;
  for (const FitEntry& entry : entries)
    entry.answers ? fits.fits.emplace_back(&*entry.answers) : fits.fits.emplace_back(failure_of(entry));
  return table<Fits>().text(fits);
}

std::string grid_json(const Grid& grid, const ReportOptions&) {
  return table<Grid>().text(grid);
}

std::string diff_json(const PlanDiff& diff) {
  return table<PlanDiff>().text(diff);
}

std::string plan_csv(const Plan& plan, const ReportOptions&) {
  return csv_text(kPlanColumns, cells_of<Plan>(nullptr), {cells_of(&plan)});
}

std::string fleet_csv(const std::vector<FleetEntry>& entries, const ReportOptions&) {
  std::vector<Cells> lines;
  for (const FleetEntry& entry : entries) {
    const Failed failure = failure_of(entry);
    lines.push_back(cells_of(&failure, pointer_to(entry.plan)));
  }
  return csv_text(kPlanColumns, cells_of<Failed, Plan>(nullptr, nullptr), lines);
}

std::string answers_csv(const Answers& answers, const ReportOptions&) {
  std::vector<Cells> lines;
  for (const Answer& answer : answers.rows) lines.push_back(cells_of(&answer));
  return csv_text(kPlanColumns, cells_of<Answer>(nullptr), lines);
}

std::string fits_csv(const std::vector<FitEntry>& entries, const ReportOptions&) {
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
std::string grid_csv(const Grid& grid, const ReportOptions&) {
  std::vector<Cells> lines;
  for (const GridRow& row : grid.rows) {
    const RowOf of{&grid, &row};
    const Failed failure = failure_of(row);
    if (row.cells.empty())
      lines.push_back(
          cells_of<Failed, RowOf, CardOf, CellOf, VerdictReport>(&failure, nullptr, nullptr, nullptr, nullptr));
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const GridCell& cell = row.cells[c];
      const CardOf card{&grid, &grid.cards[c]};
      const CellOf figures{&grid, &grid.cards[c], &cell};
      const Failed refused{row.source, cell.error, row.exit};
      lines.push_back(cells_of(&refused, &of, &card, &figures, cell.error.empty() ? &cell.verdict : nullptr));
    }
  }
  return csv_text(kGridColumns,
                  cells_of<Failed, RowOf, CardOf, CellOf, VerdictReport>(nullptr, nullptr, nullptr, nullptr, nullptr),
                  lines);
}

}  // namespace kvplan
