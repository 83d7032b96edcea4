#include "plan/plan_cache.h"

#include <algorithm>

#include "plan/steps.h"

namespace kvplan {

constexpr std::size_t kMostLaidOut = 64;
constexpr std::size_t kMostWeighed = 64;
constexpr std::size_t kMostTypes = 32;

// The request without the fields that affect no layout: the length of a sequence, and the verdict's limits.
static Request without_length(Request request) {
  request.max_model_len.reset();
  request.llama_cpp.ctx_size.reset();
  request.limits.max_vram.reset();
  request.limits.min_context.reset();
  request.limits.min_seqs.reset();
  return request;
}

// The request without the fields that affect no weights. Requests that differ in another field have separate weights.
static Request of_weights(const Request& request) {
  Request out = without_length(request);
  const Request none;
  out.num_seqs = none.num_seqs;
  out.max_num_seqs = none.max_num_seqs;
  out.encoder_len = none.encoder_len;
  out.seq_lens = none.seq_lens;
  out.avg_len = none.avg_len;
  out.shared_prefix = none.shared_prefix;
  out.cache_type_k = none.cache_type_k;
  out.cache_type_v = none.cache_type_v;
  out.state_dtype = none.state_dtype;
  out.block_size = none.block_size;
  out.parallel.given = none.parallel.given;
  if (engine_of(request).loading.mxfp4_layout == nullptr && engine_of(request).loading.makes_by == nullptr)
    out.card.gpu = none.card.gpu;  // a GPU's kernels may pad weights
  // An indexer's buffer is as long as a batch, and the default batch depends on the GPU.
  if (engine_of(request).loading.side_tensors == nullptr) {
    out.card.memory = none.card.memory;
    out.max_num_batched_tokens = none.max_num_batched_tokens;
  }
  out.card.note = none.card.note;
  out.card.count = none.card.count;
  out.card.count_given = none.card.count_given;
  out.memory_utilization = none.memory_utilization;
  out.kv_cache_memory_bytes = none.kv_cache_memory_bytes;
  return out;
}

PlanCache::PlanCache(const ModelSpec& model)
    : model_(&model), attention_(model_attention(model)), groups_(group_layers(model)), facts_(facts_of(model)) {}

const PlanCache::OfEngine* PlanCache::made(const Request& request) {
  const Engine& engine = engine_of(request);
  const bool has_own_file = engine.loading.reads_quant_file_first && model_->quant_file;
  if ((engine.loading.make_tensors == nullptr && !has_own_file) || model_->is_gguf) return nullptr;
  const std::string by = engine.loading.makes_by == nullptr ? "" : engine.loading.makes_by(request);
  for (const OfEngine& known : made_)
    if (known.engine == engine.name && known.by == by) return &known;
  OfEngine& fresh = made_.emplace_back(OfEngine{engine.name, by, as_made(*model_, request), facts_});
  if (engine.loading.counts_made) fresh.facts = facts_of(fresh.model);
  return &fresh;
}

const ModelSpec& PlanCache::model(const Request& request) {
  const OfEngine* own = made(request);
  return own == nullptr ? *model_ : own->model;
}

const std::shared_ptr<const ModelFacts>& PlanCache::facts(const Request& request) {
  const OfEngine* own = made(request);
  return own == nullptr ? facts_ : own->facts;
}

const PlanCache::LaidOut& PlanCache::laid_out(const Request& request) {
  Request key = without_length(request);
  key.weights.reset();
  key.parallel.given = key.card.count_given = false;  // a layout that was chosen equals one that was given
  for (auto known = laid_out_.begin(); known != laid_out_.end(); ++known) {
    if (known->key != key) continue;
    laid_out_.splice(laid_out_.begin(), laid_out_, known);
    const std::optional<Bytes> card = known->input.request.card.memory;
    known->input.request = request;
    known->input.request.card.memory = card;
    return *known;
  }
  const EngineInput* same_model = laid_out_.empty() ? nullptr : &laid_out_.front().input;
  LaidOut& fresh = laid_out_.emplace_front(
      LaidOut{std::move(key), engine_input(model(request), request, same_model), nullptr, {}, {}});
  try {
    fresh.layout = engine_of(request).layout(fresh.input, fresh.notes);
    fresh.doubts = doubts_of(fresh.input);
  } catch (...) {
    laid_out_.pop_front();  // removes the entry of an engine that refuses
    throw;
  }
  if (laid_out_.size() > kMostLaidOut) laid_out_.pop_back();
  return fresh;
}

const Weigher& PlanCache::weigher(const Request& request) {
  const ModelSpec& own = model(request);
  const std::optional<Dtype> dtype = loaded_dtype(request, own.known_as->traits, own.dtype);
  const std::optional<std::string> type = asked_weights(own, request);
  for (const OfType& known : weighers_)
    if (known.model == &own && known.type == type && known.dtype == dtype) return known.weigher;
  if (weighers_.size() == kMostTypes) weighers_.pop_back();
  // An engine may change a model's tensors, but only the types of its quantization.
  const auto like = std::find_if(weighers_.begin(), weighers_.end(), [](const OfType& known) { return !known.type; });
  // Emplaced, because a weigher must not be moved.
  return weighers_.emplace_front(own, type, dtype, like == weighers_.end() ? nullptr : &like->weigher).weigher;
}

const PlanCache::Weighed& PlanCache::weighed(const Request& request) {
  Request key = of_weights(request);
  for (auto known = weighed_.begin(); known != weighed_.end(); ++known) {
    if (known->key != key) continue;
    weighed_.splice(weighed_.begin(), weighed_, known);
    return *known;
  }
  Weighed fresh{std::move(key), {}, {}};
  fresh.weights = rank_weights(model(request), weigher(request), request, fresh.notes);
  weighed_.push_front(std::move(fresh));
  if (weighed_.size() > kMostWeighed) weighed_.pop_back();
  return weighed_.front();
}

}  // namespace kvplan
