
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "engines/launch_words.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "plan/plan.h"
#include "plan/search.h"
#include "plan/steps.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kContextStep = 256;
using Layers = std::vector<std::uint64_t>;  // layers of each GPU; the output counts as one

Bytes sum(const std::vector<Bytes>& list) {
  return std::accumulate(list.begin(), list.end(), Bytes(0));
}

std::uint64_t sum(const Layers& layers) {
  return std::accumulate(layers.begin(), layers.end(), std::uint64_t{0});
}

// The memory of each GPU that is not reserved.
std::vector<Bytes> cards_of(const Request& request, Bytes alike) {
  std::vector<Bytes> out(request.parallel.pipeline, alike);
  for (std::size_t i = 0; i < std::min<std::size_t>(out.size(), request.card.mixed.size()); ++i)
    out[i] = request.card.mixed[i]->budget();
  if (request.limits.reserve)
    for (Bytes& each : out) each = each - std::min(each, request.limits.reserve->of(each));
  return out;
}

Request with_layers(Request request, const Layers& layers) {
  request.llama_cpp.gpu_layers = sum(layers);
  request.llama_cpp.tensor_split.clear();
  if (layers.size() > 1 && sum(layers) > 0) request.llama_cpp.tensor_split.assign(layers.begin(), layers.end());
  return request;
}

// Fills the GPUs with layers, starting from the last layer, as many on each as `has_room` allows.
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

// The context that fits in the memory left over, interpolated linearly between the least and the trained context.
std::uint64_t shrunk_context(std::uint64_t least, std::uint64_t trained, Bytes at_trained, Bytes at_least,
                             Bytes target) {
  if (target <= at_least || at_trained <= at_least) return least;
  const auto share =
      static_cast<long double>((target - at_least).count()) / static_cast<long double>((at_trained - at_least).count());
  const auto tokens = least + static_cast<std::uint64_t>(share * static_cast<long double>(trained - least));
  return std::max(least, std::min(tokens, trained) / kContextStep * kContextStep);
}

bool within(const std::vector<Bytes>& used, const std::vector<Bytes>& targets) {
  return std::equal(used.begin(), used.end(), targets.begin(), std::less_equal<>());
}

class Fit {
 public:
  Fit(PlanCache& cache, const Request& request, const AutoPlacement& rule, const std::vector<Bytes>& cards)
      : cache_(cache),
        rule_(rule),
        out_(request),
        units_(units_of(cache.model(request), request)),
        least_(std::max(rule.least_context.count(), longest_stated(request))) {
    for (std::size_t i = 0; i < cards.size(); ++i)
      targets_.push_back(cards[i] - std::min(cards[i], rule.margins.at(i)));
  }

  Request placed() {
    if (shrinks_enough() || is_placed()) return out_;
    if (rule_.experts && cache_.model(out_).experts.count > 0) return placed_mixture();
    return dealt(out_);
  }

 private:
  // Whether the user's options place layers. kvplan does not change that.
  bool is_placed() const {
    const LlamaCppOptions& asked = out_.llama_cpp;
    return asked.gpu_layers || asked.cpu_moe_layers || (!asked.tensor_split.empty() && out_.card.mixed.empty());
  }

  // What is on each GPU. Leaves out what the driver takes before the engine reads the free memory, and what the engine
  // does not count.
  std::vector<Bytes> used(const Request& request) const {
    std::vector<Bytes> out;
    for (const GpuMemory& gpu : stages_of(cache_, request)) {
      Bytes bytes;
      for (const LedgerLine& line : gpu.lines) {
        const bool is_seen = line.id != LineId::kLora && (rule_.sees_extras || !is_extra(line.id));
        if (line.id != LineId::kContext && is_seen) bytes += line.bytes;
      }
      out.push_back(bytes);
    }
    return out;
  }

  // Whether everything is on the GPUs with this placement.
  bool shrinks_enough() {
    const std::vector<Bytes> all = used(out_);
    if (within(all, targets_)) return true;
    const std::uint64_t trained = load_of(cache_.model(out_), out_).max_model_len.count();
    if (rule_.least_context == Tokens(0) || out_.max_model_len || out_.llama_cpp.ctx_size || trained <= least_ ||
        sum(all) <= sum(targets_))
      return false;
    const std::vector<Bytes> least = used(with_context(out_, least_));
    const Bytes target = sum(targets_) - std::min(sum(targets_), unfilled(all));
    out_ = with_context(out_, shrunk_context(least_, trained, sum(all), sum(least), target));
    return targets_.size() == 1 && target > sum(least);
  }

