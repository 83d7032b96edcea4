// vLLM: a pool of blocks, shared by groups of layers.
//
// How it works. Every layer states the bytes of a block of tokens and how many blocks one request of the maximum length
// may use (specs.h). Layers with equal needs form a group with one block table. A model with several types of layers
// gets several groups of equal length, and all pages get one size, so that any block can serve any group (groups.h).
// The bytes per GPU for a request are then the blocks of all groups times the bytes of a block:
//
//   reserved(L) = sum over groups of (blocks(L) + further sequences * running(L)) * pages of a block * page
//
// The first sequence is charged the blocks needed for admission, the others the blocks that they use while running
// (at_once.h). This is more than the architecture needs, and the plan names the reasons: the last block is not full, a
// window is charged for the batches in flight and one block more, a recurrent state takes a whole page, and layers that
// do not fill the last group leave padding. If there are more ranks than KV heads, the heads are replicated. Every rank
// has all latents, index keys and DeepSeek-V4's caches, and a part of each state. Groups are formed for the whole
// model. Then each pipeline stage keeps its layers of them, and the stage with the largest block decides how many
// blocks there are.
//
// What vLLM's log prints. "GPU KV cache size": blocks / groups x block size until 0.20, concurrency x length since
// 0.21. "Maximum concurrency": blocks / blocks of one request. "KV cache needed": reserved(L) of one sequence.
// "estimated maximum model length": the longest L that fits. The null block is part of the count.
//
// Sources (vllm/): v1/kv_cache_interface.py (pages, worst case), v1/core/kv_cache_utils.py (groups, blocks, log lines),
// model_executor/layers/mamba/mamba_utils.py (states), platforms/interface.py and model_executor/models/config.py
// (alignment, types), models/deepseek_v4/ (its caches), distributed/utils.py (pipeline split), config/vllm.py (batches
// in flight), engine/arg_utils.py (defaults).
//
// Checked against executed releases (testdata/conformance) and start-up logs (testdata/observations/capacity.json). Not
// modelled: speculative caches of DeepSeek-V4's draft models, ReplaySSM rings, kv_cache_dtype_skip_layers.
#include "engines/vllm/vllm.h"

#include <algorithm>

#include "engines/capacity.h"
#include "engines/parallel.h"
#include "engines/term_sum.h"
#include "engines/vllm/at_once.h"
#include "engines/vllm/class_table.h"
#include "engines/vllm/groups.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/specs.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

constexpr std::string_view kBlocksOverflow = "the blocks of a request";
constexpr double kMostTokens = 9e18;  // states do not grow, so their "size in tokens" is unbounded

std::int64_t difference(Bytes a, Bytes b) {
  return signed_difference(a.count(), b.count());
}

class VllmLayout : public CacheLayout {
 public:
  VllmLayout(const EngineInput& input, const VllmRules& rules, std::vector<Note>& notes)
      : rules_(rules),
        host_(vllm_host_caches(input.request, rules)),
        host_cache_(input.request.vllm.host_kv_cache),
        tensor_parallel_(input.request.parallel.tensor),
        context_ranks_(input.request.parallel.decode_context) {
    const Tokens length = input.request.max_model_len.value_or(input.model.max_model_len);
    if (length > Tokens(0)) whole_length_ = length.count();
    SpecList list = vllm_specs(input, rules, notes);
    specs_ = std::move(list.specs);
    draft_label_ = std::move(list.draft_label);
    charge_ = list.charge;
    groups_ = group_specs(specs_, rules);
    const bool has_states = std::any_of(specs_.begin(), specs_.end(), [](const VllmSpec& s) { return s.is_state(); });
    if (has_states && rules.checks_state_blocks && vllm_captures_whole_steps(input, rules))
      checked_cap_ = vllm_max_num_seqs(input.request, rules);
    std::uint64_t first = 0;
    const std::vector<std::uint64_t> split =
        stage_layers(input.model.num_layers, input.request.parallel, StageSplit::kSpareLast);
    for (std::size_t s = 0; s < split.size(); ++s) {
      // Draft layers come after all layers of the last stage.
      const std::uint64_t last = s + 1 == split.size() ? ~std::uint64_t{0} : first + split[s];
      Stage stage{first, last, stage_pool(specs_, groups_, first, last), {}};
      stage.need =
          TermSum(caches_of_stage(input.caches, first, split[s]), input.types, tensor_parallel_, Uneven::kRoundUp);
      widest_gate_ = std::max(widest_gate_, stage.pool.gate);
      widest_block_ = std::max(widest_block_, stage.pool.block);
      stages_.push_back(std::move(stage));
      first += split[s];
    }
  }

