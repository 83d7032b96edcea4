#include "engines/vllm/specs.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "engines/drafts.h"
#include "engines/parallel.h"
#include "engines/term_kinds.h"
#include "engines/vllm/class_table.h"
#include "engines/vllm/vllm.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

// Tokens in a block of each attention kernel. DeepSeek-V4 has one size for entries, one for its window, and one for the
// compressor's states.
constexpr std::uint64_t kAttentionBlock = 16;
constexpr std::uint64_t kLatentStateBlock = 128;  // in models that also have states
constexpr std::uint64_t kSparseBlock = 128;
constexpr std::uint64_t kPackedBlock = 256;
constexpr std::uint64_t kPackedWindowBlock = 64;
constexpr std::uint64_t kSmallPackedBlock = 64;  // DeepSeek-V4.1
constexpr std::uint64_t kSmallPackedWindowBlock = 32;
constexpr std::uint64_t kSumsRing = 8;
constexpr std::uint64_t kShortStateBlock = 4;  // windows of 8 tokens (ratio 4)
constexpr std::uint64_t kLongStateBlock = 8;   // windows of 128 tokens (ratio 128)
constexpr std::uint64_t kShortStateWindow = 8;
constexpr std::uint64_t kIndexRows = 64;
constexpr std::uint64_t kPositions = 24;         // bytes: three 64-bit positions per token
constexpr std::uint64_t kPackedRope = 128;       // bytes
constexpr std::uint64_t kPackedAlignment = 576;  // pages of fp8_ds_mla
// Tokens in a chunk of the Mamba kernels: as in most Mamba-2 models, and vLLM's fallback.
constexpr std::uint64_t kPaddedHead = 256;  // q, k and v of releases that do not cache latents
constexpr std::uint64_t kStateChunk = 256;
constexpr std::uint64_t kShortStateChunk = 128;
constexpr std::uint64_t kStateChunkFallback = 2048;
// TurboQuant keeps this many layers at each end of a dense model in the model's own type.
constexpr std::uint64_t kBoundaryLayers = 2;

constexpr std::string_view kBlockBytes = "the bytes of a vLLM block";

bool is_turboquant(Dtype type) {
  return type == Dtype::kTurboquantK8V4 || type == Dtype::kTurboquant4bit || type == Dtype::kTurboquantK3V4 ||
         type == Dtype::kTurboquant3bit;
}

bool is_value(const Term& term) {
  return term.role == Role::kValue;
}
bool is_whole_index(const Term& term) {
  return is_index(term) && term.stride == 1;
}
bool is_matrix_state(const Term& term) {
  return is_fixed(term) && term.shape.columns == 0 && term.shape.vectors > 1;
}
bool is_scan(const Term& term) {
  return term.part == Part::kScan;
}
bool is_matrix_scan(const Term& term) {
  return is_scan(term) && term.shape.vectors > 1;
}

class SpecMaker {
 public:
  SpecMaker(const EngineInput& input, const VllmRules& rules, std::vector<Note>& notes)
      : input_(input),
        class_(vllm_class(input.model)),
        rules_(rules),
        notes_(notes),
        caches_(input.caches),
        ranks_(input.request.parallel.tensor) {
    if (vllm_indexes_every_layer(input.model.arch, input.model.facts, rules))
      caches_ = with_indexes(std::move(caches_));
    if (class_.packs_convolutions) caches_ = vllm_local_layers(std::move(caches_), input.model.facts);
    if (vllm_builds_no_indexer(input.model.arch, rules))
      for (LayerCache& cache : caches_) std::erase_if(cache.compact.own(), is_index);
  }

  SpecList make() {
    append_draft_layers();
    survey();
    check_type();
    choose_mode();
    choose_block();
    for (const LayerCache& cache : caches_) add(cache);
    align_states();
    if (!manager_on()) promote_windows();
    check_context_parallel();
    out_.charge.in_flight_tokens = in_flight_tokens();
    out_.charge.batch_tokens = vllm_batched_tokens(input_, rules_);
    // CrossAttentionSpec charges max_num_encoder_input_tokens, which equals the batch.
    if (rules_.batch_for_source) out_.charge.source_tokens = vllm_batched_tokens(input_, rules_);
    out_.charge.context_ranks = input_.request.parallel.decode_context;
    return std::move(out_);
  }

