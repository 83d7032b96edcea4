#include "report/pages/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "kvplan/strings.h"
#include "report/words.h"

namespace kvplan {

namespace {

using enum LogEventId;

// One of several sentences for an event. The first one that has a value for every hole is used.
struct Sentence {
  LogEventId id;
  std::string_view text;
};
constexpr Sentence kCauses[] = {
    {kCacheTooSmall, "one sequence of {max_model_len} needs {needed} of KV cache, but only {available} is left"},
    {kCacheTooSmall, "one sequence needs {needed} of KV cache, but only {available} is left"},
    {kCacheTooSmall, "the KV cache fits {longest}, but one sequence may have {max_model_len}"},
    {kNoCacheMemory, "weights leave nothing for the KV cache within {share} of the GPU"},
    {kNoCacheMemory, "nothing is left for the KV cache"},
    {kFreeMemoryShort, "{free} of {total} is free at the start, but the engine needs {wanted} ({share} of the GPU)"},
    {kOutOfMemory, "the engine requested {wanted} more, but the GPU has only {free} of {total} free"},
    {kOutOfMemory, "the GPU had no memory for {wanted} more"},
    {kOutOfMemory, "the GPU ran out of memory for {sequences} at once"},
    {kOutOfMemory, "the GPU ran out of memory"},
    {kGraphsFailed, "graphs could not be captured: {reason}"},
    {kGraphsFailed, "graphs could not be captured"},
    {kComputeFailed, "weights ({weights}) and KV cache ({kv}) fit, but the compute buffer of {wanted} does not"},
    {kComputeFailed, "weights and KV cache fit, but the compute buffer of {wanted} does not"},
    {kComputeFailed, "the compute buffer does not fit"},
    {kCacheFailed, "weights ({weights}) fit, but the KV cache of {wanted} does not"},
    {kCacheFailed, "the KV cache of {wanted} does not fit"},
    {kCacheFailed, "the KV cache does not fit"},
    {kWeightsFailed, "the weights of {device} ({wanted}) do not fit"},
    {kWeightsFailed, "the weights of {device} do not fit"},
    {kBufferFailed, "a buffer of {wanted} could not be allocated"},
    {kBufferLimit, "the driver cannot allocate a buffer of {wanted} in one piece, even if more memory is free"},
    {kBufferLimit, "a buffer is larger than the driver allocates in one piece, even if more memory is free"},
    {kWeightsLimit,
     "the driver cannot allocate a tensor or buffer of the weights ({wanted}) in one piece, even if more memory is "
     "free"},
    {kWeightsLimit,
     "a tensor of the weights is larger than the driver allocates in one piece, even if more memory is free"},
    {kFitFailed,
     "{weights} of weights ({self} in all) go to {device}, which has {free} free; llama.cpp could not make it fit: "
     "{reason}"},
    {kFitFailed, "{needed} is needed, but only {available} is free; llama.cpp could not make it fit: {reason}"},
    {kFitFailed, "llama.cpp could not make it fit: {reason}"},
    {kFitFailed, "llama.cpp could not make it fit"},
    {kDoesNotFitDevices, "the model is {missing} larger than {devices} together"},
    {kDoesNotFitDevices, "the model does not fit on {devices}"},
    {kComponentFailed, "{component} did not fit: {free} of {total} was free"},
    {kComponentFailed, "a part of the executor did not fit"},
    {kTooManySequences, "the command allows {sequences} sequences, but the memory only fits the states of {blocks}"},
    {kCacheTooSmall, "the KV cache fits {longest}, less than one sequence"},
    {kCacheTooSmall, "the KV cache is smaller than one sequence"},
    {kMemoryUnbalanced, "free memory changed ({before} and {here}): another process started or ended"},
    {kMemoryUnbalanced, "free memory differs: another process started or ended, or uses one of the GPUs"},
    {kHostOutOfMemory, "the model needs {needed} of main memory, but only {available} is available"},
    {kHostOutOfMemory, "main memory ran out: {wanted} more could not be allocated"},
    {kHostOutOfMemory, "the machine ran out of main memory (RAM), not the GPU"},
    {kExited, "the process ended with exit code {code}"},
    {kLeak, "the engine's own check of its pools failed: a bug in the engine, not a lack of memory"},
    {kNoBfloat16,
     "the model is in bfloat16, which needs compute capability {least}; {card} has {capability}; not memory"},
    {kQuantizationNeedsCard,
     "{method} needs compute capability {least} in this release; the GPU has {capability}; not memory"},
    {kNoAttentionBackend, "no attention backend of this release supports the model on this GPU: {reasons}; not memory"},
    {kNoAttentionBackend, "no attention backend of this release supports the model on this GPU; not memory"},
    {kBlockDoesNotDivide,
     "tensor parallelism leaves each rank a width of {width}, which is not a multiple of the quantization block "
     "{block}; not memory"},
    {kHeadsDoNotDivide, "{heads} attention heads cannot be split over {ranks} ranks; not memory"},
    {kLengthBeyondModel,
     "the command sets {max_model_len}, but the model's config allows {longest}; not a memory problem"},
    {kBatchBelowLength,
     "chunked prefill is off, so a batch ({batch}) must fit a whole sequence ({max_model_len}); not a memory "
     "problem"},
    {kTooFewCards, "the command needs {ranks} GPUs, but this machine has {cards}; not a memory problem"},
    {kCacheTypeNeedsFlash, "a quantized V cache needs flash attention, which is off; not memory"},
    {kNoKernel, "this build has no kernels for the GPU's compute capability; not memory"},
    {kSharedMemory,
     "a kernel needs {required} of on-chip shared memory, but the GPU has {limit}; this is not GPU memory"},
    {kUnknownArchitecture, "this release does not know the architecture {architecture}; not memory"},
    {kRaised, "{kind}: {reason}"},
    {kRaised, "{reason}"},
    {kDied, "the engine gave up: {reason}"},
    {kDied, "the engine gave up, and the log does not say why"},
    {kSpilled, "the GPU has {on}, but the model has {all}: the rest runs on the CPU"},
    {kRequestTooLong, "the engine refused or cut a request of {asked}: its limit is {longest}; it keeps running"},
    {kRequestTooLong, "a request was too long; the engine keeps running"},
    {kPreempted, "the KV cache is full: requests are preempted and computed again ({preemptions} so far)"},
    {kPreempted, "the KV cache is full: {retracted} of the requests were retracted and are computed again"},
    {kPreempted, "the KV cache is full: requests are retracted and computed again"},
};

constexpr Sentence kEventWords[] = {
    {kFitFailed, "-fit gave up: {reason}"},
    {kRetried,
     "the first compute buffer was too large; llama.cpp retried without pipeline parallelism, which is normal"},
    {kFitReduced, "the engine shortened the context from {before} to {after}"},
    {kFlashForcedOff, "{model} cannot use flash attention: it was switched off"},
    {kSpilled, "the GPU has {on}, the model has {all}"},
    {kNoGpu, "no GPU was found: it runs on the CPU"},
    {kStarted, "it started, {slots} with {longest} each"},
    {kStarted, "it started"},
    {kTraffic, "{running} requests run, {waiting} wait, {usage} of the KV cache is used, prefix hits {hits}"},
    {kTraffic, "{running} requests run, {waiting} wait, {usage} of the KV cache is used"},
    {kTraffic, "{running} requests run in {slots} slots, {waiting} wait"},
    {kTraffic, "{running} requests run, {waiting} wait"},
    {kRequestTooLong, "the engine refused or cut a request of {asked}: its limit is {longest}"},
    {kPreempted, "requests are preempted and computed again ({preemptions} so far)"},
};

std::string value_text(const LogValue& value) {
  if (value.text.empty()) return fmt::format("{:.2f} {}", value.value, unit_name(value.unit));  // a computed one
  if (value.unit == LogUnit::kBytes) {
    constexpr double kLarge = 1 << 20;
    const std::string bytes = value.text + " bytes";
    if (value.value < kLarge) return bytes;
    return fmt::format("{} ({:.2f} GiB)", bytes, value.value / (1024.0 * 1024 * 1024));
  }
  const std::string_view unit = unit_name(value.unit);
  double printed = value.value;
  parse_real(value.text, printed);
  // A value that the log prints in another unit: "31457280kB".
  if (std::abs(printed - value.value) > 1e-6 * std::abs(printed) && value.text.find(',') == std::string::npos) {
    constexpr double kMany = 1024;
    const bool is_large = value.unit == LogUnit::kMebibytes && value.value >= kMany;
    return fmt::format("{:.2f} {}", is_large ? value.value / kMany : value.value, is_large ? "GiB" : unit);
  }
  if (unit.empty() || value.unit == LogUnit::kShare) return value.text;
  if (value.unit == LogUnit::kSequences) return value.text;
  std::string_view text = value.text;
  if (value.unit == LogUnit::kTokens && text.ends_with(".0")) text.remove_suffix(2);
  return std::string(text) + " " + std::string(unit);
}

std::optional<std::string> filled(std::string_view text, const LogEvent& event) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    const LogValue* value = event.value(text.substr(open + 1, close - open - 1));
    if (value == nullptr || (value->text.empty() && value->unit == LogUnit::kCount)) return std::nullopt;
    out += value_text(*value);
    text.remove_prefix(close + 1);
  }
  return out;
}