  Bytes reserved(const Load& load) const override { return widest_gate_ * all_blocks(load); }

  std::vector<Bytes> reserved_by_stage(const Load& load, std::uint64_t) const override {
    const std::uint64_t all = all_blocks(load);
    std::vector<Bytes> out;
    for (const Stage& stage : stages_) out.push_back(stage.pool.gate * all);
    return out;
  }

  std::vector<RankCache> explain(const Load& load) const override {
    std::vector<RankCache> out;
    for (const Stage& stage : stages_) {
      RankCache rank;
      Load share = load;
      share.max_model_len = Tokens(ceil_div(load.max_model_len.count(), context_ranks_));
      rank.logical = stage.need.bytes(share);
      rank.reserved = stage.pool.gate * all_blocks(load);
      rank.gap = gap(stage, load, rank);
      rank.lines = lines(stage, load);
      out.insert(out.end(), tensor_parallel_, rank);
    }
    return out;
  }

  // One group has a tensor per layer. Several groups have tensors that one layer of each group shares
  // (v1/worker/gpu_model_runner.py, _allocate_kv_cache_tensors).
  std::vector<CacheBuffer> buffers(const Load& load, std::size_t rank) const override {
    const Stage& stage = stages_[rank / tensor_parallel_];
    const std::uint64_t pool = all_blocks(load);
    const std::vector<LedgerLine> parts = lines(stage, load);
    std::vector<CacheBuffer> out;
    if (parts.empty()) return out;
    const Template line = parts.size() == 1
                              ? parts.front().what
                              : Template("one pool for {groups} groups of layers", {{"groups", parts.size()}});
    if (groups_.pool == Pool::kUniform) {
      for (const std::size_t i : groups_.groups.front().members)
        if (holds(stage, specs_[i]))
          out.push_back({line, buffer_name(specs_[i].layer, specs_[i].label), specs_[i].padded * pool});
      return out;
    }
    for (const Bytes page : stage.pool.slots)
      out.push_back({line, "slot " + std::to_string(out.size() + 1) + " of " + std::to_string(stage.pool.slots.size()),
                     page * pool});
    return out;
  }

  std::vector<CacheGroup> groups() const override {
    std::vector<CacheGroup> out;
    for (const VllmGroup& group : groups_.groups) {
      for (const auto& [key, count] : sorts_of(group, 0, ~std::uint64_t{0})) {
        const VllmSpec& spec = specs_[key];
        CacheGroup row;
        row.kind = spec.label;
        row.layers = count;
        if (spec.block_size > 0) row.block_size = spec.block_size;
        row.page_bytes = spec.padded;
        out.push_back(std::move(row));
      }
    }
    return out;
  }

  std::vector<LedgerLine> host(const Load&) const override { return host_; }

