#include "cli/commands.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <optional>
#include <utility>

#include "cli/arguments.h"
#include "cli/extras_options.h"
#include "engines/engine.h"
#include "engines/launch_words.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/progress.h"
#include "kvplan/strings.h"
#include "plan/questions.h"
#include "sources/local_stores.h"
#include "weights/rules.h"

namespace kvplan {

namespace {

template <class T>
const std::vector<T>& or_as_asked(const std::vector<T>& list) {
  static const std::vector<T> kAsAsked{T{}};
  return list.empty() ? kAsAsked : list;
}

// One engine and GPU of those that the call lists; empty if it lists none.
struct Choice {
  std::string engine, card;
  Request request;
};

// Calls `ask` for each engine and GPU. An error that takes long to find and is the same for every GPU is looked for
// only once.
void ask_each(const Invocation& call, const Request& asked, const std::function<void(Choice&)>& ask,
              const std::function<void(const Choice&, Error&)>& failed) {
  for (const std::string& engine : or_as_asked(call.engines)) {
    std::optional<Error> same;
    for (const Gpu* card : or_as_asked(call.gpus)) {
      Choice choice{engine, std::string(card != nullptr ? card->name : ""), asked};
      try {
        if (same) throw *same;
        if (!engine.empty()) find_engine(engine, choice.request);
        if (card != nullptr) choice.request.card.gpu = card;
        ask(choice);
      } catch (Error& error) {
        if (dynamic_cast<const TooManyRules*>(&error) != nullptr) same = error;
        failed(choice, error);
      }
    }
  }
}

std::string without_program(const Error& error) {
  return error.line().substr(std::string_view("kvplan: ").size());
}

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
    fail("the models before it took " + std::to_string(static_cast<int>(spent)) + " seconds of CPU time",
         "plan it separately");
}

int exit_of(const Plan& plan) {
  return static_cast<int>(plan.verdict.fails() ? Exit::kDoesNotFit : Exit::kAnswered);
}

void Answered::planned(const Plan& plan) {
  exit = std::max(exit, exit_of(plan));
  any = true;
}

void Answered::failed(const Error& error, const std::string& line) {
  errors.push_back(line);
  exit = std::max(exit, static_cast<int>(error.code()));
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
  ProgressLine progress;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string& source = sources[i];
    if (progress.is_due())
      progress.show("kvplan: " + std::to_string(i) + " of " + std::to_string(sources.size()) + " models");
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
      row.error = without_program(error);
      row.exit = error.code();
    }
  }
  Answered out{
      written(reply_of(grid), call.format, "a table of GPUs", options), static_cast<int>(worst_of(grid)), {}, false};
  for (const GridRow& row : grid.rows) {
    if (row.cells.empty()) out.errors.push_back(row.error);
    out.any = out.any || !row.cells.empty();
  }
  return out;
}

Answered answer_models(const Invocation& call, const std::vector<std::string>& sources, const ReportOptions& options) {
  const bool is_list = !call.engines.empty() || !call.weights.empty();
  const bool has_curves = find_format(call.format).has_curves;
  std::vector<FleetEntry> entries;
  Answered out;
  ManyAnswers many(call);
  std::optional<ModelAndRequest> asked;
  const auto load = [&](const std::string& source) {
    with_source(source, [&] { many.next(); });
    asked = load_model_and_request(source, call);
  };
  const auto add = [&](const std::string& source, const std::string& engine, const std::string& type) {
    FleetEntry& entry = entries.emplace_back();
    const std::string variant = engine + (engine.empty() || type.empty() ? "" : ", ") + type;
    entry.source = source;
    entry.engine = engine;
    // With one model, several engines need no label: the plans name them.
    if (sources.size() > 1 || call.weights.size() > 1) entry.variant = variant;
    try {
      if (!is_list) load(source);
      Request request = asked->request;
      with_source(asked->model.source, [&] {
        if (!engine.empty()) find_engine(engine, request);
        if (!type.empty()) request.weights = type;
        entry.plan = make_plan(asked->model, request);
        if (has_curves) complete(asked->model, {}, *entry.plan);
      });
      entry.plan->command = replay(call, source, entry.plan->request);
      out.planned(*entry.plan);
    } catch (const Error& error) {
      entry.error = (variant.empty() ? "" : variant + ": ") + without_program(error);
      entry.exit = error.code();
      out.failed(error, entry.error);
    }
  };
  for (const std::string& source : sources) {
    if (is_list) load(source);  // each of its rows would fail with the same error
    for (const std::string& engine : or_as_asked(call.engines))
      for (const std::string& type : or_as_asked(call.weights)) add(source, engine, type);
  }
  const bool is_one = sources.size() == 1 && !call.engines.empty() && call.weights.empty();
  out.text = written(is_one ? side_by_side(entries) : reply_of(entries), call.format, "a table of models", options);
  return out;
}

