#include "plan/questions.h"

#include <algorithm>
#include <tuple>

#include "kvplan/error.h"
#include "plan/search.h"

namespace kvplan {

namespace {

// A layout, and how many users one copy of it serves.
struct Copy {
  Request layout;
  std::uint64_t gpus = 0, most = 0;
};

std::uint64_t at_most_any(std::uint64_t count, std::uint64_t times) {
  return count >= kAnyCount / times ? kAnyCount : count * times;
}

// Smallest layouts first. Layouts over more than two nodes are tried only if nothing smaller fits.
std::vector<Copy> copies_that_fit(PlanCache& cache, const Request& request) {
  const bool named = request.parallel.given || request.parallel.gpus() > 1;
  const bool has_experts = cache.model().experts.count > 0;
  std::uint64_t most_gpus = request.card.count_given ? request.card.count : kMostGpusOfPlan;
  std::vector<Copy> out;
  for (const std::uint64_t gpus : named ? std::vector{request.parallel.gpus()} : usual_gpu_counts(request)) {
    if (gpus > most_gpus || (!out.empty() && gpus > 2 * kGpusOfNode)) break;
    for (const Request& layout : named ? std::vector{request} : layouts_of(cache, request, gpus)) {
      // If there are no experts to share, data parallel ranks are copies.
      if (!named && !has_experts && layout.parallel.data > request.parallel.data && !layout.parallel.dp_attention)
        continue;
      try {
        const std::uint64_t most = fits(cache, with_seqs(layout, 1)) ? most_that_fit(cache, layout) : 0;
        if (most == 0) continue;
        out.push_back({layout, gpus, most});
        if (!request.card.count_given)
          most_gpus = std::min(most_gpus, at_most_any(ceil_div(request.num_seqs, most), gpus));
      } catch (const Error& error) {
        take_as_misfit(error);  // the engine refuses this layout
      }
    }
  }
  return out;
}

UsersPlan users_plan(const Copy& copy, std::uint64_t users, std::uint64_t copies) {
  const std::uint64_t of_a_copy = ceil_div(users, copies);
  const std::uint64_t nodes =
      copy.gpus <= kGpusOfNode ? ceil_div(copies, kGpusOfNode / copy.gpus) : copies * ceil_div(copy.gpus, kGpusOfNode);
  return {{users, of_a_copy, copies, copies * copy.gpus, nodes, at_most_any(copy.most, copies), {}},
          with_seqs(copy.layout, of_a_copy)};
}

}  // namespace

std::vector<UsersPlan> layouts_for_users(PlanCache& cache, const Request& request) {
  Request free = with_reserve(request);
  if (!free.parallel.given) free.parallel.tensor = free.parallel.pipeline = 1;
  free.parallel.layers.clear();
  // Slots of the mean length need as much memory as one shared pool (--kv-unified).
  const bool pools = engine_of(free).slot_tokens != nullptr && engine_of(free).loading.places_parts;
  if (pools && free.avg_len && !free.max_model_len && !free.llama_cpp.ctx_size) free.max_model_len = free.avg_len;
  const std::vector<Copy> held = copies_that_fit(cache, free);
  const std::uint64_t users = request.num_seqs;
  std::uint64_t gpus = request.card.count_given ? request.card.count : kAnyCount;
  if (!request.card.count_given)
    for (const Copy& copy : held) gpus = std::min(gpus, at_most_any(ceil_div(users, copy.most), copy.gpus));
  std::vector<UsersPlan> out;
  for (const Copy& copy : held)
    if (copy.gpus <= gpus) out.push_back(users_plan(copy, users, gpus / copy.gpus));
  const auto order = [&](const UsersPlan& plan) {
    return std::tuple(kAnyCount - std::min(plan.answer.most, users), plan.answer.gpus != gpus);
  };
  std::stable_sort(out.begin(), out.end(), [&](const UsersPlan& a, const UsersPlan& b) { return order(a) < order(b); });
  // Among layouts that serve as many users, those that may fail by the error of their estimates come last.
  const auto end =
      std::find_if(out.begin(), out.end(), [&](const UsersPlan& plan) { return order(plan) > order(out.front()); });
  const auto certain =
      std::find_if(out.begin(), end, [&](const UsersPlan& plan) { return !verdict_of(cache, plan.copy).close; });
  if (certain != end) std::rotate(out.begin(), certain, certain + 1);
  // The other layouts leave GPUs idle.
  if (out.size() > 1)
    out.erase(std::remove_if(out.begin() + 1, out.end(),
                             [&](const UsersPlan& plan) { return plan.answer.gpus != out.front().answer.gpus; }),
              out.end());
  return out;
}

Template sentence_of(const UsersPlan& plan) {
  const UsersAnswer& answer = plan.answer;
  Template out("{users:user} at once: {gpus:GPU}", {{"users", answer.users}, {"gpus", answer.gpus}});
  if (answer.nodes > 1) out += {" in {nodes:node}", {{"nodes", answer.nodes}}};
  if (plan.copy.avg_len && plan.copy.max_model_len == plan.copy.avg_len && engine_of(plan.copy).slot_tokens != nullptr)
    out += ", slots in one pool (--kv-unified)";
  if (answer.gpus == 1) return out;
  out += {answer.copies > 1 ? ", {copies} copies of {layout}, {users} users each" : ", {layout}",
          {{"copies", answer.copies}, {"layout", layout_name(plan.copy.parallel)}, {"users", answer.of_a_copy}}};
  return out;
}

Plan plan_for_users(const ModelSpec& model, const Request& request) {
  const CardRequest& card = request.card;
  const bool is_open = request.users && (card.gpu != nullptr || card.memory) && !card.count_given &&
                       card.mixed.empty() && !request.parallel.given && request.parallel.gpus() == 1;
  PlanCache cache(model);
  const std::vector<UsersPlan> found = is_open ? layouts_for_users(cache, request) : std::vector<UsersPlan>();
  if (found.empty()) return make_plan(cache, request);
  Request copy = found.front().copy;
  copy.users = false;
  copy.limits.reserve = request.limits.reserve;
  lower_seqs_cap(cache, copy);
  Plan out = make_plan(cache, copy);
  inform(out.notes, "users", sentence_of(found.front()));
  return out;
}

}  // namespace kvplan