// The row's own words, or else those of the event's class.
template <std::size_t count>
std::string sentence_of(const Sentence (&table)[count], const LogEvent& event) {
  if (!event.meaning.empty())
    if (auto text = filled(event.meaning, event)) return *text;
  for (const Sentence& one : table)
    if (one.id == event.id)
      if (auto text = filled(one.text, event)) return *text;
  return "";
}

double figure_of(const Diagnosis& diagnosis, std::string_view name) {
  for (const LogValue& value : diagnosis.figures)
    if (value.name == name) return value.value;
  return 0;
}

// Which requests wait and for what, by the scheduler's newest line.
std::string traffic_text(const Diagnosis& diagnosis) {
  const LogEvent& event = *diagnosis.cause;
  const LogValue* usage = event.value("usage");
  std::string out = sentence_of(kEventWords, event);
  if (const double tokens = figure_of(diagnosis, "tokens_per_request"); usage == nullptr && tokens > 0)
    return out + fmt::format(": a request has {} tokens on average, and the cache fits about {:.0f} of them at once",
                             grouped(static_cast<std::uint64_t>(tokens)), figure_of(diagnosis, "room_for"));
  if (usage == nullptr) return out;
  constexpr double kFull = 0.9;
  const double share = usage->unit == LogUnit::kPercent ? usage->value / 100 : usage->value;
  out += share < kFull ? ": they wait for prefill or the scheduler's cap, not for KV cache"
                       : ": the KV cache is full and requests wait for it";
  if (const double room = figure_of(diagnosis, "room_for"); room > 0)
    out += fmt::format("; one request takes {:.2f} % of it, so about {:.0f} fit at once",
                       figure_of(diagnosis, "usage_per_request"), room);
  if (const double tokens = figure_of(diagnosis, "tokens_per_request"); tokens > 0)
    out += fmt::format(", of {} tokens on average", grouped(static_cast<std::uint64_t>(tokens)));
  return out;
}

