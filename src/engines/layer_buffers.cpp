#include "engines/layer_buffers.h"

#include <algorithm>
#include <map>

#include "engines/drafts.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr std::string_view kTokens = "the tokens of a sequence";

bool same_rule(const LayerBuffer& a, const LayerBuffer& b) {
  return a.growth == b.growth && a.stride == b.stride && a.limit == b.limit && a.step == b.step && a.spare == b.spare &&
         a.limit_after_step == b.limit_after_step && a.wraps == b.wraps && a.reason == b.reason;
}

// One term of one layer.
struct Piece {
  std::uint64_t layer = 0;
  std::string_view term;
  LayerBuffer buffer;
};

// The caches of one kind of layer on one rank.
struct Part {
  std::string kind;
  std::uint64_t layers = 0;
  std::vector<LayerBuffer> buffers;  // merged: one entry for each rule
  std::vector<Piece> pieces;
  TermSum logical;

  Bytes bytes(const Load& load) const {
    Bytes out;
    for (const LayerBuffer& buffer : buffers) out += buffer.bytes(load);
    return out;
  }
  // Bytes of one more token, once all limits are reached.
  Bytes slope() const {
    Bytes out;
    for (const LayerBuffer& buffer : buffers)
      if (buffer.growth == Growth::kToken && buffer.limit == 0) out += Bytes(buffer.entry.count() / buffer.stride);
    return out;
  }
};

class LayerBuffersLayout : public CacheLayout {
 public:
  LayerBuffersLayout(const EngineInput& input, const LayerBufferRules& rules)
      : ranks_(input.request.parallel.tensor), rules_(rules) {
    for (const std::vector<LayerCache>& caches : split_stages(input, rules_.split)) {
      std::map<std::string_view, std::vector<LayerCache>> kinds;
      for (const LayerCache& cache : caches)
        if (!rules_.form(cache).empty() || !cache.compact.empty()) kinds[cache.kind].push_back(cache);
      std::vector<Part>& stage = stages_.emplace_back();
      for (const auto& [kind, of_kind] : kinds) {
        stage.push_back(part_of(std::string(kind), of_kind));
        stage.back().logical = TermSum(of_kind, input.types, ranks_);
      }
    }
    // A draft is on the last stage. The model's own need does not include it.
    const DraftLayers drafts = draft_layers(input);
    if (drafts.caches.empty() || stages_.empty()) return;
    rules_.host = nullptr;
    Part part = part_of(drafts.label, drafts.caches, "its own cache");
    part.pieces.clear();
    stages_.back().push_back(std::move(part));
  }

  Bytes reserved(const Load& load) const override {
    Bytes fullest;
    for (const std::vector<Part>& stage : stages_) fullest = std::max(fullest, stage_bytes(stage, load));
    return fullest;
  }

  std::vector<Bytes> reserved_by_stage(const Load& load, std::uint64_t) const override {
    std::vector<Bytes> out;
    for (const std::vector<Part>& stage : stages_) out.push_back(stage_bytes(stage, load));
    return out;
  }

  std::vector<RankCache> explain(const Load& load) const override {
    std::vector<RankCache> out;
    for (const std::vector<Part>& stage : stages_) {
      RankCache rank;
      for (const Part& part : stage) {
        const Bytes bytes = part.bytes(load);
        const Bytes logical = part.logical.bytes(load);
        rank.logical += logical;
        rank.reserved += bytes;
        rank.lines.push_back(
            exact_line(Section::kKvCache, line_name(part), bytes, formula(part, load), std::string(rules_.source)));
        const std::int64_t more = signed_difference(bytes.count(), logical.count());
        if (more != 0) rank.gap.push_back({reason(part), more});
      }
      out.insert(out.end(), ranks_, rank);
    }
    return out;
  }

  std::vector<LedgerLine> host(const Load& load) const override {
    const Bytes bytes = host_.bytes(load);
    if (bytes == Bytes(0)) return {};
    return {of_kind(LineId::kOffloaded, exact_line(Section::kKvCache, "cache of the layers not in use", bytes * ranks_,
                                                   formula(host_, load), std::string(rules_.source)))};
  }

  std::vector<CacheBuffer> buffers(const Load& load, std::size_t rank) const override {
    std::vector<CacheBuffer> out;
    for (const Part& part : stages_[rank / ranks_]) {
      if (rules_.one_pool) {
        if (const Bytes bytes = part.bytes(load); bytes > Bytes(0)) out.push_back({line_name(part), "one pool", bytes});
        continue;
      }
      for (const Piece& piece : part.pieces) {
        if (const Bytes bytes = piece.buffer.bytes(load); bytes > Bytes(0))
          out.push_back({line_name(part), buffer_name(piece.layer, piece.term), bytes});
      }
    }
    return out;
  }

  std::vector<CacheGroup> groups() const override {
    std::vector<CacheGroup> out;
    for (const std::vector<Part>& stage : stages_)
      for (const Part& part : stage) {
        const auto same =
            std::find_if(out.begin(), out.end(), [&](const CacheGroup& g) { return g.kind == part.kind; });
        if (same != out.end()) {
          same->layers += part.layers;
          continue;
        }
        CacheGroup group;
        group.kind = part.kind;
        group.layers = part.layers;
        if (rules_.block_size > 0 && part.slope() > Bytes(0)) {
          group.block_size = rules_.block_size;
          group.page_bytes = Bytes(part.slope().count() / part.layers) * rules_.block_size;
        }
        out.push_back(std::move(group));
      }
    return out;
  }

  std::optional<std::uint64_t> block_size() const override {
    return rules_.block_size > 0 ? std::optional(rules_.block_size) : std::nullopt;
  }

