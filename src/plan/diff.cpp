#include "plan/diff.h"

#include <algorithm>

namespace kvplan {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

const std::string* value_of(const Pairs& pairs, const std::string& key) {
  for (const auto& [name, value] : pairs)
    if (name == key) return &value;
  return nullptr;
}

void compare(const Pairs& before, const Pairs& after, std::string_view where, std::vector<ValueChange>& out) {
  for (const auto& [key, value] : before) {
    const std::string* now = value_of(after, key);
    if (now == nullptr)
      out.push_back({std::string(where), key, value, ""});
    else if (*now != value)
      out.push_back({std::string(where), key, value, *now});
  }
  for (const auto& [key, value] : after)
    if (value_of(before, key) == nullptr) out.push_back({std::string(where), key, "", value});
}

bool grew_beyond(const MemoryChange& total, const GrowthLimit& limit) {
  if (total.after <= total.before) return false;
  const std::uint64_t grown = total.after - total.before;
  if (limit.bytes && grown > limit.bytes->count()) return true;
  return limit.percent && static_cast<double>(grown) > static_cast<double>(total.before) * *limit.percent / 100.0;
}

}  // namespace

PlanDiff diff_plans(PlanDigest before, PlanDigest after, const GrowthLimit& limit) {
  PlanDiff out;
  compare(before.config, after.config, "config", out.values);
  compare(before.request, after.request, "request", out.values);
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
