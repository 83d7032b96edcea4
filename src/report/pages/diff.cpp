// The page of diff: what changed between two plans, largest change first.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"
#include "report/pages/pages.h"

namespace kvplan {

// "kv_cache" and "does_not_fit" as words.
static std::string spaced(std::string_view word) {
  if (word == "kv_cache") return "KV cache";
  if (word == "activation") return "activations";
  std::string out(word);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

static std::string change_text(const ValueChange& change) {
  return fmt::format("{} {} -> {}", change.key, change.before.empty() ? "(none)" : change.before,
                     change.after.empty() ? "(none)" : change.after);
}

static std::string capacity_name(std::string_view what) {
  if (what == "tokens") return "GPU KV cache size, tokens";
  return what == "max_model_len" ? "max context" : "max sequences";
}

static std::string count_or_none(const std::optional<std::uint64_t>& count) {
  return count ? count_text(*count) : "-";
}

static bool verdict_changed(const PlanDiff& diff) {
  return diff.before.verdict != diff.after.verdict;
}

static std::string verdict_text(const std::string& verdict) {
  return verdict.empty() ? "-" : spaced(verdict);
}

// "+3.10 GiB", "no change".
static std::string growth_text(const PlanDiff& diff) {
  const std::int64_t grown = diff.total.difference();
  return grown == 0 ? "no change" : signed_size(grown);
}

// The cause and the effect: "num_key_value_heads 4 -> 8; max context 53,323 -> 17,774".
static std::string causes_text(const PlanDiff& diff) {
  std::vector<std::string> out;
  if (!diff.values.empty()) out.push_back(one_line(join(diff.values, ", ", change_text), 300));
  for (const CapacityChange& change : diff.capacity)
    if (change.what == "max_model_len")
      out.push_back(fmt::format("max context {} -> {}", count_or_none(change.before), count_or_none(change.after)));
  if (verdict_changed(diff))
    out.push_back(fmt::format("{} -> {}", verdict_text(diff.before.verdict), verdict_text(diff.after.verdict)));
  return join(out, "; ");
}

static void add_headlines(const PlanDiff& diff, Page& page) {
  const std::int64_t grown = diff.total.difference();
  page.headlines.push_back({grown > 0   ? Tone::kCareful
                            : grown < 0 ? Tone::kGood
                                        : Tone::kStrong,
                            growth_text(diff), causes_text(diff)});
  if (diff.is_too_much)
    page.headlines.push_back(
        {Tone::kBad, "OVER THE LIMIT",
         fmt::format("{} is more than --fail-over {}", signed_size(grown),
                     diff.limit.percent ? fmt::format("{:g}%", *diff.limit.percent) : human_bytes(*diff.limit.bytes))});
}

static void add_failures(const PlanDiff& diff, Page& page) {
  if (diff.lost_fit) page.headlines.push_back({Tone::kBad, "DOES NOT FIT", "what fitted before does not fit now"});
  for (const std::string& limit : diff.broken) page.headlines.push_back({Tone::kBad, "BREAKS A LIMIT", limit});
}

static void add_memory(const PlanDiff& diff, Page& page) {
  Rows rows;
  const auto row = [](const std::string& part, const MemoryChange& change) {
    return std::vector<Text>{part, gib(Bytes(change.before)), gib(Bytes(change.after)),
                             signed_size(change.difference())};
  };
  for (const MemoryChange& change : diff.memory) rows.push_back(row(spaced(change.part), change));
  rows.push_back(row("total over all GPUs", diff.total));
  PageTable table = titled_table({"memory", "before", "after", "change"}, 0b1110, rows);
  table.rows.back().tone = Tone::kStrong;
  page.add("", Detail::kComment, std::move(table));
}

static void add_capacity(const PlanDiff& diff, Page& page) {
  Rows rows;
  if (diff.before.bytes_per_token != diff.after.bytes_per_token)
    rows.push_back({"KV cache per token", grouped(diff.before.bytes_per_token) + " B",
                    grouped(diff.after.bytes_per_token) + " B"});
  for (const CapacityChange& change : diff.capacity)
    rows.push_back({capacity_name(change.what), count_or_none(change.before), count_or_none(change.after)});
  if (verdict_changed(diff))
    rows.push_back({"verdict", verdict_text(diff.before.verdict), verdict_text(diff.after.verdict)});
  if (!rows.empty()) page.add("", Detail::kComment, titled_table({"capacity", "before", "after"}, 0b110, rows));
}

static void add_values(const PlanDiff& diff, Page& page) {
  Rows rows;
  for (const ValueChange& change : diff.values)
    rows.push_back({change.where, one_line(change.key, 100),
                    change.before.empty() ? "(none)" : one_line(change.before, 100),
                    change.after.empty() ? "(none)" : one_line(change.after, 100)});
  if (!rows.empty()) page.add("", Detail::kComment, titled_table({"changed in", "what", "before", "after"}, 0, rows));
}

static Page diff_page(const PlanDiff& diff) {
  Page page;
  page.file = diff.after.model_file.empty() ? diff.after.source : diff.after.model_file;
  add_headlines(diff, page);
  add_failures(diff, page);
  add_memory(diff, page);
  add_capacity(diff, page);
  add_values(diff, page);
  return page;
}

std::string diff_headline(const PlanDiff& diff) {
  const std::string causes = causes_text(diff);
  return growth_text(diff) + (causes.empty() ? "" : ": " + causes);
}

Reply reply_of(const PlanDiff& diff) {
  return reply_with(diff_page, diff);
}

}  // namespace kvplan
