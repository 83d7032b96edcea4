// How many GPUs hold all users at once: copies of the layout that takes the fewest.
#include <algorithm>

#include "kvplan/error.h"
#include "plan/changes.h"
#include "plan/layouts.h"
#include "plan/search.h"
#include "plan/users.h"

namespace kvplan {

std::optional<UsersPlan> fewest_for_users(PlanCache& cache, const Request& request) {
  Request free = with_reserve(request);
  if (!free.parallel.given) free.parallel.tensor = free.parallel.pipeline = 1;
  // Slots of the mean length take as much as one pool that all share (--kv-unified).
  const bool pools = engine_of(free).slot_tokens != nullptr && engine_of(free).loading.places_parts;
  if (pools && free.avg_len && !free.max_model_len && !free.llama_cpp.ctx_size) free.max_model_len = free.avg_len;
  std::optional<UsersPlan> best;
  for (const std::uint64_t gpus : usual_gpu_counts(free)) {
    const std::uint64_t at_hand = request.card.count_given ? request.card.count : 2 * kGpusOfNode;
    if (gpus > at_hand || (best && gpus >= best->answer.gpus)) break;
    const bool named = request.parallel.given || request.parallel.gpus() > 1;
    if (named && gpus != request.parallel.gpus()) continue;
    for (const Request& layout : named ? std::vector<Request>{free} : layouts_of(cache, free, gpus)) {
      try {
        if (!fits(cache, with_seqs(layout, 1))) continue;
        const bool all = fits(cache, layout);
        const std::uint64_t most = all ? request.num_seqs : std::min(most_that_fit(cache, layout), request.num_seqs);
        if (most == 0) continue;
        UsersAnswer here{request.num_seqs, 0, ceil_div(request.num_seqs, most), 0, 0};
        here.of_a_copy = ceil_div(request.num_seqs, here.copies);
        here.gpus = here.copies * gpus;
        here.nodes =
            gpus <= kGpusOfNode ? ceil_div(here.copies, kGpusOfNode / gpus) : here.copies * ceil_div(gpus, kGpusOfNode);
        if (!best || here.gpus < best->answer.gpus) best = UsersPlan{here, with_seqs(layout, here.of_a_copy)};
      } catch (const Error& error) {
        take_as_misfit(error);
        continue;  // the engine refuses this layout
      }
    }
  }
  return best;
}

Template sentence_of(const UsersPlan& plan) {
  const auto& [users, of_a_copy, copies, gpus, nodes] = plan.answer;
  Template out("{users:user} at once: {gpus:GPU}", {{"users", users}, {"gpus", gpus}});
  if (nodes > 1) out += {" in {nodes:node}", {{"nodes", nodes}}};
  if (plan.copy.avg_len && plan.copy.max_model_len == plan.copy.avg_len && engine_of(plan.copy).slot_tokens != nullptr)
    out += ", slots in one pool (--kv-unified)";
  if (gpus == 1) return out;
  out += {copies > 1 ? ", {copies} copies of {layout}, {users} users each" : ", {layout}",
          {{"copies", copies}, {"layout", layout_name(plan.copy.parallel)}, {"users", of_a_copy}}};
  return out;
}

}  // namespace kvplan
