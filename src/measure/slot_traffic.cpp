// Source: llama.cpp tools/server/server-context.cpp of b11739; until 2025 n_past was the name for a slot's tokens.
#include "measure/slot_traffic.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "measure/line_template.h"

namespace kvplan {

namespace {

// The kinds of lines, in the order of kTemplates.
enum Line : std::size_t { kLaunched, kReleased, kReleasedOld, kDeferred, kSlots, kSlotsOld, kPrompt };

const LineTemplate& line_of(Line what) {
  static const LineTemplate kTemplates[] = {
      LineTemplate(log_figure("id {slot} | task {task} | processing task")),
      LineTemplate(log_figure("id {slot} | task {task} | stop processing: n_tokens = {tokens:tokens}")),
      LineTemplate(log_figure("id {slot} | task {task} | stop processing: n_past = {tokens:tokens}")),
      LineTemplate(log_figure("no slot is available, defer task, id_task = {task}")),
      LineTemplate(log_figure("initializing, n_slots = {slots:seqs}")),
      LineTemplate(log_figure("initializing slots, n_slots = {slots:seqs}")),
      LineTemplate(log_figure("n_ctx_slot = {longest:tokens}")),
  };
  return kTemplates[what];
}

// The figure of that name, where it is a count.
std::optional<std::uint64_t> count_of(const LineTemplate::Match& match, std::string_view name) {
  constexpr double kLargest = 1e12;
  for (const LogValue& value : match.values)
    if (value.name == name && value.value >= 0 && value.value <= kLargest)
      return static_cast<std::uint64_t>(value.value);
  return std::nullopt;
}

LogValue figure(std::string_view name, std::uint64_t value, LogUnit unit) {
  return {name, std::to_string(value), static_cast<double>(value), unit};
}

}  // namespace

void SlotTraffic::line(std::string_view plain, std::size_t number) {
  if (plain.find("slot") == std::string_view::npos) return;
  for (const Line what : {kSlots, kSlotsOld})
    if (const auto match = line_of(what).match(plain)) {  // another start
      *this = {};
      slots_ = count_of(*match, "slots").value_or(0);
    }
  if (const auto match = line_of(kPrompt).match(plain)) longest_ = count_of(*match, "longest").value_or(longest_);
  if (const auto match = line_of(kDeferred).match(plain)) {
    last_line_ = number;
    if (waiting_.size() < kMost) waiting_.insert(count_of(*match, "task").value_or(0));
  }
  if (const auto match = line_of(kLaunched).match(plain)) {
    last_line_ = number;
    if (busy_.size() < kMost) busy_.insert(count_of(*match, "slot").value_or(0));
    waiting_.erase(count_of(*match, "task").value_or(0));
  }
  for (const Line what : {kReleased, kReleasedOld})
    if (const auto match = line_of(what).match(plain)) {
      last_line_ = number;
      busy_.erase(count_of(*match, "slot").value_or(0));
      ++done_;
      tokens_ += static_cast<double>(count_of(*match, "tokens").value_or(0));
    }
}

std::optional<LogEvent> SlotTraffic::event() const {
  if (last_line_ == 0) return std::nullopt;
  LogEvent out;
  out.id = LogEventId::kTraffic;
  out.line_number = last_line_;
  out.engine = "llama.cpp";
  out.values = {figure("running", busy_.size(), LogUnit::kSequences),
                figure("waiting", waiting_.size(), LogUnit::kSequences)};
  const std::uint64_t seen = busy_.empty() ? 0 : *busy_.rbegin() + 1;
  if (const std::uint64_t slots = std::max(slots_, seen); slots > 0)
    out.values.push_back(figure("slots", slots, LogUnit::kCount));
  if (longest_ > 0) out.values.push_back(figure("longest", longest_, LogUnit::kTokens));
  if (done_ > 0)
    out.values.push_back(figure("tokens", static_cast<std::uint64_t>(std::round(tokens_ / static_cast<double>(done_))),
                                LogUnit::kTokens));
  out.words = std::to_string(busy_.size()) + " slots busy, " + std::to_string(waiting_.size()) + " tasks deferred";
  return out;
}

}  // namespace kvplan
