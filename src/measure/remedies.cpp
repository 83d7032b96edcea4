// Remedies for a failure: what the log's own line suggests, then options of the engine, smallest change first, with
// values computed from the log's figures. An engine's own rows (EngineLog::remedies) replace those of system_log().
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "engines/engine.h"
#include "kvplan/strings.h"
#include "measure/diagnosis.h"
#include "measure/log_reader.h"

namespace kvplan {

namespace {

using enum LogEventId;
using enum LogCure;

constexpr std::size_t kMostRemedies = 4;

// What helps if the GPU runs out of memory in this phase.
constexpr std::pair<LogPhase, std::string_view> kOutOfMemoryIn[] = {
    {LogPhase::kUnknown, "@more_ranks; @smaller_weights; @smaller_share; @smaller_batch"},
    {LogPhase::kLoading, "@more_ranks; @smaller_weights"},
    {LogPhase::kProfiling, "@smaller_batch; @fewer_sequences; @more_ranks"},
    {LogPhase::kGraphs, "@smaller_share; @no_graphs; @fewer_sequences"},
    {LogPhase::kCache, "@smaller_share; @fewer_sequences; @smaller_batch; @more_ranks"},
    {LogPhase::kServing, "@smaller_share; @fewer_sequences; @smaller_batch; @more_ranks"},
};

std::string count_text(double value) {
  return std::to_string(static_cast<std::uint64_t>(std::max(0.0, std::min(value, 1e15))));
}

// A fraction of a GPU, written as an option's value.
std::string share_text(double share) {
  const auto percent = static_cast<int>(std::lround(share * 100));
  std::string out = std::to_string(percent % 100);
  if (out.size() == 1) out.insert(out.begin(), '0');
  return std::to_string(percent / 100) + "." + out;
}

LogCure cure_of(std::string_view word) {
  for (auto number = 0; number <= static_cast<int>(kOther); ++number)
    if (name(static_cast<LogCure>(number)) == word) return static_cast<LogCure>(number);
  return kOther;
}

// The row's text, with the line's values in its holes. Nothing if a value is missing.
std::optional<std::string> filled(std::string_view text, const LogEvent& cause) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::string_view hole =
        text.substr(open + 1, text.substr(open + 1).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
    text.remove_prefix(open + 1);
    if (hole.empty() || !text.substr(hole.size()).starts_with('}')) {  // braces of JSON
      out += '{';
      continue;
    }
    text.remove_prefix(hole.size() + 1);
    const LogValue* const value = cause.value(hole);
    if (value == nullptr) return std::nullopt;
    out += value->unit == LogUnit::kCount && value->value == 0 ? value->text : count_text(value->value);
  }
  return out;
}

class Remedies {
 public:
  Remedies(const LogReading& reading, const LogProgram& program, const Diagnosis& diagnosis)
      : reading_(reading),
        program_(program),
        log_(*program.log),
        options_(log_.options),
        diagnosis_(diagnosis),
        cause_(*diagnosis.cause) {}

  std::vector<LogRemedy> take() {
    for (const LogEvent& hint : diagnosis_.hints) by_text(hint.remedies);
    choose();
    if (out_.size() > kMostRemedies) out_.resize(kMostRemedies);
    return std::move(out_);
  }

