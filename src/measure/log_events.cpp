#include "measure/log_events.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engines/engine.h"
#include "measure/line_template.h"

namespace kvplan {

namespace {

constexpr std::size_t kLinesOfAMessage = 6;
constexpr std::size_t kMostEvents = 256;
constexpr std::size_t kMostWords = 400;

// The events of all engines, since a log that was cut may not tell which engine wrote it.
const TemplateIndex& table() {
  static const TemplateIndex index = [] {
    TemplateIndex out;
    for (const Engine& engine : engines()) out.add(engine.log.events, &engine);
    out.add(kSystemLogEvents, nullptr);
    return out;
  }();
  return index;
}

// For events that repeat for days the newest line is enough.
bool is_repeated(LogEventId id) {
  return id == LogEventId::kTraffic || id == LogEventId::kPreempted || id == LogEventId::kRequestTooLong ||
         id == LogEventId::kStarted || id == LogEventId::kMark || id == LogEventId::kPhase;
}

bool is_same(const LogEvent& a, const LogEvent& b) {
  if (a.id != b.id || a.engine != b.engine) return false;
  if (!is_repeated(a.id)) return a.words == b.words;
  if (a.id == LogEventId::kPhase) return a.words == b.words;
  // Each copy of an engine has its own traffic.
  const LogValue* const one = a.value("engine");
  const LogValue* const other = b.value("engine");
  return one == nullptr || other == nullptr || one->text == other->text;
}

// The text of a request may contain anything.
bool quotes_a_request(std::string_view line) {
  return line.find("Received request ") != std::string_view::npos || line.find("prompt: '") != std::string_view::npos ||
         line.find("Receive: obj=") != std::string_view::npos;
}

}  // namespace

bool is_fatal(LogEventId id) {
  return id <= LogEventId::kDied;
}

void EventReader::line(std::string_view line, std::size_t number) {
  pending_.push_back({std::string(line), number});
  if (pending_.size() >= kLinesOfAMessage) read_oldest();
}

void EventReader::read_oldest() {
  const Pending oldest = std::move(pending_.front());
  pending_.pop_front();
  const std::vector<const TemplateIndex::Entry*> candidates = table().candidates(oldest.text);
  if (candidates.empty()) return;
  message_ = oldest.text;
  for (const Pending& next : pending_) {
    if (!message_.empty() && message_.back() != ' ') message_ += ' ';
    message_ += next.text;
  }
  const bool is_quoted = quotes_a_request(oldest.text);
  bool stated = false;  // a line reports one event; it may also show the engine, or be a frame of a traceback
  for (const TemplateIndex::Entry* const entry : candidates) {
    const LogEventId id = entry->row->event;
    if ((stated || is_quoted) && id < LogEventId::kPhase) continue;
    auto match = entry->pattern.match(message_, oldest.text.size());
    if (!match) continue;
    keep({id, oldest.number, entry->engine == nullptr ? "" : entry->engine->name,
          message_.substr(match->begin, std::min(kMostWords, match->end - match->begin)), std::move(match->values)});
    stated = stated || id < LogEventId::kPhase;
  }
}

void EventReader::keep(LogEvent event) {
  // In a log that only fails most lines are new, and there is no room for them.
  const bool may_be_known = is_repeated(event.id) || known_words_.find(event.words) != known_words_.end();
  const auto same = may_be_known ? std::find_if(events_.begin(), events_.end(),
                                                [&](const LogEvent& other) { return is_same(other, event); })
                                 : events_.end();
  if (same != events_.end()) {
    // A failure that repeats after a start belongs to that start.
    const bool started_since = std::any_of(events_.begin(), events_.end(), [&](const LogEvent& other) {
      return other.id == LogEventId::kStarted && other.line_number > same->line_number;
    });
    if (is_repeated(event.id) || event.id == LogEventId::kRetried || started_since) *same = std::move(event);
    return;
  }
  if (events_.size() >= kMostEvents) {
    if (!is_fatal(event.id)) return;
    const auto spare =
        std::find_if(events_.begin(), events_.end(), [](const LogEvent& other) { return !is_fatal(other.id); });
    if (spare == events_.end()) return;
    events_.erase(spare);
  }
  known_words_.insert(event.words);
  events_.push_back(std::move(event));
}

void EventReader::restart() {
  while (!pending_.empty()) read_oldest();
  const auto tells = [](const LogEvent& event) { return is_fatal(event.id) || event.id == LogEventId::kStarted; };
  if (std::any_of(events_.begin(), events_.end(), tells)) earlier_ = std::move(events_);
  events_.clear();
  known_words_.clear();
}

std::vector<LogEvent> EventReader::finish() {
  const Pending last = pending_.empty() ? Pending{} : pending_.back();
  while (!pending_.empty()) read_oldest();
  if (last.text == "Killed" || last.text == "Killed ")
    keep({LogEventId::kHostOutOfMemory, last.number, "", "Killed", {}});
  const auto tells = [](const LogEvent& event) {
    return is_fatal(event.id) || event.id == LogEventId::kStarted || event.id == LogEventId::kTraffic;
  };
  if (!std::any_of(events_.begin(), events_.end(), tells))
    events_.insert(events_.begin(), earlier_.begin(), earlier_.end());
  std::stable_sort(events_.begin(), events_.end(),
                   [](const LogEvent& a, const LogEvent& b) { return a.line_number < b.line_number; });
  return std::move(events_);
}

namespace {

const TemplateIndex& slot_lines() {
  static const TemplateIndex index = [] {
    TemplateIndex out;
    for (const Engine& engine : engines()) out.add(engine.log.slots, &engine);
    return out;
  }();
  return index;
}

// The figure of that name, where it is a count.
std::optional<std::uint64_t> count_of(const LineTemplate::Match& match, std::string_view name) {
  constexpr double kLargest = 1e12;
  const LogValue* const value = match.value(name);
  if (value == nullptr || value->value < 0 || value->value > kLargest) return std::nullopt;
  return static_cast<std::uint64_t>(value->value);
}

LogValue figure(std::string_view name, std::uint64_t value, LogUnit unit) {
  return {name, std::to_string(value), static_cast<double>(value), unit};
}

}  // namespace

void SlotTraffic::line(std::string_view plain, std::size_t number) {
  for (const TemplateIndex::Entry* const entry : slot_lines().candidates(plain)) {
    const auto match = entry->pattern.match(plain);
    if (!match) continue;
    const auto count = [&](std::string_view name) { return count_of(*match, name); };
    if (match->value("slots") != nullptr) {  // another start
      *this = {};
      slots_ = count("slots").value_or(0);
      engine_ = entry->engine->name;
    }
    longest_ = count("longest").value_or(longest_);
    if (match->value("task") == nullptr) continue;
    const std::uint64_t task = count("task").value_or(0);
    const std::uint64_t slot = count("slot").value_or(0);
    last_line_ = number;
    engine_ = entry->engine->name;
    if (match->value("slot") == nullptr) {
      if (waiting_.size() < kMost) waiting_.insert(task);
    } else if (match->value("tokens") == nullptr) {
      if (busy_.size() < kMost) busy_.insert(slot);
      waiting_.erase(task);
    } else {
      busy_.erase(slot);
      ++done_;
      tokens_ += static_cast<double>(count("tokens").value_or(0));
    }
  }
}

std::optional<LogEvent> SlotTraffic::event() const {
  if (last_line_ == 0) return std::nullopt;
  LogEvent out;
  out.id = LogEventId::kTraffic;
  out.line_number = last_line_;
  out.engine = engine_;
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
