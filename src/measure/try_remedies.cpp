// Remedies of a log, planned: whether the engine starts with each, where the model is at hand and the log tells the
// card's memory.
#include <cstdint>
#include <optional>
#include <string>

#include "kvplan/error.h"
#include "kvplan/numbers.h"
#include "measure/check_log.h"
#include "measure/diagnosis.h"

namespace kvplan {

namespace {

// The request with the remedy in it; nothing for one that a plan does not know.
std::optional<Request> changed(Request request, const LogRemedy& remedy) {
  const std::optional<std::uint64_t> count = whole_number(remedy.value);
  double share = 0;
  const bool is_share = parse_real(remedy.value, share).ec == std::errc() && share > 0 && share <= 1;
  switch (remedy.cure) {
    case LogCure::kShorterLength:
    case LogCure::kLongerContext:
      if (!count || *count == 0) return std::nullopt;
      request.max_model_len = Tokens(*count);
      request.ctx_size.reset();
      return request;
    case LogCure::kLargerShare:
    case LogCure::kSmallerShare:
      if (!is_share) return std::nullopt;
      request.memory_utilization = share;
      return request;
    case LogCure::kSmallerCacheType:
      request.cache_type_k = request.cache_type_v = find_dtype(remedy.value);
      if (!request.cache_type_k) return std::nullopt;
      return request;
    case LogCure::kMoreRanks:
    case LogCure::kRanksThatDivide:
      if (!count || *count == 0 || *count > 4096) return std::nullopt;
      request.tensor_parallel = *count;
      request.layout_given = true;
      return request;
    case LogCure::kSmallerBatch:
      if (!count || *count == 0) return std::nullopt;
      if (remedy.option == "-ub")
        request.ubatch = *count;
      else
        request.max_num_batched_tokens = Tokens(*count);
      return request;
    case LogCure::kFewerSequences:
      if (!count || *count == 0) return std::nullopt;
      request.max_num_seqs = *count;
      return request;
    case LogCure::kNoGraphs: request.enforce_eager = true; return request;
    default: return std::nullopt;
  }
}

std::optional<Bytes> card_of(const LogReading& reading, const Diagnosis& diagnosis) {
  constexpr double kMost = 1e6;
  for (const Observation& seen : reading.observations)
    if (seen.what == "gpu_memory" && seen.value > 0 && seen.value < kMost)
      return Bytes(static_cast<std::uint64_t>(seen.value * kGiB));
  const LogValue* total = diagnosis.cause ? diagnosis.cause->value("total") : nullptr;
  if (total == nullptr || total->unit != LogUnit::kGibibytes || !(total->value > 0 && total->value < kMost))
    return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(total->value * kGiB));
}

}  // namespace

void try_remedies(const ModelSpec& model, const Request& base, const LogReading& reading, Diagnosis& diagnosis) {
  if (diagnosis.remedies.empty()) return;
  Request request = request_of_log(reading, base);
  if (!request.gpu && !request.gpu_memory) request.gpu_memory = card_of(reading, diagnosis);
  if (!request.gpu && !request.gpu_memory) return;
  for (LogRemedy& remedy : diagnosis.remedies) {
    const std::optional<Request> with = changed(request, remedy);
    if (!with) continue;
    try {
      const Plan plan = make_plan(model, *with);
      remedy.fits = plan.verdict.starts ? plan.verdict.starts : std::optional(plan.verdict.status == Verdict::kFits);
    } catch (const Error& error) {
      take_as_misfit(error);
      remedy.fits = false;
    }
  }
}

}  // namespace kvplan
