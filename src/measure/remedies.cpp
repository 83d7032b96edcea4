// Remedies for a failure, as options of the engine: smallest loss first, computed from the log's figures. An engine's
// own rows (EngineLog::remedies) replace the usual ones for their cause.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "engines/engine.h"
#include "measure/diagnosis.h"

namespace kvplan {

namespace {

using enum LogEventId;
using enum LogCure;

constexpr RemedyRule kUsual[] = {
    {kFitFailed, {{kShorterLength}, {kSmallerWeights}}},
    {kBufferLimit, {{kSmallerBatch}, {kShorterLength}}},
    {kDoesNotFitDevices, {{kSmallerWeights}, {kShorterLength}}},
    {kMemoryUnbalanced, {{kFreeTheCard}}},
    {kHostOutOfMemory, {{kMoreHostMemory}, {kShorterLength}, {kSmallerWeights}}},
    {kLeak, {{kNewerRelease}}},
    {kGraphsFailed, {{kSmallerShare}, {kNoGraphs}, {kFewerSequences}}},
    {kQuantizationNeedsCard, {{kOtherWeights}, {kNewerRelease}, {kOtherCard}}},
    {kNoAttentionBackend, {{kPlainCacheType, "", "auto"}, {kOtherCard}, {kNewerRelease}}},
    {kTooManySequences, {{kFewerSequences, "", "{blocks}"}, {kLargerShare}}},
    {kLengthBeyondModel, {{kShorterLength, "", "{longest}"}}},
    {kTooFewCards, {{kRanksThatDivide, "", "{cards}"}, {kOtherCard}}},
    {kNoKernel, {{kOtherBuild}, {kOtherCard}}},
    {kSharedMemory, {{kOtherKernels}, {kNewerRelease}}},
    {kUnknownArchitecture, {{kNewerRelease}}},
    {kSpilled, {{kSmallerCacheType}, {kShorterLength}, {kSmallerWeights}}},
    {kRequestTooLong, {{kLongerContext, "", "{asked}"}, {kShorterInput}}},
    {kPreempted, {{kFewerSequences}, {kSmallerCacheType}, {kLargerShare}, {kMoreRanks}}},
};

// What helps where the card ran out of memory in a phase.
constexpr struct {
  LogPhase phase;
  LogCure cures[4];
} kOutOfMemoryIn[] = {
    {LogPhase::kUnknown, {kMoreRanks, kSmallerWeights, kSmallerShare, kSmallerBatch}},
    {LogPhase::kLoading, {kMoreRanks, kSmallerWeights}},
    {LogPhase::kProfiling, {kSmallerBatch, kFewerSequences, kMoreRanks}},
    {LogPhase::kGraphs, {kSmallerShare, kNoGraphs, kFewerSequences}},
    {LogPhase::kCache, {kSmallerShare, kFewerSequences, kSmallerBatch, kMoreRanks}},
    {LogPhase::kServing, {kSmallerShare, kFewerSequences, kSmallerBatch, kMoreRanks}},
};

std::string count_text(double value) {
  return std::to_string(static_cast<std::uint64_t>(std::max(0.0, std::min(value, 1e15))));
}

// A share of a card in an option's form.
std::string share_text(double share) {
  const auto percent = static_cast<int>(std::lround(share * 100));
  std::string out = std::to_string(percent % 100);
  if (out.size() == 1) out.insert(out.begin(), '0');
  return std::to_string(percent / 100) + "." + out;
}

class Remedies {
 public:
  Remedies(const LogReading& reading, const Engine& engine, const Diagnosis& diagnosis)
      : reading_(reading),
        engine_(engine),
        log_(engine.log),
        options_(log_.options),
        diagnosis_(diagnosis),
        cause_(*diagnosis.cause) {}

  std::vector<LogRemedy> take() {
    choose();
    return std::move(out_);
  }

 private:
  static constexpr double kMostOfACard = 0.97;  // above it the driver and the context lack room

