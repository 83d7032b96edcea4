#include "cli/options.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "base/os.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/shell.h"
#include "engines/engine.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "kvplan/version.h"
#include "sources/catalogue.h"

namespace kvplan {

// A list gives a table, which only these commands print.
static void check_lists(const Invocation& call) {
  const bool plans = call.command == "plan";
  const bool compares = call.command == "compare";
  if (!call.gpus.empty() && !plans && !compares && call.command != "fit")
    fail(call.command + " takes one --gpu", "name one GPU");
  if (!call.weights.empty() && !plans && !compares)
    fail(call.command + " takes one --weights", "name one type, or see kvplan compare");
  if (!call.kv_types.empty() && !compares)
    fail("--kv-cache-dtype: " + call.command + " takes one type", "name one, or list them for kvplan compare");
  if (!call.request.card.mixed.empty() && call.engine_given && !engine_of(call.request).loading.embedding_on_host)
    fail("--gpu names different GPUs, and " + std::string(engine_of(call.request).name) + " splits evenly",
         "name the smallest, with --gpu-count " + std::to_string(call.request.card.mixed.size()) +
             ", or plan --engine llama.cpp");
  const auto is_gpu = [](const auto& each) { return each.first == "--gpu"; };
  if (std::count_if(call.typed.begin(), call.typed.end(), is_gpu) > 1)
    fail("--gpu is given twice", "name all GPUs in one list: --gpu rtx-4090,l40s");
  if (!call.gpus.empty() && call.request.card.memory)
    fail("--gpu names several GPUs and --gpu-memory gives one size", "leave one of them out");
}

// Standard input can be read only once.
static void check_inputs(const Invocation& call) {
  if (std::count(call.models.begin(), call.models.end(), "-") > 1)
    fail("standard input (-) is given twice", "give it once");
}

static void check_load(const Invocation& call, const std::function<bool(std::string_view)>& given) {
  const Request& request = call.request;
  if (request.limits.min_seqs && request.max_num_seqs && *request.limits.min_seqs > *request.max_num_seqs)
    fail("--min-seqs " + std::to_string(*request.limits.min_seqs) + " is more than the scheduler's --max-num-seqs " +
             std::to_string(*request.max_num_seqs),
         "raise --max-num-seqs, or lower --min-seqs");
  // With a GPU or a budget, the limits are about what would fit. Without one, they are about the request.
  const bool has_room = request.card.gpu || request.card.memory || request.kv_cache_memory_bytes || !call.gpus.empty();
  const auto length = request.max_model_len ? request.max_model_len : request.llama_cpp.ctx_size;
  if (!has_room && request.limits.min_context && length && *request.limits.min_context > *length)
    fail("--min-context " + std::to_string(request.limits.min_context->count()) + " is more than the " +
             std::to_string(length->count()) + " tokens of the request",
         "raise --max-model-len, or give --gpu to see what would fit");
  if (!has_room && request.limits.min_seqs && given("--num-seqs") && *request.limits.min_seqs > request.num_seqs)
    fail("--min-seqs " + std::to_string(*request.limits.min_seqs) + " is more than --num-seqs " +
             std::to_string(request.num_seqs),
         "raise --num-seqs, or give --gpu to see what would fit");
  const bool counts_slots = !call.engines.empty() || engine_of(request).slot_tokens != nullptr;
  if (!counts_slots && request.max_model_len && request.llama_cpp.ctx_size &&
      *request.max_model_len != *request.llama_cpp.ctx_size)
    fail("--max-model-len " + std::to_string(request.max_model_len->count()) + " and --ctx-size " +
             std::to_string(request.llama_cpp.ctx_size->count()) + " are the same option in " +
             std::string(engine_of(request).name),
         "use one of them");
}

static void check_drafts(const Invocation& call) {
  const auto& method = call.request.extras.draft_method;
  if (call.request.mtp && method && *method != DraftMethod::kMtp)
    fail("--mtp and the speculative method " + std::string(name(*method)) + " are two drafting methods",
         "leave one of them out");
}

static void check_budget(const Invocation& call) {
  const Request& request = call.request;
  if (!request.kv_cache_memory_bytes) return;
  const Bytes budget = *request.kv_cache_memory_bytes;
  if (request.limits.max_vram && budget > *request.limits.max_vram)
    fail("--kv-cache-memory-bytes of " + format_bytes(budget) + " is more than --max-vram of " +
             format_bytes(*request.limits.max_vram),
         "lower the budget, or raise the limit");
  const auto check_card = [&](Bytes card, std::string_view what) {
    if (budget > card)
      fail("--kv-cache-memory-bytes of " + format_bytes(budget) + " is more than the " + format_bytes(card) + " of " +
               std::string(what),
           "lower the budget");
  };
  if (request.card.memory)
    check_card(*request.card.memory, "--gpu-memory");
  else if (request.card.gpu)
    check_card(Bytes(request.card.gpu->memory_mib * kMiB), request.card.gpu->name);
  for (const Gpu* gpu : call.gpus) check_card(Bytes(gpu->memory_mib * kMiB), gpu->name);
}

static void check_layout(const Invocation& call, const std::function<bool(std::string_view)>& given) {
  const Request& request = call.request;
  if (!given("--gpu-count")) return;
  const std::uint64_t needed = request.parallel.gpus();
  if (needed > request.card.count)
    fail(
        "the layout needs " + std::to_string(needed) + " GPUs and --gpu-count is " + std::to_string(request.card.count),
        "raise --gpu-count, or lower -tp, -pp or -dp");
}

// Throws an Error that names both options and the remedy. `given` says whether an option, by its first name, was on the
// command line. Only combinations that are impossible for every model and GPU are refused. A request that does not fit
// gets a plan.
static void check_contradictions(const Invocation& call, const std::function<bool(std::string_view)>& given) {
  check_inputs(call);
  check_lists(call);
  check_load(call, given);
  check_workload(call.workload, call.request);
  check_drafts(call);
  check_budget(call);
  check_layout(call, given);
}

using std::string_view;

// Throws Error if an option belongs to none of the chosen engines.
static void check_options_of_engines(Invocation& call, const ParsedArguments& given) {
  if (given.options.empty()) return;
  std::vector<std::string> chosen;
  for (const std::string& text : call.engines) {
    Request scratch;
    chosen.emplace_back(find_engine(text, scratch).name);
  }
  if (chosen.empty()) chosen.emplace_back(engine_of(call.request).name);
  for (const Option& option : options()) {
    if (!has_option(given.options, option.name())) continue;
    std::string idle = check_engine_option(option.name(), chosen);
    if (!idle.empty()) warn(call.notes, "option_of_an_engine", Template::quoted(std::move(idle)));
  }
}

// If all models' names imply the same engine, its options are known from the start.
static void use_implied_engine(Invocation& call) {
  if (call.engine_given || call.models.empty() || call.command == "diff") return;
  const string_view implied = implied_engine(call.models.front());
  const bool is_same = std::all_of(call.models.begin(), call.models.end(), [&](const std::string& model) {
    return implied_engine(model) == implied || (call.command == "check-log" && &model == &call.models.back());
  });
  if (!implied.empty() && is_same) find_engine(implied, call.request);
}

// Options apply in the order of the table, not of the command line.
static void apply(const ParsedArguments& given, Invocation& call) {
  for (const Option& option : options())
    for (const GivenOption& each : given.options)
      if (each.option == &option) option.apply(call, each.value, each.name);
}

// "help", "help COMMAND" and "version" work as --help and --version, as in other programs.
static void move_help_last(std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && arguments.front() == "version" && !exists("version")) arguments.front() = "--version";
  if (arguments.front() != "help" || exists("help")) return;
  arguments.erase(arguments.begin());
  arguments.push_back("--help");
}

