// Upper bounds of speed from the GPU's bandwidth. They count the bytes that a step has to read, so no engine is faster.
// How close an engine comes is not modelled.
//
//   step(B)   = weights(B) + B * cache                    bytes of one rank, all pipeline stages together
//   weights(B) = read by every token + experts * (1 - (1 - k/E)^B)      k of E experts a token: those met by B tokens
//   tokens/s  <= bandwidth * stages * B / step(B)         one sequence passes through the stages in turn: no * stages
//   prefill   = 2 * parameters passed * L + 2 * vocab * hidden + 2 * multiply-adds of attention
//   first token >= max(prefill / (TFLOPS * ranks), weights(1) / (bandwidth * stages))
//               matrices at the rate of their type where activations are as narrow (FP8, INT8, NVFP4 on GPUs that
//               have such cores), else at 16 bit; latents in the cheaper of their two forms
//
// cache is what a sequence at full length, or of the stated mean length, attends to: for a window the tokens in it; for
// an indexer all keys and the index_topk entries that it chooses; a layer that shares another's cache reads it again;
// recurrent states are read and written. Experts are taken as chosen evenly, host memory as no slower than the GPU's.
#include "plan/steps.h"

#include <algorithm>
#include <cmath>

#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "plan/calibrate.h"

namespace kvplan {

namespace {

const Peak* peak_of(const Request& request) {
  if (!request.card.gpu) return nullptr;
  const Peak& peak = request.card.gpu->peak;
  return peak.tflops > 0 ? &peak : nullptr;
}

// How many times faster than 16 bit the matrix cores multiply this type. It is 1 unless activations have the same
// width, because other types are widened to 16 bit.
double times_16_bit(const Peak& peak, std::string_view weights) {
  if (weights.starts_with("fp8") || weights == "mxfp8") return peak.fp8;
  if (weights == "int8" || weights == "bnb-int8") return peak.int8;
  if (weights == "nvfp4") return std::max(peak.fp4, peak.fp8);
  if (weights == "mxfp4") return peak.fp4 > 1 ? peak.fp8 : 1;  // with FP8 activations at best
  return 1;
}

double bandwidth_of(const Request& request) {
  if (request.card.bandwidth) return *request.card.bandwidth;
  // The maker's figure is an upper bound. A lower measured figure does not change that.
  const double stated = request.card.gpu ? request.card.gpu->bandwidth_gb_s : 0;
  const auto measured = calibrated_bandwidth(request);
  return measured ? std::max(stated, measured->high / 1e9) : stated;
}

bool is_unified(const Request& request) {
  return request.card.is_unified();
}

double real(Bytes bytes) {
  return static_cast<double>(bytes.count());
}

// An upper bound of the entries that a token attends to after `tokens` tokens.
std::uint64_t attended(const Mixer& mixer, const Term& term, Tokens tokens, Tokens source_tokens) {
  const std::uint64_t entries = term.entries(tokens, source_tokens);
  const bool indexed = term.role == Role::kIndex || term.limit.kind != LimitKind::kNone;
  if (const auto* sparse = std::get_if<SparseMla>(&mixer); sparse != nullptr && !indexed && sparse->index_topk > 0)
    return std::min(entries, sparse->index_topk);
  // The model does not say how many entries it chooses. Counting none keeps the speed an upper bound.
  if (const auto* compressed = std::get_if<Compressed>(&mixer);
      compressed != nullptr && !indexed && compressed->index_head_dim > 0 && term.role != Role::kState)
    return 0;
  if (std::holds_alternative<SparseGqa>(mixer) && !indexed) return 0;
  return entries;
}

// What one step reads of a layer's cache, for one sequence on one rank.
Bytes layer_read(const Mixer& mixer, const Plan& plan, std::uint64_t ranks) {
  const Tokens length = plan.tokens_of_sequence();
  Bytes out;
  for (const Term& term : cache_terms(mixer)) {
    const std::uint64_t units = ceil_div(term.shape.units, ranks);
    const std::uint64_t columns = term.shape.columns > 0 ? term.shape.columns - 1 : 0;
    const Bytes entry = entry_bytes(term, plan.types, units, columns);
    const bool rewritten = term.growth == Growth::kSequence;
    out += entry * attended(mixer, term, length, plan.load.source_tokens) * (rewritten ? 2 : 1);
  }
  return out;
}

// The cache of all layers, or of the first `layers`.
Bytes cache_read(const ModelSpec& model, const std::vector<LayerGroup>& groups, const Plan& plan,
                 std::uint64_t first_layers = ~std::uint64_t{0}) {
  Bytes out;
  const std::uint64_t ranks = tensor_cuts(plan.request).attention;
  for (const LayerGroup& group : groups) {
    const Mixer* mixer = group.mixer;
    if (const auto* shared = std::get_if<Shared>(mixer)) {
      if (shared->source_layer >= model.layers.size() || model.layers[shared->source_layer].mixers.empty()) continue;
      mixer = &model.layers[shared->source_layer].mixers.front();
    }
    const auto read = std::count_if(group.indices.begin(), group.indices.end(),
                                    [&](std::uint64_t layer) { return layer < first_layers; });
    out += layer_read(*mixer, plan, ranks) * static_cast<std::uint64_t>(read);
  }
  return out;
}

double entries_sum(double tokens, double limit, double stride) {
  const double grown = limit > 0 ? std::min(tokens, limit) : tokens;
  return (grown * (grown + 1) / 2 + (tokens - grown) * grown) / stride;
}

// Multiply-adds for a pair of tokens in a prefill. With many tokens it is cheaper to expand latents first.
std::uint64_t prefill_macs(const Mixer& mixer) {
  const auto* mla = std::get_if<Mla>(&mixer);
  if (mla == nullptr) return macs_per_entry(mixer);
  constexpr std::string_view kWhat = "the work of one cached token";
  const Latent& latent = mla->latent;
  const std::uint64_t wide =
      checked_add(checked_add(latent.qk_nope_head_dim, latent.qk_rope_head_dim, kWhat), latent.v_head_dim, kWhat);
  const std::uint64_t expanded = checked_mul(latent.num_heads, wide, kWhat);
  return expanded > 0 ? std::min(expanded, macs_per_entry(mixer)) : macs_per_entry(mixer);
}

// Multiply-adds of attention over a whole prompt: every position attends to all before it.
double attention_macs(const std::vector<LayerGroup>& groups, const Plan& plan) {
  const auto tokens = static_cast<double>(plan.tokens_of_sequence().count());
  double out = 0;
  for (const LayerGroup& group : groups) {
    const Mixer& mixer = *group.mixer;
    double entries = entries_sum(tokens, 0, 1);
    if (const auto* shared = std::get_if<Shared>(&mixer))
      entries = entries_sum(tokens, static_cast<double>(shared->window.count()), 1);
    for (const Term& term : cache_terms(mixer)) {
      if (term.role != Role::kKey || term.growth == Growth::kSequence) continue;
      entries =
          term.growth == Growth::kSourceToken
              ? tokens * static_cast<double>(plan.load.source_tokens.count())
              : entries_sum(tokens, static_cast<double>(term.limit.total().count()), static_cast<double>(term.stride));
    }
    out += static_cast<double>(prefill_macs(mixer)) * entries * static_cast<double>(group.indices.size());
  }
  return out;
}

// The bytes that one decoding step reads. The GPU waits for host memory, so bytes there count as many times as it is
// slower.
class Step {
 public:
  struct Reads {
    Bytes always, experts, cache;
  };