  // v1/kv_offload/cpu/spec.py: blocks of all ranks, aligned to a page of memory. Every group stores the blocks of a
  // whole sequence. kvplan does not subtract blocks that windows and states do not need.
  std::optional<HostCache> host_cache(std::optional<Bytes>, const Load& load) const override {
    constexpr std::uint64_t kAlignment = 4096;
    if (!host_cache_ || *host_cache_ == Bytes(0)) return std::nullopt;
    HostCache out;
    out.line = of_kind(LineId::kOffloaded,
                       exact_line(Section::kKvCache, "offloaded KV cache", *host_cache_,
                                  "--kv-offloading-size, all ranks together", "vLLM v1/kv_offload/cpu/spec.py"));
    const std::uint64_t ranks = checked_mul(tensor_parallel_, stages_.size(), kBlocksOverflow);
    const std::uint64_t block = round_up((widest_block_ * ranks).count(), kAlignment, kBlocksOverflow);
    if (block == 0) return out;
    const std::uint64_t blocks = host_cache_->count() / block;
    const std::uint64_t length = load.max_model_len.count();
    std::uint64_t each = 0;
    for (const VllmGroup& group : groups_.groups) {
      const std::uint64_t tokens = checked_mul(specs_[group.members.front()].block_size, context_ranks_, "tokens");
      each = checked_add(each, tokens > 0 ? length / tokens : 1, kBlocksOverflow);
    }
    out.at_least = groups_.groups.size() > 1;
    out.sequences = each == 0 ? 0 : blocks / each;
    out.tokens = checked_mul(checked_mul(blocks / groups_.groups.size(), shortest_block(length), "tokens"),
                             context_ranks_, "tokens");
    return out;
  }

  // The longest block of any group, which the log calls the attention block size.
  std::optional<std::uint64_t> block_size() const override {
    const VllmSpec* best = nullptr;
    for (const VllmGroup& group : groups_.groups) {
      if (group.members.empty()) continue;
      const VllmSpec& spec = specs_[group.members.front()];
      if (spec.block_size > 0 && (best == nullptr || spec.block_size > best->block_size)) best = &spec;
    }
    if (best != nullptr) return best->block_size;
    // Without prefix caching a model that only has states has one state for the whole length.
    return specs_.empty() ? std::nullopt : whole_length_;
  }

  // The pool reserves one block, which the check before start-up ignores (get_kv_cache_configs). Several sequences fit
  // if the scheduler runs them all at once.
  bool fits(Bytes budget, const Load& load) const override {
    Load one = load;
    one.num_seqs = std::min<std::uint64_t>(load.num_seqs, 1);
    if (reserved(one) > usable(budget)) return false;
    if (load.num_seqs < 2) return true;
    const auto running = runs_at_once(budget, load, {{load.max_model_len}, {}});
    return running ? *running >= load.num_seqs : reserved(load) <= usable(budget);
  }

  Template shortfall(Bytes budget, const Load& load) const override {
    if (fits(budget, load)) return {};
    if (const Bytes need = reserved(load); need > usable(budget)) return too_small(need, usable(budget));
    const auto running = runs_at_once(budget, load, {{load.max_model_len}, {}});
    return {"the scheduler runs {running:such sequence} at once", {{"running", running.value_or(0)}}};
  }

  std::optional<std::uint64_t> runs_at_once(Bytes budget, const Load& load, const Running& running) const override {
    if (widest_block_ == Bytes(0) || !rules_.hybrid_manager) return std::nullopt;
    const std::uint64_t blocks = budget.count() / widest_block_.count();
    VllmPool pool = pool_of(blocks > 0 ? blocks - 1 : 0, load);
    for (const VllmGroup& group : groups_.groups) pool.groups.push_back(&specs_[group.members.front()]);
    if (groups_.crossed) pool.groups.push_back(&specs_[*groups_.crossed]);
    return vllm_runs_at_once(pool, running);
  }

  Capacity capacity(Bytes budget, const Load& load) const override {
    Capacity out;
    out.kv_cache_memory = budget;
    out.max_model_len = longest_sequence(*this, budget, load);
    out.max_num_seqs = most_sequences(*this, budget, load);
    const std::uint64_t each = blocks_of_concurrency(load);
    if (widest_block_ == Bytes(0) || each == 0) return out;
    const std::uint64_t pool = budget.count() / widest_block_.count();
    const std::uint64_t length = load.max_model_len.count();
    out.num_blocks = pool;
    const auto printed = static_cast<double>(pool) / static_cast<double>(each);
    if (rules_.tokens_from_concurrency) {
      out.max_concurrency = printed;
      out.tokens = static_cast<std::uint64_t>(std::min(printed * static_cast<double>(length), kMostTokens));
      return out;
    }
    const std::uint64_t shortest = shortest_block(length);
    out.tokens = checked_mul(checked_mul(pool / groups_.groups.size(), shortest, "tokens"), context_ranks_, "tokens");
    out.max_concurrency =
        rules_.ceil_concurrency ? printed : static_cast<double>(*out.tokens) / static_cast<double>(length);
    return out;
  }