// The engine to print help for; empty for the command's help.
static std::string asked_engine(const ParsedArguments& given) {
  Request scratch;
  for (const GivenOption& each : given.options)
    if (each.option->name() == "--engine") return std::string(find_engine(each.value, scratch).name);
  return "";
}

static std::string help_text(const ParsedArguments& given) {
  const bool is_whole = !given.words.empty() && given.words.back() == "all";
  if (is_whole) return command_help(*given.command, true);
  if (const std::string engine = asked_engine(given); !engine.empty()) return engine_help(engine);
  return given.command == &commands().front() ? main_help() : command_help(*given.command, false);
}

static void require_form(const Command& command, std::string_view format) {
  if (has_word(command.lacks, format))
    fail("--format: " + std::string(command.name) + " has no format \"" + std::string(format) + "\"",
         "use " + join(forms_of(command)));
}

static void make_paths_plain(Invocation& call) {
  for (std::string* path : {&call.draft, &call.mmproj, &call.output, &call.measuring.save})
    *path = os::plain_path(std::move(*path));
  for (std::vector<std::string>* paths : {&call.models, &call.loras})
    for (std::string& path : *paths) path = os::plain_path(std::move(path));
  for (std::string& model : call.models)
    if (!exists(model)) model = usual_name(std::move(model));
}

