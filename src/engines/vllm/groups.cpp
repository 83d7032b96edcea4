#include "engines/vllm/groups.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "kvplan/error.h"

namespace kvplan {

namespace {

using Members = std::vector<std::size_t>;

// Whether both specs need the same number of token slots (UniformTypeKVCacheSpecs.is_uniform_type).
bool same_slots(const VllmSpec& first, const VllmSpec& spec) {
  if (spec.block_size != first.block_size) return false;
  if (first.is_full_family()) return spec.is_full_family();
  if (spec.type != first.type) return false;
  return first.is_state() ? spec.padded == first.padded && spec.replicated == first.replicated
                          : spec.window == first.window;
}

bool uniform(const std::vector<VllmSpec>& specs) {
  return std::all_of(specs.begin(), specs.end(), [&](const VllmSpec& spec) { return same_slots(specs.front(), spec); });
}

// Makes all pages as large as the largest one: smaller pages get more tokens, or are padded.
void unify_pages(std::vector<VllmSpec>& specs, const VllmRules& rules) {
  Bytes largest;
  for (const VllmSpec& spec : specs) largest = std::max(largest, spec.padded);
  for (VllmSpec& spec : specs) {
    if (spec.padded == largest) continue;
    if (!spec.is_state() && largest.count() % spec.padded.count() == 0) {
      const std::uint64_t ratio = largest.count() / spec.padded.count();
      spec.block_size = checked_mul(spec.block_size, ratio, "the tokens of a block");
      spec.page = spec.page * ratio;
    } else if (!spec.is_state() && (!rules.pads_attention_pages || spec.type == SpecType::kMla)) {
      refuse("vLLM cannot give pages of " + std::to_string(spec.padded.count()) + " and " +
                 std::to_string(largest.count()) + " bytes one size: the larger is not a multiple",
             rules.pads_attention_pages ? "choose another KV type" : "plan for vllm@0.24 or newer, which pads them");
    }
    spec.padded = largest;
  }
}

Members strided(const Members& members, std::size_t first, std::size_t step) {
  Members out;
  for (std::size_t i = first; i < members.size(); i += step) out.push_back(members[i]);
  return out;
}

// Forms groups of equal length from buckets of equal specs. A group is as long as the shortest bucket. If the longest
// bucket is not much longer, it is as long as that one.
VllmGroups paged(const std::vector<VllmSpec>& specs, const VllmRules& rules) {
  std::vector<Members> buckets;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto same = std::find_if(buckets.begin(), buckets.end(),
                                   [&](const Members& bucket) { return specs[bucket.front()].same_as(specs[i]); });
    if (same == buckets.end())
      buckets.push_back({i});
    else
      same->push_back(i);
  }
  std::size_t shortest = specs.size();
  std::size_t longest = 0;
  for (const Members& bucket : buckets) {
    shortest = std::min(shortest, bucket.size());
    longest = std::max(longest, bucket.size());
  }
  const bool close = static_cast<double>(longest) < static_cast<double>(shortest) * rules.group_ratio;
  const std::size_t length = close ? longest : shortest;
  VllmGroups out;
  out.pool = Pool::kPaged;
  for (const Members& bucket : buckets) {
    const std::size_t count = ceil_div(bucket.size(), length);
    for (std::size_t i = 0; i < count; ++i) out.groups.push_back({strided(bucket, i, count)});
  }
  return out;
}

// V0: one block table for all layers, and a second one in the same pool for the encoder's tokens. Self attention and
// cross attention of a layer share its tensor (worker/cache_engine.py, get_num_layers).
VllmGroups one_table(const std::vector<VllmSpec>& specs) {
  VllmGroups out;
  out.pool = Pool::kUniform;
  out.groups.emplace_back();
  Members& members = out.groups.front().members;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].type == SpecType::kCross) out.crossed = i;
    if (members.empty() || specs[members.back()].layer != specs[i].layer) members.push_back(i);
  }
  return out;
}

using PageCounts = std::map<Bytes, std::uint64_t>;

PageCounts page_counts(const std::vector<VllmSpec>& specs, const Members& members, std::uint64_t first,
                       std::uint64_t last) {
  PageCounts out;
  for (const std::size_t i : members)
    if (specs[i].layer >= first && specs[i].layer < last) ++out[specs[i].padded];
  return out;
}

std::uint64_t most(const PageCounts& counts) {
  std::uint64_t out = 0;
  for (const auto& [page, count] : counts) out = std::max(out, count);
  return out;
}

Bytes bytes_of(const PageCounts& counts) {
  Bytes out;
  for (const auto& [page, count] : counts) out += page * count;
  return out;
}