  Step(const ModelSpec& model, const Reads& all, const Reads& host, double times_slower)
      : always_(weighed(all.always, host.always, times_slower)),
        experts_(weighed(all.experts, host.experts, times_slower)),
        cache_(weighed(all.cache, host.cache, times_slower)) {
    const ExpertShape& shape = model.experts;
    if (shape.count > 0 && shape.used <= shape.count)
      missed_ = 1 - static_cast<double>(shape.used) / static_cast<double>(shape.count);
  }
  double weights(std::uint64_t sequences) const {
    return always_ + experts_ * (1 - std::pow(missed_, static_cast<double>(sequences)));
  }
  double cache() const { return cache_; }
  double bytes(std::uint64_t sequences) const { return weights(sequences) + static_cast<double>(sequences) * cache_; }

  // The fewest sequences whose caches together have as many bytes to read as the weights. The difference is convex and
  // starts below 0.
  std::optional<std::uint64_t> crossing() const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
    const auto outweighs = [&](std::uint64_t n) { return static_cast<double>(n) * cache_ >= weights(n); };
    if (cache_ <= 0 || !outweighs(kMost)) return std::nullopt;
    return last_good(0, kMost, [&](std::uint64_t n) { return !outweighs(n); }) + 1;
  }

 private:
  static double weighed(Bytes all, Bytes host, double times_slower) {
    return real(all) + real(host) * (times_slower - 1);
  }