Answered answer_pasted(const Invocation& call, const ReportOptions& options) {
  std::vector<FleetEntry> entries;
  Answered out;
  const auto plan = [&](const Invocation& one, FleetEntry& entry) {
    const ModelAndRequest asked = load_model_and_request(entry.source, one);
    with_source(asked.model.source, [&] {
      entry.plan = make_plan(asked.model, asked.request);
      suggest(asked.model, *entry.plan);
    });
    add_commands(one, *entry.plan);
    entry.plan->command = replay(one, entry.source, entry.plan->request);
    entry.engine = entry.plan->engine;
    out.planned(*entry.plan);
  };
  for (const Invocation& one : call.pasted_calls) {
    FleetEntry& entry = entries.emplace_back();
    entry.source = one.models.front();
    try {
      if (one.pasted_error) throw Error(*one.pasted_error);
      try {
        plan(one, entry);
      } catch (const Error& error) {
        const auto again = without_refused(one, error);
        if (!again) throw;
        plan(*again, entry);
      }
    } catch (const Error& error) {
      entry.error = without_program(error);
      entry.exit = error.code();
      out.failed(error, entry.error);
    }
  }
  out.text = written(reply_of(entries), call.format, "a table of models", options);
  return out;
}

// Several engines or GPUs give one table. Each answer's name and changes begin with what differs.
Answered answer_compared(const Invocation& call, const std::string& source, const ReportOptions& options) {
  const ModelAndRequest asked = load_model_and_request(source, call);
  const std::vector<std::string> stored = stored_models();
  std::optional<Answers> all;
  Answered out;
  std::optional<Error> first_error;
  const auto ask = [&](Choice& choice) {
    Answers answers = compare_types(asked.model, choice.request, {call.weights, call.kv_types, stored});
    out.planned(answers.asked);
    const std::string where = choice.engine + (choice.engine.empty() || choice.card.empty() ? "" : ", ") + choice.card;
    for (Answer& answer : answers.rows) {
      if (!where.empty()) answer.name.insert(0, where + ", ");
      if (!choice.card.empty()) answer.changes.emplace(answer.changes.begin(), "--gpu", choice.card);
      if (!choice.engine.empty()) answer.changes.emplace(answer.changes.begin(), "--engine", choice.engine);
      answer.plan.command = replay(call, source, answer.plan.request);
    }
    if (!where.empty())
      for (Template& sentence : answers.sentences) sentence = Template("{where}: ", {{"where", where}}) + sentence;
    if (!all) {
      all = std::move(answers);
      return;
    }
    std::move(answers.rows.begin(), answers.rows.end(), std::back_inserter(all->rows));
    std::move(answers.sentences.begin(), answers.sentences.end(), std::back_inserter(all->sentences));
  };
  ask_each(call, asked.request, ask, [&](const Choice&, Error& error) {
    error.set_source(source);
    if (!first_error) first_error = error;
    out.failed(error, without_program(error));
  });
  if (!all) throw *first_error;
  for (const std::string& error : out.errors) warn(all->asked.notes, "not_compared", Template::quoted(error));
  out.text = written(compared(*all), call.format, "compare", options);
  return out;
}

Answered answer_fits(const Invocation& call, const std::string& source, const ReportOptions& options) {
  const ModelAndRequest asked = load_model_and_request(source, call);
  std::vector<FitEntry> entries;
  Answered out;
  const auto ask = [&](Choice& choice) {
    Answers answers = fit_model(asked.model, choice.request);
    add_price(call.workload, answers);
    for (Answer& answer : answers.rows) answer.plan.command = replay(call, source, answer.plan.request);
    out.planned(answers.asked);
    entries.push_back({source, choice.engine, std::move(answers), "", Exit::kAnswered});
  };
  ask_each(call, asked.request, ask, [&](const Choice& choice, const Error& error) {
    const std::string line = (choice.engine.empty() ? "" : choice.engine + ": ") +
                             (choice.card.empty() ? "" : choice.card + ": ") + without_program(error);
    entries.push_back({source, choice.engine, std::nullopt, line, error.code()});
    out.failed(error, source + ": " + line);
  });
  out.text = written(reply_of(entries), call.format, "fit of several engines or GPUs", options);
  return out;
}

// Options that each row adds by itself.
constexpr std::string_view kOwn =
    "--engine --max-model-len --ctx-size --num-seqs --weights --kv-cache-dtype --cache-type-k --cache-type-v "
    "--tensor-parallel-size --pipeline-parallel-size --data-parallel-size --decode-context-parallel-size "
    "--enable-expert-parallel --enable-dp-attention --gpu --gpu-memory --gpu-count --reserve "
    "--n-gpu-layers --n-cpu-moe --tensor-split";

// Options that do not affect a plan, or are private.
constexpr std::string_view kLeftOut =
    "--format --json --output --color --token --offline --fail-over --measure --measure-max --device --tolerance "
    "--save-calibration --watch --pid --keep --share";

