#include "plan/questions.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "kvplan/error.h"
#include "kvplan/quantity.h"

namespace kvplan {

using Pairs = std::vector<std::pair<std::string, std::string>>;

using Values = std::unordered_map<std::string_view, std::string_view>;

// The first value of each key.
static Values values_of(const Pairs& pairs) {
  Values out;
  for (const auto& [key, value] : pairs) out.emplace(key, value);
  return out;
}

// At most 100 characters of a value, from shortly before the first difference.
static std::string shown(std::string_view value, std::string_view other) {
  constexpr std::size_t kLongest = 100;
  constexpr std::size_t kBefore = 20;
  if (value.size() <= kLongest) return one_line(value, kLongest);
  const auto differs = static_cast<std::size_t>(
      std::mismatch(value.begin(), value.end(), other.begin(), other.end()).first - value.begin());
  const std::size_t from = differs <= kLongest / 2 ? 0 : differs - kBefore;
  return (from == 0 ? "" : "...") + one_line(value.substr(from), kLongest);
}

static void compare(const Pairs& before, const Pairs& after, std::string_view where, std::vector<ValueChange>& out) {
  const Values was = values_of(before);
  const Values is = values_of(after);
  const auto add = [&](const std::string& key, std::string_view old, std::string_view now) {
    out.push_back({std::string(where), key, shown(old, now), shown(now, old)});
  };
  for (const auto& [key, value] : before) {
    const auto now = is.find(key);
    if (now == is.end())
      add(key, value, "");
    else if (now->second != value)
      add(key, value, now->second);
  }
  for (const auto& [key, value] : after)
    if (!was.contains(key)) add(key, "", value);
}

// Removes from `some` the fields of a request that only one of the two releases writes, because the user did not change
// them.
static void keep_shared(Pairs& some, const Values& others) {
  std::erase_if(some, [&](const auto& pair) { return !others.contains(pair.first); });
}

static bool grew_beyond(const MemoryChange& total, const GrowthLimit& limit) {
  if (total.after <= total.before) return false;
  const std::uint64_t grown = total.after - total.before;
  if (limit.bytes && grown > limit.bytes->count()) return true;
  return limit.percent && static_cast<double>(grown) > static_cast<double>(total.before) * *limit.percent / 100.0;
}

PlanDiff diff_plans(PlanDigest before, PlanDigest after, const GrowthLimit& limit, const Limits& limits) {
  PlanDiff out;
  compare(before.config, after.config, "config", out.values);
  Pairs of_before = before.request;
  keep_shared(of_before, values_of(after.request));
  keep_shared(after.request, values_of(before.request));
  compare(of_before, after.request, "request", out.values);
  for (std::size_t i = 0; i < before.memory.size(); ++i)
    if (before.memory[i].second != after.memory[i].second)
      out.memory.push_back({before.memory[i].first, before.memory[i].second, after.memory[i].second});
  const auto size = [](const MemoryChange& c) { return c.after > c.before ? c.after - c.before : c.before - c.after; };
  std::stable_sort(out.memory.begin(), out.memory.end(),
                   [&](const MemoryChange& a, const MemoryChange& b) { return size(a) > size(b); });
  out.total = {"total", before.total, after.total};
  const auto figure = [](const PlanDigest& plan, std::string_view what) -> std::optional<std::uint64_t> {
    for (const auto& [name, value] : plan.capacity)
      if (name == what) return value;
    return std::nullopt;
  };
  for (const char* what : {"tokens", "max_model_len", "max_num_seqs"})
    if (const auto was = figure(before, what), is = figure(after, what); was != is)
      out.capacity.push_back({what, was, is});
  if (limits.max_vram && after.fullest > limits.max_vram->count())
    out.broken.push_back(format_gib(Bytes(after.fullest)) + " on a GPU is more than --max-vram of " +
                         format_gib(*limits.max_vram));
  const auto at_least = [&](std::optional<std::uint64_t> least, std::string_view what, const std::string& option) {
    const std::optional<std::uint64_t> there = figure(after, what);
    if (least && there && *there < *least)
      out.broken.push_back(std::to_string(*there) + " fit, fewer than " + option + " " + std::to_string(*least));
  };
  at_least(limits.min_context ? std::optional(limits.min_context->count()) : std::nullopt, "max_model_len",
           "--min-context");
  at_least(limits.min_seqs, "max_num_seqs", "--min-seqs");
  out.lost_fit = (before.verdict == "fits" || before.verdict == "partly_on_cpu") && after.verdict == "does_not_fit";
  const auto side = [](PlanDigest& plan) {
    return DiffSide{std::move(plan.source), std::move(plan.model_file), std::move(plan.verdict), plan.bytes_per_token};
  };
  out.before = side(before);
  out.after = side(after);
  out.limit = limit;
  out.is_too_much = grew_beyond(out.total, limit);
  return out;
}

}  // namespace kvplan