  double always_, experts_, cache_;
  double missed_ = 0;  // the probability that a token does not choose a given expert
};

// Two channels of DDR5-6400, as in desktops and laptops. Servers have more, older machines have less.
constexpr double kHostGbS = 100;

}  // namespace

namespace {

// Operations of a prefill, grouped by how ranks split them.
struct PrefillWork {
  double attention_weights = 0, experts = 0, others = 0;  // matrices that every token passes through
  double attention = 0;                                   // of tokens with each other
  double head = 0;                                        // for the last token
  double all() const { return attention_weights + experts + others + attention + head; }
};

PrefillWork prefill_work(const ModelSpec& model, const std::vector<LayerGroup>& groups, const Plan& plan) {
  PrefillWork out;
  if (model.tensors.empty()) return out;
  const auto length = static_cast<double>(plan.tokens_of_sequence().count());
  for (const TensorGroup& group : model.tensors) {
    const double work = 2 * length * static_cast<double>(group.active().count());
    switch (group.component) {
      case Component::kEmbedding:
      case Component::kLmHead:
      case Component::kEncoder:
      case Component::kVision:
      case Component::kAudio:
      case Component::kProjector:
      case Component::kMtp: break;
      case Component::kAttention:
      case Component::kStateMixer: out.attention_weights += work; break;
      case Component::kExperts: out.experts += work; break;
      default: out.others += work; break;
    }
  }
  out.attention = 2 * attention_macs(groups, plan);
  out.head = 2 * static_cast<double>(model.vocab_size) * static_cast<double>(model.hidden_size);
  return out;
}

// A lower bound of the compute time of one prompt, in seconds. Data parallel ranks only help with its experts, if they
// share them.
double prefill_seconds(const PrefillWork& work, const Plan& plan, const RankWeights& weights, double tflops) {
  const Request& request = plan.request;
  const auto ranks = static_cast<double>(request.parallel.tensor);
  const auto copies = static_cast<double>(request.parallel.data);
  const auto attention_ranks = static_cast<double>(tensor_cuts(request).attention);
  const double expert_ranks = engine_of(request).parallel.data_ranks_share_experts ? ranks * copies : ranks;
  const Peak* peak = request.card.tflops ? nullptr : peak_of(request);
  const double faster = peak != nullptr ? times_16_bit(*peak, weights.type) : 1;
  const bool narrow_cache = plain_bytes(plan.types.key) < 2;
  const double attention_faster = peak != nullptr && narrow_cache ? std::max(peak->fp8, peak->int8) : 1;
  const double units = work.attention_weights / (faster * attention_ranks) + work.experts / (faster * expert_ranks) +
                       work.others / (faster * ranks) + work.attention / (attention_faster * attention_ranks) +
                       work.head / ranks;
  return units / (tflops * 1e12 * static_cast<double>(request.parallel.pipeline));
}

}  // namespace

double decode_attention_flops(const std::vector<LayerGroup>& groups, const Load& load) {
  double out = 0;
  for (const LayerGroup& group : groups) {
    const Mixer& mixer = *group.mixer;
    std::uint64_t entries = load.max_model_len.count();
    if (const auto* shared = std::get_if<Shared>(&mixer); shared != nullptr && shared->window > Tokens(0))
      entries = std::min(entries, shared->window.count());
    for (const Term& term : cache_terms(mixer))
      if (term.role == Role::kKey) entries = term.entries(load.max_model_len, load.source_tokens);
    out += 2 * static_cast<double>(macs_per_entry(mixer)) * static_cast<double>(entries) *
           static_cast<double>(group.indices.size());
  }
  return out;
}