struct CureWords {
  LogCure cure;
  std::string_view noun;  // for changes that are not options
  std::string_view effect;
  std::string_view with_figure = "";  // the effect if the figure is known
};
constexpr CureWords kCures[] = {
    {LogCure::kShorterLength, "a shorter context", "a smaller KV cache and smaller buffers",
     "one sequence of {} tokens fits"},
    {LogCure::kLargerShare, "a larger fraction of the GPU", "gives the KV cache the missing memory", "at least {:.4f}"},
    {LogCure::kSmallerShare, "a smaller fraction of the GPU", "leaves memory outside the cache",
     "lower by {:.2f}: leaves memory outside the cache"},
    {LogCure::kSmallerCacheType, "", "half the KV cache per token"},
    {LogCure::kPlainCacheType, "", "a KV cache type that every kernel supports"},
    {LogCure::kMoreRanks, "more GPUs", "splits weights and cache", "splits weights and cache over {} GPUs"},
    {LogCure::kRanksThatDivide, "fewer ranks", "a number of ranks that divides the model evenly"},
    {LogCure::kPipelineInstead, "", "splits layers instead of heads"},
    {LogCure::kWholeExperts, "", "whole experts on each GPU, so no block is split"},
    {LogCure::kSmallerBatch, "a smaller batch", "smaller activations and compute buffers"},
    {LogCure::kLargerBatch, "", "a prefill step takes more tokens"},
    {LogCure::kChunkedPrefill, "", "a long prompt is processed in pieces"},
    {LogCure::kFewerSequences, "fewer sequences at once", "less memory for logits, graphs and cache",
     "as many such requests as the KV cache fits"},
    {LogCure::kFewerImages, "", "fewer images per prompt make the encoder's pass smaller"},
    {LogCure::kFlashAttention, "enable flash attention (install it if needed)",
     "without it the whole score matrix is stored"},
    {LogCure::kNoGraphs, "", "no graphs are captured; decoding gets slower"},
    {LogCure::kFreeTheCard, "stop other programs on the GPU", "", "other processes use {:.2f} GiB of this GPU"},
    {LogCure::kFixedCache, "", "a cache of a fixed size, whatever the GPU reports"},
    {LogCure::kSmallerWeights, "a smaller weight type (a quantized checkpoint)", "weights are the largest part"},
    {LogCure::kOtherWeights, "another quantization (GPTQ, AWQ) or 16 bit", "with kernels for this GPU"},
    {LogCure::kAcrossNodes, "", "ranks on several nodes"},
    {LogCure::kRanksForBlocks, "fewer ranks", "", "each rank then gets {}, in whole blocks"},
    {LogCure::kFewerLayersOnGpu, "", "moves layers to main memory, which is slower"},
    {LogCure::kOtherSplit, "", "another split moves layers to the GPU with free memory"},
    {LogCure::kFitByItself, "leave out", "llama.cpp then chooses how many layers are on the GPU"},
    {LogCure::kFloat16, "", "a type that the GPU supports"},
    {LogCure::kLongerByOverride, "", "only if the model supports that length"},
    {LogCure::kLongerContext, "a longer context", "long enough for the request, if memory allows"},
    {LogCure::kShorterInput, "a shorter input", "or split it"},
    {LogCure::kOtherKernels, "another kernel backend, or its config for this GPU", "its tiles need less shared memory"},
    {LogCure::kOtherBuild, "a build for this GPU", "with its compute capability or backend"},
    {LogCure::kNewerRelease, "a newer release of the engine", ""},
    {LogCure::kOtherCard, "another GPU, or more GPUs", ""},
    {LogCure::kMoreHostMemory, "more main memory (or a higher container limit)", ""},
    {LogCure::kAsTheLogSays, "", "the log's advice"},
    {LogCure::kNothing, "no memory problem yet", "", "the cache will be full at about {} sequences"},
};

