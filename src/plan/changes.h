// One change of a request, as options that can be added to the user's own command: what fit and the verdict suggest.
#ifndef KVPLAN_PLAN_CHANGES_H_
#define KVPLAN_PLAN_CHANGES_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace kvplan {

using OptionValues = std::vector<std::pair<std::string, std::string>>;  // "" for a flag's value

struct Change {
  OptionValues options;
  Request request;
};

Request with_context(Request request, std::uint64_t tokens);
Request with_seqs(Request request, std::uint64_t seqs);
// The length of a sequence under the name that the request has for it.
std::pair<std::string, std::string> context_option(const Request& request, std::uint64_t tokens);
std::pair<std::string, std::string> seqs_option(std::uint64_t seqs);

// Each other KV type and weight type that the engine's users choose.
std::vector<Change> type_changes(const Request& request, const Plan& asked);
// Twice the cards: where the layout is chosen, that is all; else by heads, or by layers for engines and models that
// cannot split heads. Nothing where neither is possible.
std::optional<Change> twice_the_cards(PlanCache& cache, const Request& request);
// What leads from the layout of `before` to that of `after`: every option that must be named.
OptionValues layout_options(const Request& before, const Request& after);

// "-tp 8 -pp 2"
std::string options_text(const OptionValues& options);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_CHANGES_H_
