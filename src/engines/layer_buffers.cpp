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
  std::vector<LayerBuffer> buffers;  // merged: one for each rule
  std::vector<Piece> pieces;
  std::vector<LayerCache> caches;
  TermSum logical;

  Bytes bytes(const Load& load) const {
    Bytes out;
    for (const LayerBuffer& buffer : buffers)
      out += buffer.entry * buffer.entries(load.max_model_len, load.source_tokens);
    return out * load.num_seqs;
  }
  // Bytes of one more token, beyond all limits.
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
      : tensor_parallel_(input.request.parallel.tensor),
        block_size_(rules.block_size),
        last_block_up_(rules.last_block_up),
        one_pool_(rules.one_pool),
        source_(rules.source) {
    for (const std::vector<LayerCache>& caches : split_stages(input, rules.split)) {
      std::map<std::string, Part> parts;
      for (const LayerCache& cache : caches) {
        const CacheTerms& terms = rules.form(cache);
        if (terms.empty() && cache.compact.empty()) continue;
        Part& part = parts[std::string(cache.kind)];
        part.kind = cache.kind;
        ++part.layers;
        part.caches.push_back(cache);
        for (const Term& term : terms) {
          part.pieces.push_back({cache.layer, term.name, rules.hold(cache, term, local_units(term, tensor_parallel_))});
          add(part, part.pieces.back().buffer);
          if (rules.host) add(host_, rules.host(cache, term, local_units(term, tensor_parallel_)));
        }
      }
      std::vector<Part>& stage = stages_.emplace_back();
      for (auto& [kind, part] : parts) {
        part.logical = TermSum(part.caches, input.types, tensor_parallel_);
        part.caches.clear();
        stage.push_back(std::move(part));
      }
    }
    // A draft is on the last stage, and no part of what the model needs.
    const DraftLayers drafts = draft_layers(input);
    if (drafts.caches.empty() || stages_.empty()) return;
    Part part;
    part.kind = drafts.label;
    for (const LayerCache& cache : drafts.caches) {
      ++part.layers;
      for (const Term& term : rules.form(cache)) {
        LayerBuffer buffer = rules.hold(cache, term, local_units(term, tensor_parallel_));
        buffer.reason = "its own cache";
        add(part, buffer);
      }
    }
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
        rank.lines.push_back(exact_line(Section::kKvCache, line_name(part), bytes, formula(part, load), source_));
        const std::int64_t more = signed_difference(bytes.count(), logical.count());
        if (more != 0) rank.gap.push_back({reason(part), more});
      }
      out.insert(out.end(), tensor_parallel_, rank);
    }
    return out;
  }

  std::vector<LedgerLine> host(const Load& load) const override {
    const Bytes bytes = host_.bytes(load);
    if (bytes == Bytes(0)) return {};
    return {of_kind(LineId::kOffloaded, exact_line(Section::kKvCache, "cache of the layers not in use",
                                                   bytes * tensor_parallel_, formula(host_, load), source_))};
  }

  std::vector<CacheBuffer> buffers(const Load& load, std::size_t rank) const override {
    std::vector<CacheBuffer> out;
    for (const Part& part : stages_[rank / tensor_parallel_]) {
      if (one_pool_) {
        if (const Bytes bytes = part.bytes(load); bytes > Bytes(0)) out.push_back({line_name(part), "one pool", bytes});
        continue;
      }
      for (const Piece& piece : part.pieces) {
        const Bytes bytes =
            piece.buffer.entry * piece.buffer.entries(load.max_model_len, load.source_tokens) * load.num_seqs;
        if (bytes > Bytes(0)) out.push_back({line_name(part), buffer_name(piece.layer, piece.term), bytes});
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
        if (block_size_ > 0 && part.slope() > Bytes(0)) {
          group.block_size = block_size_;
          group.page_bytes = Bytes(part.slope().count() / part.layers) * block_size_;
        }
        out.push_back(std::move(group));
      }
    return out;
  }

  std::optional<std::uint64_t> block_size() const override {
    return block_size_ > 0 ? std::optional(block_size_) : std::nullopt;
  }

  Capacity capacity(Bytes budget, const Load& load) const override {
    Capacity out;
    out.kv_cache_memory = budget;
    std::optional<std::uint64_t> tokens;
    for (const std::vector<Part>& stage : stages_) {
      Bytes slope;
      Bytes fixed;  // states and windows of the load's sequences; the rest is for what grows
      for (const Part& part : stage) {
        slope += part.slope();
        for (const LayerBuffer& buffer : part.buffers)
          if (buffer.growth != Growth::kToken || buffer.limit > 0)
            fixed += buffer.entry * buffer.entries(load.max_model_len, load.source_tokens) * load.num_seqs;
      }
      if (slope == Bytes(0)) continue;
      const std::uint64_t left = budget > fixed ? (budget - fixed).count() : 0;
      const std::uint64_t unit = block_size_ > 0 ? block_size_ : 1;
      const std::uint64_t held = last_block_up_ ? round_up(left / slope.count(), unit, kTokens)
                                                : left / checked_mul(slope.count(), unit, kTokens) * unit;
      tokens = std::min(tokens.value_or(held), held);
    }
    out.tokens = tokens;
    if (block_size_ > 0 && tokens) out.num_blocks = *tokens / block_size_;
    const Bytes one = reserved({load.max_model_len, 1, load.source_tokens});
    if (one > Bytes(0)) out.max_concurrency = static_cast<double>(budget.count()) / static_cast<double>(one.count());
    return out;
  }

 private:
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
    if (out.empty()) return {"{kind}: another form than the architecture needs", {{"kind", part.kind}}};
    return {"{kind}: {reasons}", {{"kind", part.kind}, {"reasons", out}}};
  }

  std::uint64_t tensor_parallel_;
  std::uint64_t block_size_;
  bool last_block_up_;
  bool one_pool_;
  std::string source_;
  std::vector<std::vector<Part>> stages_;
  Part host_;  // for all stages
};

}  // namespace

std::uint64_t LayerBuffer::entries(Tokens tokens, Tokens source_tokens) const {
  if (growth == Growth::kSequence) return 1;
  std::uint64_t n = growth == Growth::kSourceToken ? source_tokens.count() : tokens.count();
  if (wraps && limit > 0) return n % limit;
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

std::unique_ptr<CacheLayout> layer_buffers_layout(const EngineInput& input, const LayerBufferRules& rules) {
  return std::make_unique<LayerBuffersLayout>(input, rules);
}

}  // namespace kvplan
