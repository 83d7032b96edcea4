// Remedies for a failure, as options of the engine: smallest loss first, computed from the log's figures.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "measure/diagnosis.h"

namespace kvplan {

namespace {

using enum LogEventId;
using enum LogCure;

// Each engine's names for what is changed; "" where it has no such option.
struct Words {
  std::string_view engine, length, share, cache_type, eight_bit, ranks, batch, sequences, no_graphs, cache_size;
};
constexpr Words kEngineWords[] = {
    {"vllm", "--max-model-len", "--gpu-memory-utilization", "--kv-cache-dtype", "fp8", "--tensor-parallel-size",
     "--max-num-batched-tokens", "--max-num-seqs", "--enforce-eager", "--kv-cache-memory-bytes"},
    {"sglang", "--context-length", "--mem-fraction-static", "--kv-cache-dtype", "fp8_e4m3", "--tp-size",
     "--chunked-prefill-size", "--max-running-requests", "--disable-cuda-graph", "--max-total-tokens"},
    {"llama.cpp", "-c", "", "-ctk q8_0 -ctv", "q8_0", "", "-ub", "-np", "", ""},
    {"ollama", "OLLAMA_CONTEXT_LENGTH", "", "OLLAMA_KV_CACHE_TYPE", "q8_0", "", "", "OLLAMA_NUM_PARALLEL", "", ""},
    {"tensorrt-llm", "--max_seq_len", "--kv_cache_free_gpu_memory_fraction", "--kv_cache_dtype", "fp8", "--tp_size",
     "--max_num_tokens", "--max_batch_size", "", ""},
    {"mistralrs", "--max-seq-len", "", "", "", "", "", "--max-seqs", "", ""}};

// For an engine that no line names there are none.
const Words& words_of(std::string_view engine) {
  static constexpr Words kNone{};
  for (const Words& words : kEngineWords)
    if (words.engine == engine) return words;
  return kNone;
}

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
  Remedies(const LogReading& reading, std::string_view engine, const Diagnosis& diagnosis)
      : reading_(reading),
        // PyTorch's own message without a line of the engine: vLLM is the most likely.
        words_(words_of(engine.empty() && diagnosis.cause->value("total") != nullptr ? "vllm" : engine)),
        diagnosis_(diagnosis),
        cause_(*diagnosis.cause) {}

  std::vector<LogRemedy> take() {
    choose();
    return std::move(out_);
  }

 private:
  static constexpr double kMostOfACard = 0.97;  // above it the driver and the context lack room

  double number(std::string_view name) const {
    const LogValue* value = cause_.value(name);
    return value == nullptr ? 0 : value->value;
  }
  double gib_of(std::string_view name) const {
    const LogValue* value = cause_.value(name);
    if (value == nullptr) return 0;
    if (value->unit == LogUnit::kMebibytes) return value->value / 1024;
    if (value->unit == LogUnit::kBytes) return value->value / (1024.0 * 1024 * 1024);
    return value->value;
  }
  double seen(std::string_view what) const {
    for (const Observation& one : reading_.observations)
      if (one.what == what) return one.value;
    return 0;
  }
  double missing_gib() const {
    return diagnosis_.missing ? static_cast<double>(diagnosis_.missing->count()) / (1024.0 * 1024 * 1024) : 0;
  }

  void add(LogCure cure, std::string_view option = "", std::string value = "",
           std::optional<double> figure = std::nullopt) {
    out_.push_back({cure, std::string(option), std::move(value), figure, std::nullopt});
  }

  bool has_eight_bit_cache() const {
    const std::string& type = reading_.options.kv_cache_dtype;
    const auto has = [&](std::string_view part) { return type.find(part) != std::string::npos; };
    return has("fp8") || has("int8") || has("nvfp4") || has("q8") || has("q4") ||
           reading_.options.cache_type_k.starts_with("q");
  }

  void smaller_cache_type() {
    if (!words_.cache_type.empty() && !has_eight_bit_cache())
      add(kSmallerCacheType, words_.cache_type, std::string(words_.eight_bit));
  }

  void more_ranks() {
    const double ranks = static_cast<double>(reading_.options.tensor_parallel.value_or(1));
    if (!words_.ranks.empty()) add(kMoreRanks, words_.ranks, count_text(ranks * 2), ranks * 2);
  }

