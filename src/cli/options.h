// The command line. Parsing, help and completion use one table of options.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/note.h"
#include "kvplan/request.h"
#include "plan/answer.h"
#include "sources/load.h"

namespace kvplan {

// A workload as a service sees it: how often users send a prompt, how long they wait, and how long answers are. It is
// converted to the number and length of sequences at once.

struct Workload {
  std::optional<std::uint64_t> prompt, output;  // tokens of one turn
  std::uint64_t turns = 1;
  std::optional<double> think_time;    // seconds between an answer and the next turn
  double hit_rate = 0;                 // fraction of the waiting users whose history stays in the cache
  std::optional<double> qps;           // turns per second
  std::optional<double> tokens_per_s;  // measured, of one sequence
  std::optional<double> price;         // price per GPU hour
};

// Throws Error if options of the workload need another one that is missing, or contradict the request.
void check_workload(const Workload& workload, const Request& request);
// The request with the sequences and lengths of the workload, and a note on how they are computed.
Request with_workload(const Workload& workload, const ModelSpec& model, Request request, std::vector<Note>& notes);
// "16 GPUs: 48.00 per hour"
void add_price(const Workload& workload, Answers& answers);

struct LaunchCommand;
struct ReadCommand;  // launch/read_command.h

enum class Color { kAuto, kAlways, kNever };

// --measure and the options that belong to it.
struct MeasuringOptions {
  bool wanted = false;
  bool find_maximum = false;
  std::string device;  // "" for the first GPU
  std::optional<double> tolerance;
  std::string save;                  // --save-calibration
  std::string said;                  // --said: figures of the engine
  std::string calibration;           // --calibration: a file, "none", or "" for the user's own file
  bool watch = false;                // --watch
  bool share = false;                // --share: other programs may use the GPU meanwhile
  bool keep = false;                 // --keep: the watched engine keeps running
  std::optional<std::uint64_t> pid;  // --pid: a running engine
  std::vector<std::string> command;  // after "--", for --watch
};

// What one call of kvplan requests.
struct Invocation {
  std::string command = "plan";
  std::vector<std::string> models;  // positional arguments
  Request request;
  OptionValues typed;  // the options that were given, by their first names
  bool engine_given = false;
  bool longest_context = false;       // --max-model-len is auto
  std::vector<std::string> engines;   // set if --engine names several, each as "vllm@0.20"
  std::vector<const Gpu*> gpus;       // if --gpu names several
  std::vector<std::string> weights;   // if --weights names several
  std::vector<std::string> kv_types;  // if --kv-cache-dtype names several
  SourceOptions source;
  std::string draft, mmproj;       // --draft, --mmproj; empty: none
  std::vector<std::string> loras;  // --lora
  MeasuringOptions measuring;
  Workload workload;
  std::vector<Note> notes;  // notes about the command line, for every plan
  std::string format = "table";
  std::string output;                                            // -o FILE; empty: standard output
  GrowthLimit fail_over;                                         // diff: exit code 1 if the total grew by more
  bool rules = false;                                            // engines: --rules
  std::string task = "chat";                                     // pick: --task
  bool all = false;                                              // pick: --all
  bool ignores_machine = false;                                  // --gpu none
  std::string command_file;                                      // --command; "-" is standard input
  std::string model_source;                                      // --model-source
  std::shared_ptr<const ReadCommand> pasted;                     // the engine's command that this call comes from
  std::vector<Invocation> pasted_calls;                          // set if there are several commands: a call for each
  std::function<Invocation(std::string_view option)> without;    // the same command without that option of kvplan
  std::function<Invocation(const LaunchCommand&)> with_command;  // check-log: the same call, for the log's own command
  std::optional<Error> pasted_error;                             // the error of a command that could not be read
  Color color = Color::kAuto;
};

struct Option {
  std::string_view names;  // "--max-model-len --context"; includes "-tp" and other short names of several letters
  std::string_view value;  // the help's word for the value; "" for a flag
  std::string_view group;
  std::string_view help;
  void (*apply)(Invocation& call, std::string_view value, std::string_view name);

  constexpr std::string_view name() const { return names.substr(0, names.find(' ')); }
};
std::span<const Option> options();

struct Command {
  std::string_view name;
  std::string_view arguments;
  std::string_view help;
  int (*run)(const Invocation& call);  // returns the exit code
  std::string_view groups = "";        // groups of options that its help explains in full
  std::string_view only = "";          // the options that it takes; "" for all except `without`
  std::string_view without = "";
  std::string_view examples = "";  // one line per item
  std::string_view lacks = "";     // output formats that it does not have
  bool is_reference = false;       // it prints a built-in table
  std::string_view first = "";     // options that its help explains first
};
std::span<const Command> commands();

// Parses the arguments. Returns nothing if help or the version was printed. Throws Error.
std::optional<Invocation> parse_command_line(int argc, const char* const* argv);

}  // namespace kvplan
