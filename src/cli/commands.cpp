// What each command does. Help, look-up and dispatch use one table.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "base/os.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/extras_options.h"
#include "cli/options.h"
#include "cli/shell.h"
#include "engines/engine.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "measure/detect.h"
#include "plan/questions.h"
#include "report/report.h"
#include "sources/catalogue.h"
#include "weights/weigh.h"

namespace kvplan {

static void emit(const Invocation& call, std::string_view text) {
  write_report(call.output, text);
}

static ReportOptions report_options(const Invocation& call) {
  ReportOptions out;
  const bool terminal = call.output.empty() && os::is_terminal(os::kOutput);
  const char* no_color = std::getenv("NO_COLOR");
  const bool refused = no_color != nullptr && *no_color != '\0';
  out.color = call.color == Color::kAlways || (call.color == Color::kAuto && terminal && !refused);
  out.suggests_next = terminal;
  if (const auto columns = terminal ? os::columns(os::kOutput) : std::nullopt; columns && *columns >= 40)
    out.width = *columns;
  return out;
}

static Plan plan_of(const ModelSpec& model, const Request& request) {
  return with_source(model.source, [&] { return make_plan(model, request); });
}

// Printed to standard error: with --format args, standard output must be a command line and nothing else.
static void warn(const ModelSpec& model, const std::string& warning) {
  if (!warning.empty())
    std::fprintf(stderr, "kvplan: %s: %s\n", one_line(model.source).c_str(), one_line(warning, 2000).c_str());
}

static Exit failed_if(bool failed) {
  return failed ? Exit::kDoesNotFit : Exit::kAnswered;
}

static int answer(const Invocation& call, const Reply& reply, std::string_view question, Exit exit = Exit::kAnswered) {
  emit(call, written(reply, call.format, question, report_options(call)));
  return static_cast<int>(exit);
}

// If nothing could be planned there is no report (except as JSON). Instead the errors are printed, one per line.
static int emit_answered(const Invocation& call, const Answered& answered) {
  if (answered.any || call.format == "json")
    emit(call, answered.text);
  else
    for (const std::string& error : answered.errors) std::fprintf(stderr, "kvplan: %s\n", error.c_str());
  return answered.exit;
}

// If no GPU is named and this machine has one, says whether the model would fit here. The answer and the exit code do
// not depend on it. A GPU whose memory is unknown is skipped.
static std::optional<Block> of_this_machine(const ModelAndRequest& asked) {
  constexpr std::chrono::milliseconds kLongest{200};
  try {
    const std::vector<DetectedCard> cards = detect_cards_within(kLongest);
    if (cards.empty()) return std::nullopt;
    Request request = asked.request;
    use_cards(cards, request);
    const Plan plan = make_plan(asked.model, request);
    const std::string name = cards.size() == 1 ? cards.front().name : std::to_string(cards.size()) + " GPUs";
    Bytes memory;
    Bytes used;
    for (const DetectedCard& card : cards) {
      memory += card.memory;
      used += card.used;
    }
    return machine_block(name, memory, used, plan);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// "LLM + EMBEDDER": models that share a GPU.
static bool shares_card(const Invocation& call) {
  return std::find(call.models.begin(), call.models.end(), "+") != call.models.end();
}

static int run_shared(const Invocation& call) {
  if (is_grid(call) || !call.engines.empty() || !call.weights.empty() || call.measuring.wanted)
    fail("MODEL + MODEL: takes one --engine, --gpu and --weights, and no --measure", "run it once for each");
  std::vector<ModelAndRequest> asked;
  for (std::size_t i = 0; i < call.models.size(); ++i) {
    if ((i % 2 == 1) != (call.models[i] == "+")) fail("MODEL + MODEL: write + between two models", "see kvplan --help");
    if (i % 2 == 1) continue;
    Invocation one = call;
    if (i > 0) {  // the options that load something in addition to the first model
      one.draft.clear();
      one.mmproj.clear();
      one.loras.clear();
    }
    asked.push_back(load_model_and_request(call.models[i], one));
  }
  if (asked.size() * 2 != call.models.size() + 1)
    fail("MODEL + MODEL: write + between two models", "see kvplan --help");
  std::vector<CardUser> users;
  for (const ModelAndRequest& each : asked)
    users.push_back({&each.model, users.empty() ? each.request : further_request(each.model, each.request)});
  const SharedCard shared = with_source(asked.front().model.source, [&] { return share_card(users); });
  return answer(call, reply_of(shared), "several models on one GPU", failed_if(shared.status != Verdict::kFits));
}

static int run_plan_once(const Invocation& call) {
  if (!call.pasted_calls.empty()) return emit_answered(call, answer_pasted(call, report_options(call)));
  if (call.models.empty()) {
    usage_error("no MODEL given", "give a config.json, a directory, a *.gguf or -; see kvplan --help");
  }
  if (shares_card(call)) return run_shared(call);
  bool fleet = false;
  const std::vector<std::string> sources = expand_models(call.models, fleet);
  if (call.measuring.wanted && (fleet || is_grid(call) || !call.engines.empty() || !call.weights.empty()))
    fail("--measure: takes one MODEL, one --engine and one GPU", "run it once for each");
  if (is_grid(call)) return emit_answered(call, answer_grid(call, sources, report_options(call)));
  if (fleet || !call.engines.empty() || !call.weights.empty())
    return emit_answered(call, answer_models(call, sources, report_options(call)));
  const ModelAndRequest asked = load_model_and_request(sources.front(), call);
  const ModelSpec& model = asked.model;
  if (call.measuring.wanted) return run_measure(call, asked, report_options(call));
  Plan plan = with_source(model.source, [&] { return plan_for_users(model, asked.request); });
  plan.command = replay(call, sources.front(), plan.request);
  suggest(model, plan);
  add_commands(call, plan);
  const ReportForm& form = find_format(call.format);
  const Wanted wanted{.curves = form.has_curves,
                      .engines = !call.engine_given && plan.is_logical && form.is_for_people,
                      .launch = form.has_launch};
  with_source(model.source, [&] { complete(model, wanted, plan); });
  Reply reply = reply_of(plan);
  const ReportOptions options = report_options(call);
  if (options.suggests_next && call.format == "table" && !plan.card && !call.ignores_machine)
    reply.page = [page = reply.page, block = of_this_machine(asked)] {
      Page out = page();
      if (block) out.blocks.push_back(*block);
      return out;
    };
  emit(call, written(reply, call.format, "a plan", options));
  warn(model, reply.warning);
  return exit_of(plan);
}

static int run_plan(const Invocation& call) {
  try {
    return run_plan_once(call);
  } catch (const Error& error) {
    if (const auto again = without_refused(call, error)) return run_plan_once(*again);
    throw;
  }
}

static const std::string& single_model(const Invocation& call) {
  const std::string_view several = call.models.size() != 1 ? "MODEL"
                                   : !call.engines.empty() ? "--engine"
                                   : !call.gpus.empty()    ? "--gpu"
                                   : !call.weights.empty() ? "--weights"
                                                           : "";
  if (several.empty()) return call.models.front();
  usage_error(call.command + " takes one " + std::string(several), "see kvplan --help");
}

static int run_explain(const Invocation& call) {
  const ModelAndRequest asked = load_model_and_request(single_model(call), call);
  const ModelSpec& model = asked.model;
  Plan plan = plan_of(model, asked.request);
  with_source(model.source, [&] { complete(model, {}, plan); });
  answer(call, explained(plan), "explain");
  return exit_of(plan);
}

static int run_compare(const Invocation& call) {
  if (call.models.size() != 1) single_model(call);
  return emit_answered(call, answer_compared(call, call.models.front(), report_options(call)));
}

static int run_fit(const Invocation& call) {
  if (call.models.size() == 1 && call.weights.empty() && (!call.engines.empty() || !call.gpus.empty()))
    return emit_answered(call, answer_fits(call, call.models.front(), report_options(call)));
  const ModelAndRequest asked = load_model_and_request(single_model(call), call);
  return with_source(asked.model.source, [&] {
    Answers answers = fit_model(asked.model, asked.request);
    for (Answer& answer : answers.rows) answer.plan.command = replay(call, call.models.front(), answer.plan.request);
    add_price(call.workload, answers);
    const ReportForm& form = find_format(call.format);
    const bool starts = answers.users && form.is_for_people && engine_of(asked.request).launch != nullptr;
    if (form.has_launch || starts) add_launch(asked.model, answers);
    const Reply reply = fitted(answers);
    answer(call, reply, call.command);
    if (form.has_launch) warn(asked.model, reply.warning);
    return exit_of(answers.asked);
  });
}

// A plan that kvplan wrote, or the plan of a model with the other options.
static PlanDigest digest_of(const std::string& source, const Invocation& call) {
  if (is_report(source)) return load_plan(source);
  const ModelAndRequest asked = load_model_and_request(source, call);
  return parse_plan(reply_of(plan_of(asked.model, asked.request)).json(), source);
}

// "measure card" measures only the GPU. A model with that name needs "./" in front.
static bool asks_card(const Invocation& call) {
  return call.models.size() == 1 && call.models[0] == "card" && !call.measuring.watch && !call.measuring.pid;
}

// Without --watch or --pid the plan is rehearsed, as `plan --measure` does.
static int run_measured(const Invocation& call) {
  const MeasuringOptions& measuring = call.measuring;
  const bool watches = measuring.watch || measuring.pid;
  if (measuring.watch && measuring.pid) fail("--watch and --pid both name the engine", "use one of them");
  if (measuring.watch && measuring.command.empty())
    fail("--watch: no command after --", "write for example --watch -- vllm serve MODEL");
  if (measuring.keep && !measuring.watch)
    fail("--keep without --watch", "an engine given with --pid keeps running anyway");
  if (asks_card(call)) return run_card(call, report_options(call));
  const ModelAndRequest asked = load_model_and_request(single_model(call), call);
  return watches ? run_watch(call, asked, report_options(call)) : run_measure(call, asked, report_options(call));
}

// The Python package queries the engine: if it is installed, main hands the command over to it, otherwise the command
// is an error. The package calls the program back to save the engine's figures (--said), and to get the files of a
// model in the catalogue, one per line (--said=files).
static int run_verify(const Invocation& call) {
  if (call.measuring.said == "files")
    if (const CatalogueName known = find_published(single_model(call)); known.model != nullptr) {
      const PublishedFiles files = published_files(*known.model);
      emit(call, files.config + "\n" + files.hf_quant_config + "\n");
      return 0;
    }
  if (!call.measuring.said.empty() && !call.measuring.save.empty()) {
    const ModelAndRequest asked = load_model_and_request(single_model(call), call);
    with_source(asked.model.source, [&] {
      save_calibration(call.measuring.save, said_by_engine(asked.model, asked.request, call.measuring.said, today()));
    });
    return 0;
  }
  fail_in("verify", Exit::kNoDevice, "this needs the Python package",
          "pip install kvplan, then python -m kvplan.verify");
}

static int run_diff(const Invocation& call) {
  const bool is_pasted = call.pasted_calls.size() == 2;
  if (!is_pasted && call.models.size() != 2)
    usage_error("diff takes two MODELs or plans", "write plans with kvplan MODEL --json -o FILE");
  const auto digest = [&](std::size_t i) {
    const Invocation& one = is_pasted ? call.pasted_calls[i] : call;
    return digest_of(one.models[is_pasted ? 0 : i], one);
  };
  const PlanDigest before = digest(0);
  const PlanDiff diff = diff_plans(before, digest(1), call.fail_over, call.request.limits);
  return answer(call, reply_of(diff), "diff", failed_if(diff.is_too_much || diff.lost_fit || !diff.broken.empty()));
}

static int run_check_log(const Invocation& call) {
  if (call.models.empty() || call.models.size() > 2) {
    usage_error("check-log needs a LOG",
                "write kvplan check-log LOG, or kvplan check-log MODEL LOG to compare the log with a plan");
  }
  const LogCheck check = checked_log(call);
  const LogVerdict verdict = check.diagnosis.verdict;
  const bool failed = verdict == LogVerdict::kDidNotStart || verdict == LogVerdict::kDied;
  return answer(call, reply_of(check), "check-log",
                verdict == LogVerdict::kCannotTell ? Exit::kUnknownArchitecture : failed_if(failed));
}

static int run_formulas(const Invocation& call) {
  const std::vector<KindInfo> kinds = all_kinds();
  if (call.models.empty()) return answer(call, reply_of(kinds), "formulas");
  const std::string& asked = call.models.front();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const KindInfo& row) { return row.name == asked; });
  if (kind == kinds.end() || call.models.size() > 1)
    usage_error("formulas takes the name of one kind, not \"" + one_line(asked, 60) + "\"",
                "kvplan formulas lists them");
  std::vector<KindInfo> rows;
  for (const KindInfo& row : kinds)
    if (row.name == "mha" || row.name == "gqa" || row.name == asked) rows.push_back(row);
  return answer(call, reply_of(*kind, derivation(asked), rows), "formulas");
}

static int run_dtypes(const Invocation& call) {
  return answer(call, reply_of(dtypes()), "dtypes");
}

// The named engines; all if none is named.
static std::vector<const Engine*> engines_called(const std::vector<std::string>& names) {
  std::vector<const Engine*> out;
  for (const std::string& name : names) {
    Request unused;
    out.push_back(with_source("command line", [&] { return &find_engine(name, unused); }));
  }
  if (names.empty())
    for (const Engine& engine : engines()) out.push_back(&engine);
  return out;
}

static int run_engines(const Invocation& call) {
  const std::vector<const Engine*> asked = engines_called(call.models);
  if (call.rules) {
    std::vector<std::vector<RuleRow>> rows;  // what `rules` looks into
    for (const Engine* engine : asked)
      rows.push_back(engine->rules != nullptr ? engine->rules() : std::vector<RuleRow>());
    std::vector<EngineRule> rules;
    for (std::size_t i = 0; i < asked.size(); ++i)
      for (const RuleRow& row : rows[i])
        rules.push_back({asked[i]->name, row.since, row.until, row.value, row.what, row.evidence, date_basis(row)});
    return answer(call, reply_of(std::span<const EngineRule>(rules)), "engines");
  }
  std::vector<EngineRow> rows;
  for (const Engine* engine : asked)
    for (const EngineVersion& version : engine->versions) rows.push_back({engine->name, version.version, version.note});
  return answer(call, reply_of(std::span<const EngineRow>(rows)), "engines");
}

// GPUs that have `text` in one of their names, or else the GPU that `text` identifies.
static std::vector<Gpu> cards_called(const GpuCatalogue& known, const std::string& text) {
  std::vector<Gpu> out;
  for (const std::span<const Gpu> cards : {known.cards(), gpu_slices()})
    for (const Gpu& gpu : cards)
      if (folded(gpu.name).find(folded(text)) != std::string::npos ||
          folded(gpu.aliases).find(folded(text)) != std::string::npos)
        out.push_back(gpu);
  if (out.empty()) out.push_back(with_source("command line", [&] { return known.parse(text, "gpus"); }));
  return out;
}

static int run_gpus(const Invocation& call) {
  const GpuCatalogue& known = call.request.card.known();
  std::vector<Gpu> cards(known.cards().begin(), known.cards().end());
  if (!call.models.empty()) cards.clear();
  for (const std::string& name : call.models)
    for (const Gpu& gpu : cards_called(known, name)) cards.push_back(gpu);
  return answer(call, reply_of(std::span<const Gpu>(cards)), "gpus");
}

// Entries that have each of the words in their id, family, tasks, license or tag.
static int run_models(const Invocation& call) {
  ModelList list{{}, catalogue_date()};
  for (const PublishedModel& model : catalogue()) {
    const std::string text = join(std::vector{model.id, model.tasks, model.license, model.ollama}, " ", folded);
    const auto has = [&](const std::string& word) {
      return !folded(word).empty() && text.find(folded(word)) != std::string::npos;
    };
    if (std::all_of(call.models.begin(), call.models.end(), has)) list.models.push_back(model);
  }
  for (PublishedModel& model : list.models)
    if (model.parameters == 0)
      model.parameters = count_parameters(load_published(model, std::string(model.id), call.source.read)).total;
  if (list.models.empty())
    usage_error("models: no model has \"" + one_line(join(call.models, " "), 60) + "\" in its name",
                "kvplan models lists them all");
  return answer(call, reply_of(list), "models");
}

static int run_pick(const Invocation& call) {
  if (!call.models.empty())
    usage_error("pick takes no MODEL", "kvplan models " + one_line(call.models.front(), 60) + " looks a name up");
  if (!call.gpus.empty() || !call.engines.empty())
    usage_error("pick takes one --gpu and one --engine", "run it once for each");
  if (call.longest_context)
    usage_error("pick does not take --max-model-len auto", "give a length; the table also shows the longest that fits");
  PickQuestion question{call.request, call.engine_given, call.task, call.all};
  const CardRequest& card = question.request.card;
  if (card.gpu == nullptr && !card.memory && !call.ignores_machine)
    if (const std::vector<DetectedCard> cards = detect_cards(); !cards.empty()) use_cards(cards, question.request);
  const Pick pick = with_source("command line", [&] { return pick_models(question, call.source.read); });
  return answer(call, reply_of(pick), "pick", failed_if(pick.models.empty()));
}

static int run_schema(const Invocation& call) {
  const Reply schema{{}, [] { return schema_json(all_kinds()); }, {}};
  emit(call, written(schema, call.format == "table" ? "json" : call.format, "schema", report_options(call)));
  return 0;
}

static int run_completions(const Invocation& call) {
  if (call.models.size() != 1) usage_error("completions takes the name of a shell", "use one of bash, zsh, fish");
  emit(call, completions(call.models.front()));
  return 0;
}

static int run_man(const Invocation& call) {
  emit(call, man_page());
  return 0;
}

constexpr std::string_view kTables = "--format --json --output";
// Options for measuring, which only `plan` and `measure` take, and --fail-over, which only `diff` takes.
constexpr std::string_view kUnmeasured =
    "--fail-over --measure --measure-max --device --tolerance --save-calibration --watch --pid --keep --share --rules "
    "--task --all --said";

constexpr std::array kCommands{
    Command{"plan", "MODEL... [options]", "a memory plan; for several MODELs, a table", run_plan, "Load|Types", "",
            "--fail-over --watch --pid --keep --rules --task --all --said",
            "kvplan Qwen3-8B --max-model-len 32k\n"
            "kvplan Qwen3-8B gpt-oss-20b --engine vllm --gpu l40s,h100 --weights bf16,fp8\n"
            "kvplan qwen3:8b -c 16k -ctk q8_0 -ctv q8_0 --json"},
    Command{"compare", "MODEL [options]", "weight types x KV types, side by side", run_compare, "Types|GPU and limits",
            "", kUnmeasured,
            "kvplan compare Qwen3-8B --max-model-len 32k\n"
            "kvplan compare Qwen3-8B --engine vllm --gpu rtx-4090\n"
            "kvplan compare Qwen3-8B --gpu-memory 24GiB --format markdown",
            "args k8s"},
    Command{.name = "fit",
            .arguments = "MODEL [options]",
            .help = "longest context, most sequences, fewest GPUs",
            .run = run_fit,
            .groups = "GPU and limits",
            .without = kUnmeasured,
            .examples = "kvplan fit Qwen3-8B --gpu rtx-4090\n"
                        "kvplan fit Qwen3-32B --engine vllm --gpu h100-80gb --users 300 --avg-len 8k\n"
                        "kvplan fit Qwen3-8B --engine vllm,sglang --gpu h100-80gb --num-seqs 16",
            .first = "--users --avg-len --max-model-len --num-seqs --reserve"},
    Command{"measure", "MODEL [options]", "watch an engine start, or allocate the plan", run_measured, "Measuring", "",
            "--fail-over --measure --rules --task --all --said",
            "kvplan measure Qwen3-8B --engine vllm --watch -- vllm serve Qwen/Qwen3-8B\n"
            "kvplan measure model.gguf --watch --device host -- llama-server -m model.gguf\n"
            "kvplan measure card --save-calibration default",
            "args k8s csv svg"},
    Command{
        "verify", "MODEL --engine E", "compare the plan with the installed engine", run_verify, "Load|Types", "",
        "--fail-over --measure --measure-max --device --tolerance --watch --pid --keep --share --rules --task --all",
        "kvplan verify config.json --engine vllm --gpu l40s\n"
        "kvplan verify config.json --engine sglang --python venv/bin/python\n"
        "kvplan verify config.json --engine transformers --max-model-len 8k --json",
        "args k8s csv html github markdown svg"},
    Command{"diff", "OLD NEW [options]", "what changed between two models or plans", run_diff, "GPU and limits", "",
            "--measure --measure-max --device --tolerance --save-calibration --watch --pid --keep --share --users "
            "--rules --task --all --said",
            "kvplan diff before.json after.json --fail-over 5%\n"
            "kvplan diff old/config.json new/config.json --engine vllm --gpu l40s\n"
            "kvplan diff before.json after.json --format markdown -o comment.md",
            "args k8s csv svg"},
    Command{"check-log", "[MODEL] LOG", "why an engine did not start, or what differs", run_check_log,
            "Load|Parallelism", "",
            "--fail-over --measure --measure-max --device --tolerance --watch --pid --keep --share --calibration "
            "--max-vram "
            "--min-context --min-seqs "
            "--gpu-bandwidth --gpu-tflops --rules --task --all --said",
            "kvplan check-log vllm.log\n"
            "kvplan check-log config.json vllm.log\n"
            "journalctl -u vllm | kvplan check-log config.json -",
            "args k8s csv svg"},
    Command{"explain", "MODEL [options]", "every layer and formula, with its sources", run_explain, "Load|Types", "",
            kUnmeasured,
            "kvplan explain Qwen3-8B\n"
            "kvplan explain Qwen3-8B --engine vllm --max-model-len 32k\n"
            "kvplan explain Qwen3-8B --kv-cache-dtype fp8 | less",
            "args k8s svg"},
    Command{"pick", "[options]", "models that run on a GPU or this machine", run_pick, "",
            "--gpu --gpu-file --gpu-memory --gpu-count --gpu-bandwidth --host-memory --host-bandwidth --engine "
            "--max-model-len --users --num-seqs --kv-cache-dtype --cache-type-k --cache-type-v --reserve --task --all "
            "--format --json --output --color",
            "",
            "kvplan pick --gpu rtx-3060 --host-memory 32GiB\n"
            "kvplan pick --gpu rtx-4090 --task code --max-model-len 32k\n"
            "kvplan pick --gpu h100-80gb --engine vllm --users 20",
            "csv args k8s svg"},
    Command{"models", "[WORD...]", "the models that kvplan knows by name", run_models, "", kTables, "",
            "kvplan models\nkvplan models qwen3.5\nkvplan models embedding --json", "csv args k8s svg", true},
    Command{"formulas", "[KIND]", "the kinds of attention", run_formulas, "", kTables, "",
            "kvplan formulas\nkvplan formulas mla\nkvplan formulas --format markdown", "csv args k8s svg", true},
    Command{"engines", "[ENGINE...]", "engines and releases, with the evidence", run_engines, "",
            "--rules --format --json --output", "",
            "kvplan engines\nkvplan engines vllm --rules\nkvplan engines -o engines.txt", "csv args k8s svg", true},
    Command{"gpus", "[NAME...]", "the catalogue of GPUs", run_gpus, "", "--gpu-file --format --json --output", "",
            "kvplan gpus\nkvplan gpus | grep rtx\nkvplan gpus -o gpus.txt", "csv args k8s svg", true},
    Command{"dtypes", "", "KV cache types and bytes per element", run_dtypes, "", kTables, "",
            "kvplan dtypes\nkvplan dtypes | grep fp8\nkvplan dtypes -o types.txt", "csv args k8s svg", true},
    Command{"schema", "", "the JSON Schema of every report", run_schema, "", kTables, "",
            "kvplan schema\nkvplan schema -o kvplan.schema.json\nkvplan schema | python3 -m json.tool",
            "markdown github csv html args k8s svg", true},
    Command{"completions", "bash|zsh|fish", "completions for a shell", run_completions, "", "--output", "",
            "source <(kvplan completions bash)\n"
            "kvplan completions zsh -o ~/.zfunc/_kvplan\n"
            "kvplan completions fish -o ~/.config/fish/completions/kvplan.fish",
            "json markdown github csv html args k8s svg", true},
    Command{"man", "", "the man page, as roff", run_man, "", "--output", "",
            "kvplan man | man -l -\nkvplan man -o kvplan.1\nkvplan man | groff -man -Tutf8 | less -R",
            "json markdown github csv html args k8s svg", true},
};

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace kvplan