// Users often give the scheduler's limit when they mean the number of sequences to plan for.
static void note_seqs_cap(const ParsedArguments& given, Invocation& call) {
  if (call.pasted != nullptr || !has_option(given.options, "--max-num-seqs") ||
      has_option(given.options, "--num-seqs") || has_option(given.options, "--users") ||
      has_option(given.options, "--seq-lens"))
    return;
  inform(call.notes, "one_sequence",
         {"--max-num-seqs {cap} limits the scheduler, and this plan is for one sequence. Add --num-seqs "
          "{cap} to plan for {cap} at once.",
          {{"cap", call.request.max_num_seqs.value_or(1)}}});
}

// --split-mode none: llama.cpp uses only the GPU that --main-gpu names.
static void use_one_gpu(Invocation& call) {
  Request& request = call.request;
  CardRequest& card = request.card;
  const std::optional<std::uint64_t>& index = request.llama_cpp.only_gpu;
  if (!index) return;
  if (card.count > 1 && *index >= card.count) {
    request.command.refusal = "invalid value for main_gpu: " + std::to_string(*index) +
                              " (available devices: " + std::to_string(card.count) + ")";
    request.command.cure = "the first GPU is --main-gpu 0";
  } else if (!card.mixed.empty()) {
    card.gpu = card.mixed[*index];
  }
  card.mixed.clear();
  card.count = request.parallel.pipeline = 1;
  card.count_given = false;
  request.llama_cpp.tensor_split.clear();
}

// --split-mode tensor: each GPU has a part of every tensor.
void use_tensors(Invocation& call) {
  Request& request = call.request;
  if (request.llama_cpp.split != LlamaSplit::kTensor) return;
  Parallel& parallel = request.parallel;
  parallel.tensor = std::max({request.card.count, parallel.pipeline, parallel.tensor});
  parallel.pipeline = 1;
  parallel.given = true;
  const std::vector<double>& shares = request.llama_cpp.tensor_split;
  if (std::any_of(shares.begin(), shares.end(), [&](double share) { return share != shares.front(); }))
    request.command.unmodelled.emplace_back("--tensor-split of --split-mode tensor");
}

// Applies the given options to the call.
static void prepare(const ParsedArguments& given, Invocation& call) {
  const Command& command = *given.command;
  for (const GivenOption& each : given.options) call.typed.emplace_back(each.option->name(), each.value);
  apply(given, call);
  use_one_gpu(call);
  use_tensors(call);
  make_paths_plain(call);
  use_implied_engine(call);
  require_form(command, call.format);
  prepare_measuring(call);
  check_options_of_engines(call, given);
  note_seqs_cap(given, call);
  check_contradictions(call, [&](string_view name) { return has_option(given.options, name); });
}

// Removes patterns that place tensors if no option of kvplan can do that. Then there is no verdict.
static void leave_patterns_out(ReadCommand& read) {
  const Option* option = find_option("--override-tensor");
  std::erase_if(read.settings.settings, [&](const CommandSetting& each) {
    if (find_option(each.option) != option) return false;
    try {
      Invocation scratch;
      option->apply(scratch, each.value, each.option);
      return false;
    } catch (const Error&) {
      read.request.unmodelled.push_back(each.option + " " + one_line(each.value, 40));
      warn(read.notes, "option_not_modelled",
           {"{option} {value} is not modelled: kvplan moves only all experts of the first layers",
            {{"option", each.option}, {"value", one_line(each.value, 60)}}});
      return true;
    }
  });
}