 private:
  static constexpr double kMostOfACard = 0.97;  // above this, the driver and the context lack memory

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
           std::optional<double> figure = std::nullopt, std::string effect = "") {
    for (const LogRemedy& other : out_)
      if (option.empty() ? other.cure == cure && other.option.empty() : other.option == option) return;
    out_.push_back({cure, std::string(option), std::move(value), figure, std::nullopt, std::move(effect)});
  }
  // Adds the option if the engine has it.
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
      case kFlashAttention: return options_.flash_attention;
      case kPipelineInstead: return options_.stages;
      case kWholeExperts: return options_.experts;
      case kFixedCache: return options_.cache_size;
      default: return "";
    }
  }

  // Adds the remedies of a row.
  void by_text(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find("; ");
      by_item(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 2);
    }
  }

  void by_item(std::string_view item) {
    if (!item.starts_with('@')) {
      const std::size_t bar = item.find(" | ");
      const auto text = filled(item.substr(0, bar), cause_);
      const auto effect = bar == std::string_view::npos ? std::string() : filled(item.substr(bar + 3), cause_);
      if (text && effect) add(kOther, *text, "", std::nullopt, *effect);
      return;
    }
    const std::size_t blank = item.find(' ');
    const std::string_view head = item.substr(1, blank - 1);
    const std::size_t colon = head.find(':');
    const LogCure cure = cure_of(head.substr(0, colon));
    if (cure == kFlashAttention && reading_.first(kFlashForcedOff) != nullptr) return;
    if (colon == std::string_view::npos && blank == std::string_view::npos) return by_figures(cure);
    std::string option(colon == std::string_view::npos ? option_of(cure) : head.substr(colon + 1));
    std::replace(option.begin(), option.end(), '~', ' ');
    const auto value = blank == std::string_view::npos ? std::string() : filled(item.substr(blank + 1), cause_);
    if (!value) return add_option(cure, option);
    const bool is_figure = item.substr(blank + 1).starts_with('{') && cure != kLargerBatch;
    double figure = 0;
    if (is_figure && parse_real(*value, figure).ec != std::errc()) figure = 0;
    if (figure == 0 && is_figure) return add(cure, option);  // the line does not have the number
    add(cure, option, *value, is_figure ? std::optional(figure) : std::nullopt);
  }

  // Takes the engine's own rule, or the rule of the engine that printed the line, or the usual one. Returns whether
  // there is one.
  bool by_class(std::span<const RemedyRule> rules) {
    for (const RemedyRule& rule : rules)
      if (rule.cause == cause_.id) return by_text(rule.remedies), true;
    return false;
  }
  bool by_class() {
    if (by_class(log_.remedies)) return true;
    const LogProgram* const printed = log_program(cause_.engine);
    return (printed != nullptr && printed != &program_ && by_class(printed->log->remedies)) ||
           by_class(system_log().remedies);
  }

  // Adds the remedy with the value that follows from the log.
  void by_figures(LogCure cure) {
    const LogOptions& options = reading_.options;
    switch (cure) {
      case kShorterLength: return shorter_length();
      case kSmallerCacheType:
        if (!has_eight_bit_cache() && may_halve_cache())
          add_option(cure, options_.cache_type, std::string(options_.eight_bit));
        return;
      case kMoreRanks: {
        const double twice = 2 * static_cast<double>(options.tensor_parallel.value_or(1));
        return add_option(cure, options_.ranks, count_text(twice), twice);
      }
      case kLargerShare: return larger_share();
      case kSmallerShare: return smaller_share();
      case kSmallerBatch:
        if (log_.by_device) return smaller_micro_batch(cause_.id == kBufferLimit ? 2 : 4);
        return add_option(cure, options_.batch, batch() >= 2 ? count_text(batch() / 2) : "");
      case kFewerSequences: return fewer_sequences();
      case kFreeTheCard: return add(cure, "", "", held_by_others());
      case kWholeExperts: {
        const std::uint64_t ranks = options.tensor_parallel.value_or(0);
        return add_option(cure, options_.experts, options_.counts_experts && ranks > 1 ? std::to_string(ranks) : "");
      }
      case kFlashAttention: return add(cure, options_.flash_attention, options_.flash_attention.empty() ? "" : "on");
      case kNoGraphs:
      case kFewerLayersOnGpu:
      case kOtherSplit: return add_option(cure, option_of(cure));
      default: return add(cure, option_of(cure));
    }
  }

  void shorter_length() {
    const double fits = cause_.id == kCacheTooSmall ? longest() : 0;
    if (fits >= 1) return add(kShorterLength, options_.length, count_text(fits), fits);
    if (cause_.id != kCacheTooSmall) add(kShorterLength, options_.length);
  }

  void fewer_sequences() {
    const double now = static_cast<double>(reading_.options.max_num_seqs.value_or(0));
    add_option(kFewerSequences, options_.sequences, now > 1 ? count_text(now / 2) : "");
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
  // Halving the cache's bytes may still need more than is left.
  bool may_halve_cache() const {
    return cause_.id != kCacheTooSmall || gib_of("needed") == 0 || gib_of("needed") / 2 <= gib_of("available");
  }

  double held_by_others() const {
    const double total = gib_of("total");
    if (cause_.id == kFreeMemoryShort) return std::max(0.0, total - gib_of("free"));
    return std::max(0.0, total - gib_of("free") - std::max(gib_of("used"), gib_of("allocated")));
  }

  // Suggests a larger fraction, if the GPU has the missing memory.
  void larger_share() {
    if (runs_on_cpu(reading_)) {
      const double needed = cause_.id == kCacheTooSmall ? std::ceil(gib_of("needed")) : 0;
      return add(kLargerShare, options_.cpu_cache, needed > 0 ? count_text(needed) : "");
    }
    if (cause_.id == kNoCacheMemory) return share_above_weights();
    const std::optional<double> now = reading_.options.memory_utilization;
    const double gib = cause_.id == kCacheTooSmall ? missing_gib() : 0;
    if (card_gib() > 0 && gib > 0 && now) {
      const double needed = std::ceil((*now + gib / card_gib()) * 100) / 100;
      if (needed <= kMostOfACard) add_option(kLargerShare, options_.share, share_text(needed));
    } else if (!now || *now < kMostOfACard - 0.02) {
      add_option(kLargerShare, options_.share);
    }
  }

  // Nothing was left after the weights: SGLang's fraction must be larger than the weights' part.
  void share_above_weights() {
    const double after = seen("available_after_weights");
    const double weights = seen("weights");
    const double printed = number("least_share");
    const double least = printed > 0 ? printed : (after > 0 && weights > 0 ? weights / (after + weights) : 0);
    // The fraction that was set is too small, whatever the weights take.
    const bool is_more = least > std::max(number("share"), reading_.options.memory_utilization.value_or(0));
    if (is_more && least < kMostOfACard)
      add_option(kLargerShare, options_.share, share_text(std::ceil(least * 100 + 1e-9) / 100), least);
    else
      add_option(kLargerShare, options_.share);
  }

  // Suggests a fraction that is smaller by the missing memory, which then goes to the rest of the process; or a
  // fraction of what is free at the start.
  void smaller_share() {
    if (cause_.id == kFreeMemoryShort) {
      const double share = gib_of("total") > 0 ? std::floor(gib_of("free") / gib_of("total") * 100) / 100 : 0;
      if (share >= 0.05) add(kSmallerShare, options_.share, share_text(share));
      return;
    }
    const std::optional<double> now = reading_.options.memory_utilization;
    const double gib = missing_gib() > 0 || cause_.id != kOutOfMemory ? missing_gib() : gib_of("wanted");
    const double less = card_gib() > 0 ? std::max(0.01, std::ceil(gib / card_gib() * 100) / 100) : 0.02;
    if (now && *now - less > 0.05)
      add_option(kSmallerShare, options_.share, share_text(*now - less));
    else
      add_option(kSmallerShare, options_.share, "", less);
  }

  // Tokens that fit in the remaining cache: as printed, otherwise in blocks of 16 as vLLM counts.
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

  void out_of_memory() {
    // The size of the warm-up is in another line, after PyTorch's line with the figures.
    double sequences = number("sequences");
    for (const LogEvent& event : reading_.events)
      if (const LogValue* value = event.value("sequences"); event.id == kOutOfMemory && value != nullptr)
        sequences = std::max(sequences, value->value);
    if (sequences >= 2) add(kFewerSequences, options_.sequences, count_text(sequences / 2));
    const double total = gib_of("total");
    const double wanted = gib_of("wanted");
    if (total > 0 && wanted > total) {  // no GPU has this much memory: it is the score matrix of naive attention
      add(kFlashAttention, options_.flash_attention);
      add_option(kFewerImages, options_.images, std::string(options_.one_image));
      return by_figures(kSmallerBatch);
    }
    if (held_by_others() > 1 && cause_.value("used") != nullptr) by_figures(kFreeTheCard);
    if (by_class(log_.remedies)) return;
    // Unified memory: the GPU counts memory that the system does not provide.
    if (wanted > 0 && gib_of("free") > wanted) return by_text("@smaller_share; @fixed_cache; @more_host_memory");
    for (const auto& [phase, remedies] : kOutOfMemoryIn)
      if (phase == diagnosis_.phase) by_text(remedies);
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
    by_figures(kWholeExperts);
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
    if (cause_.value("slots") == nullptr && cause_.value("usage") == nullptr) {  // llama-server's page of metrics
      if (options_.shared_slots.empty()) return;
      const std::string all = count_text(number("running") + number("waiting"));
      return add(kOther, std::string(options_.shared_slots) + " " + all, "", std::nullopt,
                 "a slot for each request, if memory allows");
    }
    if (cause_.value("slots") != nullptr) {  // until the slots share the cells, each has a part of them
      if (room > number("slots")) add(kFewerSequences, options_.shared_slots, count_text(room), room);
      return by_figures(kSmallerCacheType);
    }
    const LogValue* usage = cause_.value("usage");
    const double share = usage == nullptr ? 0 : usage->unit == LogUnit::kPercent ? usage->value / 100 : usage->value;
    constexpr double kFull = 0.9;  // schedulers keep a part free so that running requests can grow
    if (share < kFull) {           // they wait for prefill, or because of the scheduler's cap
      const auto cap = reading_.options.max_num_seqs;
      if (cap ? number("running") >= static_cast<double>(*cap) : number("waiting") >= number("running"))
        add(kFewerSequences, options_.sequences, count_text(std::max(room, number("running"))), room);
      add(kNothing, "", "", room);
      add(kLargerBatch, options_.batch);
      return;
    }
    by_text("@smaller_cache_type; @larger_share; @more_ranks");
    if (room >= 1) add(kFewerSequences, options_.sequences, count_text(room), room);
  }

  // For a failure without a row: what its line advises, then what its words suggest.
  void unknown() {
    const std::string text = lower(cause_.words + " " + cause_.frames);
    const LogValue* const reason = cause_.value("reason");
    for (const std::string& advice : advice_in(reason != nullptr ? reason->text : cause_.words))
      add(kAsTheLogSays, advice);
    for (const auto* topics : {&log_.topics, &system_log().topics})
      for (const LogTopic& topic : *topics)
        if (has_one_of(text, topic.words)) by_text(topic.remedies);
    if (out_.empty()) by_text("@newer_release");
  }

  void choose() {
    if (!cause_.remedies.empty()) return by_text(cause_.remedies);
    switch (cause_.id) {
      case kOutOfMemory: return out_of_memory();
      case kGraphsFailed:
        if (cause_.value("reason") == nullptr || cause_.says("reason", "memory")) break;
        return unknown();
      case kBufferFailed:
      case kComputeFailed:
      case kCacheFailed:
      case kWeightsFailed: {
        const LogValue* const device = cause_.value("device");
        const bool is_ram = device != nullptr && device->text.starts_with("CPU") && !log_.picks_layers;
        if (is_ram) return by_text("@more_host_memory; @shorter_length; @smaller_cache_type");
        break;
      }
      case kComponentFailed:
        return by_text(cause_.says("component", "KV cache")
                           ? "@smaller_share; @smaller_batch; @fewer_sequences; @more_ranks"
                           : "@smaller_batch; @fewer_sequences; @smaller_share; @more_ranks");
      case kBlockDoesNotDivide: return block_does_not_divide();
      case kHeadsDoNotDivide: return heads_do_not_divide();
      case kTraffic: return traffic();
      case kExited:
        return by_text(number("code") == 137 || number("code") == -9 ? "@more_host_memory; @no_graphs"
                                                                     : "@newer_release");
      case kDoesNotFitDevices:
        if (cause_.says("devices", "avail: 0MB")) by_text("@other_build; @newer_release; @more_host_memory");
        break;
      default: break;
    }
    if (!by_class()) unknown();
  }

  const LogReading& reading_;
  const LogProgram& program_;
  const EngineLog& log_;
  const RemedyOptions& options_;
  const Diagnosis& diagnosis_;
  const LogEvent& cause_;
  std::vector<LogRemedy> out_;
};

}  // namespace

std::vector<LogRemedy> remedies_for(const LogReading& reading, std::string_view engine, const Diagnosis& diagnosis) {
  if (!diagnosis.cause) return {};
  // If no line names an engine, assume a Python program.
  const LogProgram* program = log_program(engine);
  if (program == nullptr) program = log_program("");
  return Remedies(reading, *program, diagnosis).take();
}

}  // namespace kvplan
