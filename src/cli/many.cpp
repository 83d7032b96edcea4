#include "cli/many.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <optional>
#include <utility>

#include "cli/extras_options.h"
#include "cli/replay.h"
#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "plan/compare.h"
#include "plan/fit.h"
#include "plan/grid.h"
#include "sources/stored_models.h"
#include "weights/rules.h"

namespace kvplan {

namespace {

template <class T>
const std::vector<T>& or_as_asked(const std::vector<T>& list) {
  static const std::vector<T> kAsAsked{T{}};
  return list.empty() ? kAsAsked : list;
}

std::string name_of_card(const Gpu* card) {
  return card != nullptr ? std::string(card->name) : "";
}

// Keeps an error that every card would get, and that takes long to find.
class SameForEachCard {
 public:
  void take(const Error& error) {
    if (dynamic_cast<const TooManyRules*>(&error) != nullptr) error_ = error;
  }
  void check() const {
    if (error_) throw Error(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace

ManyAnswers::ManyAnswers(const Invocation& call) {
  constexpr double kSecondsOfOne = 0.005;
  const std::size_t lists[] = {call.engines.size(), call.weights.size(), call.gpus.size()};
  each_ = kSecondsOfOne;
  for (const std::size_t size : lists) each_ *= static_cast<double>(std::max<std::size_t>(size, 1));
}

void ManyAnswers::next() {
  seconds_ += each_;
  const double spent = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  if (!std::exchange(is_first_, false) && spent > seconds_)
    fail("the models before it took " + std::to_string(static_cast<int>(spent)) + " seconds of the processor",
         "plan it by itself");
}

int exit_of(const Plan& plan) {
  return static_cast<int>(plan.verdict.fails() ? Exit::kDoesNotFit : Exit::kAnswered);
}

std::string without_program(const std::string& line) {
  return line.substr(std::string_view("kvplan: ").size());
}

bool is_grid(const Invocation& call) {
  return !call.gpus.empty() || (!call.weights.empty() && call.request.card.gpu);
}

Answered answer_grid(const Invocation& call, const std::vector<std::string>& sources, const ReportOptions& options) {
  Grid grid;
  const std::vector<const Gpu*> cards = call.gpus.empty() ? std::vector{call.request.card.gpu} : call.gpus;
  for (const Gpu* card : cards) grid.cards.push_back({std::string(card->name), card->budget()});
  grid.gpu_count = call.request.card.count;
  grid.num_seqs = call.request.num_seqs;
  ManyAnswers many(call);
  for (const std::string& source : sources) {
    try {
      with_source(source, [&] { many.next(); });
      const ModelAndRequest asked = load_model_and_request(source, call);
      const ModelSpec& model = asked.model;
      const auto command_of = [&](const Request& planned) { return replay(call, source, planned); };
      for (GridRow& row : grid_rows(model, asked.request, call.engines, call.weights, cards, command_of)) {
        row.source = source;
        if (row.cells.empty()) row.error = source + ": " + row.error;
        grid.rows.push_back(std::move(row));
      }
    } catch (const Error& error) {
      GridRow& row = grid.rows.emplace_back();
      row.source = source;
      row.error = without_program(error.line());
      row.exit = error.code();
    }
  }
  Answered out{
      written(reply_of(grid), call.format, "a table of cards", options), static_cast<int>(worst_of(grid)), {}, false};
  for (const GridRow& row : grid.rows) {
    if (row.cells.empty()) out.errors.push_back(row.error);
    out.any = out.any || !row.cells.empty();
  }
  return out;
}

Answered answer_variants(const Invocation& call, const std::vector<std::string>& sources,
                         const ReportOptions& options) {
  const std::vector<std::string>& engines = or_as_asked(call.engines);
  const std::vector<std::string>& weights = or_as_asked(call.weights);
  std::vector<FleetEntry> entries;
  Answered out;
  ManyAnswers many(call);
  for (const std::string& source : sources) {
    with_source(source, [&] { many.next(); });
    const ModelAndRequest asked = load_model_and_request(source, call);
    const ModelSpec& model = asked.model;
    for (const std::string& engine : engines) {
      for (const std::string& type : weights) {
        FleetEntry& entry = entries.emplace_back();
        const std::string variant = engine + (engine.empty() || type.empty() ? "" : ", ") + type;
        entry.source = source;
        entry.engine = engine;
        // Engines of one model need no label: the plans name them.
        if (sources.size() > 1 || weights.size() > 1) entry.variant = variant;
        try {
          Request request = asked.request;
          if (!engine.empty()) find_engine(engine, request);
          if (!type.empty()) request.weights = type;
          entry.plan = make_plan(model, request);
          entry.plan->command = replay(call, source, entry.plan->request);
          out.exit = std::max(out.exit, exit_of(*entry.plan));
          out.any = true;
        } catch (Error& error) {
          error.set_source(model.source);
          entry.error = variant + ": " + without_program(error.line());
          entry.exit = error.code();
          out.errors.push_back(entry.error);
          out.exit = std::max(out.exit, static_cast<int>(error.code()));
        }
      }
    }
  }
  const bool is_one = sources.size() == 1 && call.weights.empty();
  out.text = written(is_one ? side_by_side(entries) : reply_of(entries), call.format, "a table of models", options);
  return out;
}

// Several engines or cards are one table: each answer's name and changes begin with what differs.
Answered answer_compared(const Invocation& call, const std::string& source, const ReportOptions& options) {
  const ModelAndRequest asked = load_model_and_request(source, call);
  const std::vector<std::string> stored = stored_models();
  std::optional<Answers> all;
  Answered out;
  std::optional<Error> first_error;
  for (const std::string& engine : or_as_asked(call.engines)) {
    SameForEachCard same;
    for (const Gpu* card : or_as_asked(call.gpus)) {
      try {
        same.check();
        Request request = asked.request;
        std::vector<std::pair<std::string, std::string>> chosen;
        if (!engine.empty()) {
          find_engine(engine, request);
          chosen.emplace_back("--engine", engine);
        }
        if (card != nullptr) {
          request.card.gpu = card;
          chosen.emplace_back("--gpu", card->name);
        }
        Answers answers = compare_types(asked.model, request, {call.weights, call.kv_types, stored});
        out.exit = std::max(out.exit, exit_of(answers.asked));
        for (Answer& answer : answers.rows) {
          if (card != nullptr) answer.name.insert(0, name_of_card(card) + ", ");
          if (!engine.empty()) answer.name.insert(0, engine + ", ");
          answer.changes.insert(answer.changes.begin(), chosen.begin(), chosen.end());
          answer.plan.command = replay(call, source, answer.plan.request);
        }
        const std::string where = engine + (engine.empty() || card == nullptr ? "" : ", ") + name_of_card(card);
        for (Template& sentence : answers.sentences)
          if (!chosen.empty()) sentence = Template("{where}: ", {{"where", where}}) + sentence;
        if (!all) {
          all = std::move(answers);
          continue;
        }
        std::move(answers.rows.begin(), answers.rows.end(), std::back_inserter(all->rows));
        std::move(answers.sentences.begin(), answers.sentences.end(), std::back_inserter(all->sentences));
      } catch (Error& error) {
        same.take(error);
        error.set_source(source);
        if (!first_error) first_error = error;
        out.errors.push_back(without_program(error.line()));
        out.exit = std::max(out.exit, static_cast<int>(error.code()));
      }
    }
  }
  if (!all) throw *first_error;
  for (const std::string& error : out.errors)
    all->asked.notes.push_back({NoteLevel::kWarning, "not_compared", Template::quoted(error)});
  out.any = true;
  out.text = written(compared(*all), call.format, "compare", options);
  return out;
}

Answered answer_fits(const Invocation& call, const std::string& source, const ReportOptions& options) {
  const ModelAndRequest asked = load_model_and_request(source, call);
  const ModelSpec& model = asked.model;
  std::vector<FitEntry> entries;
  Answered out;
  for (const std::string& engine : or_as_asked(call.engines)) {
    SameForEachCard same;
    for (const Gpu* card : or_as_asked(call.gpus)) {
      FitEntry& entry = entries.emplace_back();
      entry.source = source;
      entry.engine = engine;
      try {
        same.check();
        Request request = asked.request;
        if (!engine.empty()) find_engine(engine, request);
        if (card != nullptr) request.card.gpu = card;
        entry.answers = fit_model(model, request);
        for (Answer& answer : entry.answers->rows) answer.plan.command = replay(call, source, answer.plan.request);
        out.exit = std::max(out.exit, exit_of(entry.answers->asked));
        out.any = true;
      } catch (const Error& error) {
        same.take(error);
        entry.error = (engine.empty() ? "" : engine + ": ") + (card == nullptr ? "" : name_of_card(card) + ": ") +
                      without_program(error.line());
        entry.exit = error.code();
        out.errors.push_back(source + ": " + entry.error);
        out.exit = std::max(out.exit, static_cast<int>(error.code()));
      }
    }
  }
  out.text = written(reply_of(entries), call.format, "fit of several engines or cards", options);
  return out;
}

}  // namespace kvplan
