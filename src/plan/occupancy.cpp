#include "plan/steps.h"

#include <algorithm>
#include <map>

#include "kvplan/error.h"

namespace kvplan {

// If there are more distinct lengths, they are rounded up to this many. The result is an upper bound and fast to
// compute.
constexpr std::uint64_t kMostLengths = 64;

// Sequences by length.
static std::map<std::uint64_t, std::uint64_t> stated_lengths(const Request& request, const Load& load) {
  std::map<std::uint64_t, std::uint64_t> out;
  if (request.seq_lens.empty()) {
    out[request.avg_len.value_or(load.max_model_len).count()] = load.num_seqs;
    return out;
  }
  for (const Tokens length : request.seq_lens) ++out[length.count()];
  if (out.size() <= kMostLengths) return out;
  const std::uint64_t step = ceil_div(out.rbegin()->first, kMostLengths);
  std::map<std::uint64_t, std::uint64_t> rounded;
  for (const auto& [length, sequences] : out)
    rounded[std::min(round_up(length, step, "a sequence"), out.rbegin()->first)] += sequences;
  return rounded;
}

// Tokens of a prefix that the engine stores once; 0 if every sequence stores its own copy.
static std::uint64_t shared_tokens(const EngineInput& input, const CacheLayout& layout, const Load& load) {
  const Engine& engine = engine_of(input.request);
  if (!input.request.shared_prefix || load.num_seqs == 0) return 0;
  const bool shares =
      engine.is_logical || (engine.settings != nullptr && engine.settings(input, load).prefix_caching.value_or(false));
  const std::uint64_t block = layout.block_size().value_or(1);
  return shares ? input.request.shared_prefix->count() / block * block : 0;
}

static void add(std::vector<RankCache>& sum, const std::vector<RankCache>& more) {
  if (sum.empty()) {
    sum = more;
    return;
  }
  for (std::size_t i = 0; i < sum.size() && i < more.size(); ++i) {
    sum[i].logical += more[i].logical;
    sum[i].reserved += more[i].reserved;
    for (const LedgerLine& line : more[i].lines) {
      const auto same = std::find_if(sum[i].lines.begin(), sum[i].lines.end(), [&](const LedgerLine& known) {
        return known.id == line.id && known.what == line.what;
      });
      if (same == sum[i].lines.end()) {
        sum[i].lines.push_back(line);
        continue;
      }
      same->bytes += line.bytes;
      same->low += line.low;
      same->high += line.high;
      same->formula += Template(" + ") + line.formula;
    }
    for (const GapLine& line : more[i].gap) {
      const auto same = std::find_if(sum[i].gap.begin(), sum[i].gap.end(),
                                     [&](const GapLine& known) { return known.reason == line.reason; });
      if (same == sum[i].gap.end())
        sum[i].gap.push_back(line);
      else
        same->bytes += line.bytes;
    }
  }
}

static void cut_rank(double share, RankCache& rank) {
  Bytes all;
  for (LedgerLine& line : rank.lines) {
    line.bytes = Bytes(checked_scale(line.bytes.count(), share, "the cache"));
    line.low = line.high = line.bytes;
    line.formula = {"{bytes} B, what the pool has", {{"bytes", line.bytes}}};
    all += line.bytes;
  }
  rank.gap.push_back({"sequences that take turns in the pool", signed_difference(all.count(), rank.reserved.count())});
  rank.reserved = all;
}

Occupancy::Occupancy(const EngineInput& input, const CacheLayout& layout, const Load& load)
    : layout_(&layout), load_(load), starts_with_one_(engine_of(input.request).start == Start::kOneSequence) {
  const Request& request = input.request;
  const std::uint64_t prefix = shared_tokens(input, layout, load);
  bool has_lengths = request.avg_len || !request.seq_lens.empty();
  running_ = {{load.max_model_len}, Tokens(prefix)};
  if (has_lengths) running_.lengths = request.seq_lens;
  if (has_lengths && request.seq_lens.empty()) running_.lengths = {*request.avg_len};
  // A list of lengths is distributed over the copies. If slots have a fixed length, any of them may go to any slot.
  if (!request.seq_lens.empty() && request.parallel.data > 1) has_lengths = false;
  if (has_lengths && !engine_of(request).is_logical && !layout.block_size() &&
      !layout.runs_at_once(Bytes(0), load, running_))
    has_lengths = false;
  is_stated_ = has_lengths || prefix > 0;
  if (!is_stated_) {
    parts_ = {load};
    sequences_ = load.num_seqs;
    return;
  }
  const auto hold = [&](std::uint64_t length, std::uint64_t sequences) {
    if (sequences == 0) return;
    Load part = load;
    part.max_model_len = Tokens(length);
    part.num_seqs = sequences;
    parts_.push_back(part);
  };
  // The first sequence stores the prefix. Each sequence has its own windows and states.
  const auto full = std::map<std::uint64_t, std::uint64_t>{{load.max_model_len.count(), load.num_seqs}};
  for (const auto& [length, sequences] : has_lengths ? stated_lengths(request, load) : full) {
    const std::uint64_t whole = prefix == 0 ? sequences : sequences_ == 0 ? 1 : 0;
    hold(length, whole);
    hold(length > prefix ? length - prefix : 1, sequences - whole);
    sequences_ = checked_add(sequences_, sequences, "the sequences");
  }
}

Bytes Occupancy::held() const {
  Bytes out;
  for (const Load& part : parts_) out += layout_->reserved(part);
  return out;
}

std::vector<Bytes> Occupancy::held_by_stage(std::uint64_t stages) const {
  std::vector<Bytes> out;
  for (const Load& part : parts_) {
    const std::vector<Bytes> more = layout_->reserved_by_stage(part, stages);
    out.resize(std::max(out.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) out[i] += more[i];
  }
  return out;
}

std::vector<RankCache> Occupancy::explain(double share) const {
  std::vector<RankCache> out;
  for (const Load& part : parts_) add(out, layout_->explain(part));
  if (share < 1)
    for (RankCache& rank : out) cut_rank(share, rank);
  return out;
}

Template Occupancy::shortfall(Bytes budget) const {
  if (!is_stated_) return layout_->shortfall(budget, load_);
  // If an engine needs the memory of a full sequence to start, it needs it at any lengths.
  if (starts_with_one_) {
    Load one = load_;
    one.num_seqs = std::min<std::uint64_t>(load_.num_seqs, 1);
    if (Template out = layout_->shortfall(budget, one); !out.empty()) return out;
  }
  if (fits(budget)) return {};
  return {"these sequences need {needed:GiB} of KV cache, and {budget:GiB} are available",
          {{"needed", held()}, {"budget", budget}}};
}

bool Occupancy::fits(Bytes budget) const {
  if (!is_stated_) return layout_->fits(budget, load_);
  Load one = load_;
  one.num_seqs = std::min<std::uint64_t>(load_.num_seqs, 1);
  if (starts_with_one_ && !layout_->fits(budget, one)) return false;
  const auto running = layout_->runs_at_once(budget, load_, running_);
  return running ? *running >= sequences_ : held() <= budget;
}

double Occupancy::cut(Bytes budget) const {
  const Bytes all = held();
  if (all <= budget || !fits(budget)) return 1;
  const Bytes most = budget + layout_->beyond_budget(load_);
  return std::min(1.0, static_cast<double>(most.count()) / static_cast<double>(all.count()));
}

std::optional<std::uint64_t> runs_at_once(const Request& request, const CacheLayout& layout, const Load& load,
                                          Bytes budget) {
  Running running{request.seq_lens, request.shared_prefix.value_or(Tokens(0))};
  if (running.lengths.empty()) running.lengths = {request.avg_len.value_or(load.max_model_len)};
  return layout.runs_at_once(budget, load, running);
}

}  // namespace kvplan