 private:
  // Draft layers come after the model's own, in the same block tables.
  void append_draft_layers() {
    if (input_.request.mtp && input_.model.num_nextn_layers == 0) {
      notes_.push_back({NoteLevel::kWarning, "no_mtp_layers", "the config has no MTP layers: none are planned"});
      return;
    }
    const DraftLayers drafts = draft_layers(input_);
    draft_types_ = drafts.types;
    if (!drafts.label.empty()) out_.draft_label = drafts.label;
    caches_.insert(caches_.end(), drafts.caches.begin(), drafts.caches.end());
  }

  void survey() {
    for (const LayerCache& cache : caches_) {
      has_state_ = has_state_ || (!class_.packs_convolutions && any_term(cache.compact, is_fixed));
      packed_ = packed_ || (class_.is_always_packed && any_term(cache.compact, is_packed));
      if (class_.pads_latents)
        for (const Term& term : cache.compact)
          if (is_latent(term)) widest_latent_ = std::max(widest_latent_, term.shape.width);
      latent_ = latent_ || (class_.keeps_latents && rules_.caches_latents && any_term(cache.compact, is_latent));
      sparse_ = sparse_ || (any_term(cache.compact, is_whole_index) && any_term(cache.compact, is_value));
      matrix_state_ = matrix_state_ || any_term(cache.compact, is_matrix_state);
    }
  }

  // States: one per sequence. With prefix caching there is one in every block, or two at the ends of blocks
  // (config/vllm.py).
  void choose_mode() {
    const Request& request = input_.request;
    ChargeRules& charge = out_.charge;
    const std::string_view mode =
        request.vllm.mamba_cache_mode ? std::string_view(*request.vllm.mamba_cache_mode) : "none";
    if (mode != "none" && mode != "align" && !(mode == "all" && rules_.all_mode))
      refuse("--mamba-cache-mode: vLLM has no mode \"" + std::string(mode) + "\"",
             rules_.all_mode ? "use none, align or all" : "use none or align");
    // Without prefix caching there is no mode. With it, "none" means the release's default.
    if (has_state_ && vllm_caches_prefixes(input_, true, rules_)) {
      // Only selective-scan models keep a state for every block; delta-rule models align.
      const bool all = mode == "all" || (mode == "none" && !rules_.align_by_default && any_cache(is_scan));
      charge.mamba_mode = all ? MambaMode::kAll : MambaMode::kAlign;
    }
    const std::uint64_t drafts = vllm_speculative_tokens(input_);
    const std::uint64_t states = charge.mamba_mode != MambaMode::kAlign      ? 1
                                 : vllm_checkpoint_alignment(input_, rules_) ? 3
                                                                             : 2;
    charge.state_slots = checked_add(states, drafts, "draft tokens");
    charge.drafts = drafts;
    charge.extra_slots = rules_.all_mode_speculative ? drafts : 0;
  }

  bool any_cache(bool (*holds)(const Term&)) const {
    return std::any_of(caches_.begin(), caches_.end(),
                       [&](const LayerCache& cache) { return any_term(cache.compact, holds); });
  }

  // MLA kernels support 16 bit and FP8 caches. DeepSeek-V4's only support the packed layout, and in newer releases 16
  // bit.
  void check_type() const {
    const Dtype type = input_.types.key;
    const bool plain = plain_bytes(type) > 0 || type == Dtype::kFp8DsMla;
    if (plain || !(latent_ || packed_)) return;
    if (type == Dtype::kNvfp4 && !packed_) return;
    refuse("vLLM keeps no latents in " + std::string(name(type)), "use --kv-cache-dtype fp8, bfloat16 or auto");
  }

  void choose_block() {
    kernel_ = packed_   ? (class_.has_small_blocks ? kSmallPackedBlock : kPackedBlock)
              : sparse_ ? kSparseBlock
              : latent_ ? vllm_latent_block(input_, rules_)
                        : vllm_head_block(input_, rules_);
    block_ = input_.request.block_size.value_or(kernel_);
    const Request& request = input_.request;
    // AITER's MLA kernel has blocks of one token (platforms/rocm.py).
    if (latent_ && block_ == 1 && (request.card.is_amd() || request.command.is_rocm)) kernel_ = 1;
    if (block_ == 0 || block_ % kernel_ != 0 || (packed_ && block_ != kernel_))
      refuse("--block-size " + std::to_string(block_) + ": vLLM's attention kernel for this model has blocks of " +
                 std::to_string(kernel_) + " tokens",
             packed_ ? "use " + std::to_string(kernel_) : "use a multiple of " + std::to_string(kernel_));
    if (sparse_ && !input_.request.block_size)
      notes_.push_back(
          {NoteLevel::kInfo,
           "block_size",
           {"vLLM's automatic block size of 16 fails for this model: planned with --block-size {block_size}",
            {{"block_size", kernel_}}}});
  }