  double number(std::string_view name) const { return cause_.number(name); }
  double gib_of(std::string_view name) const {
    const std::optional<double> bytes = cause_.bytes(name);
    return bytes ? *bytes / kGiB : number(name);
  }
  double seen(std::string_view what) const { return reading_.first(what).value_or(0); }
  double missing_gib() const {
    return diagnosis_.missing ? static_cast<double>(diagnosis_.missing->count()) / kGiB : 0;
  }
  double card_gib() const { return std::max(seen("gpu_memory"), gib_of("total")); }
  double batch() const { return static_cast<double>(reading_.options.max_num_batched_tokens.value_or(0)); }

  void add(LogCure cure, std::string_view option = "", std::string value = "",
           std::optional<double> figure = std::nullopt) {
    out_.push_back({cure, std::string(option), std::move(value), figure, std::nullopt});
  }
  // The same where the engine has the option.
  void add_option(LogCure cure, std::string_view option, std::string value = "",
                  std::optional<double> figure = std::nullopt) {
    if (!option.empty()) add(cure, option, std::move(value), figure);
  }

  std::string_view option_of(LogCure cure) const {
    switch (cure) {
      case kShorterLength:
      case kLongerContext: return options_.length;
      case kLargerShare:
      case kSmallerShare: return options_.share;
      case kSmallerCacheType:
      case kPlainCacheType: return options_.cache_type;
      case kMoreRanks:
      case kRanksThatDivide: return options_.ranks;
      case kSmallerBatch:
      case kLargerBatch: return options_.batch;
      case kFewerSequences: return options_.sequences;
      case kNoGraphs: return options_.no_graphs;
      case kFewerLayersOnGpu: return options_.gpu_layers;
      case kOtherSplit: return options_.split;
      default: return "";
    }
  }