static void add_types(const Request& planned, OptionValues& out) {
  const auto add = [&](const char* option, const std::optional<Dtype>& type) {
    if (type) out.emplace_back(option, name(*type));
  };
  if (planned.weights) out.emplace_back("--weights", *planned.weights);
  if (planned.cache_type_k == planned.cache_type_v) return add("--kv-cache-dtype", planned.cache_type_k);
  add("--cache-type-k", planned.cache_type_k);
  add("--cache-type-v", planned.cache_type_v);
}

// In the largest unit that keeps every byte.
static std::string size_text(Bytes size) {
  const std::uint64_t bytes = size.count();
  if (bytes % kGiB == 0) return std::to_string(bytes / kGiB) + "GiB";
  return bytes % kMiB == 0 ? std::to_string(bytes / kMiB) + "MiB" : std::to_string(bytes) + "B";
}

static void add_cards(const Request& planned, OptionValues& out) {
  const CardRequest& card = planned.card;
  if (!card.mixed.empty())
    out.emplace_back("--gpu", join(card.mixed_names(), "+"));
  else if (card.gpu)
    out.emplace_back("--gpu", std::string(card.gpu->name));
  if (card.memory) out.emplace_back("--gpu-memory", size_text(*card.memory));
  if (card.mixed.empty() && (card.count_given || card.count > 1))
    out.emplace_back("--gpu-count", std::to_string(std::max(card.count, planned.parallel.gpus())));
}

static void add_layout(const Parallel& parallel, OptionValues& out) {
  const auto add = [&](const char* option, std::uint64_t ranks, bool always = false) {
    if (always || ranks > 1) out.emplace_back(option, std::to_string(ranks));
  };
  add("-tp", parallel.tensor, parallel.given);
  add("-pp", parallel.pipeline);
  add("-dp", parallel.data);
  add("-dcp", parallel.decode_context);
  if (parallel.expert) out.emplace_back("--enable-expert-parallel", "");
  if (parallel.dp_attention) out.emplace_back("--enable-dp-attention", "");
}

// llama.cpp's placement, which -ngl auto may have found. --cpu-moe stays as typed.
static void add_placement(const Request& planned, const LlamaCppOptions& asked, OptionValues& out) {
  const LlamaCppOptions& placed = planned.llama_cpp;
  if (placed.placement == Placement::kFit) out.emplace_back("--n-gpu-layers", "auto");
  if (placed.gpu_layers)
    out.emplace_back("--n-gpu-layers", *placed.gpu_layers == kEveryLayer ? "all" : std::to_string(*placed.gpu_layers));
  if (placed.cpu_moe_layers && (*placed.cpu_moe_layers < kEveryLayer || placed.cpu_moe_layers != asked.cpu_moe_layers))
    out.emplace_back("--n-cpu-moe", std::to_string(*placed.cpu_moe_layers));
  if (!placed.tensor_split.empty() && (planned.card.mixed.empty() || placed.tensor_split != asked.tensor_split))
    out.emplace_back("--tensor-split", shares_text(placed.tensor_split));
}

OptionValues replay(const Invocation& call, const std::string& source, const Request& planned) {
  OptionValues out{{"kvplan", source}};
  if (call.engine_given)
    out.emplace_back("--engine", std::string(engine_of(planned).name) +
                                     (planned.engine_version.empty() ? "" : "@" + planned.engine_version));
  const Request& asked = call.request;
  for (const auto& [option, value] : call.typed)
    if (!has_word(kOwn, option) && !has_word(kLeftOut, option)) out.emplace_back(option, value);
  if (planned.memory_utilization && !asked.memory_utilization)  // the smallest fraction that is enough
    out.emplace_back("--gpu-memory-utilization", shares_text({*planned.memory_utilization}));
  if (planned.max_model_len)
    out.emplace_back("--max-model-len", std::to_string(planned.max_model_len->count()));
  else if (planned.llama_cpp.ctx_size)
    out.emplace_back("--ctx-size", std::to_string(planned.llama_cpp.ctx_size->count()));
  if (planned.num_seqs != 1 || asked.num_seqs != 1 || asked.users)
    out.emplace_back("--num-seqs", std::to_string(planned.num_seqs));
  if (planned.max_num_seqs && planned.max_num_seqs != asked.max_num_seqs)  // lowered to a value that starts
    out.emplace_back("--max-num-seqs", std::to_string(*planned.max_num_seqs));
  add_types(planned, out);
  add_cards(planned, out);
  add_layout(planned.parallel, out);
  add_placement(planned, asked.llama_cpp, out);
  if (planned.limits.reserve != asked.limits.reserve) {
    out.emplace_back("--reserve", "0%");
  } else if (planned.limits.reserve) {
    for (const auto& [option, value] : call.typed)
      if (option == "--reserve") out.emplace_back(option, value);
  }
  return out;
}

}  // namespace kvplan