  // Layers are not divided, so several GPUs have unused space: half a layer each, and one more.
  Bytes unfilled(const std::vector<Bytes>& all) const {
    if (all.size() < 2) return Bytes(0);
    Bytes weights;
    for (const GpuMemory& gpu : stages_of(cache_, out_)) weights += gpu.weights.value_or(Bytes(0));
    const std::uint64_t parts = cache_.model(out_).experts.count > 0 ? 6 : 2;
    return Bytes((all.size() + 1) * (weights.count() / (units_ - 1)) / parts);
  }

  // The request with as many layers on the GPUs as fit, starting from the last layer.
  Request dealt(const Request& request) const {
    const Layers layers = fill(targets_.size(), units_, [&](const Layers& tried, std::size_t gpu) {
      return used(with_layers(request, tried))[gpu] <= targets_[gpu];
    });
    return with_layers(request, layers);
  }

  Request placed_mixture() {
    const std::uint64_t layers = units_ - 1;
    Request bare = out_;
    bare.llama_cpp.cpu_moe_layers = layers;
    if (sum(used(bare)) >= sum(targets_)) {
      bare.llama_cpp.cpu_moe_layers = layers - 1;  // the output counts as the one layer with experts on the GPU
      return dealt(bare);
    }
    // The engine fills GPUs from the first one on, with patterns for single tensors. kvplan's placement needs no
    // patterns.
    const auto with_experts = [&](std::uint64_t whole) {
      bare.llama_cpp.cpu_moe_layers.reset();
      if (whole < layers) bare.llama_cpp.cpu_moe_layers = layers - whole;
      Request out = targets_.size() == 1 ? bare : dealt(bare);
      if (out.llama_cpp.gpu_layers == units_) out.llama_cpp.gpu_layers.reset();
      return out;
    };
    return with_experts(largest_good(layers, [&](std::uint64_t whole) {
      const Request tried = with_experts(whole);
      return targets_.size() == 1 ? within(used(tried), targets_) : !tried.llama_cpp.gpu_layers;
    }));
  }

  PlanCache& cache_;
  AutoPlacement rule_;
  Request out_;
  std::uint64_t units_, least_;  // the shortest default context
  std::vector<Bytes> targets_;
};

// The request with a fixed layout: llama.cpp splits layers over the GPUs.
Request laid_out(Request request) {
  if (!searches_layouts(request)) return request;
  request.parallel.pipeline = request.card.count;
  request.parallel.given = true;
  return request;
}

// The request on the largest GPU only, if the engine puts a model there that uses at most this fraction of it.
std::optional<Request> on_one_gpu(PlanCache& cache, const Request& request, double share) {
  const bool chooses = !request.card.mixed.empty() || searches_layouts(request);
  const LlamaCppOptions& asked = request.llama_cpp;
  const bool is_split = request.card.mixed.empty() && !asked.tensor_split.empty();
  if (share == 0 || !chooses || is_split || asked.gpu_layers || asked.only_gpu) return std::nullopt;
  Request out = on_gpus(request);
  for (const Gpu* each : request.card.mixed)
    if (each->budget() > out.card.gpu->budget()) out.card.gpu = each;
  out.card.mixed.clear();
  out.llama_cpp.tensor_split.clear();
  out.card.count = out.parallel.pipeline = 1;
  out.card.count_given = false;
  const auto budget = card_memory(out);
  if (!budget) return std::nullopt;
  const double used = static_cast<double>(stages_of(cache, out).front().total.count());
  return used <= share * static_cast<double>(budget->count()) ? std::optional(out) : std::nullopt;
}

}  // namespace

bool placed_otherwise(const Request& before, const Request& after) {
  return after.llama_cpp.gpu_layers != before.llama_cpp.gpu_layers ||
         after.llama_cpp.cpu_moe_layers != before.llama_cpp.cpu_moe_layers ||
         after.llama_cpp.tensor_split != before.llama_cpp.tensor_split;
}

Request on_gpus(Request request) {
  request.llama_cpp.placement = Placement::kNone;
  return request;
}

// What --device-map auto leaves in main memory: as many whole layers as the GPU cannot store beside space for the
// largest module (transformers integrations/accelerate.py, infer_auto_device_map).
static Request spilled(PlanCache& cache, Request out, Bytes card) {
  const auto budget =
      Bytes(static_cast<std::uint64_t>(static_cast<double>(card.count()) * engine_of(out).fills_gpu(out)));
  const std::vector<GpuMemory> stages = stages_of(cache, out);
  Bytes all, tables, head, largest;
  for (const GpuMemory& gpu : stages)
    for (const LedgerLine& line : gpu.lines) {
      if (line.part != Section::kWeights) continue;
      all += line.bytes;
      const bool is_table = line.id == LineId::kEmbedding || line.id == LineId::kLmHead;
      if (is_table) largest = std::max(largest, line.bytes);
      if (line.id == LineId::kLmHead) head += line.bytes;
      if (is_table || line.id == LineId::kVision || line.id == LineId::kAudio || line.id == LineId::kProjector)
        tables += line.bytes;
    }
  if (all <= budget * stages.size() || all == tables) return out;
  const Bytes layer = Bytes(ceil_div((all - tables).count(), cache.model(out).layers.size()));
  largest = std::max(largest, layer);
  std::uint64_t kept = 0;
  for (const GpuMemory& gpu : stages) {
    const Bytes beside = largest + (gpu.gpu == 0 ? tables - head : Bytes(0));  // the head follows the layers
    if (budget > beside) kept += (budget - beside).count() / layer.count();
  }
  out.cpu_offload = Bytes(ceil_div((all - tables - std::min(all - tables, layer * kept)).count(), stages.size()));
  return out;
}

