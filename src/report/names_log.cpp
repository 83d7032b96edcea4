#include "report/names.h"

namespace kvplan {

std::string_view name(StartStage stage) {
  switch (stage) {
    case StartStage::kProcess: return "process";
    case StartStage::kWeights: return "weights";
    case StartStage::kProfile: return "profile";
    case StartStage::kCache: return "cache";
    case StartStage::kServing: return "serving";
  }
  return "";
}

std::string_view name(WatchStatus status) {
  switch (status) {
    case WatchStatus::kStarted: return "started";
    case WatchStatus::kDied: return "died";
    case WatchStatus::kSteady: return "steady";
    case WatchStatus::kTooSlow: return "too_slow";
  }
  return "";
}

std::string_view name(LogEventId id) {
  switch (id) {
    case LogEventId::kCacheTooSmall: return "cache_too_small";
    case LogEventId::kNoCacheMemory: return "no_cache_memory";
    case LogEventId::kFreeMemoryShort: return "free_memory_short";
    case LogEventId::kOutOfMemory: return "out_of_memory";
    case LogEventId::kGraphsFailed: return "graphs_failed";
    case LogEventId::kBufferFailed: return "buffer_failed";
    case LogEventId::kComputeFailed: return "compute_failed";
    case LogEventId::kCacheFailed: return "cache_failed";
    case LogEventId::kWeightsFailed: return "weights_failed";
    case LogEventId::kBufferLimit: return "buffer_limit";
    case LogEventId::kFitFailed: return "fit_failed";
    case LogEventId::kDoesNotFitDevices: return "does_not_fit_devices";
    case LogEventId::kComponentFailed: return "component_failed";
    case LogEventId::kMemoryUnbalanced: return "memory_unbalanced";
    case LogEventId::kHostOutOfMemory: return "host_out_of_memory";
    case LogEventId::kExited: return "exited";
    case LogEventId::kLeak: return "leak";
    case LogEventId::kNoBfloat16: return "no_bfloat16";
    case LogEventId::kQuantizationNeedsCard: return "quantization_needs_card";
    case LogEventId::kNoAttentionBackend: return "no_attention_backend";
    case LogEventId::kBlockDoesNotDivide: return "block_does_not_divide";
    case LogEventId::kHeadsDoNotDivide: return "heads_do_not_divide";
    case LogEventId::kLengthBeyondModel: return "length_beyond_model";
    case LogEventId::kBatchBelowLength: return "batch_below_length";
    case LogEventId::kTooFewCards: return "too_few_cards";
    case LogEventId::kCacheTypeNeedsFlash: return "cache_type_needs_flash";
    case LogEventId::kNoKernel: return "no_kernel";
    case LogEventId::kSharedMemory: return "shared_memory";
    case LogEventId::kUnknownArchitecture: return "unknown_architecture";
    case LogEventId::kTooManySequences: return "too_many_sequences";
    case LogEventId::kRefused: return "refused";
    case LogEventId::kDied: return "died";
    case LogEventId::kRaised: return "raised";
    case LogEventId::kRetried: return "retried";
    case LogEventId::kFitReduced: return "fit_reduced";
    case LogEventId::kBreakdown: return "breakdown";
    case LogEventId::kDeviceFree: return "device_free";
    case LogEventId::kProjected: return "projected";
    case LogEventId::kFlashForcedOff: return "flash_forced_off";
    case LogEventId::kSpilled: return "spilled";
    case LogEventId::kNoGpu: return "no_gpu";
    case LogEventId::kGraphsDone: return "graphs_done";
    case LogEventId::kStarted: return "started";
    case LogEventId::kRequestTooLong: return "request_too_long";
    case LogEventId::kPreempted: return "preempted";
    case LogEventId::kTraffic: return "traffic";
    case LogEventId::kPhase: return "phase";
    case LogEventId::kMark: return "mark";
  }
  return "";
}

std::string_view name(LogVerdict verdict) {
  switch (verdict) {
    case LogVerdict::kStarted: return "started";
    case LogVerdict::kAsPlanned: return "as_planned";
    case LogVerdict::kLessRoom: return "less_room";
    case LogVerdict::kMoreRoom: return "more_room";
    case LogVerdict::kDiffers: return "differs";
    case LogVerdict::kServesWithTrouble: return "serves_with_trouble";
    case LogVerdict::kDidNotStart: return "did_not_start";
    case LogVerdict::kDied: return "died";
    case LogVerdict::kCannotTell: return "cannot_tell";
  }
  return "";
}

std::string_view name(LogPhase phase) {
  switch (phase) {
    case LogPhase::kUnknown: return "unknown";
    case LogPhase::kLoading: return "loading";
    case LogPhase::kProfiling: return "profiling";
    case LogPhase::kCache: return "cache";
    case LogPhase::kGraphs: return "graphs";
    case LogPhase::kServing: return "serving";
  }
  return "";
}

std::string_view name(LogCure cure) {
  switch (cure) {
    case LogCure::kShorterLength: return "shorter_length";
    case LogCure::kLargerShare: return "larger_share";
    case LogCure::kSmallerShare: return "smaller_share";
    case LogCure::kSmallerCacheType: return "smaller_cache_type";
    case LogCure::kPlainCacheType: return "plain_cache_type";
    case LogCure::kMoreRanks: return "more_ranks";
    case LogCure::kRanksThatDivide: return "ranks_that_divide";
    case LogCure::kPipelineInstead: return "pipeline_instead";
    case LogCure::kWholeExperts: return "whole_experts";
    case LogCure::kSmallerBatch: return "smaller_batch";
    case LogCure::kLargerBatch: return "larger_batch";
    case LogCure::kChunkedPrefill: return "chunked_prefill";
    case LogCure::kFewerSequences: return "fewer_sequences";
    case LogCure::kFewerImages: return "fewer_images";
    case LogCure::kFlashAttention: return "flash_attention";
    case LogCure::kNoGraphs: return "no_graphs";
    case LogCure::kFreeTheCard: return "free_the_card";
    case LogCure::kFixedCache: return "fixed_cache";
    case LogCure::kSmallerWeights: return "smaller_weights";
    case LogCure::kOtherWeights: return "other_weights";
    case LogCure::kAcrossNodes: return "across_nodes";
    case LogCure::kRanksForBlocks: return "ranks_for_blocks";
    case LogCure::kFewerLayersOnGpu: return "fewer_layers_on_gpu";
    case LogCure::kOtherSplit: return "other_split";
    case LogCure::kFitByItself: return "fit_by_itself";
    case LogCure::kFloat16: return "float16";
    case LogCure::kLongerByOverride: return "longer_by_override";
    case LogCure::kLongerContext: return "longer_context";
    case LogCure::kShorterInput: return "shorter_input";
    case LogCure::kOtherKernels: return "other_kernels";
    case LogCure::kOtherBuild: return "other_build";
    case LogCure::kNewerRelease: return "newer_release";
    case LogCure::kOtherCard: return "other_card";
    case LogCure::kMoreHostMemory: return "more_host_memory";
    case LogCure::kNothing: return "nothing";
  }
  return "";
}

}  // namespace kvplan