  // Suggests a share larger by so many GiB, if the card has them.
  void larger_share(double gib) {
    if (words_.share.empty()) return;
    const double total = std::max(seen("gpu_memory"), gib_of("total"));
    const std::optional<double> now = reading_.options.memory_utilization;
    if (total > 0 && gib > 0 && now) {
      const double needed = std::ceil((*now + gib / total) * 100) / 100;
      if (needed <= kMostOfACard) add(kLargerShare, words_.share, share_text(needed));
    } else if (!now || *now < kMostOfACard - 0.02) {
      add(kLargerShare, words_.share);
    }
  }

  // Suggests a share smaller by so many GiB, which the rest of the process gets.
  void smaller_share(double gib) {
    if (words_.share.empty()) return;
    const double total = std::max(seen("gpu_memory"), gib_of("total"));
    const std::optional<double> now = reading_.options.memory_utilization;
    const double less = total > 0 ? std::max(0.01, std::ceil(gib / total * 100) / 100) : 0.02;
    if (now && *now - less > 0.05)
      add(kSmallerShare, words_.share, share_text(*now - less));
    else
      add(kSmallerShare, words_.share, "", less);
  }

  void smaller_batch(double now) {
    if (words_.batch.empty()) return;
    if (now >= 2)
      add(kSmallerBatch, words_.batch, count_text(now / 2));
    else
      add(kSmallerBatch, words_.batch);
  }
  void fewer_sequences() {
    if (words_.sequences.empty()) return;
    const auto now = reading_.options.max_num_seqs;
    if (now && *now > 1)
      add(kFewerSequences, words_.sequences, count_text(static_cast<double>(*now) / 2));
    else
      add(kFewerSequences, words_.sequences);
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
    if (longest_now >= 1) add(kShorterLength, words_.length, count_text(longest_now), longest_now);
    if (runs_on_cpu(reading_))
      return add(kLargerShare, "VLLM_CPU_KVCACHE_SPACE", count_text(std::ceil(gib_of("needed"))));
    larger_share(missing_gib());
    // Half the bytes may still exceed what is left.
    if (gib_of("needed") == 0 || gib_of("needed") / 2 <= gib_of("available")) smaller_cache_type();
    more_ranks();
    smaller_batch(static_cast<double>(reading_.options.max_num_batched_tokens.value_or(0)));
  }

  // Nothing was left after the weights: SGLang's share must exceed theirs of the card.
  void no_cache_memory() {
    if (runs_on_cpu(reading_)) return add(kLargerShare, "VLLM_CPU_KVCACHE_SPACE");
    const double after = seen("available_after_weights");
    const double weights = seen("weights");
    const double printed = number("least_share");
    const double least = printed > 0 ? printed : (after > 0 && weights > 0 ? weights / (after + weights) : 0);
    // The share that was set was not enough, whatever the weights take.
    const bool is_more = least > std::max(number("share"), reading_.options.memory_utilization.value_or(0));
    if (!words_.share.empty() && is_more && least < kMostOfACard)
      add(kLargerShare, words_.share, share_text(std::ceil(least * 100 + 1e-9) / 100), least);
    else if (!words_.share.empty())
      add(kLargerShare, words_.share);
    more_ranks();
    smaller_batch(static_cast<double>(reading_.options.max_num_batched_tokens.value_or(0)));
    add(kSmallerWeights);
    smaller_cache_type();
  }

  void free_memory_short() {
    const double total = number("total");
    const double free = number("free");
    add(kFreeTheCard, "", "", std::max(0.0, total - free));
    const double share = total > 0 ? std::floor(free / total * 100) / 100 : 0;
    if (share >= 0.05) add(kSmallerShare, words_.share, share_text(share));
  }