  Capacity capacity(Bytes budget, const Load& load) const override {
    Capacity out;
    out.kv_cache_memory = budget;
    std::optional<std::uint64_t> tokens;
    for (const std::vector<Part>& stage : stages_) {
      Bytes slope;
      Bytes fixed;  // states and windows of the load's sequences; the rest of the budget is for what grows
      for (const Part& part : stage) {
        slope += part.slope();
        for (const LayerBuffer& buffer : part.buffers)
          if (buffer.growth != Growth::kToken || buffer.limit > 0) fixed += buffer.bytes(load);
      }
      if (slope == Bytes(0)) continue;
      const std::uint64_t left = budget > fixed ? (budget - fixed).count() : 0;
      const std::uint64_t unit = rules_.block_size > 0 ? rules_.block_size : 1;
      const std::uint64_t held = rules_.last_block_up ? round_up(left / slope.count(), unit, kTokens)
                                                      : left / checked_mul(slope.count(), unit, kTokens) * unit;
      tokens = std::min(tokens.value_or(held), held);
    }
    out.tokens = tokens;
    if (rules_.block_size > 0 && tokens) out.num_blocks = *tokens / rules_.block_size;
    const Bytes one = reserved({load.max_model_len, 1, load.source_tokens});
    if (one > Bytes(0)) out.max_concurrency = static_cast<double>(budget.count()) / static_cast<double>(one.count());
    return out;
  }

 private:
  // The buffers of layers of one kind. `reason` replaces each buffer's own reason.
  Part part_of(std::string kind, const std::vector<LayerCache>& caches, std::string_view reason = {}) {
    Part out;
    out.kind = std::move(kind);
    out.layers = caches.size();
    for (const LayerCache& cache : caches)
      for (const Term& term : rules_.form(cache)) {
        const std::uint64_t units = local_units(term, ranks_);
        LayerBuffer buffer = rules_.hold(cache, term, units);
        if (!reason.empty()) buffer.reason = reason;
        out.pieces.push_back({cache.layer, term.name, buffer});
        add(out, buffer);
        if (rules_.host) add(host_, rules_.host(cache, term, units));
      }
    return out;
  }

  static Template line_name(const Part& part) {
    return {"{kind}, {num_layers} layers", {{"kind", part.kind}, {"num_layers", part.layers}}};
  }

  static void add(Part& part, const LayerBuffer& buffer) {
    for (LayerBuffer& known : part.buffers)
      if (same_rule(known, buffer)) {
        known.entry += buffer.entry;
        return;
      }
    part.buffers.push_back(buffer);
  }

  static Bytes stage_bytes(const std::vector<Part>& stage, const Load& load) {
    Bytes out;
    for (const Part& part : stage) out += part.bytes(load);
    return out;
  }

  static Template formula(const Part& part, const Load& load) {
    Template out;
    for (const LayerBuffer& buffer : part.buffers)
      out += {out.empty() ? "({entries} x {entry} B" : " + {entries} x {entry} B",
              {{"entries", buffer.entries(load.max_model_len, load.source_tokens)}, {"entry", buffer.entry}}};
    return out + Template(") x {num_seqs:sequence}", {{"num_seqs", load.num_seqs}});
  }

  static Template reason(const Part& part) {
    std::string out;
    for (const LayerBuffer& buffer : part.buffers)
      if (!buffer.reason.empty() && out.find(buffer.reason) == std::string::npos)
        out += (out.empty() ? "" : ", ") + std::string(buffer.reason);
    if (out.empty()) return {"{kind}: stored in another form than the architecture needs", {{"kind", part.kind}}};
    return {"{kind}: {reasons}", {{"kind", part.kind}, {"reasons", out}}};
  }

  std::uint64_t ranks_;
  LayerBufferRules rules_;
  std::vector<std::vector<Part>> stages_;
  Part host_;  // for all stages
};

}  // namespace

Bytes LayerBuffer::bytes(const Load& load) const {
  return entry * entries(load.max_model_len, load.source_tokens) * load.num_seqs;
}

std::uint64_t LayerBuffer::entries(Tokens tokens, Tokens source_tokens) const {
  if (growth == Growth::kSequence) return 1;
  std::uint64_t n = growth == Growth::kSourceToken ? source_tokens.count() : tokens.count();
  if (wraps && limit > 0) return n == 0 ? 0 : (n - 1) % limit + 1;
  if (limit > 0 && !limit_after_step) n = std::min(n, limit);
  n = round_up(checked_add(n, spare, kTokens), step, kTokens);
  if (limit > 0 && limit_after_step) n = std::min(n, limit);
  return n / stride;
}

LayerBuffer plain_buffer(const Term& term, Bytes entry) {
  LayerBuffer out;
  out.entry = entry;
  out.growth = term.growth;
  out.stride = term.stride;
  out.limit = term.limit.kind == LimitKind::kNone ? 0 : term.limit.total().count();
  return out;
}

LayerBuffer block_buffer(const Term& term, const CacheTypes& types, std::uint64_t units, std::uint64_t block) {
  const std::uint64_t columns = term.shape.columns > 0 ? term.shape.columns - 1 : 0;
  LayerBuffer out = plain_buffer(term, entry_bytes(term, types, units, columns));
  if (term.growth != Growth::kToken || term.role == Role::kState) return out;
  out.reason = out.limit > 0 ? "sliding windows cache every token" : "block rounding";
  out.limit = 0;
  out.step = block;
  return out;
}

std::unique_ptr<CacheLayout> layer_buffers_layout(const EngineInput& input, const LayerBufferRules& rules) {
  return std::make_unique<LayerBuffersLayout>(input, rules);
}

}  // namespace kvplan