  // A rank's KV heads. If there are fewer heads than ranks, they are replicated. Ranks that do not divide the heads are
  // refused (refusal.h), and the plan rounds up.
  std::uint64_t units(const Term& term) const { return local_units(term, ranks_, Uneven::kRoundUp); }

  Bytes bytes_of(const Term& term, const CacheTypes& types) const {
    std::uint64_t columns = 0;
    if (term.shape.columns > 0)
      columns = checked_add(term.shape.columns - 1, matrix_state_ ? vllm_speculative_tokens(input_) : 0, kBlockBytes);
    return entry_bytes(term, types, units(term), columns);
  }

  CacheTypes types_of(std::uint64_t layer) const {
    const std::uint64_t layers = input_.model.num_layers;
    CacheTypes types = layer >= layers ? draft_types_ : input_.types;
    const bool boundary = layer < kBoundaryLayers || (layer < layers && layer + kBoundaryLayers >= layers);
    if (is_turboquant(types.key) && !has_state_ && boundary)
      types.key = types.value = types.model == Dtype::kFloat32 ? Dtype::kBfloat16 : types.model;
    return types;
  }

  void push(VllmSpec spec) {
    if (!spec.is_state()) {
      if (spec.block_size % spec.stride != 0)
        refuse("vLLM keeps an entry for every " + std::to_string(spec.stride) + " tokens in blocks of " +
                   std::to_string(spec.block_size) + " tokens, which they do not divide",
               "choose another engine");
      spec.page = spec.entry * (spec.block_size / spec.stride);
    }
    spec.padded = spec.page;
    if (packed_ && input_.types.key == Dtype::kFp8DsMla)
      spec.padded = Bytes(round_up(spec.page.count(), kPackedAlignment, kBlockBytes));
    out_.specs.push_back(spec);
  }

  VllmSpec blank(const LayerCache& cache, SpecType type) const {
    VllmSpec spec;
    spec.type = type;
    spec.label = cache.kind;
    spec.layer = cache.layer;
    spec.draft = cache.layer >= input_.model.num_layers;
    spec.block_size = block_;
    return spec;
  }

  // One block per request, with space for the unfinished group and the draft tokens of a step.
  VllmSpec ring(const LayerCache& cache, const Term& term, const CacheTypes& types) const {
    const std::uint64_t group = term.limit.total().count();
    const std::uint64_t groups = ceil_div(checked_add(group, vllm_speculative_tokens(input_), kBlockBytes), group);
    VllmSpec out = blank(cache, SpecType::kRing);
    out.label = term.name;
    out.entry = bytes_of(term, types) + Bytes(class_.rings_have_positions ? kPositions : 0);
    out.block_size = checked_mul(group, class_.doubles_rings ? std::bit_ceil(groups) : groups, kBlockBytes);
    return out;
  }

  // Inkling: the inputs of a layer's four convolutions, stored per head. Their width is rounded up to a power of two
  // (models/inkling/nvidia/sconv_swa_attn.py).
  VllmSpec convolutions(const LayerCache& cache, const Term& term) const {
    VllmSpec out = blank(cache, SpecType::kSliding);
    out.label = "convolutions";
    out.window = out.block_size = term.shape.columns;
    for (const LayerCache& beside : caches_)
      if (beside.layer == cache.layer && !any_term(beside.compact, is_fixed)) {
        const Term& key = *beside.compact.begin();
        out.heads = units(key);
        out.width = std::bit_ceil(ceil_div(term.shape.units, key.shape.units));
      }
    out.entry = Bytes(2) * checked_mul(out.heads, out.width, kBlockBytes);
    return out;
  }