Request fitted(PlanCache& cache, const Request& request) {
  const Request out = on_gpus(request);
  const auto card = card_memory(out);
  if (request.transformers.device_map && engine_of(out).fills_gpu != nullptr && card && !request.limits.no_offload)
    return spilled(cache, on_gpus(laid_out(request)), *card);
  const auto places = engine_of(out).places;
  if (request.llama_cpp.placement == Placement::kNone || request.limits.no_offload || places == nullptr || !card ||
      request.kv_cache_memory_bytes)
    return out;
  const Request laid = laid_out(request);
  const std::optional<AutoPlacement> rule = places(laid);
  if (!rule) return out;
  if (auto one = on_one_gpu(cache, request, rule->one_gpu)) return *one;
  Request found = Fit(cache, on_gpus(laid), *rule, cards_of(laid, *card)).placed();
  return found == on_gpus(laid) ? out : found;
}

Request placed(PlanCache& cache, const Request& request) {
  Request found = fitted(cache, request);
  Request all = on_gpus(request);
  if (found.card.count != request.card.count) return found;
  if (request.llama_cpp.placement == Placement::kFit || !placed_otherwise(all, found) ||
      !verdict_of(cache, all).holds())
    return found;
  // The engine would leave more memory free than it has to.
  all.llama_cpp.gpu_layers = kEveryLayer;
  const bool named = all.max_model_len || all.llama_cpp.ctx_size || engine_of(all).default_context != nullptr;
  return named ? all : with_context(all, load_of(cache.model(all), all).max_model_len.count());
}

std::optional<Request> unevenly_split(PlanCache& cache, const Request& request) {
  const auto card = card_memory(request);
  if (!card || request.parallel.pipeline < 2) return std::nullopt;
  const std::vector<Bytes> cards = cards_of(request, *card);
  const std::uint64_t units = units_of(cache.model(request), request);
  const Layers layers = fill(cards.size(), units, [&](const Layers& dealt, std::size_t gpu) {
    return stages_of(cache, with_layers(request, dealt))[gpu].total <= cards[gpu];
  });
  if (sum(layers) == 0) return std::nullopt;
  Request out = with_layers(request, layers);
  if (sum(layers) == units) out.llama_cpp.gpu_layers = request.llama_cpp.gpu_layers;  // all of them
  return out;
}

OptionValues placement_options(const Request& before, const Request& after) {
  const bool places_parts = engine_of(before).loading.places_parts;
  OptionValues out;
  if (const auto layers = after.llama_cpp.gpu_layers; layers && layers != before.llama_cpp.gpu_layers)
    out.emplace_back("-ngl", *layers < kEveryLayer ? std::to_string(*layers) : places_parts ? "all" : "999");
  if (!places_parts) return out;
  if (after.llama_cpp.cpu_moe_layers && after.llama_cpp.cpu_moe_layers != before.llama_cpp.cpu_moe_layers)
    out.emplace_back("--n-cpu-moe", std::to_string(*after.llama_cpp.cpu_moe_layers));
  if (after.llama_cpp.tensor_split != before.llama_cpp.tensor_split)
    out.emplace_back("-ts", shares_text(after.llama_cpp.tensor_split));
  return out;
}

Template placement_text(const Request& before, const Request& after) {
  const Engine& engine = engine_of(before);
  OptionValues options = placement_options(before, after);
  const bool keeps_all = after.llama_cpp.gpu_layers == kEveryLayer && before.llama_cpp.gpu_layers != kEveryLayer;
  if (after.max_model_len && after.max_model_len != before.max_model_len)
    options.insert(options.begin(), context_option(before, after.max_model_len->count()));
  if (options.empty()) return {};
  const bool is_near = after.llama_cpp.cpu_moe_layers && !after.llama_cpp.tensor_split.empty();  // it splits layers
  return {
      keeps_all
          ? "{engine} by default keeps more memory free and moves layers to the CPU; {options} keeps them on the GPU"
      : is_near ? "{options} places it nearly as {engine} does"
                : "{engine} chooses {options}",
      {{"engine", engine.name}, {"options", options_text(options, engine.spelling)}}};
}

}  // namespace kvplan
