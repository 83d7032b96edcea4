#include "formulas/compressed.h"

#include "formulas/projections.h"

namespace kvplan {

// CSA's blocks overlap by one block, so two blocks of sums are stored, each with a key and a score.
constexpr std::uint64_t kOverlappingRatio = 4;

static Term state_term(std::string_view name, std::uint64_t width, std::uint64_t ratio) {
  const bool overlaps = ratio == kOverlappingRatio;
  Term state{.name = name, .role = Role::kState};
  state.shape = {.units = 1, .vectors = overlaps ? 4U : 2U, .width = width};
  state.limit = {LimitKind::kWindow, Tokens(overlaps ? checked_mul(2, ratio, "a compressor's window") : ratio),
                 Tokens(0)};
  state.storage = Storage::kFloat32;
  return state;
}

bool Compressed::owns_entries() const {
  return by_source ? is_source : compress_ratio > 1;
}

std::string_view Compressed::variant() const {
  if (by_source) return is_source ? "source" : "window";
  if (compress_ratio <= 1) return "window";
  return index_head_dim > 0 ? "csa" : "hca";
}

CacheTerms Compressed::terms(Form) const {
  const std::uint64_t content_dim = checked_sub(head_dim, qk_rope_head_dim, "head_dim - qk_rope_head_dim");
  Term content{.name = "window entry", .role = Role::kKey, .part = Part::kLatent};
  content.shape.width = content_dim;
  content.limit = {LimitKind::kWindow, window, Tokens(0)};
  Term rope = content;
  rope.name = "window rope";
  rope.part = Part::kRope;
  rope.shape.width = qk_rope_head_dim;
  CacheTerms out{content, rope};
  if (!owns_entries()) return out;

  content.name = "compressed entry";
  rope.name = "compressed rope";
  for (Term* term : {&content, &rope}) {
    term->limit = {};
    term->stride = compress_ratio;
    out.push_back(*term);
  }
  if (index_head_dim > 0) {
    Term index{.name = "index key", .role = Role::kIndex};
    index.shape.width = index_head_dim;
    index.stride = compress_ratio;
    out.push_back(index);
  }
  if (compress_ratio <= 1) return out;
  out.push_back(state_term("compressor state", head_dim, compress_ratio));
  if (index_head_dim > 0 && !by_source)
    out.push_back(state_term("index compressor state", index_head_dim, compress_ratio));
  return out;
}

std::vector<Symbol> Compressed::symbols() const {
  std::vector<Symbol> out{{"H", num_heads, "num_attention_heads"},
                          {"d", head_dim, "head_dim"},
                          {"d_rope", qk_rope_head_dim, "qk_rope_head_dim"},
                          {"W", window.count(), "sliding_window"},
                          {"m", compress_ratio, "compress_ratios"}};
  if (index_head_dim > 0) out.push_back({"d_index", index_head_dim, "index_head_dim"});
  return out;
}

std::uint64_t Compressed::macs_per_entry() const {
  if (index_head_dim > 0) return checked_mul(index_n_heads, index_head_dim, "the work of one cached token");
  return checked_mul(num_heads, checked_mul(head_dim, 2, "a head's width"), "the work of one cached token");
}

void Compressed::project_source(Projections& out) const {
  const auto plain = [&](const char* name, std::uint64_t rows, std::uint64_t columns) {
    out.linear(Component::kAttention, name, rows, columns).kept = Kept::kPlain;
  };
  if (is_source) {
    plain("attn.compressor.wkv", head_dim, out.hidden);
    if (compress_ratio > 1) plain("attn.compressor.wgate", head_dim, out.hidden);
    out.norms("attn.compressor.norm", head_dim);
  }
  if (index_n_heads == 0) return;
  out.linear(Component::kAttention, "attn.indexer.wq_b", times(index_n_heads, index_head_dim), q_lora_rank);
  plain("attn.indexer.weights_proj", index_n_heads, out.hidden);
  if (!is_source) return;
  plain("attn.indexer.wk", index_head_dim, head_dim);
  out.norms("attn.indexer.k_norm", index_head_dim);
}

void Compressed::project(Projections& out) const {
  const std::uint64_t h = out.hidden;
  const std::uint64_t d = head_dim;
  const std::uint64_t n = num_heads;
  const std::uint64_t wide = times(n, d);
  const std::uint64_t groups = o_groups > 0 ? o_groups : 1;
  out.linear(Component::kAttention, "attn.wq_a", q_lora_rank, h);
  out.norms("attn.q_norm", q_lora_rank);
  out.linear(Component::kAttention, "attn.wq_b", wide, q_lora_rank, Split::kRows, n);
  out.linear(Component::kAttention, "attn.wkv", d, h);
  out.norms("attn.kv_norm", d);
  out.linear(Component::kAttention, "attn.wo_a", times(groups, o_lora_rank), wide / groups, Split::kRows, groups);
  out.linear(Component::kAttention, "attn.wo_b", h, times(groups, o_lora_rank), Split::kColumns, groups);
  out.plain(Component::kAttention, "attn.attn_sink", n, Split::kRows, n).is_float32 = true;
  if (by_source) return project_source(out);
  if (compress_ratio <= 1) return;
  // Overlapping windows (small ratios) need two halves of the compressor. Such layers also have an indexer.
  const bool overlaps = index_head_dim > 0;
  const std::uint64_t halves = overlaps ? 2 : 1;
  const auto compressor = [&](const std::string& at, std::uint64_t width) {
    out.linear(Component::kAttention, at + "compressor.wkv", times(halves, width), h).kept = Kept::kPlain;
    out.linear(Component::kAttention, at + "compressor.wgate", times(halves, width), h).kept = Kept::kPlain;
    out.plain(Component::kAttention, at + "compressor.ape", times(compress_ratio, times(halves, width))).is_float32 =
        true;
    out.norms(at + "compressor.norm", width);
  };
  compressor("attn.", d);
  if (!overlaps) return;
  compressor("attn.indexer.", index_head_dim);
  out.linear(Component::kAttention, "attn.indexer.wq_b", times(index_n_heads, index_head_dim), q_lora_rank);
  out.linear(Component::kAttention, "attn.indexer.weights_proj", index_n_heads, h).kept = Kept::kPlain;
}

}  // namespace kvplan