  // Adds a term that is neither a key nor a value. Returns whether the term was one.
  bool add_beside(const LayerCache& cache, const Term& term, const CacheTypes& types, VllmSpec& state) {
    if (is_fixed(term) && class_.packs_convolutions) {
      push(convolutions(cache, term));
    } else if (is_fixed(term)) {
      state.replicated = class_.replicates_convolutions && !any_term(cache.compact, is_matrix_state);
      state.entry +=
          state.replicated ? entry_bytes(term, types, term.shape.units, term.shape.columns - 1) : bytes_of(term, types);
    } else if (is_open_group(term)) {
      pending_.push_back(ring(cache, term, types));
    } else if (is_index(term)) {
      VllmSpec index = blank(cache, SpecType::kMla);
      index.label = kIndexLabel;
      index.entry = bytes_of(term, types);
      index.width = term.shape.width;
      index.stride = term.stride;
      pending_.push_back(index);
    } else {
      return false;
    }
    return true;
  }

  void add(const LayerCache& cache) {
    if (cache.compact.empty()) return;
    if (class_.is_always_packed && any_term(cache.compact, is_packed)) return add_packed(cache);
    const bool expand = any_term(cache.compact, is_latent) && !(class_.keeps_latents && rules_.caches_latents);
    const bool pads = expand && class_.keeps_latents;  // to the width of its attention kernels
    const CacheTypes types = types_of(cache.layer);
    VllmSpec state = blank(cache, SpecType::kState);
    VllmSpec attention = blank(cache, any_term(cache.compact, is_latent) && !expand ? SpecType::kMla : SpecType::kFull);
    std::uint64_t key_width = 0;
    bool has_attention = false;
    for (Term term : expand ? cache.expanded : cache.compact) {
      if (pads) term.shape.width = std::max(term.shape.width, kPaddedHead);
      if (is_latent(term)) term.shape.width = std::max(term.shape.width, widest_latent_);
      if (add_beside(cache, term, types, state)) continue;
      has_attention = true;
      if (term.growth == Growth::kSourceToken && !(class_.pages_cross_attention && rules_.pages_cross_attention))
        attention.type = SpecType::kCross;
      if (term.limit.kind == LimitKind::kWindow && !attention.is_sliding())
        attention.type = attention.type == SpecType::kMla ? SpecType::kSlidingMla : SpecType::kSliding;
      if (term.limit.kind == LimitKind::kChunk) attention.type = SpecType::kChunked;
      if (is_windowed(term)) attention.window = term.limit.total().count();
      // vLLM has no cache that drops the middle of a sequence, so such a layer keeps all tokens.
      if (term.limit.kind == LimitKind::kSink) attention.promoted = true;
      if (is_value(term)) {
        // If vLLM expands latents, values are as wide as keys. Older releases require equal widths for other layers
        // too.
        const bool local = attention.type == SpecType::kChunked || attention.type == SpecType::kCross;
        const bool one_width = expand || !(local ? rules_.local_value_width : rules_.window_value_width);
        if (one_width) term.shape.width = key_width;
        attention.value_width = term.shape.width;
      } else {
        key_width = term.shape.width;
        attention.heads = units(term);
        attention.width += term.shape.width;
      }
      attention.entry += bytes_of(term, types);
      // fp8_ds_mla has space for a rotary part, even if the model has none.
      if (types.key == Dtype::kFp8DsMla && term.part == Part::kRope && term.shape.width == 0)
        attention.entry += Bytes(kPackedRope);
    }
    if (state.entry > Bytes(0)) {
      state.block_size = 0;
      state.page = state.entry;
      push(state);
    }
    if (has_attention) push(attention);
    for (const VllmSpec& index : pending_) push(index);
    pending_.clear();
  }

