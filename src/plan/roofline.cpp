#include "plan/roofline.h"

#include <algorithm>
#include <array>

#include "kvplan/rounding.h"
#include "plan/gpus.h"

namespace kvplan {

namespace {

// Peak of the tensor cores, dense, 16 bit with 32 bit sums; by the first words of a card's name.
struct Peak {
  std::string_view name;
  double tflops;
};
// Sources: NVIDIA's data sheets of A10, A100, H100, H200, L4, L40S and HGX B200 (half of the figures with sparsity:
// 1,979 of an H100, 4,500 of a B200), the white papers of Ampere GA102, Ada and RTX Blackwell (with 32 bit sums: half
// of what GeForce cards do with 16 bit sums); AMD's data sheets of MI250X (one of two dies: half of 383) and MI300X
// (1,307.4).
constexpr std::array kPeaks{
    Peak{"a100", 312},     Peak{"a10", 125},      Peak{"h100-pcie", 756}, Peak{"h100-nvl", 835}, Peak{"h100", 989},
    Peak{"h200", 989},     Peak{"b200", 2250},    Peak{"l40s", 362},      Peak{"l4", 121},       Peak{"rtx-3090", 71},
    Peak{"rtx-4090", 165}, Peak{"rtx-5090", 210}, Peak{"mi250x", 192},    Peak{"mi300x", 1307},
};

std::optional<double> peak_of(const Request& request) {
  if (request.gpu_tflops) return request.gpu_tflops;
  if (!request.gpu) return std::nullopt;
  for (const Peak& row : kPeaks) {
    if (!request.gpu->starts_with(row.name)) continue;
    const std::string_view rest = std::string_view(*request.gpu).substr(row.name.size());
    // "h100-80gb" is one, "rtx-3090-ti" is another card.
    if (rest.empty() || (rest.front() == '-' && rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9')) return row.tflops;
  }
  return std::nullopt;
}

double bandwidth_of(const Request& request) {
  if (request.gpu_bandwidth) return *request.gpu_bandwidth;
  return request.gpu ? parse_gpu(*request.gpu).bandwidth_gb_s : 0;
}

double real(Bytes bytes) {
  return static_cast<double>(bytes.count());
}

// Entries that a token at the end of `tokens` tokens attends to, at most.
std::uint64_t attended(const Mixer& mixer, const Term& term, Tokens tokens, Tokens source_tokens) {
  const std::uint64_t entries = term.entries(tokens, source_tokens);
  const bool indexed = term.role == Role::kIndex || term.limit.kind != LimitKind::kNone;
  if (const auto* sparse = std::get_if<SparseMla>(&mixer); sparse != nullptr && !indexed && sparse->index_topk > 0)
    return std::min(entries, sparse->index_topk);
  // How many entries these choose is not in the model: none at all keeps the bound a bound.
  if (const auto* compressed = std::get_if<Compressed>(&mixer);
      compressed != nullptr && !indexed && compressed->index_head_dim > 0 && term.role != Role::kState)
    return 0;
  if (std::holds_alternative<SparseGqa>(mixer) && !indexed) return 0;
  return entries;
}

// One step's reading of a layer's cache, of one sequence and one rank.
Bytes layer_read(const Mixer& mixer, const CacheTypes& types, const Load& load, std::uint64_t ranks) {
  Bytes out;
  for (const Term& term : cache_terms(mixer)) {
    const std::uint64_t units = ceil_div(term.shape.units, ranks);
    const std::uint64_t columns = term.shape.columns > 0 ? term.shape.columns - 1 : 0;
    const Bytes entry = entry_bytes(term, types, units, columns);
    const bool rewritten = term.growth == Growth::kSequence;
    out += entry * attended(mixer, term, load.tokens_of_sequence(), load.source_tokens) * (rewritten ? 2 : 1);
  }
  return out;
}

Bytes cache_read(const ModelSpec& model, const Plan& plan) {
  Bytes out;
  const std::uint64_t ranks = plan.request.tensor_parallel;
  for (const LayerGroup& group : plan.groups) {
    const Mixer* mixer = group.mixer;
    if (const auto* shared = std::get_if<Shared>(mixer)) {
      if (shared->source_layer >= model.layers.size() || model.layers[shared->source_layer].mixers.empty()) continue;
      mixer = &model.layers[shared->source_layer].mixers.front();
    }
    out += layer_read(*mixer, plan.types, plan.load, ranks) * group.indices.size();
  }
  return out;
}

double entries_sum(double tokens, double limit, double stride) {
  const double grown = limit > 0 ? std::min(tokens, limit) : tokens;
  return (grown * (grown + 1) / 2 + (tokens - grown) * grown) / stride;
}

// Multiply-adds of attention over a whole prompt: each position attends to those before it.
double attention_macs(const Plan& plan) {
  const auto tokens = static_cast<double>(plan.load.tokens_of_sequence().count());
  double out = 0;
  for (const LayerGroup& group : plan.groups) {
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
    out += static_cast<double>(macs_per_entry(mixer)) * entries * static_cast<double>(group.indices.size());
  }
  return out;
}

class Step {
 public:
  Step(const ModelSpec& model, const RankWeights& weights, Bytes cache)
      : always_(real(weights.read_always)), experts_(real(weights.experts)), cache_(real(cache)) {
    const ExpertShape& shape = model.experts;
    if (shape.count > 0 && shape.used <= shape.count)
      missed_ = 1 - static_cast<double>(shape.used) / static_cast<double>(shape.count);
  }
  double weights(std::uint64_t sequences) const { return always_ + experts_ * (1 - power(missed_, sequences)); }
  double bytes(std::uint64_t sequences) const { return weights(sequences) + static_cast<double>(sequences) * cache_; }

  // The fewest sequences whose caches are as much to read as the weights: the difference is convex and starts below 0.
  std::optional<std::uint64_t> crossing() const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
    const auto outweighs = [&](std::uint64_t n) { return static_cast<double>(n) * cache_ >= weights(n); };
    if (cache_ <= 0 || !outweighs(kMost)) return std::nullopt;
    std::uint64_t low = 0;
    std::uint64_t high = kMost;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (outweighs(middle) ? high : low) = middle;
    }
    return high;
  }

 private:
  double always_, experts_, cache_;
  double missed_ = 0;  // the chance that a token does not choose an expert
};

}  // namespace

double prefill_flops(const ModelSpec& model, const Plan& plan) {
  if (model.tensors.empty()) return 0;
  Elements passed;
  for (const TensorGroup& group : model.tensors) {
    switch (group.component) {
      case Component::kEmbedding:
      case Component::kLmHead:
      case Component::kEncoder:
      case Component::kVision:
      case Component::kAudio:
      case Component::kProjector:
      case Component::kMtp: break;
      default: passed += group.active();
    }
  }
  const auto length = static_cast<double>(plan.load.tokens_of_sequence().count());
  const double head = static_cast<double>(model.vocab_size) * static_cast<double>(model.hidden_size);
  return 2 * (static_cast<double>(passed.count()) * length + head + attention_macs(plan));
}

std::optional<Roofline> roofline_of(const ModelSpec& model, const Plan& plan, const RankWeights& weights) {
  const double gb_s = bandwidth_of(plan.request);
  if (gb_s <= 0 || !weights.is_known || weights.read_always == Bytes(0)) return std::nullopt;
  const double bandwidth = gb_s * 1e9;
  const auto stages = static_cast<double>(plan.request.pipeline_parallel);
  const auto ranks = static_cast<double>(plan.request.tensor_parallel);
  const auto copies = static_cast<double>(plan.request.data_parallel);
  const auto batch = static_cast<double>(plan.load.num_seqs);
  Roofline out;
  out.bandwidth_gb_s = gb_s;
  out.num_seqs = plan.request.num_seqs;
  out.cache_read = cache_read(model, plan);
  const Step step(model, weights, out.cache_read);
  out.weights_read = Bytes(static_cast<std::uint64_t>(step.weights(1)));
  out.weights_read_batch = Bytes(static_cast<std::uint64_t>(step.weights(plan.load.num_seqs)));
  out.tokens_per_s_empty = bandwidth / step.weights(1);
  out.tokens_per_s = bandwidth / step.bytes(1);
  out.tokens_per_s_batch = copies * batch * bandwidth * std::min(stages, batch) / step.bytes(plan.load.num_seqs);
  out.cache_outweighs_at = step.crossing();
  out.prefill_flops = prefill_flops(model, plan);
  out.tflops = peak_of(plan.request);
  if (out.tflops && out.prefill_flops > 0)
    out.first_token_s =
        std::max(out.prefill_flops / (*out.tflops * 1e12 * ranks * stages), step.weights(1) / (bandwidth * stages));
  return out;
}

}  // namespace kvplan