// The group length between `lowest` and the longest bucket that needs the least padding; the longest if several are
// equally good.
std::uint64_t least_padding(const std::vector<std::uint64_t>& lengths, std::uint64_t lowest) {
  const std::uint64_t highest = *std::max_element(lengths.begin(), lengths.end());
  std::uint64_t best = lowest;
  std::uint64_t best_padding = ~std::uint64_t{0};
  for (std::uint64_t length = std::max<std::uint64_t>(1, lowest); length <= highest; ++length) {
    std::uint64_t padding = 0;
    for (const std::uint64_t n : lengths) padding += (length - n % length) % length;
    if (padding > best_padding) continue;
    best_padding = padding;
    best = length;
  }
  return best;
}

constexpr std::uint64_t kAllLayers = ~std::uint64_t{0};

// DeepSeek-V4: entries and index keys form one group. Windows and states form more groups by block size and window,
// with pages as large as the first group's.
VllmGroups packed(std::vector<VllmSpec>& specs) {
  Members entries;
  std::vector<Members> buckets;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].type != SpecType::kSlidingMla) {
      entries.push_back(i);
      continue;
    }
    const auto same = std::find_if(buckets.begin(), buckets.end(), [&](const Members& bucket) {
      const VllmSpec& first = specs[bucket.front()];
      return first.block_size == specs[i].block_size && first.window == specs[i].window;
    });
    if (same == buckets.end())
      buckets.push_back({i});
    else
      same->push_back(i);
  }
  VllmGroups out;
  out.pool = Pool::kPacked;
  out.groups.push_back({entries});
  const PageCounts sizes = page_counts(specs, entries, 0, kAllLayers);
  std::vector<std::uint64_t> lengths{most(sizes)};
  for (const Members& bucket : buckets) lengths.push_back(most(page_counts(specs, bucket, 0, kAllLayers)));
  const std::uint64_t length = least_padding(lengths, lengths.front());
  for (const Members& bucket : buckets) {
    std::map<Bytes, Members> by_size;
    for (const std::size_t i : bucket) {
      const auto page = sizes.lower_bound(specs[i].padded);
      if (page == sizes.end())
        refuse("vLLM cannot pack a window's page of " + std::to_string(specs[i].padded.count()) +
                   " bytes: no page of the compressed entries is that large",
               "choose another KV type");
      specs[i].padded = page->first;
      by_size[page->first].push_back(i);
    }
    std::uint64_t columns = 0;
    for (const auto& [page, members] : by_size) columns = std::max<std::uint64_t>(columns, members.size());
    const std::size_t count = ceil_div(columns, length);
    for (std::size_t g = 0; g < count; ++g) {
      VllmGroup group;
      for (const auto& [page, members] : by_size) {
        const Members part = strided(members, g, count);
        group.members.insert(group.members.end(), part.begin(), part.end());
      }
      out.groups.push_back(std::move(group));
    }
  }
  return out;
}

// Layers of a bucket need the same number of token slots. `repeats`: how often the pattern of page sizes repeats; 0 if
// some sizes occur more often than others.
struct Bucket {
  Members members;
  PageCounts pages;
  std::uint64_t repeats = 0;
};

// If a block stores all layers together, a group may have pages of several sizes (_get_packed_kv_cache_groups). Buckets
// with several page sizes stay whole; other buckets are split to that length. A state needs one block at most, so it
// can be in any group.
VllmGroups interleaved(const std::vector<VllmSpec>& specs) {
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto same = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& bucket) {
      return same_slots(specs[bucket.members.front()], specs[i]);
    });
    (same == buckets.end() ? buckets.emplace_back() : *same).members.push_back(i);
  }
  std::uint64_t lowest = 0;
  std::vector<std::uint64_t> lengths;
  for (Bucket& bucket : buckets) {
    bucket.pages = page_counts(specs, bucket.members, 0, kAllLayers);
    const std::uint64_t layers = bucket.members.size();
    if (most(bucket.pages) * bucket.pages.size() != layers) continue;
    bucket.repeats = most(bucket.pages);
    lengths.push_back(bucket.repeats);
    if (bucket.pages.size() > 1) lowest = std::max(lowest, bucket.repeats);
  }
  const std::uint64_t length = lowest > 0 ? least_padding(lengths, lowest) : 0;
  const auto is_state = [&](const Bucket& bucket) {
    const VllmSpec& first = specs[bucket.members.front()];
    return first.is_state() || first.type == SpecType::kRing || (length == 0 && first.is_sliding());
  };
  const auto parts = [&](const Bucket& bucket) {
    return length > 0 && bucket.repeats > 0 ? ceil_div(bucket.repeats, length) : std::uint64_t{1};
  };
  Bytes widest;
  for (const Bucket& bucket : buckets) {
    const std::uint64_t count = is_state(bucket) ? bucket.members.size() : parts(bucket);
    Bytes bytes;
    for (const auto& [page, layers] : bucket.pages) bytes += page * ceil_div(layers, count);
    widest = std::max(widest, bytes);
  }
  VllmGroups out;
  out.pool = Pool::kPacked;
  for (const Bucket& bucket : buckets) {
    std::uint64_t count = parts(bucket);
    if (is_state(bucket)) {
      const std::uint64_t page = specs[bucket.members.front()].padded.count();
      const std::uint64_t states = std::max<std::uint64_t>(1, widest.count() / std::max<std::uint64_t>(1, page));
      count = std::max(count, ceil_div(bucket.members.size(), states));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      VllmGroup group;
      for (const auto& [page, layers] : bucket.pages) {
        Members of_size;
        for (const std::size_t member : bucket.members)
          if (specs[member].padded == page) of_size.push_back(member);
        const Members part = strided(of_size, i, count);
        group.members.insert(group.members.end(), part.begin(), part.end());
      }
      if (!group.members.empty()) out.groups.push_back(std::move(group));
    }
  }
  return out;
}

}  // namespace

