#include "plan/offload.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "engines/launch_words.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "plan/changes.h"
#include "plan/layouts.h"
#include "plan/plan.h"

namespace kvplan {

namespace {

constexpr Bytes kMargin(kGiB);                 // --fit-target
constexpr std::uint64_t kLeastContext = 4096;  // --fit-ctx, of one sequence
constexpr std::uint64_t kContextStep = 256;
using Layers = std::vector<std::uint64_t>;  // of each GPU; the output counts as one

// What each GPU holds, without the memory that the driver takes before llama.cpp asks how much is free.
std::vector<Bytes> used(PlanCache& cache, const Request& request) {
  std::vector<Bytes> out;
  for (const GpuMemory& gpu : stages_of(cache, request)) {
    Bytes bytes;
    for (const LedgerLine& line : gpu.lines)
      if (line.id != LineId::kContext) bytes += line.bytes;
    out.push_back(bytes);
  }
  return out;
}

Bytes sum(const std::vector<Bytes>& list) {
  return std::accumulate(list.begin(), list.end(), Bytes(0));
}

std::uint64_t sum(const Layers& layers) {
  return std::accumulate(layers.begin(), layers.end(), std::uint64_t{0});
}

std::vector<Bytes> cards_of(const Request& request, Bytes alike) {
  std::vector<Bytes> out(request.parallel.pipeline, alike);
  for (std::size_t i = 0; i < std::min<std::size_t>(out.size(), request.card.mixed.size()); ++i)
    out[i] = request.card.mixed[i]->budget();
  return out;
}

Request with_layers(Request request, const Layers& layers) {
  request.llama_cpp.gpu_layers = sum(layers);
  request.llama_cpp.tensor_split.clear();
  if (layers.size() > 1 && sum(layers) > 0) request.llama_cpp.tensor_split.assign(layers.begin(), layers.end());
  return request;
}

// Fills the GPUs with layers from the last one back, each with as many as `has_room` allows.
Layers fill(std::size_t gpus, std::uint64_t units,
            const std::function<bool(const Layers& layers, std::size_t gpu)>& has_room) {
  Layers out(gpus, 0);
  for (std::size_t gpu = gpus; gpu-- > 0;)
    out[gpu] = largest_good(units - sum(out), [&](std::uint64_t n) {
      Layers layers = out;
      layers[gpu] = n;
      return has_room(layers, gpu);
    });
  return out;
}

std::uint64_t units_of(const ModelSpec& model, const Request& request) {
  return model.layers.size() + (request.mtp ? model.num_nextn_layers : 0) + 1;
}

// The context for the memory that is left, by linear interpolation between the least and the trained context.
std::uint64_t shrunk_context(std::uint64_t trained, Bytes at_trained, Bytes at_least, Bytes target) {
  if (target <= at_least || at_trained <= at_least) return kLeastContext;
  const auto share =
      static_cast<long double>((target - at_least).count()) / static_cast<long double>((at_trained - at_least).count());
  const auto tokens =
      kLeastContext + static_cast<std::uint64_t>(share * static_cast<long double>(trained - kLeastContext));
  return std::max(kLeastContext, std::min(tokens, trained) / kContextStep * kContextStep);
}

bool within(const std::vector<Bytes>& used, const std::vector<Bytes>& targets) {
  return std::equal(used.begin(), used.end(), targets.begin(), std::less_equal<>());
}

class Fit {
 public:
  Fit(PlanCache& cache, const Request& request, const std::vector<Bytes>& cards)
      : cache_(cache), out_(request), units_(units_of(cache.model(request), request)) {
    for (const Bytes card : cards) targets_.push_back(card > kMargin ? card - kMargin : Bytes(0));
  }

  Request placed() {
    if (shrinks_enough()) return out_;
    if (cache_.model(out_).experts.count > 0) return placed_mixture();
    return with_layers(out_, filled(out_));
  }

 private:
  // Whether everything is then on the cards.
  bool shrinks_enough() {
    const std::vector<Bytes> all = used(cache_, out_);
    if (within(all, targets_)) return true;
    const std::uint64_t trained = load_of(cache_.model(out_), out_).max_model_len.count();
    const bool named = out_.max_model_len || out_.llama_cpp.ctx_size || engine_of(out_).default_context != nullptr;
    if (named || trained <= kLeastContext || sum(all) <= sum(targets_)) return false;
    const std::vector<Bytes> least = used(cache_, with_context(out_, kLeastContext));
    const Bytes target = sum(targets_) - std::min(sum(targets_), unfilled(all));
    out_ = with_context(out_, shrunk_context(trained, sum(all), sum(least), target));
    return targets_.size() == 1 && target > sum(least);
  }

