// The questions that plans answer: what fits, which change would make it fit, how many GPUs serve all users, and which
// command starts it.
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

// With a GPU: the longest context for the requested sequences, the most sequences for the requested context, the
// longest context for other numbers of sequences, the best types, the fewest GPUs, and valid layouts. Without a GPU:
// the smallest GPUs of the catalogue that fit the request. make_plan agrees with each answer: the plan fits, and with
// one more token it does not.
Answers fit_model(const ModelSpec& model, const Request& request);

// Types to compare. An empty list means those in use with the engine. "auto" is the model's own type.
struct TypeLists {
  std::vector<std::string> weights, kv;
  // Models in local stores. Those with the weights of another checkpoint are named.
  std::vector<std::string> stored;
};
// Weight types x KV types in the request's layout, smallest loss of quality first. They always include the checkpoint's
// own types.
Answers compare_types(const ModelSpec& model, const Request& request, const TypeLists& lists = {});

// The rows of one model: engines x weight types. An empty list means the request's own. `command_of` writes the command
// of a cell.
using CommandOf = std::function<OptionValues(const Request&)>;
std::vector<GridRow> grid_rows(const ModelSpec& model, const Request& request, const std::vector<std::string>& engines,
                               const std::vector<std::string>& weights, const std::vector<const Gpu*>& cards,
                               const CommandOf& command_of = {});

// The exit code of the worst cell.
Exit worst_of(const Grid& grid);

// Copies of a layout that serve all users together, and the plan of one copy.
struct UsersPlan {
  UsersAnswer answer;
  Request copy;
};

// Layouts that serve all users on the fewest GPUs, or on --gpu-count GPUs if that is given, best first. Empty if not
// even one user fits.
std::vector<UsersPlan> layouts_for_users(PlanCache& cache, const Request& request);
Template sentence_of(const UsersPlan& plan);
// If --users leaves the number of GPUs open, the plan of one of the copies that serve them. Otherwise the request's own
// plan.
Plan plan_for_users(const ModelSpec& model, const Request& request);

// Several models on one GPU, each in its own engine.
struct CardUser {
  const ModelSpec* model = nullptr;
  Request request;
};

// Gives the first model the memory that the others leave. An engine that takes a fraction of the GPU gets the smallest
// one that fits its request, in whole percent. Other engines get what they need. Engines with sleep mode take turns:
// each gets what the others free while they sleep. Throws Error if no GPU is named.
SharedCard share_card(const std::vector<CardUser>& users);

// The request with the smallest fraction of the GPU that fits it, in whole percent.
std::optional<Request> with_least_share(PlanCache& cache, Request request, Bytes card);

// The request for another model: on the same GPU, with its own types, layout and extras, and at most its own longest
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

void complete(const ModelSpec& model, const Wanted& wanted, Plan& plan);

// The plan as a command of its engine. Throws Error if the engine has no command, or no option for something in the
// plan: the command would then start a different deployment.
Launch launch_of(const ModelSpec& model, const Plan& plan);

// Adds the command to one plan of a `fit`: the request's own if it fits, or the layout that fits the named length, or
// the longest context. Throws Error if none fits.
void add_launch(const ModelSpec& model, Answers& answers);

// What makes a request fit: single changes, smallest first. The order is a narrower KV type, narrower weights, more
// GPUs, fewer sequences, a shorter context. If the user named no length, the context comes right after the KV type. A
// requested minimum context is never undercut.
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
