// Changes of a request, as options to add to the user's command: what `fit` and the verdict suggest.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/answer.h"
#include "plan/plan_cache.h"

namespace kvplan {

struct Change {
  OptionValues options;
  Request request;
};

Request with_context(Request request, std::uint64_t tokens);
Request with_seqs(Request request, std::uint64_t seqs);
// The length of a sequence, under the option that the request uses for it.
std::pair<std::string, std::string> context_option(const Request& request, std::uint64_t tokens);
std::pair<std::string, std::string> seqs_option(std::uint64_t seqs);
std::pair<std::string, std::string> seqs_cap_option(std::uint64_t cap);

// A change to each other KV type and weight type in use with the engine; `with_small` adds the weight types that lose
// the most.
std::vector<Change> type_changes(const Request& request, const Plan& asked, bool with_small = false);
// Whether two words name one weight type.
bool same_type(std::string_view a, std::string_view b);
// Whether the engine cannot make such weights from the model's own files when it starts.
bool needs_other_checkpoint(const ModelSpec& model, const Plan& asked, std::string_view type);
// The request on `count` GPUs, in the layout that fits best there. Nothing if more GPUs do not help: for different
// GPUs, and for a machine with unified memory.
std::optional<Change> on_more_cards(PlanCache& cache, const Request& request, std::uint64_t count);
// The options that change the layout of `before` to that of `after`, for a command with the layout of `before`.
OptionValues layout_options(const Request& before, const Request& after);

}  // namespace kvplan
