// What each command does. One table feeds the help, look-up and dispatch.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "cli/extras_options.h"
#include "cli/many.h"
#include "cli/measuring.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/shell.h"
#include "engines/engine.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "measure/check_log.h"
#include "measure/log_reader.h"
#include "plan/answers.h"
#include "plan/complete.h"
#include "plan/diff.h"
#include "report/report.h"

namespace kvplan {

namespace {

void emit(const Invocation& call, std::string_view text) {
  write_output(call.output, text);
}

ReportOptions report_options(const Invocation& call) {
  ReportOptions out;
  const bool terminal = call.output.empty() && isatty(STDOUT_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  const bool refused = no_color != nullptr && *no_color != '\0';
  out.color = call.color == Color::kAlways || (call.color == Color::kAuto && terminal && !refused);
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) out.width = size.ws_col;
  return out;
}

int exit_of(const Plan& plan) {
  return static_cast<int>(plan.verdict.status == Verdict::kDoesNotFit ? Exit::kDoesNotFit : Exit::kAnswered);
}

// What `ask` says; an error that does not know where it comes from is of the model.
template <class Ask>
auto of_model(const ModelSpec& model, const Ask& ask) {
  try {
    return ask();
  } catch (Error& error) {
    error.set_source(model.source);
    throw;
  }
}

Plan plan_of(const ModelSpec& model, const Request& request) {
  return of_model(model, [&] { return make_plan(model, request); });
}

std::string without_program(const std::string& line) {
  return line.substr(std::strlen("kvplan: "));
}

// Where nothing was planned there is no answer, but for programs: what went wrong, a line each.
int emit_answered(const Invocation& call, const Answered& answered) {
  if (!answered.any && call.format != "json") {
    for (const std::string& error : answered.errors) std::fprintf(stderr, "kvplan: %s\n", error.c_str());
    return answered.exit;
  }
  emit(call, answered.text);
  return answered.exit;
}

int run_fleet(const Invocation& call, const std::vector<std::string>& sources) {
  const auto render = answer_of(call.format, &ReportForm::fleet, "a fleet");
  std::vector<FleetEntry> entries(sources.size());
  Answered out;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    FleetEntry& entry = entries[i];
    entry.source = sources[i];
    try {
      const Asked asked = load_asked(sources[i], call);
      entry.plan = plan_of(asked.model, asked.request);
      out.exit = std::max(out.exit, exit_of(*entry.plan));
      out.any = true;
    } catch (const Error& error) {
      entry.error = without_program(error.line());
      entry.exit = error.code();
      out.errors.push_back(entry.error);
      out.exit = std::max(out.exit, static_cast<int>(error.code()));
    }
  }
  out.text = render(entries, report_options(call));
  return emit_answered(call, out);
}

int run_plan(const Invocation& call) {
  if (call.models.empty()) {
    Error error(Exit::kBadInput, "no MODEL was named",
                "give a config.json, a directory, a *.gguf or -; see kvplan --help");
    error.set_source("command line");
    throw error;
  }
  bool fleet = false;
  const std::vector<std::string> sources = expand_models(call.models, fleet);
  if (call.measuring.wanted && (fleet || is_grid(call) || !call.engines.empty() || !call.weights.empty()))
    fail("--measure: takes one MODEL, one --engine and one card", "measure them one after the other");
  if (is_grid(call)) return emit_answered(call, answer_grid(call, sources, report_options(call)));
  if (!call.engines.empty() || !call.weights.empty())
    return emit_answered(call, answer_variants(call, sources, report_options(call)));
  if (fleet) return run_fleet(call, sources);
  const Asked asked = load_asked(sources.front(), call);
  const ModelSpec& model = asked.model;
  if (call.measuring.wanted) return run_measure(call, asked, report_options(call));
  Plan plan = plan_of(model, asked.request);
  suggest(model, plan);
  const ReportForm& form = find_format(call.format);
  of_model(model, [&] { complete(model, {form.draws, form.launches}, plan); });
  emit(call, form.plan(plan, report_options(call)));
  return exit_of(plan);
}

const std::string& single_model(const Invocation& call) {
  const std::string_view several = call.models.size() != 1 ? "MODEL"
                                   : !call.engines.empty() ? "--engine"
                                   : !call.gpus.empty()    ? "--gpu"
                                   : !call.weights.empty() ? "--weights"
                                                           : "";
  if (several.empty()) return call.models.front();
  Error error(Exit::kBadInput, call.command + " takes one " + std::string(several), "see kvplan --help");
  error.set_source("command line");
  throw error;
}

// Commands whose forms are no rows of the table of forms. Error where `call` asks for another than `known`.
void require_known_form(const Invocation& call, std::initializer_list<std::string_view> known) {
  if (std::find(known.begin(), known.end(), call.format) != known.end()) return;
  std::string list;
  for (const std::string_view form : known) list += (list.empty() ? "use " : " or ") + std::string(form);
  Error error(Exit::kBadInput, "--format: " + call.command + " has no form \"" + call.format + "\"", list);
  error.set_source("command line");
  throw error;
}

int run_explain(const Invocation& call) {
  require_known_form(call, {"table", "json"});
  const Asked asked = load_asked(single_model(call), call);
  const ModelSpec& model = asked.model;
  Plan plan = plan_of(model, asked.request);
  of_model(model, [&] { complete(model, {}, plan); });
  const auto form = call.format == "table" ? explain_text : find_format(call.format).plan;
  emit(call, form(plan, report_options(call)));
  return exit_of(plan);
}

int run_answers(const Invocation& call, Answers (*ask)(const ModelSpec&, const Request&),
                std::string (*ReportForm::*render)(const Answers&, const ReportOptions&)) {
  const auto form = answer_of(call.format, render, call.command);
  const Asked asked = load_asked(single_model(call), call);
  const ModelSpec& model = asked.model;
  try {
    const Answers answers = ask(model, asked.request);
    emit(call, form(answers, report_options(call)));
    return exit_of(answers.asked);
  } catch (Error& error) {
    error.set_source(model.source);
    throw;
  }
}

int run_compare(const Invocation& call) {
  return run_answers(call, compare_types, &ReportForm::compare);
}

int run_fit(const Invocation& call) {
  if (call.models.size() == 1 && call.weights.empty() && (!call.engines.empty() || !call.gpus.empty()))
    return emit_answered(call, answer_fits(call, call.models.front(), report_options(call)));
  return run_answers(call, fit_model, &ReportForm::fit);
}

int run_diff(const Invocation& call) {
  if (call.models.size() != 2) {
    Error error(Exit::kBadInput, "diff takes two plans", "write them with kvplan MODEL --json -o FILE");
    error.set_source("command line");
    throw error;
  }
  require_known_form(call, {"table", "json", "markdown", "github"});
  const PlanDiff diff = diff_plans(load_plan(call.models[0]), load_plan(call.models[1]), call.fail_over);
  emit(call, call.format == "json"       ? diff_json(diff)
             : call.format == "markdown" ? diff_markdown(diff)
             : call.format == "github"   ? diff_github(diff)
                                         : diff_text(diff, report_options(call)));
  return static_cast<int>(diff.is_too_much ? Exit::kDoesNotFit : Exit::kAnswered);
}

int run_check_log(const Invocation& call) {
  if (call.models.size() != 2) {
    Error error(Exit::kBadInput, "check-log takes a MODEL and a LOG",
                "give a config.json or a *.gguf, and a start-up log");
    error.set_source("command line");
    throw error;
  }
  constexpr std::size_t kMaxLogBytes = std::size_t{64} << 20;
  const Asked asked = load_asked(call.models[0], call);
  const ModelSpec& model = asked.model;
  const std::string& path = call.models[1];
  try {
    const LogReading reading = read_log(path == "-" ? read_stdin(kMaxLogBytes) : read_file(path, kMaxLogBytes));
    const LogCheck check = check_log(model, asked.request, reading);
    if (!call.measuring.save.empty())
      for (const CalibrationRecord& record : calibration_of_log(model, check, today()))
        save_calibration(call.measuring.save, record);
    emit(call, call.format == "json" ? check_log_json(check) : check_log_text(check, report_options(call)));
    return static_cast<int>(check.disagreements > 0 ? Exit::kDoesNotFit : Exit::kAnswered);
  } catch (Error& error) {
    error.set_source(path);
    throw;
  }
}

// A built-in table is shown whole.
void refuse_words(const Invocation& call) {
  if (call.models.empty()) return;
  Error error(Exit::kBadInput, call.command + " takes no \"" + one_line(call.models.front(), 60) + "\"",
              "leave it out, and search what kvplan " + call.command + " prints");
  error.set_source("command line");
  throw error;
}

int run_formulas(const Invocation& call) {
  refuse_words(call);
  require_known_form(call, {"table", "markdown"});
  emit(call, call.format == "markdown" ? kinds_markdown(all_kinds()) : kinds_text(all_kinds()));
  return 0;
}

int run_dtypes(const Invocation& call) {
  refuse_words(call);
  require_known_form(call, {"table"});
  emit(call, dtypes_text());
  return 0;
}

int run_engines(const Invocation& call) {
  refuse_words(call);
  require_known_form(call, {"table"});
  std::vector<EngineRow> rows;
  for (const Engine& engine : engines())
    for (const EngineVersion& version : engine.versions) rows.push_back({engine.name, version.version, version.note});
  emit(call, engines_text(rows));
  return 0;
}

int run_gpus(const Invocation& call) {
  std::vector<Gpu> cards(gpus().begin(), gpus().end());
  if (!call.models.empty()) {
    cards.clear();
    for (const std::string& name : call.models) {
      try {
        cards.push_back(parse_gpu(name, "gpus"));
      } catch (Error& error) {
        error.set_source("command line");
        throw;
      }
    }
  }
  if (call.format != "json" && call.format != "table")
    require_form(static_cast<void (*)()>(nullptr), call.format, call.command);
  emit(call, call.format == "json" ? gpus_json(cards) : gpus_text(cards));
  return 0;
}

int run_schema(const Invocation& call) {
  refuse_words(call);
  require_known_form(call, {"table", "json"});
  emit(call, schema_json());
  return 0;
}

int run_completions(const Invocation& call) {
  if (call.models.size() != 1) {
    Error error(Exit::kBadInput, "completions takes the name of a shell", "use one of bash, zsh, fish");
    error.set_source("command line");
    throw error;
  }
  emit(call, completions(call.models.front()));
  return 0;
}

int run_man(const Invocation& call) {
  refuse_words(call);
  emit(call, man_page());
  return 0;
}

constexpr std::string_view kTables = "--format --json --output";
// What only a measurement uses, and only a plan measures.
constexpr std::string_view kUnmeasured = "--fail-over --measure --measure-max --device --tolerance --save-calibration";

constexpr std::array kCommands{
    Command{"plan", "MODEL... [options]", "a memory plan; several MODELs give a row each", run_plan, "Load|Types", "",
            "--fail-over",
            "kvplan config.json --max-model-len 32k\n"
            "kvplan *.json --engine vllm --gpu rtx-4090,l40s,h100-80gb --weights bf16,fp8\n"
            "kvplan model.gguf --engine llama.cpp -c 16k -ctk q8_0 -ctv q8_0 --json"},
    Command{"compare", "MODEL [options]", "weight types x KV types, side by side", run_compare, "Types|Card and limits",
            "", kUnmeasured,
            "kvplan compare config.json --max-model-len 32k\n"
            "kvplan compare config.json --engine vllm --gpu rtx-4090\n"
            "kvplan compare config.json --gpu-memory 24GiB --format markdown"},
    Command{"fit", "MODEL [options]", "what fits: longest context, most sequences, fewest GPUs", run_fit,
            "Parallelism|Card and limits", "", kUnmeasured,
            "kvplan fit config.json --gpu rtx-4090\n"
            "kvplan fit config.json --engine vllm,sglang --gpu h100-80gb --gpu-count 4 --num-seqs 16\n"
            "kvplan fit config.json --max-model-len 32k"},
    Command{"diff", "OLD.json NEW.json", "what changed between two plans", run_diff, "",
            "--fail-over --format --json --output --color", "",
            "kvplan diff before.json after.json\n"
            "kvplan diff before.json after.json --fail-over 5%\n"
            "kvplan diff before.json after.json --format markdown -o comment.md"},
    Command{
        "check-log", "MODEL LOG", "a start-up log against the plan, line by line", run_check_log, "Load|Parallelism",
        "",
        "--fail-over --measure --measure-max --device --tolerance --calibration --max-vram --min-context --min-seqs "
        "--gpu-bandwidth --gpu-tflops",
        "kvplan check-log config.json vllm.log\n"
        "kvplan check-log model.gguf server.log --engine llama.cpp\n"
        "journalctl -u vllm | kvplan check-log config.json -"},
    Command{"explain", "MODEL [options]", "every layer, every formula, where each number came from", run_explain,
            "Load|Types", "", kUnmeasured,
            "kvplan explain config.json\n"
            "kvplan explain config.json --engine vllm --max-model-len 32k\n"
            "kvplan explain config.json --kv-cache-dtype fp8 | less"},
    Command{"formulas", "", "the kinds of attention", run_formulas, "", "--format --output", "",
            "kvplan formulas\nkvplan formulas --format markdown\nkvplan formulas | grep mla"},
    Command{"engines", "", "the engines, and what each part rests on", run_engines, "", kTables, "",
            "kvplan engines\nkvplan engines | grep vllm\nkvplan engines -o engines.txt"},
    Command{"gpus", "[NAME...]", "the catalogue of cards", run_gpus, "", "--gpu-file --format --json --output", "",
            "kvplan gpus\nkvplan gpus | grep rtx\nkvplan gpus -o cards.txt"},
    Command{"dtypes", "", "the KV types and their true bytes", run_dtypes, "", kTables, "",
            "kvplan dtypes\nkvplan dtypes | grep fp8\nkvplan dtypes -o types.txt"},
    Command{"schema", "", "the JSON Schema of every report", run_schema, "", kTables, "",
            "kvplan schema\nkvplan schema -o kvplan.schema.json\nkvplan schema | python3 -m json.tool"},
    Command{"completions", "bash|zsh|fish", "completions for a shell", run_completions, "", "--output", "",
            "source <(kvplan completions bash)\n"
            "kvplan completions zsh -o ~/.zfunc/_kvplan\n"
            "kvplan completions fish -o ~/.config/fish/completions/kvplan.fish"},
    Command{"man", "", "the man page, as roff", run_man, "", "--output", "",
            "kvplan man | man -l -\nkvplan man -o kvplan.1\nkvplan man | groff -man -Tutf8 | less -R"},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace kvplan