VllmGroups group_specs(std::vector<VllmSpec>& specs, const VllmRules& rules) {
  VllmGroups out;
  if (specs.empty()) return out;
  const bool crossed =
      std::any_of(specs.begin(), specs.end(), [](const VllmSpec& spec) { return spec.type == SpecType::kCross; });
  if (crossed && !rules.hybrid_manager) return one_table(specs);
  if (uniform(specs)) {
    out.pool = Pool::kUniform;
    out.groups.emplace_back();
    for (std::size_t i = 0; i < specs.size(); ++i) out.groups.front().members.push_back(i);
    return out;
  }
  const auto any = [&](const auto& holds) { return std::any_of(specs.begin(), specs.end(), holds); };
  const bool has_rings = any([](const VllmSpec& spec) { return spec.type == SpecType::kRing; });
  const bool sliding_latents = any([](const VllmSpec& spec) { return spec.type == SpecType::kSlidingMla; });
  // Rings and windows of latents occur together with other caches only in these layouts.
  if (has_rings || sliding_latents) {
    const bool in_tuples = !has_rings && any([](const VllmSpec& spec) { return spec.stride > 1; });
    out = in_tuples ? packed(specs) : interleaved(specs);
    out.by_slots = !in_tuples || rules.packs_by_slots;
    out.by_widest_group = !in_tuples || rules.packs_widest_group;
    out.is_checked_whole = rules.checks_whole_blocks;
    return out;
  }
  unify_pages(specs, rules);
  return paged(specs, rules);
}

StagePool stage_pool(const std::vector<VllmSpec>& specs, const VllmGroups& groups, std::uint64_t first_layer,
                     std::uint64_t last_layer) {
  StagePool out;
  PageCounts slots;   // the number of pages of each size in a block
  PageCounts widest;  // those of the group with the most bytes in its pages
  std::uint64_t longest = 0;
  for (const VllmGroup& group : groups.groups) {
    const PageCounts counts = page_counts(specs, group.members, first_layer, last_layer);
    longest = std::max(longest, most(counts));
    if (bytes_of(counts) > bytes_of(widest)) widest = counts;
    for (const auto& [page, count] : counts) slots[page] = std::max(slots[page], count);
  }
  const bool is_packed = groups.pool == Pool::kPacked;
  if (is_packed && groups.by_widest_group) slots = widest;
  std::uint64_t alignment = 1;
  if (is_packed && groups.by_widest_group)
    for (const VllmSpec& spec : specs) alignment = std::lcm(alignment, spec.alignment.count());
  out.block = out.gate = Bytes(round_up(bytes_of(slots).count(), alignment, "the bytes of a block"));
  if (is_packed && !groups.is_checked_whole) {
    // The check before start-up assumes that every slot has one page of each size in the first group.
    PageCounts tuples = page_counts(specs, groups.groups.front().members, first_layer, last_layer);
    for (auto& [page, count] : tuples) count = longest;
    out.gate = bytes_of(tuples);
    if (!groups.by_slots) out.block = out.gate;
    if (!groups.by_widest_group) slots = tuples;
  }
  for (const auto& [page, count] : slots) out.slots.insert(out.slots.end(), count, page);
  return out;
}

}  // namespace kvplan