  // Layers are whole, so several cards have unused space: half a layer each, and one more.
  Bytes unfilled(const std::vector<Bytes>& all) const {
    if (all.size() < 2) return Bytes(0);
    Bytes weights;
    for (const GpuMemory& gpu : stages_of(cache_, out_)) weights += gpu.weights.value_or(Bytes(0));
    const std::uint64_t parts = cache_.model(out_).experts.count > 0 ? 6 : 2;
    return Bytes((all.size() + 1) * (weights.count() / (units_ - 1)) / parts);
  }

  Layers filled(const Request& request) {
    return fill(targets_.size(), units_, [&](const Layers& layers, std::size_t gpu) {
      return used(cache_, with_layers(request, layers))[gpu] <= targets_[gpu];
    });
  }

  Request placed_mixture() {
    const std::uint64_t layers = units_ - 1;
    Request bare = out_;
    bare.llama_cpp.cpu_moe_layers = layers;
    if (sum(used(cache_, bare)) >= sum(targets_)) {
      bare.llama_cpp.cpu_moe_layers = layers - 1;  // the output counts as the one layer with experts on the card
      return with_layers(bare, filled(bare));
    }
    const std::uint64_t whole = largest_good(layers, [&](std::uint64_t with_experts) {
      bare.llama_cpp.cpu_moe_layers = layers - with_experts;
      return within(used(cache_, bare), targets_);
    });
    bare.llama_cpp.cpu_moe_layers = layers - whole;
    return bare;
  }

  PlanCache& cache_;
  Request out_;
  std::uint64_t units_;
  std::vector<Bytes> targets_;
};

// The request with a settled layout: llama.cpp splits over cards by layers.
Request laid_out(Request request) {
  if (!searches_layouts(request)) return request;
  request.parallel.pipeline = request.card.count;
  request.parallel.given = true;
  return request;
}

}  // namespace

Request fitted(PlanCache& cache, const Request& request) {
  Request out = laid_out(request);
  out.llama_cpp.fit = false;
  const auto card = card_memory(out);
  // A placement by hand is kept.
  const bool is_placed =
      out.llama_cpp.cpu_moe_layers || (!out.llama_cpp.tensor_split.empty() && out.card.mixed.empty());
  if (!card || is_placed) return out;
  return Fit(cache, out, cards_of(out, *card)).placed();
}

std::optional<Request> unevenly_split(PlanCache& cache, const Request& request) {
  const auto card = card_memory(request);
  if (!card || request.parallel.pipeline < 2) return std::nullopt;
  std::vector<Bytes> cards = cards_of(request, *card);
  if (request.limits.reserve)
    for (Bytes& each : cards) each = each - std::min(each, request.limits.reserve->of(each));
  const std::uint64_t units = units_of(cache.model(request), request);
  const Layers layers = fill(cards.size(), units, [&](const Layers& dealt, std::size_t gpu) {
    return stages_of(cache, with_layers(request, dealt))[gpu].total <= cards[gpu];
  });
  if (sum(layers) == 0) return std::nullopt;
  Request out = with_layers(request, layers);
  if (sum(layers) == units) out.llama_cpp.gpu_layers = request.llama_cpp.gpu_layers;  // all of them
  return out;
}

std::string placement_text(const Request& before, const Request& after) {
  OptionValues options;
  if (after.max_model_len && after.max_model_len != before.max_model_len)
    options.push_back(context_option(before, after.max_model_len->count()));
  if (after.llama_cpp.gpu_layers) options.emplace_back("-ngl", std::to_string(*after.llama_cpp.gpu_layers));
  if (after.llama_cpp.cpu_moe_layers && after.llama_cpp.cpu_moe_layers != before.llama_cpp.cpu_moe_layers)
    options.emplace_back("--n-cpu-moe", std::to_string(*after.llama_cpp.cpu_moe_layers));
  if (after.llama_cpp.tensor_split != before.llama_cpp.tensor_split)
    options.emplace_back("-ts", shares_text(after.llama_cpp.tensor_split));
  return options.empty() ? "everything on the GPU" : options_text(options);
}

}  // namespace kvplan
