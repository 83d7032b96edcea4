#include "engines/llama_cpp/cache.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engines/capacity.h"
#include "engines/llama_cpp/compute.h"
#include "engines/llama_cpp/compute_graph.h"
#include "engines/parallel.h"
#include "engines/term_kinds.h"
#include "kvplan/error.h"

namespace kvplan {

constexpr std::uint64_t kAlignment = 128;  // alignment of the tensors in a buffer, in bytes
constexpr std::uint64_t kMostCells = std::uint64_t{1} << 40;
constexpr const char* kCells = "the cells of a cache";

constexpr const char* kStates = "float32 states";
constexpr const char* kIndexType = "index keys at the K type";
constexpr const char* kExpandedReason = "keys and values in place of the latent";
constexpr const char* kCross = "cross attention is not cached";
constexpr const char* kFullWindows = "windows kept in full";
constexpr const char* kReserve = "window reserve of a micro-batch";
constexpr const char* kStreams = "a whole stream for each sequence";
constexpr const char* kFullStates = "states of short sequences kept in full";
constexpr const char* kPadding = "cell padding";
constexpr const char* kWidest = "V padded to the widest layer";
constexpr const char* kRollbackRows = "rows to roll back drafts";
constexpr const char* kCheckpoints = "checkpoints of states";
constexpr const char* kBeyondWindow = "tokens kept beyond a window, and a batch";
constexpr const char* kMtp = "MTP layers";
constexpr const char* kRecurrent = "recurrent state (R and S)";
constexpr const char* kRows = "quantized rows padded for CUDA";
constexpr const char* kIndexValues = "values beside the index keys";
constexpr const char* kPooledKeys = "pooled index keys beside the plain ones";
constexpr const char* kLatentValues = "latents kept a second time, as values";
constexpr const char* kTypes = "types of the cache";

// In the order in which reports list them.
constexpr std::array kReasons{kExpandedReason, kStates,      kIndexType,  kIndexValues, kPooledKeys,
                              kLatentValues,   kTypes,       kCross,      kFullWindows, kReserve,
                              kBeyondWindow,   kStreams,     kFullStates, kPadding,     kWidest,
                              kRollbackRows,   kCheckpoints, kMtp,        kRows};

static std::int64_t signed_bytes(Bytes bytes) {
  return static_cast<std::int64_t>(bytes.count());
}

// The elements of the row that llama.cpp stores for `term`, including other terms in that row (a latent and its rope
// part). The row's last term has all of them, its other terms have 0.
static std::uint64_t row_elements(const CacheTerms& terms, const Term& term) {
  std::uint64_t out = 0;
  const Term* last = &term;
  for (const Term& other : terms) {
    if (other.role != term.role || other.growth != term.growth || other.stride != term.stride ||
        !(other.limit == term.limit))
      continue;
    out = checked_add(out, other.elements().count(), kCells);
    last = &other;
  }
  return last == &term ? out : 0;
}

// llama.cpp stores the inputs of pooled index keys, one row per token.
static EngineInput unpooled(const EngineInput& input) {
  EngineInput out = input;
  if (llama_keeps_sequences_apart(input)) return out;
  const std::uint64_t parts = llama_class(input.model).index_parts;
  for (LayerCache& cache : out.caches) {
    if (!any_term(cache.compact, is_open_group)) continue;
    std::erase_if(cache.compact.own(), is_open_group);
    for (Term& term : cache.compact.own()) {
      if (!is_index(term)) continue;
      term.stride = 1;
      term.shape.width = checked_mul(term.shape.width, parts, "an index row");
    }
  }
  return out;
}

LlamaCppLayout::LlamaCppLayout(const EngineInput& input, std::optional<LlamaKeeps> own_engine, BatchRule batch_rule)
    : input_(unpooled(input)),
      rules_(llama_rules(input.request)),
      class_(llama_class(input.model)),
      own_engine_(own_engine),
      batch_rule_(batch_rule),
      flash_attention_(llama_flash_attention(input)),
      keeps_windows_(class_.keeps_windows && !input.request.llama_cpp.swa_full),
      rollback_rows_(own_engine ? own_engine->checkpoints : 0),
      placement_(input) {
  const Request& request = input_.request;
  const bool rolls_back = request.mtp || input_.draft_method == DraftMethod::kEagle3;
  if (rolls_back && class_.rolls_back)
    rollback_rows_ = request.num_speculative_tokens > 0 ? request.num_speculative_tokens : kDefaultDraft;
  devices_.resize(placement_.gpus + 1);
  const bool expands = class_.expands_latents || !rules_.caches_latents;
  keeps_latents_twice_ = !expands && !rules_.caches_latents_once;
  const LayerCache* last_attention = nullptr;
  std::map<std::string, CacheGroup> groups;
  compressed_ = llama_keeps_sequences_apart(input_);
  for (const LayerCache& cache : input_.caches) {
    for (const Term& term : cache.compact) {
      if (term.role == Role::kValue && term.growth == Growth::kToken && !flash_attention_)
        widest_value_ = std::max(widest_value_, term.elements().count());
    }
  }
  for (const LayerCache& cache : input_.caches) {
    if (cache.compact.empty()) continue;
    CacheGroup& group = groups[std::string(cache.kind)];
    group.kind = cache.kind;
    ++group.layers;
    if (expands && cache.compact != cache.expanded) {
      add_layer(cache, cache.compact, kExpandedReason, false);
      add_layer(cache, cache.expanded, kExpandedReason, false);
    } else {
      add_layer(cache, cache.compact, {}, false);
    }
    if (cache.compact.front().growth == Growth::kToken) last_attention = &cache;
  }
  if (widest_value_ > 0 && class_.keeps_empty_layers) add_empty_layers();
  if (request.mtp && last_attention != nullptr) {
    const CacheTypes types = std::exchange(input_.types, llama_mtp_types(input_));
    for (std::uint64_t i = 0; i < input_.model.num_nextn_layers; ++i) {
      LayerCache cache = *last_attention;
      cache.layer = input_.model.num_layers + i;
      cache.kind = kMtp;
      std::erase_if(cache.compact.own(), [](const Term& term) { return term.role == Role::kIndex || term.stride > 1; });
      add_layer(cache, cache.compact, {}, true);
    }
    input_.types = types;
  }
  for (auto& [kind, group] : groups) groups_.push_back(std::move(group));
}

void LlamaCppLayout::add_layer(const LayerCache& cache, const CacheTerms& terms, std::string_view reason, bool extra) {
  const bool replaced = !reason.empty() && &terms == &cache.compact.all();
  for (const Term& term : terms) {
    Tensor tensor;
    tensor.extra = extra;
    tensor.logical = term;
    tensor.device = device_of(cache.layer);
    if (reason.empty() || replaced) tensor.logical_cell = cell_bytes(term);
    tensor.stored_reason = reason.empty() ? kTypes : reason;
    tensor.stored = !replaced && term.growth != Growth::kSourceToken;
    if (term.growth == Growth::kSourceToken) tensor.stored_reason = kCross;

    Term kept = term;
    if (term.role == Role::kState) {
      tensor.cells = Cells::kSequence;
      tensor.rows = term.growth == Growth::kSequence ? 1 : term.limit.total().count() / term.stride;
      tensor.rollback = rollback_rows_;
      tensor.stored_reason = kStates;
      kept.storage = Storage::kFloat32;
    } else if (term.growth == Growth::kSequence) {
      tensor.cells = Cells::kSequence;  // keys and values of meta tokens, stored once for each sequence
      tensor.rows = 1;
      kept.storage = Storage::kKv;
    } else {
      if (term.role == Role::kIndex) {
        tensor.stored_reason = kIndexType;
        kept.role = Role::kKey;
      }
      kept.storage = Storage::kKv;
      tensor.own_streams = compressed_;
      if (term.stride > 1) {
        tensor.cells = Cells::kCompressed;
        tensor.stride = term.stride;
      } else if (keeps_windows_ && (term.limit.kind == LimitKind::kWindow || term.limit.kind == LimitKind::kChunk)) {
        tensor.cells = Cells::kWindow;
        tensor.window = std::max(term.limit.tokens.count(), own_engine_ ? own_engine_->window : 0);
      }
    }
    tensor.cell = cell_bytes(kept);
    const std::uint64_t elements = kept.elements().count();
    if (kept.role == Role::kValue && term.growth == Growth::kToken && widest_value_ > elements) {
      Term widest = kept;
      widest.shape = {.units = 1, .vectors = 1, .width = widest_value_, .columns = 0};
      tensor.widest = cell_bytes(widest) - tensor.cell;
    }
    tensor.row_padding = row_padding(tensor, kept, row_elements(terms, term));
    if (term.role == Role::kIndex && class_.index_has_values) add_index_values(tensor, terms);
    if (term.role == Role::kIndex && class_.keeps_pooled_keys && rules_.pooled_keys) {
      tensor.row_padding = row_padding(tensor, kept, 2 * row_elements(terms, term));
      add_extra(tensor, kept, kPooledKeys);
    }
    if (keeps_latents_twice_ && term.part == Part::kLatent && term.role == Role::kKey && term.stride == 1) {
      Term value = term;
      value.role = Role::kValue;
      add_extra(tensor, value, kLatentValues);
    }
    add_tensor(tensor);
  }
}

// --split-mode tensor divides heads.
Bytes LlamaCppLayout::cell_bytes(const Term& term) const {
  return rank_entry(term, input_.types, input_.request.parallel.tensor, Uneven::kRoundUp);
}

// The padding of the last row of a quantized tensor on a GPU.
Bytes LlamaCppLayout::row_padding(const Tensor& of, const Term& kept, std::uint64_t row) const {
  if (!of.stored || of.device == placement_.gpus) return Bytes(0);
  if (!is_quantized(term_dtype(kept, input_.types)) || row % kCudaRow == 0) return Bytes(0);
  Term rest = kept;
  rest.shape = {.units = 1, .vectors = 1, .width = kCudaRow - row % kCudaRow, .columns = 0};
  return Bytes(round_up(entry_bytes(rest, input_.types).count(), kAlignment, kCells));
}

// llama.cpp creates the cache of index keys like any other cache, so it also has one head of V, which nothing reads.
void LlamaCppLayout::add_index_values(const Tensor& index, const CacheTerms& terms) {
  for (const Term& term : terms) {
    if (term.role != Role::kValue) continue;
    Term value = term;
    value.shape.units = 1;
    add_extra(index, value, kIndexValues, row_padding(index, value, value.elements().count()));
  }
}

// A copy of `tensor`, with as many cells, that the architecture does not need.
void LlamaCppLayout::add_extra(const Tensor& tensor, const Term& term, std::string_view reason, Bytes padding) {
  Tensor extra = tensor;
  extra.logical_cell = Bytes(0);
  extra.cell = cell_bytes(term);
  extra.row_padding = padding;
  extra.stored_reason = reason;
  add_tensor(extra);
}

// Layers without keys and values still have a V, as wide as the widest layer's.
void LlamaCppLayout::add_empty_layers() {
  std::vector<bool> has_cache(input_.model.num_layers, false);
  for (const LayerCache& cache : input_.caches)
    if (!cache.compact.empty() && cache.layer < has_cache.size()) has_cache[cache.layer] = true;
  Term value{.name = "value", .role = Role::kValue};
  value.shape.width = widest_value_;
  for (std::uint64_t layer = 0; layer < has_cache.size(); ++layer) {
    if (has_cache[layer]) continue;
    Tensor tensor;
    tensor.device = device_of(layer);
    tensor.logical = value;
    tensor.stored_reason = kTypes;
    tensor.widest = entry_bytes(value, input_.types);
    add_tensor(tensor);
  }
}

std::size_t LlamaCppLayout::device_of(std::uint64_t layer) const {
  const bool on_host = input_.request.llama_cpp.no_kv_offload || placement_.on_host(layer);
  return on_host ? placement_.gpus : placement_.gpu_of(layer);
}

void LlamaCppLayout::add_tensor(const Tensor& tensor) {
  if (tensor.stored) {
    Device& device = devices_[tensor.device];
    device.row_padding += tensor.row_padding;
    const Bytes cell = tensor.cells == Cells::kSequence ? tensor.cell * tensor.rows * (1 + tensor.rollback)
                                                        : tensor.cell + tensor.widest;
    const auto same = std::find_if(device.buffers.begin(), device.buffers.end(), [&](const Buffer& b) {
      return b.cells == tensor.cells && b.window == tensor.window && b.stride == tensor.stride &&
             b.own_streams == tensor.own_streams;
    });
    if (same == device.buffers.end())
      device.buffers.push_back({tensor.cells, tensor.window, tensor.stride, tensor.own_streams, cell});
    else
      same->cell += cell;
  }
  tensors_.push_back(tensor);
}

// Padded cells of one stream. For states, the rows of one sequence.
std::uint64_t llama_window_cells(const LlamaContext& context, std::uint64_t window, bool apart) {
  const bool shared = context.unified && !apart;
  const std::uint64_t reserve =
      checked_add(checked_mul(window, shared ? context.num_seqs : 1, kCells), context.n_ubatch, kCells);
  return round_up(std::min(context.n_ctx_seq, reserve), context.pad, kCells);
}

bool llama_keeps_sequences_apart(const EngineInput& input) {
  const auto strided = [](const Term& term) {
    return term.role == Role::kKey && term.growth == Growth::kToken && term.stride > 1;
  };
  return std::any_of(input.caches.begin(), input.caches.end(), [&](const LayerCache& cache) {
    return std::any_of(cache.compact.begin(), cache.compact.end(), strided);
  });
}

// Ollama's own engine shares one set of cells among all sequences (kvcache/causal.go, Init).
LlamaContext LlamaCppLayout::context_of(const Load& load) const {
  if (!own_engine_ || load.pooled) return llama_context(input_, load, batch_rule_);
  Load all = load;
  all.max_model_len = Tokens(checked_mul(load.max_model_len.count(), load.num_seqs, kCells));
  all.pooled = true;
  return llama_context(input_, all);
}

std::uint64_t LlamaCppLayout::window_cells(std::uint64_t window, const LlamaContext& context) const {
  if (!own_engine_) return llama_window_cells(context, window, compressed_);
  const std::uint64_t kept = checked_mul(window, context.num_seqs, kCells);
  return kept < context.unpadded ? round_up(kept + context.n_ubatch, context.pad, kCells) : context.n_ctx_seq;
}

std::uint64_t LlamaCppLayout::cells_of(Cells rule, std::uint64_t window, std::uint64_t stride,
                                       const LlamaContext& context) const {
  switch (rule) {
    case Cells::kFull: return context.n_ctx_seq;
    case Cells::kWindow: return window_cells(window, context);
    case Cells::kCompressed: return round_up(ceil_div(context.n_ctx_seq, stride), context.pad, kCells);
    case Cells::kSequence: break;
  }
  return 1;
}

Bytes LlamaCppLayout::device_bytes(const Device& device, const LlamaContext& context) const {
  Bytes out = device.row_padding;
  for (const Buffer& buffer : device.buffers) {
    const bool each = buffer.own_streams || buffer.cells == Cells::kSequence;
    out += buffer.cell * cells_of(buffer.cells, buffer.window, buffer.stride, context) *
           (each ? context.num_seqs : context.streams);
  }
  return out;
}

Bytes LlamaCppLayout::reserved(const Load& load) const {
  const LlamaContext context = context_of(load);
  Bytes fullest;
  for (std::size_t i = 0; i < placement_.gpus; ++i) fullest = std::max(fullest, device_bytes(devices_[i], context));
  return fullest;
}

std::vector<Bytes> LlamaCppLayout::reserved_by_stage(const Load& load, std::uint64_t) const {
  const LlamaContext context = context_of(load);
  std::vector<Bytes> out;
  for (std::size_t i = 0; i < placement_.gpus; ++i) out.push_back(device_bytes(devices_[i], context));
  return out;
}

// Compares the allocation with what the architecture needs, tensor by tensor, and adds up the differences by reason.
RankCache LlamaCppLayout::explain_device(std::size_t device, const Load& load) const {
  const LlamaContext context = context_of(load);
  LlamaContext raw = context;  // the context without padding
  raw.pad = 1;
  raw.n_ctx_seq = context.unpadded;
  std::map<std::string_view, std::int64_t> gap;
  struct Line {
    LineId id = LineId::kUsual;
    Bytes bytes;
    Template what, formula;
  };
  std::map<std::string, Line> lines;  // by name
  RankCache out;
  for (const Tensor& tensor : tensors_) {
    if (tensor.device != device) continue;
    const std::uint64_t entries = tensor.logical.entries(load.tokens_of_sequence(), load.source_tokens);
    const Bytes needed = tensor.extra ? Bytes(0) : tensor.logical_cell * entries * load.num_seqs;
    out.logical += needed;
    if (!tensor.stored) {
      gap[tensor.stored_reason] -= signed_bytes(needed);
      continue;
    }
    Bytes total;
    Template formula;
    if (tensor.cells == Cells::kSequence) {
      const Bytes typed = tensor.cell * entries * load.num_seqs;
      const Bytes full = tensor.cell * tensor.rows * load.num_seqs;
      total = full * (1 + tensor.rollback);
      if (!tensor.extra) {
        gap[tensor.stored_reason] += signed_bytes(typed) - signed_bytes(needed);
        gap[kFullStates] += signed_bytes(full) - signed_bytes(typed);
        gap[own_engine_ ? kCheckpoints : kRollbackRows] += signed_bytes(total) - signed_bytes(full);
      }
      formula = {"{num_seqs:sequence}", {{"num_seqs", load.num_seqs}}};
      if (tensor.rollback > 0)
        formula += {own_engine_ ? " x (1 + {rollback} checkpoints)" : " x (1 + {rollback} rows to roll back)",
                    {{"rollback", tensor.rollback}}};
    } else {
      const std::uint64_t streams = tensor.own_streams ? context.num_seqs : context.streams;
      const std::uint64_t cells = cells_of(tensor.cells, tensor.window, tensor.stride, context);
      const Bytes typed = tensor.cell * entries * load.num_seqs;
      const Bytes unpadded = tensor.cell * cells_of(tensor.cells, tensor.window, tensor.stride, raw) * streams;
      const Bytes padded = tensor.cell * cells * streams;
      const Bytes wide = tensor.widest * cells * streams;
      total = padded + wide + tensor.row_padding;
      if (!tensor.extra) {
        gap[tensor.stored_reason] += signed_bytes(typed) - signed_bytes(needed);
        const std::string_view why = tensor.cells == Cells::kWindow && own_engine_   ? kBeyondWindow
                                     : tensor.cells == Cells::kWindow                ? kReserve
                                     : tensor.logical.limit.kind != LimitKind::kNone ? kFullWindows
                                     : tensor.own_streams && context.unified         ? kStreams
                                                                                     : kPadding;
        gap[why] += signed_bytes(unpadded) - signed_bytes(typed);
        gap[kPadding] += signed_bytes(padded) - signed_bytes(unpadded);
        gap[kWidest] += signed_bytes(wide);
        gap[kRows] += signed_bytes(tensor.row_padding);
      }
      formula = {"{streams} streams x {cells} cells", {{"streams", streams}, {"cells", cells}}};
    }
    if (tensor.extra) gap[kMtp] += signed_bytes(total);
    out.reserved += total;
    // One line for each group of buffers that llama.cpp prints separately.
    const Template what = tensor.extra                       ? kMtp
                          : tensor.cells == Cells::kSequence ? kRecurrent
                          : tensor.cells == Cells::kWindow   ? "KV of windows"
                          : tensor.cells == Cells::kCompressed
                              ? Template("KV, one cell for {stride} tokens", {{"stride", tensor.stride}})
                          : tensor.logical.role == Role::kIndex ? "index keys"
                                                                : "KV";
    Line& line = lines[in_words(what)];
    if (tensor.cells == Cells::kSequence && !tensor.extra) line.id = LineId::kStates;
    line.what = what;
    line.bytes += total;
    line.formula = formula;
  }
  for (const char* reason : kReasons)
    if (const auto it = gap.find(reason); it != gap.end() && it->second != 0) out.gap.push_back({reason, it->second});
  for (const auto& [name, line] : lines)
    out.lines.push_back(of_kind(
        line.id, exact_line(Section::kKvCache, line.what, line.bytes, line.formula, "llama.cpp KV buffer size")));
  return out;
}

std::vector<RankCache> LlamaCppLayout::explain(const Load& load) const {
  std::vector<RankCache> out;
  for (std::size_t i = 0; i < placement_.gpus; ++i) out.push_back(explain_device(i, load));
  return out;
}

// Copies of what a slot cannot roll back: recurrent states and windows. A prompt leaves two copies at its end, and one
// per 8192 tokens.
std::optional<LedgerLine> LlamaCppLayout::checkpoints(const Load& load) const {
  constexpr std::uint64_t kSpacing = 8192;
  const CardRequest& card = input_.request.card;
  const std::uint64_t most = input_.request.llama_cpp.checkpoints.value_or(rules_.spaces_checkpoints ? 32 : 8);
  if (!rules_.keeps_checkpoints || own_engine_ || input_.request.llama_cpp.all_logits || most == 0 ||
      (!card.memory && !card.host_memory))
    return std::nullopt;
  Bytes each;
  for (const Tensor& tensor : tensors_) {
    if (!tensor.stored || (tensor.cells != Cells::kSequence && tensor.cells != Cells::kWindow)) continue;
    const std::uint64_t cells = std::min(tensor.window, load.tokens_of_sequence().count());
    each += tensor.cell * (tensor.cells == Cells::kWindow ? cells : tensor.rows);
  }
  each = each * input_.request.parallel.tensor;
  if (each == Bytes(0)) return std::nullopt;
  const std::uint64_t usual = std::min(most, 2 + load.tokens_of_sequence().count() / kSpacing);
  return LedgerLine{Section::kRuntime,
                    "context checkpoints",
                    each * usual * load.num_seqs,
                    Bytes(0),
                    each * most * load.num_seqs,
                    {"{usual} copies of {each} B for each of {num_seqs} sequences, at most {most} (--ctx-checkpoints)",
                     {{"usual", usual}, {"each", each}, {"num_seqs", load.num_seqs}, {"most", most}}},
                    "llama.cpp server-context.cpp create_checkpoint",
                    LineId::kUsual,
                    Basis::kEstimate};
}

std::vector<LedgerLine> LlamaCppLayout::host(const Load& load) const {
  std::vector<LedgerLine> out = explain_device(placement_.gpus, load).lines;
  for (LedgerLine& line : llama_cpp_host_buffers(input_, load)) out.push_back(std::move(line));
  if (auto line = checkpoints(load)) out.push_back(std::move(*line));
  // llama-server's cache of prompts saves the states of slots. It grows up to its limit if prompts differ.
  const CardRequest& card = input_.request.card;
  const Bytes most = input_.request.llama_cpp.cache_ram.value_or(Bytes(8 * kGiB));
  if (!rules_.saves_prompts || input_.request.llama_cpp.all_logits || most == Bytes(0) ||
      (!card.memory && !card.host_memory))
    return out;
  const LlamaContext context = context_of(load);
  Bytes states;
  for (const Device& device : devices_) states += device_bytes(device, context);
  states = std::min(states * input_.request.parallel.tensor, most);
  out.push_back({Section::kRuntime,
                 "cache of prompts",
                 states,
                 Bytes(0),
                 states,
                 {"one state for each sequence ({num_seqs}), at most {most:GiB} (--cache-ram)",
                  {{"num_seqs", load.num_seqs}, {"most", most}}},
                 "llama.cpp server_prompt_cache",
                 LineId::kPromptCache,
                 Basis::kEstimate});
  return out;
}

Capacity LlamaCppLayout::capacity(Bytes budget, const Load& load) const {
  Capacity out;
  out.kv_cache_memory = budget;
  out.max_model_len = longest_sequence(*this, budget, load);
  out.max_num_seqs = most_sequences(*this, budget, load);
  const LlamaContext context = context_of(load);
  if (out.max_model_len > 0 && out.max_model_len < kMostCells) {
    out.tokens = checked_mul(out.max_model_len, context.streams, kCells);
    const std::uint64_t length = std::max<std::uint64_t>(1, load.max_model_len.count());
    out.max_concurrency = static_cast<double>(*out.tokens) / static_cast<double>(length);
  } else {
    out.max_concurrency = static_cast<double>(out.max_num_seqs);
  }
  return out;
}

}  // namespace kvplan