const CureWords& words_of(LogCure cure) {
  for (const CureWords& words : kCures)
    if (words.cure == cure) return words;
  return kCures[0];
}

}  // namespace

std::string cause_text(const Diagnosis& diagnosis) {
  if (!diagnosis.cause) return "";
  if (diagnosis.cause->id == kTraffic) return traffic_text(diagnosis);
  if (diagnosis.cause->id == kExited)
    if (const LogValue* code = diagnosis.cause->value("code");
        code != nullptr && (code->text == "137" || code->text == "-9"))
      return "the process was killed (exit code " + code->text +
             "): most likely the machine ran out of main memory (RAM); GPU options do not help";
  std::string out = sentence_of(kCauses, *diagnosis.cause);
  if (out.empty()) out = diagnosis.cause->words;
  if (!diagnosis.cause->meaning.empty()) return out;
  if (diagnosis.cause->id == kOutOfMemory || diagnosis.cause->id == kGraphsFailed)
    if (const std::string_view phase = phase_text(diagnosis.phase); !phase.empty()) out += ", " + std::string(phase);
  const LogValue* wanted = diagnosis.cause->value("wanted");
  const LogValue* free = diagnosis.cause->value("free");
  if (diagnosis.cause->id == kOutOfMemory && wanted != nullptr && free != nullptr && !diagnosis.missing)
    out += ": the GPU reports it as free, but the system does not provide it (unified memory)";
  return out;
}

std::string event_text(const LogEvent& event) {
  return sentence_of(kEventWords, event);
}

std::string cure_option(const LogRemedy& remedy) {
  if (remedy.cure == LogCure::kOther || remedy.cure == LogCure::kAsTheLogSays) return one_line(remedy.option, 200);
  if (remedy.cure == LogCure::kFitByItself) return "without " + remedy.option;
  if (remedy.option.empty()) return std::string(words_of(remedy.cure).noun);
  const bool is_variable = remedy.option.starts_with("OLLAMA_") || remedy.option.starts_with("VLLM_CPU");
  if (remedy.value.empty()) return remedy.option;
  return remedy.option + (is_variable ? "=" : " ") + remedy.value;
}

std::string cure_effect(const LogRemedy& remedy) {
  if (remedy.cure == LogCure::kOther) return remedy.effect;
  const CureWords& words = words_of(remedy.cure);
  std::string out(words.effect);
  if (remedy.figure && words.with_figure.find("{}") != std::string_view::npos)
    out = fmt::format(fmt::runtime(words.with_figure),
                      grouped(static_cast<std::uint64_t>(std::clamp(*remedy.figure, 0.0, 1e15))));
  else if (remedy.figure && !words.with_figure.empty())
    out = fmt::format(fmt::runtime(words.with_figure), *remedy.figure);
  if (remedy.fits)
    out += std::string(out.empty() ? "" : "; ") + (*remedy.fits ? "planned: fits" : "planned: not enough");
  return out;
}

std::string_view verdict_title(LogVerdict verdict) {
  switch (verdict) {
    case LogVerdict::kStarted: return "STARTED";
    case LogVerdict::kAsPlanned: return "STARTED AS PLANNED";
    case LogVerdict::kLessRoom:
    case LogVerdict::kMoreRoom:
    case LogVerdict::kDiffers: return "STARTED, DIFFERS FROM THE PLAN";
    case LogVerdict::kServesWithTrouble: return "RUNS, WITH TROUBLE";
    case LogVerdict::kDidNotStart: return "DID NOT START";
    case LogVerdict::kDied: return "STARTED, THEN FAILED";
    case LogVerdict::kCannotTell: return "CANNOT BE JUDGED";
  }
  return "";
}

std::string_view phase_text(LogPhase phase) {
  return nth_word(phase,
                  "|while weights were loaded|in the profiling pass|while the KV cache was made|"
                  "while graphs were captured or warmed up|while it served",
                  '|');
}

}  // namespace kvplan