  // DeepSeek-V4: a window, entries for several tokens with their index keys, and the compressors' running sums
  // (models/deepseek_v4).
  void add_packed(const LayerCache& cache) {
    VllmSpec window = blank(cache, SpecType::kSlidingMla);
    VllmSpec compressed = blank(cache, SpecType::kMla);
    std::vector<VllmSpec> others;
    for (const Term& term : cache.compact) {
      const Bytes entry = bytes_of(term, input_.types);
      if (term.role == Role::kState) {
        if (class_.has_small_blocks) {
          VllmSpec sums = blank(cache, SpecType::kRing);
          sums.label = term.name;
          sums.block_size = std::max(kSumsRing, std::bit_ceil(vllm_speculative_tokens(input_) + 2));
          sums.entry = entry;
          others.push_back(sums);
          continue;
        }
        VllmSpec state = blank(cache, SpecType::kSlidingMla);
        state.label = term.name;
        state.window = term.limit.tokens.count();
        state.block_size = state.window <= kShortStateWindow ? kShortStateBlock : kLongStateBlock;
        state.entry = entry;
        others.push_back(state);
      } else if (is_windowed(term)) {
        window.label = "window entries";
        window.window = term.limit.tokens.count();
        window.block_size = class_.has_small_blocks ? kSmallPackedWindowBlock : kPackedWindowBlock;
        window.entry += entry;
      } else if (is_index(term)) {
        VllmSpec index = blank(cache, SpecType::kMla);
        index.label = kIndexLabel;
        index.stride = term.stride;
        index.entry = entry;
        others.push_back(index);
      } else {
        compressed.label = "compressed entries";
        compressed.stride = term.stride;
        compressed.entry += entry;
      }
    }
    if (compressed.entry > Bytes(0)) push(compressed);
    if (window.entry > Bytes(0)) push(window);
    for (const VllmSpec& spec : others) push(spec);
  }

  // Attention blocks are enlarged to at least the size of a state, and states are padded to the same size
  // (Platform._align_hybrid_block_size; earlier HybridAttentionMambaModelConfig).
  void align_states() {
    Bytes state;
    const VllmSpec* attention = nullptr;
    for (const VllmSpec& spec : out_.specs) {
      if (spec.is_state())
        state = std::max(state, spec.page);
      else if (attention == nullptr && spec.type != SpecType::kCross && spec.type != SpecType::kRing &&
               spec.stride == 1)
        attention = &spec;
    }
    if (state == Bytes(0)) return;
    const MambaMode mode = out_.charge.mamba_mode;
    const bool is_pooled = class_.doubles_rings && rules_.pooled_layout;
    // Mamba 1 has no chunks and uses the fallback (ModelConfig.get_mamba_chunk_size).
    const std::uint64_t own_chunk = !any_cache(is_matrix_scan) ? kStateChunkFallback
                                    : class_.has_short_chunks  ? kShortStateChunk
                                                               : kStateChunk;
    const std::uint64_t chunk = input_.request.vllm.mamba_block_size.value_or(own_chunk);
    if (attention == nullptr) {
      if (mode == MambaMode::kNone) return;
      for (VllmSpec& spec : out_.specs) spec.block_size = input_.request.vllm.mamba_block_size.value_or(block_);
      return;
    }
    const std::uint64_t token = attention->entry.count();
    std::uint64_t step = std::max(kernel_, block_);
    // TRTLLM's MLA kernels need multiples of 128 tokens.
    if (latent_ && rules_.latent_state_blocks) step = std::max(step, kLatentStateBlock);
    std::uint64_t tokens = 0;
    if (mode == MambaMode::kAll) {
      const std::uint64_t unit = checked_mul(chunk / std::gcd(chunk, step), step, "the tokens of a block");
      tokens = round_up(ceil_div(state.count(), token), unit, kBlockBytes);
    } else {
      // A checkpoint of a prefill must be at the end of a block.
      if (mode == MambaMode::kAlign && rules_.delta_checkpoints)
        step = std::lcm(step, vllm_checkpoint_alignment(input_, rules_).value_or(1));
      for (const VllmSpec& spec : out_.specs)
        if (is_pooled) step = std::lcm(step, kIndexRows / 2 * spec.stride);
      tokens = step * ceil_div(state.count(), checked_mul(step, token, kBlockBytes));
    }
    block_ = std::max(block_, tokens);
    const Bytes page = Bytes(token) * block_;
    for (VllmSpec& spec : out_.specs) {
      if (spec.is_state()) {
        spec.block_size = mode == MambaMode::kNone ? 0 : block_;
        spec.padded = std::max(spec.page, page);
      } else if (spec.type != SpecType::kRing) {
        spec.block_size = block_;
        spec.page = spec.padded = spec.entry * (block_ / spec.stride);
        // Sparse kernels need latents aligned to one row, and index keys to 64 rows.
        if (latent_ && !is_pooled) spec.alignment = spec.label == kIndexLabel ? spec.entry * kIndexRows : spec.entry;
      }
    }
  }