  void out_of_memory() {
    // The size of the warm-up is in another line, after PyTorch's with the figures.
    double sequences = number("sequences");
    for (const LogEvent& event : reading_.events)
      if (const LogValue* value = event.value("sequences"); event.id == kOutOfMemory && value != nullptr)
        sequences = std::max(sequences, value->value);
    if (sequences >= 2) add(kFewerSequences, words_.sequences, count_text(sequences / 2));
    const double total = gib_of("total");
    const double wanted = gib_of("wanted");
    const double free = gib_of("free");
    const double used = std::max(gib_of("used"), gib_of("allocated"));
    // Unified memory: the card counts memory that the system does not give.
    const bool free_but_refused = wanted > 0 && free > wanted;
    if (total > 0 && wanted > total) {  // no card holds this: it is the scores of naive attention
      add(kFlashAttention);
      add(kFewerImages, "--limit-mm-per-prompt", "'{\"image\": 1}'");
      smaller_batch(static_cast<double>(reading_.options.max_num_batched_tokens.value_or(0)));
      return;
    }
    if (total > 0 && used > 0 && total - free - used > 1 && cause_.value("used") != nullptr)
      add(kFreeTheCard, "", "", total - free - used);
    if (free_but_refused) {
      smaller_share(wanted);
      if (!words_.cache_size.empty()) add(kFixedCache, words_.cache_size);
      add(kMoreHostMemory);
      return;
    }
    switch (diagnosis_.phase) {
      case LogPhase::kGraphs:
        smaller_share(missing_gib());
        if (!words_.no_graphs.empty()) add(kNoGraphs, words_.no_graphs);
        fewer_sequences();
        break;
      case LogPhase::kProfiling:
        smaller_batch(static_cast<double>(reading_.options.max_num_batched_tokens.value_or(0)));
        fewer_sequences();
        more_ranks();
        break;
      case LogPhase::kCache:
      case LogPhase::kServing:
        smaller_share(missing_gib());
        fewer_sequences();
        smaller_batch(static_cast<double>(reading_.options.max_num_batched_tokens.value_or(0)));
        more_ranks();
        break;
      case LogPhase::kLoading:
      case LogPhase::kUnknown:
        more_ranks();
        add(kSmallerWeights);
        if (diagnosis_.phase == LogPhase::kUnknown) {
          smaller_share(missing_gib());
          smaller_batch(static_cast<double>(reading_.options.max_num_batched_tokens.value_or(0)));
        }
        break;
    }
  }

  // Suggests a smaller micro-batch.
  void fewer_rows(double times) {
    constexpr double kLeast = 32;
    const auto now = reading_.options.n_ubatch;
    add(kSmallerBatch, "-ub", now ? count_text(std::max(kLeast, static_cast<double>(*now) / times)) : "");
  }

  void buffer_failed() {
    if (words_.engine == "ollama") {
      add(kShorterLength, words_.length);
      smaller_cache_type();
      fewer_sequences();
      return add(kFewerLayersOnGpu, "PARAMETER num_gpu");
    }
    const LogValue* const device = cause_.value("device");
    if (device != nullptr && device->text.starts_with("CPU")) {  // RAM: layers cannot go anywhere else
      add(kMoreHostMemory);
      add(kShorterLength, words_.length);
      return smaller_cache_type();
    }
    const bool is_weights = cause_.id == kWeightsFailed;
    const bool is_cache = cause_.id == kCacheFailed;
    if (is_weights) {
      add(kFewerLayersOnGpu, "-ngl");
      add(kSmallerWeights);
      add(kOtherSplit, "-ts");
      return;
    }
    if (!is_cache) fewer_rows(4);
    add(kShorterLength, words_.length);
    smaller_cache_type();
    if (is_cache) fewer_sequences();
    add(kFewerLayersOnGpu, "-ngl");
    if (!is_cache) add(kOtherSplit, "-ts");
  }

  void component_failed() {
    const LogValue* component = cause_.value("component");
    const bool is_cache = component != nullptr && component->text.find("KV cache") != std::string::npos;
    if (is_cache) add(kSmallerShare, words_.share);
    add(kSmallerBatch, words_.batch);
    add(kFewerSequences, words_.sequences);
    if (!is_cache) add(kSmallerShare, words_.share);
    more_ranks();
  }