  // CompilationConfig.resolve_cudagraph_mode_and_sizes: a decoding sequence needs a block for its state.
  std::optional<SequenceLimit> sequence_limit(Bytes budget) const override {
    if (!checked_cap_ || widest_block_ == Bytes(0)) return std::nullopt;
    const std::uint64_t blocks = budget.count() / widest_block_.count();
    return SequenceLimit{*checked_cap_,
                         blocks,
                         {"max_num_seqs ({cap}) exceeds available Mamba cache blocks ({blocks})",
                          {{"cap", *checked_cap_}, {"blocks", blocks}}}};
  }

 private:
  Bytes usable(Bytes budget) const {
    const Bytes null_block = rules_.null_block ? widest_block_ : Bytes(0);
    return budget > null_block ? budget - null_block : Bytes(0);
  }

  struct Stage {
    std::uint64_t first, last;  // layers [first, last)
    StagePool pool;
    TermSum need;
  };

  bool holds(const Stage& stage, const VllmSpec& spec) const {
    return spec.layer >= stage.first && spec.layer < stage.last;
  }

  std::uint64_t blocks_of(const VllmGroup& group, const Load& load) const {
    const std::uint64_t out = charged_blocks(specs_[group.members.front()], charge_, load);
    if (!groups_.crossed) return out;
    return checked_add(out, charged_blocks(specs_[*groups_.crossed], charge_, load), kBlocksOverflow);
  }

  VllmPool pool_of(std::uint64_t blocks, const Load& load) const {
    return {blocks, {}, &charge_, &rules_, load.max_model_len, load.source_tokens};
  }

  // Blocks of all sequences. The first sequence has `charged` blocks. Without the hybrid manager the others have as
  // many.
  std::uint64_t over_sequences(std::uint64_t charged, const VllmSpec& spec, const Load& load) const {
    if (load.num_seqs == 0) return 0;
    std::uint64_t further = charged;
    if (rules_.hybrid_manager && !groups_.crossed)
      further = std::min(charged, running_blocks(spec, pool_of(0, load), load));
    return checked_add(charged, checked_mul(further, load.num_seqs - 1, kBlocksOverflow), kBlocksOverflow);
  }

  std::uint64_t all_blocks_of(const VllmGroup& group, const Load& load) const {
    return over_sequences(blocks_of(group, load), specs_[group.members.front()], load);
  }

  std::uint64_t all_blocks(const Load& load) const {
    std::uint64_t out = 0;
    for (const VllmGroup& group : groups_.groups) out = checked_add(out, all_blocks_of(group, load), kBlocksOverflow);
    return out;
  }

  // Until 0.26 the log divided the bytes of all groups by the bytes of the first group. If their pages differ, that
  // gives a different number.
  std::uint64_t blocks_of_concurrency(const Load& load) const {
    if (groups_.pool != Pool::kPacked || rules_.packed_sum_of_pages) {
      std::uint64_t out = 0;
      for (const VllmGroup& group : groups_.groups) out = checked_add(out, blocks_of(group, load), kBlocksOverflow);
      return out;
    }
    Bytes all;
    Bytes first;
    for (const VllmGroup& group : groups_.groups) {
      Bytes page;
      for (const std::size_t i : group.members) page += specs_[i].padded;
      if (first == Bytes(0)) first = page;
      all += page * blocks_of(group, load);
    }
    return first == Bytes(0) ? 0 : ceil_div(all.count(), first.count());
  }