  // Adds the remedies of the cause's row; returns whether there is one.
  bool by_rows(std::span<const RemedyRule> rows) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const RemedyRule& one) { return one.cause == cause_.id; });
    if (row == rows.end()) return false;
    for (const Cure& cure : row->cures)
      if (cure.cure != kNothing) by_row(cure);
    return true;
  }

  // By the engine's own row, that of an engine within it, or the usual one.
  void by_rows() {
    if (by_rows(log_.remedies)) return;
    if (!engine_.wraps_engine || !by_rows(engine_of_line(cause_.engine).log.remedies)) by_rows(kUsual);
  }

  void by_row(const Cure& row) {
    if (row.cure == kFlashAttention && reading_.first(kFlashForcedOff) != nullptr) return;
    if (row.option.empty() && row.value.empty()) return by_figures(row.cure);
    const std::string_view option = row.option.empty() ? option_of(row.cure) : row.option;
    std::string value(row.value);
    std::optional<double> figure;
    if (const std::size_t open = value.rfind('{'); open != std::string::npos) {
      const std::size_t length = value.find('}', open) + 1 - open;
      const double printed = number(row.value.substr(open + 1, length - 2));
      value.replace(open, length, count_text(printed));
      if (open == 0 && row.cure != kLargerBatch) figure = printed;
      if (printed == 0 && row.cure == kLongerContext) value.clear();  // the line does not say how long
    }
    add(row.cure, option, std::move(value), figure);
  }

  // The cure with the value that follows from the log.
  void by_figures(LogCure cure) {
    const LogOptions& options = reading_.options;
    switch (cure) {
      case kSmallerCacheType:
        if (!has_eight_bit_cache()) add_option(cure, options_.cache_type, std::string(options_.eight_bit));
        return;
      case kMoreRanks: {
        const double twice = 2 * static_cast<double>(options.tensor_parallel.value_or(1));
        return add_option(cure, options_.ranks, count_text(twice), twice);
      }
      case kLargerShare: return larger_share(missing_gib());
      case kSmallerShare: return smaller_share(missing_gib());
      case kSmallerBatch:
        if (log_.by_device) return smaller_micro_batch(cause_.id == kBufferLimit ? 2 : 4);
        return add_option(cure, options_.batch, batch() >= 2 ? count_text(batch() / 2) : "");
      case kFewerSequences: {
        const double now = static_cast<double>(options.max_num_seqs.value_or(0));
        return add_option(cure, options_.sequences, now > 1 ? count_text(now / 2) : "");
      }
      case kNoGraphs:
      case kFewerLayersOnGpu:
      case kOtherSplit: return add_option(cure, option_of(cure));
      default: return add(cure, option_of(cure));
    }
  }
  void by_figures(std::initializer_list<LogCure> cures) {
    for (const LogCure cure : cures) by_figures(cure);
  }

  void smaller_micro_batch(double times) {
    constexpr double kLeast = 32;
    const auto now = reading_.options.n_ubatch;
    const double less = std::max(kLeast, static_cast<double>(now.value_or(0)) / times);
    add_option(kSmallerBatch, options_.batch, now ? count_text(less) : "");
  }

  bool has_eight_bit_cache() const {
    const std::string& type = reading_.options.kv_cache_dtype;
    constexpr std::string_view kNarrow[] = {"fp8", "int8", "nvfp4", "q8", "q4"};
    return reading_.options.cache_type_k.starts_with("q") ||
           std::any_of(std::begin(kNarrow), std::end(kNarrow),
                       [&](std::string_view part) { return type.find(part) != std::string::npos; });
  }

  // Suggests a share larger by so many GiB, if the card has them.
  void larger_share(double gib) {
    const std::optional<double> now = reading_.options.memory_utilization;
    if (card_gib() > 0 && gib > 0 && now) {
      const double needed = std::ceil((*now + gib / card_gib()) * 100) / 100;
      if (needed <= kMostOfACard) add_option(kLargerShare, options_.share, share_text(needed));
    } else if (!now || *now < kMostOfACard - 0.02) {
      add_option(kLargerShare, options_.share);
    }
  }

  // Suggests a share smaller by so many GiB, which the rest of the process gets.
  void smaller_share(double gib) {
    const std::optional<double> now = reading_.options.memory_utilization;
    const double less = card_gib() > 0 ? std::max(0.01, std::ceil(gib / card_gib() * 100) / 100) : 0.02;
    if (now && *now - less > 0.05)
      add_option(kSmallerShare, options_.share, share_text(*now - less));
    else
      add_option(kSmallerShare, options_.share, "", less);
  }

  // Tokens that the remaining cache holds: as printed, else in blocks of 16 as vLLM counts.
  double longest() const {
    if (const double printed = number("longest"); printed > 0) return printed;
    const double length = number("max_model_len") > 0 ? number("max_model_len")
                                                      : static_cast<double>(reading_.options.max_model_len.value_or(0));
    const double needed = gib_of("needed");
    if (length <= 0 || needed <= 0) return 0;
    constexpr double kBlock = 16;
    const double blocks = std::ceil(length / kBlock);
    return std::floor(blocks * gib_of("available") / needed) * kBlock;
  }

  void cache_too_small() {
    const double longest_now = longest();
    if (longest_now >= 1) add(kShorterLength, options_.length, count_text(longest_now), longest_now);
    if (runs_on_cpu(reading_)) return add(kLargerShare, options_.cpu_cache, count_text(std::ceil(gib_of("needed"))));
    by_figures(kLargerShare);
    // Half the bytes may still exceed what is left.
    if (gib_of("needed") == 0 || gib_of("needed") / 2 <= gib_of("available")) by_figures(kSmallerCacheType);
    by_figures({kMoreRanks, kSmallerBatch});
  }

  // Nothing was left after the weights: SGLang's share must exceed theirs of the card.
  void no_cache_memory() {
    if (runs_on_cpu(reading_)) return add(kLargerShare, options_.cpu_cache);
    const double after = seen("available_after_weights");
    const double weights = seen("weights");
    const double printed = number("least_share");
    const double least = printed > 0 ? printed : (after > 0 && weights > 0 ? weights / (after + weights) : 0);
    // The share that was set was not enough, whatever the weights take.
    const bool is_more = least > std::max(number("share"), reading_.options.memory_utilization.value_or(0));
    if (is_more && least < kMostOfACard)
      add_option(kLargerShare, options_.share, share_text(std::ceil(least * 100 + 1e-9) / 100), least);
    else
      add_option(kLargerShare, options_.share);
    by_figures({kMoreRanks, kSmallerBatch, kSmallerWeights, kSmallerCacheType});
  }

  void free_memory_short() {
    const double total = number("total");
    const double free = number("free");
    add(kFreeTheCard, "", "", std::max(0.0, total - free));
    const double share = total > 0 ? std::floor(free / total * 100) / 100 : 0;
    if (share >= 0.05) add(kSmallerShare, options_.share, share_text(share));
  }

  void out_of_memory() {
    // The size of the warm-up is in another line, after PyTorch's with the figures.
    double sequences = number("sequences");
    for (const LogEvent& event : reading_.events)
      if (const LogValue* value = event.value("sequences"); event.id == kOutOfMemory && value != nullptr)
        sequences = std::max(sequences, value->value);
    if (sequences >= 2) add(kFewerSequences, options_.sequences, count_text(sequences / 2));
    const double total = gib_of("total");
    const double wanted = gib_of("wanted");
    const double free = gib_of("free");
    const double used = std::max(gib_of("used"), gib_of("allocated"));
    if (total > 0 && wanted > total) {  // no card holds this: it is the scores of naive attention
      add(kFlashAttention);
      add_option(kFewerImages, options_.images, std::string(options_.one_image));
      return by_figures(kSmallerBatch);
    }
    if (total > 0 && used > 0 && total - free - used > 1 && cause_.value("used") != nullptr)
      add(kFreeTheCard, "", "", total - free - used);
    // Unified memory: the card counts memory that the system does not give.
    if (wanted > 0 && free > wanted) {
      smaller_share(wanted);
      add_option(kFixedCache, options_.cache_size);
      return add(kMoreHostMemory);
    }
    for (const auto& row : kOutOfMemoryIn)
      if (row.phase == diagnosis_.phase)
        for (const LogCure cure : row.cures)
          if (cure != kNothing) by_figures(cure);
  }

  void graphs_failed() {
    if (cause_.value("reason") == nullptr || cause_.says("reason", "memory")) return by_rows();
    add(kNoGraphs, options_.no_graphs);
    add(kOtherBuild);
  }

  void component_failed() {
    const bool is_cache = cause_.says("component", "KV cache");
    if (is_cache) add(kSmallerShare, options_.share);
    add(kSmallerBatch, options_.batch);
    add(kFewerSequences, options_.sequences);
    if (!is_cache) add(kSmallerShare, options_.share);
    by_figures(kMoreRanks);
  }

  void heads_do_not_divide() {
    constexpr double kMost = 4096;
    if (number("heads") > kMost || number("ranks") > kMost) return;
    const auto heads = static_cast<std::uint64_t>(number("heads"));
    const auto ranks = static_cast<std::uint64_t>(number("ranks"));
    std::uint64_t fewer = ranks;
    while (fewer > 0 && heads % fewer != 0) --fewer;
    if (fewer > 0) add(kRanksThatDivide, options_.ranks, std::to_string(fewer), static_cast<double>(fewer));
    add_option(kPipelineInstead, options_.stages, std::to_string(ranks));
  }

  void block_does_not_divide() {
    constexpr double kMost = 1e9;
    const auto width = static_cast<std::uint64_t>(std::clamp(number("width"), 0.0, kMost));
    const auto block = static_cast<std::uint64_t>(std::clamp(number("block"), 0.0, kMost));
    const std::uint64_t ranks = reading_.options.tensor_parallel.value_or(0);
    add_option(kWholeExperts, options_.experts, options_.counts_experts && ranks > 1 ? std::to_string(ranks) : "");
    constexpr std::uint64_t kMostRanks = 64;
    std::uint64_t times = 2;
    while (block > 0 && times <= kMostRanks && width * times % block != 0) times *= 2;
    if (block > 0 && times <= kMostRanks) {
      const bool is_known = ranks >= times && ranks % times == 0;
      add(kRanksForBlocks, options_.ranks, is_known ? std::to_string(ranks / times) : "",
          static_cast<double>(width * times));
    }
    add(kOtherWeights);
  }

  void traffic() {
    double room = 0;
    for (const LogValue& value : diagnosis_.figures)
      if (value.name == "room_for") room = value.value;
    if (cause_.value("slots") != nullptr) {  // each slot has its own part of the cells until they share them
      if (room > number("slots")) add(kFewerSequences, options_.shared_slots, count_text(room), room);
      return by_figures(kSmallerCacheType);
    }
    const LogValue* usage = cause_.value("usage");
    const double share = usage == nullptr ? 0 : usage->unit == LogUnit::kPercent ? usage->value / 100 : usage->value;
    constexpr double kFull = 0.9;  // schedulers keep a part free for running requests to grow
    if (share < kFull) {           // they wait for prefill, or because of the scheduler's cap
      const auto cap = reading_.options.max_num_seqs;
      if (cap && number("running") >= static_cast<double>(*cap))
        add(kFewerSequences, options_.sequences, count_text(std::max(room, number("running"))), room);
      add(kNothing, "", "", room);
      add(kLargerBatch, options_.batch);
      return;
    }
    by_figures(kSmallerCacheType);
    larger_share(0);
    by_figures(kMoreRanks);
    if (room >= 1) add(kFewerSequences, options_.sequences, count_text(room), room);
  }

  void choose() {
    switch (cause_.id) {
      case kCacheTooSmall: return cache_too_small();
      case kNoCacheMemory: return no_cache_memory();
      case kFreeMemoryShort: return free_memory_short();
      case kOutOfMemory: return out_of_memory();
      case kGraphsFailed: return graphs_failed();
      case kBufferFailed:
      case kComputeFailed:
      case kCacheFailed:
      case kWeightsFailed: {
        const LogValue* const device = cause_.value("device");
        const bool is_ram = device != nullptr && device->text.starts_with("CPU") && !engine_.wraps_engine;
        if (is_ram) return by_figures({kMoreHostMemory, kShorterLength, kSmallerCacheType});
        break;
      }
      case kComponentFailed: return component_failed();
      case kBlockDoesNotDivide: return block_does_not_divide();
      case kHeadsDoNotDivide: return heads_do_not_divide();
      case kTraffic: return traffic();
      case kExited:  // killed
        if (number("code") == 137 || number("code") == -9) by_figures({kMoreHostMemory, kNoGraphs});
        return;
      case kDoesNotFitDevices:
        if (cause_.says("devices", "avail: 0MB")) by_figures({kOtherBuild, kNewerRelease, kMoreHostMemory});
        break;
      default: break;
    }
    by_rows();
  }

  const LogReading& reading_;
  const Engine& engine_;
  const EngineLog& log_;
  const RemedyOptions& options_;
  const Diagnosis& diagnosis_;
  const LogEvent& cause_;
  std::vector<LogRemedy> out_;
};

// The engine's, or where no line names one and PyTorch's own message is all that there is, the most likely engine's.
const Engine& engine_for(std::string_view engine, const LogEvent& cause) {
  if (engine.empty() && cause.value("total") != nullptr)
    for (const Engine& each : engines())
      if (each.log.allocates_with_torch) return each;
  return engine_of_line(engine);
}

}  // namespace

std::vector<LogRemedy> remedies_for(const LogReading& reading, std::string_view engine, const Diagnosis& diagnosis) {
  if (!diagnosis.cause) return {};
  return Remedies(reading, engine_for(engine, *diagnosis.cause), diagnosis).take();
}

}  // namespace kvplan