  bool has(bool (VllmSpec::*holds)() const) const {
    return std::any_of(out_.specs.begin(), out_.specs.end(), [&](const VllmSpec& spec) { return (spec.*holds)(); });
  }

  bool manager_on() const {
    const bool chunked = std::any_of(out_.specs.begin(), out_.specs.end(),
                                     [](const VllmSpec& spec) { return spec.type == SpecType::kChunked; });
    if (chunked && (!rules_.chunked_groups || vllm_speculative_tokens(input_) > 0)) return false;
    return input_.request.vllm.hybrid_manager && rules_.hybrid_manager;
  }

  // Without the hybrid manager all layers share one block table, so windows are kept at full length
  // (unify_hybrid_kv_cache_specs).
  void promote_windows() {
    if (has_state_) {
      if (!input_.request.vllm.hybrid_manager && has(&VllmSpec::is_full_family))
        refuse("--disable-hybrid-kv-cache-manager: vLLM cannot keep states and attention in one block table",
               "leave the option out");
      return;
    }
    if (!has(&VllmSpec::is_full_family)) return;
    for (VllmSpec& spec : out_.specs) {
      if (!spec.is_sliding() && spec.type != SpecType::kChunked) continue;
      spec.type = spec.type == SpecType::kSlidingMla ? SpecType::kMla : SpecType::kFull;
      spec.promoted = true;
      spec.block_size = block_;
      spec.page = spec.padded = spec.entry * (spec.block_size / spec.stride);
    }
  }

  void check_context_parallel() const {
    const std::uint64_t ranks = input_.request.parallel.decode_context;
    if (ranks <= 1) return;
    if (ranks_ % ranks != 0)
      refuse("--decode-context-parallel-size " + std::to_string(ranks) +
                 ": vLLM splits tokens over tensor parallel ranks" + " and needs a size that divides " +
                 std::to_string(ranks_),
             "choose -tp and -dcp so that they divide");
    if (std::any_of(out_.specs.begin(), out_.specs.end(),
                    [](const VllmSpec& s) { return s.is_sliding() || s.type == SpecType::kChunked; }))
      refuse("--decode-context-parallel-size: vLLM does not split the tokens of sliding windows", "leave it out");
    for (const LayerCache& cache : caches_) {
      for (const Term& term : cache.compact) {
        if (term.growth != Growth::kToken || !is_value(term)) continue;
        if (checked_mul(ranks, term.shape.units, "ranks") > ranks_)
          refuse("--decode-context-parallel-size " + std::to_string(ranks) +
                     ": vLLM splits tokens over the ranks that repeat a" + " KV head, and " + std::to_string(ranks_) +
                     " ranks hold " + std::to_string(term.shape.units) + " heads",
                 "use at most -tp over the number of KV heads");
      }
    }
  }

  // Tokens that are scheduled but not finished: one batch per concurrent step. Async scheduling has two steps, unless
  // there are pipeline stages.
  std::uint64_t in_flight_tokens() const {
    const std::uint64_t stages = input_.request.parallel.pipeline;
    const std::uint64_t batches = !rules_.in_flight_batches ? 1 : stages <= 1 ? 2 : stages;
    return checked_mul(vllm_batched_tokens(input_, rules_), batches, "the tokens in flight");
  }

  const EngineInput& input_;
  const VllmClass class_;
  const VllmRules& rules_;
  std::vector<Note>& notes_;
  std::vector<LayerCache> caches_;
  CacheTypes draft_types_;
  std::uint64_t ranks_;
  std::uint64_t widest_latent_ = 0;  // if the latents of all layers are padded to one width
  bool has_state_ = false, matrix_state_ = false, packed_ = false, latent_ = false, sparse_ = false;
  std::uint64_t kernel_ = kAttentionBlock, block_ = kAttentionBlock;
  std::vector<VllmSpec> pending_;
  SpecList out_;
};

}  // namespace

bool VllmSpec::same_as(const VllmSpec& other) const {
  return type == other.type && block_size == other.block_size && window == other.window && stride == other.stride &&
         entry == other.entry && heads == other.heads && width == other.width && value_width == other.value_width &&
         padded == other.padded;
}

SpecList vllm_specs(const EngineInput& input, const VllmRules& rules, std::vector<Note>& notes) {
  return SpecMaker(input, rules, notes).make();
}

}  // namespace kvplan
