// The questions that plans answer: what fits, what else would, how many serve all users, and the plan's launch command.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/own_files.h"
#include "kvplan/error.h"
#include "kvplan/published.h"
#include "kvplan/request.h"
#include "models/read.h"
#include "plan/answer.h"
#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// With a GPU: the longest context at the requested sequences, the most sequences at the requested context, the
// longest context for other numbers of sequences, the best types, the fewest GPUs and the layouts that work. Without
// one: the smallest GPUs of the catalogue that hold the request. make_plan agrees with every answer: it fits, and with
// one more token it does not.
Answers fit_model(const ModelSpec& model, const Request& request);

// Types to compare; if a list is empty, those in use with the engine. "auto" is the model's own.
struct TypeLists {
  std::vector<std::string> weights, kv;
  // Models in local stores, to be named if they have the weights of another checkpoint.
  std::vector<std::string> stored;
};
// Weight types x KV types in the request's layout, smallest loss of quality first. The checkpoint's own types are
// always among them.
Answers compare_types(const ModelSpec& model, const Request& request, const TypeLists& lists = {});

// The rows of one model: engines x weight types. An empty list means the request's own. `command_of` writes the command
// for a cell's request.
using CommandOf = std::function<OptionValues(const Request&)>;
std::vector<GridRow> grid_rows(const ModelSpec& model, const Request& request, const std::vector<std::string>& engines,
                               const std::vector<std::string>& weights, const std::vector<const Gpu*>& cards,
                               const CommandOf& command_of = {});

// The exit code of the worst cell.
Exit worst_of(const Grid& grid);

// Copies of a layout that serve the request's users together, and the plan of one copy.
struct UsersPlan {
  UsersAnswer answer;
  Request copy;
};

// The layouts with the fewest GPUs that serve all users (with --gpu-count GPUs if that is given), best first; empty if
// not even one user fits.
std::vector<UsersPlan> layouts_for_users(PlanCache& cache, const Request& request);
Template sentence_of(const UsersPlan& plan);
// The request of one of the copies that serve the users, if --users leaves the number of GPUs open; else the request
// itself.
Plan plan_for_users(const ModelSpec& model, const Request& request);

// Several models on one GPU, each in its own engine.
struct CardUser {
  const ModelSpec* model = nullptr;
  Request request;
};

// The first model gets the memory that the others leave. An engine that takes a fraction of the GPU gets the smallest
// one that fits its request, in whole percent. Other engines get what they need. Engines with sleep mode take turns:
// each gets what the others free while they sleep. Throws Error if no GPU is named.
SharedCard share_card(const std::vector<CardUser>& users);

// The request with the smallest fraction of the GPU that fits it, in whole percent.
std::optional<Request> with_least_share(PlanCache& cache, Request request, Bytes card);

// The request of another model: on the same GPU, with its own types, layout and extras, and at most its own longest
// context.
Request further_request(const ModelSpec& model, const Request& first);

// Parts of an answer that take time, and that not every output format shows.
struct Wanted {
  bool curves = false;   // KV cache by context for each type, and the longest context for numbers of sequences
  bool engines = false;  // each engine's verdict, if the user named a GPU and no engine
  bool launch = false;   // the engine's command line; throws Error if the engine has none for the request
};

// Adds remedies to the verdict of a plan that does not fit.
void suggest(const ModelSpec& model, Plan& plan);

// If the request names no release and those of the last year differ by more than 2 %, a note with their range.
void compare_releases(const ModelSpec& model, Plan& plan);

void complete(const ModelSpec& model, const Wanted& wanted, Plan& plan);

// The plan as a command line of its engine. Throws Error if the engine has none, or no option for something in the
// plan: the command would then start another deployment.
Launch launch_of(const ModelSpec& model, const Plan& plan);

// Adds the command line to one plan of a `fit`: the request's own if it fits, else the layout that fits the named
// length, else the longest context. Throws Error if none fits.
void add_launch(const ModelSpec& model, Answers& answers);

// What makes a request fit: single changes, the smallest first. They are a narrower KV type, narrower weights, more
// GPUs, fewer sequences and a shorter context. If the user named no length, the context comes right after the KV type.
// If a minimum context was requested, it is never shortened.
std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked);

// The models of the catalogue that run on a GPU.
//
// Each model is planned with the least lossy type that fits: for GGUF files one of the engine's usual types from 8 bits
// down, for other engines a published checkpoint. If no type fits the GPUs, a part of the model may be in main memory,
// if it fits there. Order: latest publication first, then size. The result has each family's newest generation that
// fits the GPUs, and any newer generation that needs main memory.

struct PickQuestion {
  Request request;  // the GPU, the length, the sequences; the engine if one was named
  bool engine_given = false;
  std::string task = "chat";
  bool all = false;  // older generations, too
};

// Throws Error(kBadInput) if no GPU is named, or the engine cannot be started by a model's name.
Pick pick_models(const PickQuestion& question, const ReadOptions& options);

// What changed between two plans.

PlanDiff diff_plans(PlanDigest before, PlanDigest after, const GrowthLimit& limit = {}, const Limits& limits = {});

}  // namespace kvplan
