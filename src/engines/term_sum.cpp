#include "engines/term_sum.h"

#include <algorithm>

#include "engines/parallel.h"

namespace kvplan {

TermSum::TermSum(const std::vector<LayerCache>& caches, const CacheTypes& types, std::uint64_t tensor_parallel,
                 Uneven uneven) {
  for (std::size_t first = 0, next = 0; first < caches.size(); first = next) {
    const LayerCache& cache = caches[first];
    while (next < caches.size() && caches[next].compact.is(cache.compact)) ++next;  // number of equal layers
    for (const Term& term : cache.compact) {
      const Bytes entry = rank_entry(term, types, tensor_parallel, uneven) * (next - first);
      const std::uint64_t limit = term.limit.kind == LimitKind::kNone ? 0 : term.limit.total().count();
      const auto same = std::find_if(buckets_.begin(), buckets_.end(), [&](const Bucket& b) {
        return b.growth == term.growth && b.stride == term.stride && b.limit == limit;
      });
      if (same == buckets_.end())
        buckets_.push_back({term.growth, term.stride, limit, entry});
      else
        same->entry += entry;
    }
  }
  for (const Bucket& bucket : buckets_) {
    if (bucket.growth == Growth::kSequence) per_sequence_ += bucket.entry;
    if (bucket.growth != Growth::kToken) continue;
    const Bytes slope(bucket.entry.count() / bucket.stride);
    per_token_in_window_ += slope;
    if (bucket.limit == 0) per_token_ += slope;
  }
}

Bytes TermSum::bytes(const Load& load) const {
  Bytes out;
  for (const Bucket& bucket : buckets_) {
    std::uint64_t entries = 1;
    if (bucket.growth != Growth::kSequence) {
      entries = bucket.growth == Growth::kToken ? load.tokens_of_sequence().count() : load.source_tokens.count();
      if (bucket.limit > 0) entries = std::min(entries, bucket.limit);
      entries /= bucket.stride;
    }
    out += bucket.entry * entries;
  }
  return out * load.num_seqs;
}

}  // namespace kvplan