static double host_bandwidth_of(const Request& request) {
  if (request.card.host_bandwidth) return *request.card.host_bandwidth;
  return is_unified(request) && bandwidth_of(request) > 0 ? bandwidth_of(request) : kHostGbS;
}

// For different GPUs that work in turn: all their bytes, divided by the time that each GPU takes for its part.
static double rig_bandwidth(const Plan& plan) {
  double bytes = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < plan.memory.size() && i < plan.request.card.mixed.size(); ++i) {
    const double held =
        real(plan.memory[i].weights.value_or(Bytes(0))) + real(plan.memory[i].kv_cache.value_or(Bytes(0)));
    const double speed = plan.request.card.mixed[i]->bandwidth_gb_s;
    if (speed <= 0) return 0;
    bytes += held;
    seconds += held / speed;
  }
  return seconds > 0 ? bytes / seconds : 0;
}

std::optional<Roofline> roofline_of(const ModelSpec& model, const std::vector<LayerGroup>& groups, const Plan& plan,
                                    const RankWeights& weights) {
  const bool whole_model_on_host = plan.fullest().total == Bytes(0);
  const double host_gb_s = host_bandwidth_of(plan.request);
  const bool differ = !plan.request.card.mixed.empty() && !plan.request.card.bandwidth;
  const double gb_s = whole_model_on_host ? host_gb_s : differ ? rig_bandwidth(plan) : bandwidth_of(plan.request);
  if (gb_s <= 0 || !weights.is_known || weights.read_always == Bytes(0)) return std::nullopt;
  const double bandwidth = gb_s * 1e9;
  const auto stages = static_cast<double>(plan.request.parallel.pipeline);
  const auto copies = static_cast<double>(plan.request.parallel.data);
  const std::uint64_t stated = plan.mix ? plan.mix->sequences : 0;
  const auto batch = static_cast<double>(std::max(plan.load.num_seqs, stated));
  Roofline out;
  out.bandwidth_gb_s = gb_s;
  out.num_seqs = std::max(plan.request.num_seqs, stated);
  out.cache_read = cache_read(model, groups, plan);
  // If copies share the experts, a rank's experts see the tokens of all copies.
  const bool shared = layout_copies(plan.request) == 1 || engine_of(plan.request).parallel.data_ranks_share_experts;
  const double met = shared ? copies * batch : batch;
  const std::uint64_t host_layers = plan.request.llama_cpp.no_kv_offload ? model.layers.size() : weights.host_layers;
  const Step::Reads all{weights.read_always, weights.experts, out.cache_read};
  const Step::Reads host{weights.host_always, weights.host_experts, cache_read(model, groups, plan, host_layers)};
  const Step bytes(model, all, host, 1);
  const Step step(model, all, host, gb_s / host_gb_s);
  out.weights_read = Bytes(static_cast<std::uint64_t>(bytes.weights(1)));
  out.weights_read_batch = Bytes(static_cast<std::uint64_t>(bytes.weights(static_cast<std::uint64_t>(met))));
  out.host_read = Bytes(static_cast<std::uint64_t>(Step(model, host, {}, 1).bytes(1)));
  if (out.host_read > Bytes(0)) {
    out.host_gb_s = host_gb_s;
    out.host_assumed = !plan.request.card.host_bandwidth && !is_unified(plan.request);
  }
  out.tokens_per_s_empty = bandwidth / step.weights(1);
  out.tokens_per_s = bandwidth / step.bytes(1);
  out.tokens_per_s_batch = copies * batch * bandwidth * std::min(stages, batch) /
                           (step.weights(static_cast<std::uint64_t>(met)) + batch * step.cache());
  out.cache_outweighs_at = step.crossing();
  const PrefillWork work = prefill_work(model, groups, plan);
  out.prefill_flops = work.all();
  if (plan.request.card.tflops)
    out.tflops = plan.request.card.tflops;
  else if (const Peak* peak = peak_of(plan.request))
    out.tflops = peak->tflops;
  if (out.tflops && out.prefill_flops > 0)
    out.first_token_s =
        std::max(prefill_seconds(work, plan, weights, *out.tflops), step.weights(1) / (bandwidth * stages));
  return out;
}

}  // namespace kvplan