  void heads_do_not_divide() {
    constexpr double kMost = 4096;
    if (number("heads") > kMost || number("ranks") > kMost) return;
    const auto heads = static_cast<std::uint64_t>(number("heads"));
    const auto ranks = static_cast<std::uint64_t>(number("ranks"));
    for (std::uint64_t fewer = ranks; fewer > 0 && fewer <= ranks; --fewer)
      if (heads % fewer == 0) {
        add(kRanksThatDivide, words_.ranks, std::to_string(fewer), static_cast<double>(fewer));
        break;
      }
    add(kPipelineInstead, words_.engine == "sglang" ? "--pp-size" : "--pipeline-parallel-size", std::to_string(ranks));
  }

  void block_does_not_divide() {
    constexpr double kMost = 1e9;
    const auto width = static_cast<std::uint64_t>(std::clamp(number("width"), 0.0, kMost));
    const auto block = static_cast<std::uint64_t>(std::clamp(number("block"), 0.0, kMost));
    const std::uint64_t ranks = reading_.options.tensor_parallel.value_or(0);
    add(kWholeExperts, words_.engine == "sglang" ? "--ep-size" : "--enable-expert-parallel",
        words_.engine == "sglang" && ranks > 1 ? std::to_string(ranks) : "");
    constexpr std::uint64_t kMostRanks = 64;
    for (std::uint64_t times = 2; block > 0 && times <= kMostRanks; times *= 2)
      if (width < (std::uint64_t{1} << 40) && width * times % block == 0) {
        const bool is_known = ranks >= times && ranks % times == 0;
        add(kRanksForBlocks, words_.ranks, is_known ? std::to_string(ranks / times) : "",
            static_cast<double>(width * times));
        break;
      }
    add(kOtherWeights);
  }

  void traffic() {
    const auto figure = [&](std::string_view name) {
      for (const LogValue& value : diagnosis_.figures)
        if (value.name == name) return value.value;
      return 0.0;
    };
    if (cause_.value("slots") != nullptr) {  // each slot has its own part of the cells until they share them
      if (const double room = figure("room_for"); room > number("slots"))
        add(kFewerSequences, "--kv-unified -np", count_text(room), room);
      return smaller_cache_type();
    }
    const LogValue* usage = cause_.value("usage");
    const double share = usage == nullptr ? 0 : usage->unit == LogUnit::kPercent ? usage->value / 100 : usage->value;
    constexpr double kFull = 0.9;  // schedulers keep a part free for running requests to grow
    if (share < kFull) {           // they wait for prefill, or because of the scheduler's cap
      const auto cap = reading_.options.max_num_seqs;
      if (cap && number("running") >= static_cast<double>(*cap))
        add(kFewerSequences, words_.sequences, count_text(std::max(figure("room_for"), number("running"))),
            figure("room_for"));
      add(kNothing, "", "", figure("room_for"));
      add(kLargerBatch, words_.batch);
      return;
    }
    smaller_cache_type();
    larger_share(0);
    more_ranks();
    if (const double room = figure("room_for"); room >= 1)
      add(kFewerSequences, words_.sequences, count_text(room), room);
  }