  std::uint64_t shortest_block(std::uint64_t length) const {
    std::uint64_t out = ~std::uint64_t{0};
    for (const VllmGroup& group : groups_.groups) {
      const std::uint64_t tokens = specs_[group.members.front()].block_size;
      out = std::min(out,
                     tokens > 0 ? tokens : length);  // without prefix caching there is one state for the whole length
    }
    return out;
  }

  // The distinct specs of a group and the number of layers with each, in order.
  std::vector<std::pair<std::size_t, std::uint64_t>> sorts_of(const VllmGroup& group, std::uint64_t first,
                                                              std::uint64_t last) const {
    std::vector<std::pair<std::size_t, std::uint64_t>> out;
    for (const std::size_t i : group.members) {
      if (specs_[i].layer < first || specs_[i].layer >= last) continue;
      const auto same = std::find_if(out.begin(), out.end(), [&](const auto& row) {
        const VllmSpec& first_of = specs_[row.first];
        return first_of.same_as(specs_[i]) && first_of.label == specs_[i].label && first_of.draft == specs_[i].draft;
      });
      if (same == out.end())
        out.emplace_back(i, 1);
      else
        ++same->second;
    }
    return out;
  }

  // The steps from the needed bytes to the reserved bytes, one reason at a time. The remainder are slots that no layer
  // fills.
  std::vector<GapLine> gap(const Stage& stage, const Load& load, const RankCache& rank) const {
    enum { kForm, kDrafts, kRounding, kFullLength, kReserve, kStates, kAlignment, kUnification, kPadding };
    std::vector<GapLine> out{{"entries as vLLM stores them", -difference(rank.logical, Bytes(0))},
                             {"draft layers", 0},
                             {"page rounding", 0},
                             {"windows at full length", 0},
                             {"window reserve", 0},
                             {"more states of a sequence", 0},
                             {"state page alignment", 0},
                             {"page size unification", 0},
                             {groups_.crossed                 ? "one block table for the tokens and their source"
                              : groups_.pool == Pool::kPacked ? "slots that a group leaves empty"
                                                              : "padding layers",
                              difference(rank.reserved, Bytes(0))}};
    for (const VllmGroup& group : groups_.groups) {
      for (const auto& [i, count] : sorts_of(group, stage.first, stage.last)) {
        const VllmSpec& spec = specs_[i];
        const std::uint64_t times = checked_mul(count, load.num_seqs, "layers of all sequences");
        const Bytes need = filled_bytes(spec, charge_, load) * times;
        const std::uint64_t all = over_sequences(charged_blocks(spec, charge_, load), spec, load);
        const Bytes held = spec.page * filled_blocks(spec, charge_, load) * times;
        const Bytes pages = spec.page * all * count;
        const Bytes padded = spec.padded * all * count;
        out[spec.draft ? kDrafts : kForm].bytes += difference(need, Bytes(0));
        out[kPadding].bytes -= difference(padded, Bytes(0));
        if (spec.is_state()) {
          out[kStates].bytes += difference(pages, need);
          out[kAlignment].bytes += difference(padded, pages);
          continue;
        }
        out[spec.promoted ? kFullLength : kRounding].bytes += difference(held, need);
        out[kReserve].bytes += difference(pages, held);
        out[kUnification].bytes += difference(padded, pages);
      }
    }
    std::erase_if(out, [](const GapLine& line) { return line.bytes == 0; });
    return out;
  }

