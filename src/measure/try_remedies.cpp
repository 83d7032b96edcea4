// Plans the remedies for a log. If the model is available and the log gives the GPU's memory, each remedy says whether
// the engine starts with it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "measure/diagnosis.h"
#include "plan/plan.h"

namespace kvplan {

// The request with the remedy applied; nothing for a remedy that is not an option of plans.
static std::optional<Request> changed(Request request, const LogRemedy& remedy) {
  const std::uint64_t count = whole_number(remedy.value).value_or(0);
  double share = 0;
  const bool is_share = parse_real(remedy.value, share).ec == std::errc() && share > 0 && share <= 1;
  const auto made = [&](bool is_valid) { return is_valid ? std::optional(request) : std::nullopt; };
  switch (remedy.cure) {
    case LogCure::kShorterLength:
    case LogCure::kLongerContext:
      request.max_model_len = Tokens(count);
      request.llama_cpp.ctx_size.reset();
      return made(count > 0);
    case LogCure::kLargerShare:
    case LogCure::kSmallerShare: request.memory_utilization = share; return made(is_share);
    case LogCure::kSmallerCacheType:
      request.cache_type_k = request.cache_type_v = find_dtype(remedy.value);
      return made(request.cache_type_k.has_value());
    case LogCure::kMoreRanks:
    case LogCure::kRanksThatDivide:
      request.parallel.tensor = count;
      request.parallel.given = true;
      return made(count > 0 && count <= 4096);
    case LogCure::kSmallerBatch:
      if (log_of(engine_of(request)).by_device)
        request.llama_cpp.n_ubatch = count;
      else
        request.max_num_batched_tokens = Tokens(count);
      return made(count > 0);
    case LogCure::kFewerSequences: request.max_num_seqs = count; return made(count > 0);
    case LogCure::kFewerLayersOnGpu:
      request.llama_cpp.gpu_layers = count;
      return made(whole_number(remedy.value).has_value());
    case LogCure::kNoGraphs: request.enforce_eager = true; return request;
    default: return std::nullopt;
  }
}

// Values to try if the log gives none, smallest change first.
static std::vector<std::string> values_for(LogCure cure, const Plan& plan) {
  std::vector<std::string> out;
  const auto halves = [&](std::uint64_t now, std::uint64_t least) {
    for (now /= 2; now >= least; now /= 2) out.push_back(std::to_string(now));
  };
  constexpr std::uint64_t kLeastLength = 256, kLeastRows = 32, kLeastBatch = 256;
  switch (cure) {
    case LogCure::kShorterLength: halves(plan.load.max_model_len.count(), kLeastLength); break;
    case LogCure::kSmallerBatch:
      if (plan.settings.n_ubatch)
        halves(*plan.settings.n_ubatch, kLeastRows);
      else if (plan.settings.max_num_batched_tokens)
        halves(*plan.settings.max_num_batched_tokens, kLeastBatch);
      break;
    case LogCure::kFewerSequences:
      if (plan.settings.max_num_seqs) halves(*plan.settings.max_num_seqs, 1);
      break;
    case LogCure::kLargerShare: out = {"0.93", "0.95", "0.97"}; break;
    case LogCure::kFewerLayersOnGpu:
      for (std::uint64_t eighths = 7; eighths > 0; --eighths)
        out.push_back(std::to_string(plan.model->num_layers * eighths / 8));
      break;
    default: break;
  }
  return out;
}

// Whether the engine starts with the remedy. If that is unknown, whether the plan fits.
static bool fits(const ModelSpec& model, const Request& request) {
  try {
    const Plan plan = make_plan(model, request);
    return plan.verdict.starts.value_or(plan.verdict.holds());
  } catch (const Error& error) {
    take_as_misfit(error);
    return false;
  }
}

static std::optional<Bytes> card_of(const LogReading& reading, const Diagnosis& diagnosis) {
  constexpr double kMost = 1e6;
  for (const Observation& seen : reading.observations)
    if (seen.what == "gpu_memory" && seen.value > 0 && seen.value < kMost)
      return Bytes(static_cast<std::uint64_t>(seen.value * kGiB));
  const LogValue* total = diagnosis.cause ? diagnosis.cause->value("total") : nullptr;
  if (total == nullptr || total->unit != LogUnit::kGibibytes || !(total->value > 0 && total->value < kMost))
    return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(total->value * kGiB));
}

void try_remedies(const ModelSpec& model, const Request& base, const LogReading& reading, Diagnosis& diagnosis) {
  if (diagnosis.remedies.empty()) return;
  Request request = request_of_log(reading, base);
  if (!request.card.gpu && !request.card.memory) request.card.memory = card_of(reading, diagnosis);
  if (!request.card.gpu && !request.card.memory) return;
  std::optional<Plan> plan;
  try {
    plan = make_plan(model, request);
  } catch (const Error& error) {
    take_as_misfit(error);  // the engine refuses the request even without a remedy
  }
  for (LogRemedy& remedy : diagnosis.remedies) {
    if (const std::optional<Request> with = changed(request, remedy)) {
      remedy.fits = fits(model, *with);
      continue;
    }
    if (!plan || !remedy.value.empty()) continue;
    LogRemedy tried = remedy;
    for (const std::string& value : values_for(remedy.cure, *plan)) {
      tried.value = value;
      const std::optional<Request> with = changed(request, tried);
      if (!with || !fits(model, *with)) continue;
      tried.fits = true;
      remedy = tried;
      break;
    }
  }
  // If at least one remedy helps, the others are left out.
  std::vector<LogRemedy>& all = diagnosis.remedies;
  if (std::any_of(all.begin(), all.end(), [](const LogRemedy& one) { return one.fits.value_or(false); }))
    std::erase_if(all, [](const LogRemedy& one) { return !one.fits.value_or(true); });
}

}  // namespace kvplan