  void choose() {
    switch (cause_.id) {
      case kCacheTooSmall: return cache_too_small();
      case kNoCacheMemory: return no_cache_memory();
      case kFreeMemoryShort: return free_memory_short();
      case kOutOfMemory: return out_of_memory();
      case kGraphsFailed:
        if (const LogValue* reason = cause_.value("reason");
            reason != nullptr && reason->text.find("memory") == std::string::npos) {
          add(kNoGraphs, words_.no_graphs);
          return add(kOtherBuild);
        }
        smaller_share(missing_gib());
        if (words_.engine == "sglang") add(kFewerSequences, "--cuda-graph-max-bs", "16");
        add(kNoGraphs, words_.no_graphs);
        return fewer_sequences();
      case kBufferFailed:
      case kComputeFailed:
      case kCacheFailed:
      case kWeightsFailed: return buffer_failed();
      case kBufferLimit: fewer_rows(2); return add(kShorterLength, words_.length);
      case kFitFailed:
        add(kFitByItself, "-ngl");
        add(kShorterLength, words_.length);
        return add(kSmallerWeights);
      case kDoesNotFitDevices:
        if (const LogValue* devices = cause_.value("devices");
            devices != nullptr && devices->text.find("avail: 0MB") != std::string::npos) {
          add(kOtherBuild);
          add(kNewerRelease);
          add(kMoreHostMemory);
        }
        add(kSmallerWeights, "--isq", "4");
        return add(kShorterLength, words_.length);
      case kComponentFailed: return component_failed();
      case kMemoryUnbalanced: return add(kFreeTheCard);
      case kHostOutOfMemory:
        add(kMoreHostMemory);
        add(kShorterLength, words_.length);
        return add(kSmallerWeights);
      case kExited:
        if (number("code") != 137 && number("code") != -9) return;
        add(kMoreHostMemory);
        if (!words_.no_graphs.empty()) add(kNoGraphs, words_.no_graphs);
        return;
      case kLeak: return add(kNewerRelease);
      case kNoBfloat16: return add(kFloat16, "--dtype", "half");
      case kQuantizationNeedsCard:
        add(kOtherWeights);
        add(kNewerRelease);
        return add(kOtherCard);
      case kNoAttentionBackend:
        add(kPlainCacheType, words_.cache_type, "auto");
        add(kOtherCard);
        return add(kNewerRelease);
      case kBlockDoesNotDivide: return block_does_not_divide();
      case kHeadsDoNotDivide: return heads_do_not_divide();
      case kTooManySequences:
        add(kFewerSequences, words_.sequences, count_text(number("blocks")), number("blocks"));
        return larger_share(0);
      case kLengthBeyondModel:
        add(kShorterLength, words_.length, count_text(number("longest")), number("longest"));
        if (words_.engine == "sglang") return;
        return add(kLongerByOverride, "--hf-overrides",
                   "'{\"max_position_embeddings\": " + count_text(number("max_model_len")) + "}'");
      case kBatchBelowLength:
        add(kChunkedPrefill, "--enable-chunked-prefill");
        add(kLargerBatch, words_.batch, count_text(number("max_model_len")));
        return add(kShorterLength, words_.length, count_text(number("batch")), number("batch"));
      case kTooFewCards:
        if (words_.engine == "vllm") add(kAcrossNodes, "--distributed-executor-backend", "ray");
        add(kRanksThatDivide, words_.ranks, count_text(number("cards")), number("cards"));
        return add(kOtherCard);
      case kCacheTypeNeedsFlash: {
        bool can = true;
        for (const LogEvent& event : reading_.events) can = can && event.id != kFlashForcedOff;
        if (can && words_.engine == "ollama") add(kFlashAttention, "OLLAMA_FLASH_ATTENTION", "1");
        if (can && words_.engine != "ollama") add(kFlashAttention, "-fa", "on");
        if (words_.engine == "ollama") return add(kPlainCacheType, words_.cache_type, "f16");
        return add(kPlainCacheType, "-ctv", "f16");
      }
      case kNoKernel: add(kOtherBuild); return add(kOtherCard);
      case kSharedMemory: add(kOtherKernels); return add(kNewerRelease);
      case kUnknownArchitecture: return add(kNewerRelease);
      case kSpilled:
        smaller_cache_type();
        add(kShorterLength, words_.length);
        return add(kSmallerWeights);
      case kRequestTooLong: {
        const double asked = number("asked");
        if (words_.engine == "sglang") {  // its pool is the limit
          larger_share(0);
          smaller_cache_type();
          more_ranks();
          return add(kShorterInput);
        }
        add(kLongerContext, words_.engine == "tensorrt-llm" ? words_.batch : words_.length,
            asked > 0 ? count_text(asked) : "", asked);
        if (words_.engine == "tensorrt-llm") add(kChunkedPrefill, "enable_chunked_prefill");
        return add(kShorterInput);
      }
      case kPreempted:
        if (words_.engine == "sglang") add(kFewerSequences, "--schedule-conservativeness", "1.3");
        fewer_sequences();
        smaller_cache_type();
        larger_share(0);
        return more_ranks();
      case kTraffic: return traffic();
      default: return;
    }
  }

  const LogReading& reading_;
  const Words& words_;
  const Diagnosis& diagnosis_;
  const LogEvent& cause_;
  std::vector<LogRemedy> out_;
};

}  // namespace

std::vector<LogRemedy> remedies_for(const LogReading& reading, std::string_view engine, const Diagnosis& diagnosis) {
  if (!diagnosis.cause) return {};
  return Remedies(reading, engine, diagnosis).take();
}

}  // namespace kvplan