  std::vector<LedgerLine> lines(const Stage& stage, const Load& load) const {
    std::vector<LedgerLine> out;
    for (const VllmGroup& group : groups_.groups) {
      const std::uint64_t each = blocks_of(group, load);
      const std::uint64_t all = all_blocks_of(group, load);
      const Bytes bytes = stage.pool.gate * all;
      if (bytes == Bytes(0)) continue;
      Template what;
      std::uint64_t tokens = 0;
      std::uint64_t draft_layers = 0;
      Bytes drafts;  // pages of draft layers in these blocks
      for (const auto& [i, count] : sorts_of(group, stage.first, stage.last)) {
        const VllmSpec& spec = specs_[i];
        tokens = spec.block_size;
        if (spec.draft) {
          if (spec.label != kIndexLabel) draft_layers += count;
          drafts += spec.padded * checked_mul(count, all, kBlocksOverflow);
          continue;
        }
        what += {what.empty() ? "{kind}, {num_layers} layers" : " and {kind}, {num_layers} layers",
                 {{"kind", spec.label}, {"num_layers", count}}};
      }
      drafts = std::min(drafts, bytes);
      const bool alike = all == each * load.num_seqs;
      Template blocks(alike ? "{num_seqs:sequence} x {blocks:block}" : "({num_seqs:sequence} x {blocks:block}",
                      {{"num_seqs", alike ? load.num_seqs : 1}, {"blocks", each}});
      if (!alike)
        blocks +=
            {" + {more} x {blocks}", {{"more", load.num_seqs - 1}, {"blocks", (all - each) / (load.num_seqs - 1)}}};
      if (tokens > 0) blocks += {" of {block_size:token}", {{"block_size", tokens}}};
      if (!alike) blocks += ")";
      const auto line = [&](LineId id, Template name, Bytes share) {
        const std::uint64_t of_block = share.count() / std::max<std::uint64_t>(1, all);
        out.push_back(of_kind(id, exact_line(Section::kKvCache, std::move(name), share,
                                             blocks + Template(" x {of_block} B per block", {{"of_block", of_block}}),
                                             "vLLM v1/core/kv_cache_utils.py")));
      };
      if (what.empty()) what = draft_layers > 0 ? "padding beside the draft" : "a group without layers on this stage";
      if (bytes > drafts) line(LineId::kUsual, std::move(what), bytes - drafts);
      if (drafts > Bytes(0))
        line(LineId::kDraftCache,
             {"{draft}, {num_layers:layer}", {{"draft", draft_label_}, {"num_layers", draft_layers}}}, drafts);
    }
    return out;
  }

  VllmRules rules_;
  std::vector<LedgerLine> host_;
  std::optional<Bytes> host_cache_;
  std::uint64_t tensor_parallel_, context_ranks_;
  std::vector<VllmSpec> specs_;
  ChargeRules charge_;
  VllmGroups groups_;
  std::vector<Stage> stages_;
  Bytes widest_gate_, widest_block_;
  std::string draft_label_;
  std::optional<std::uint64_t> whole_length_;
  std::optional<std::uint64_t> checked_cap_;  // the limit of max_num_seqs if each sequence needs a block for its state
};

}  // namespace

std::unique_ptr<CacheLayout> vllm_layout(const EngineInput& input, std::vector<Note>& notes) {
  const VllmClass the_class = vllm_class(input.model);
  if (the_class.is_missing) {
    notes.push_back({NoteLevel::kWarning,
                     "engine_lacks_model",
                     {"vLLM cannot run {model_type}: the KV cache is planned as the architecture needs it",
                      {{"model_type", input.model.model_type}}}});
    return logical_engine().layout(input, notes);
  }
  if (the_class.is_always_packed && !input.request.cache_type_k)
    notes.push_back({NoteLevel::kInfo, "kv_cache_dtype",
                     "vLLM serves this model only with --kv-cache-dtype fp8: planned as fp8_ds_mla"});
  note_unasked_kernels(vllm_kernel_rows(), input, notes);
  if (input.request.card.is_unified())
    notes.push_back(
        {NoteLevel::kInfo, "unified_memory",
         "CPU and GPU share this memory. vLLM counts what the host allocates while weights load as its own, up to 6 "
         "GiB in logs of GB10. vLLM only starts if its fraction of the memory is free. GB10 users report 101 to 105 "
         "of 121.7 GiB free (--gpu-memory-utilization 0.83). If memory is short, drop the page cache before the "
         "start"});
  return std::make_unique<VllmLayout>(input, vllm_rules(input.request), notes);
}

}  // namespace kvplan