// The call that means the same as an engine's command.
static Invocation call_of(const LaunchCommand& command, const ParsedArguments& typed, const Invocation& base,
                          std::string_view left_out = "") {
  Invocation call = base;
  ParsedArguments given = typed;
  ReadCommand read = read_command(command, call.model_source);
  read.settings.remove(left_out);
  leave_patterns_out(read);
  std::erase_if(given.options, [](const GivenOption& each) { return each.option->name() == "--command"; });
  const Option* engine = find_option("--engine");
  if (!has_option(given.options, "--engine"))
    given.options.insert(given.options.begin(), {engine, "--engine", read.engine});
  add_settings(read, given);
  call.models = {read.settings.model};
  call.request.command = read.request;
  call.notes = read.notes;
  if (has_option(given.options, "--engine"))
    std::erase_if(call.notes, [](const Note& note) { return note.code == "release_not_named"; });
  call.pasted = std::make_shared<const ReadCommand>(std::move(read));
  prepare(given, call);
  call.without = [=](std::string_view option) { return call_of(command, typed, base, option); };
  return call;
}

static std::string value_of(const ParsedArguments& given, string_view option) {
  for (const GivenOption& each : given.options)
    if (each.option->name() == option) return each.value;
  return "";
}

// Engines' commands: for diff there are two, with "--" between them.
static std::vector<LaunchCommand> commands_of(const ParsedArguments& given, const Invocation& call) {
  if (has_option(given.options, "--watch")) return {};
  std::vector<LaunchCommand> out;
  const std::string file = value_of(given, "--command");
  if (!file.empty()) return pasted_commands(file, {});
  for (auto from = given.behind.begin(); from != given.behind.end();) {
    const auto end = call.command == "diff" ? std::find(from, given.behind.end(), "--") : given.behind.end();
    for (LaunchCommand& each : pasted_commands("", {from, end})) out.push_back(std::move(each));
    from = end == given.behind.end() ? end : end + 1;
  }
  return out;
}

// Returns false if the arguments are not an engine's command.
static bool parse_pasted(const ParsedArguments& given, Invocation& call) {
  const std::vector<LaunchCommand> commands = commands_of(given, call);
  if (commands.empty()) return false;
  if (!call.models.empty()) fail("both a MODEL and an engine's command were given", "leave one of them out");
  call.model_source = value_of(given, "--model-source");
  Invocation one = call;
  const std::string file = value_of(given, "--command");
  const std::string source = file == "-" ? "standard input" : file.empty() ? "command line" : file;
  for (const LaunchCommand& command : commands) {
    try {
      with_source(source, [&] { call.pasted_calls.push_back(call_of(command, given, one)); });
    } catch (Error& error) {
      if (commands.size() == 1 || call.command != "plan") throw;
      call.pasted_calls.push_back(one);
      call.pasted_calls.back().models = {std::string(command.engine->name)};
      call.pasted_calls.back().pasted_error = error;
    }
  }
  if (commands.size() > 1) {
    prepare(given, call);
    return true;
  }
  Invocation only = std::move(call.pasted_calls.front());  // a part of `call`
  call = std::move(only);
  return true;
}

// Returns false if help or the version was printed.
static bool parse(std::vector<std::string> arguments, Invocation& call) {
  if (arguments.empty()) {
    std::fputs(greeting().c_str(), stdout);
    return false;
  }
  move_help_last(arguments);
  mark_command(arguments);
  const ReadCommand of_engine = take_options_of_engine(arguments);
  ParsedArguments given = parse_arguments(std::move(arguments));
  const Command& command = *given.command;
  call.command = command.name;
  add_settings(of_engine, given);
  if (has_option(given.options, "--watch")) call.measuring.command = given.behind;
  if (given.help || given.version) {
    std::fputs((given.help ? help_text(given) : "kvplan " + std::string(kVersion) + "\n").c_str(), stdout);
    return false;
  }
  call.models = std::move(given.words);
  if (parse_pasted(given, call)) return true;
  if (call.measuring.command.empty()) call.models.insert(call.models.end(), given.behind.begin(), given.behind.end());
  call.request.command = of_engine.request;
  call.notes = of_engine.notes;
  if (command.arguments.empty() && !call.models.empty())
    fail(call.command + " takes no \"" + one_line(call.models.front(), 40) + "\"", "leave it out");
  Invocation base = call;
  prepare(given, call);
  if (call.command == "check-log") {
    if (call.models.size() == 2) base.model_source = call.models.front();
    call.with_command = [=](const LaunchCommand& of_log) { return call_of(of_log, given, base); };
  }
  return true;
}

std::optional<Invocation> parse_command_line(int argc, const char* const* argv) {
  Invocation call;
  try {
    if (!parse({argv + std::min(argc, 1), argv + argc}, call)) return std::nullopt;
  } catch (Error& error) {
    error.set_source("command line");
    throw;
  }
  return call;
}

}  // namespace kvplan
