#include "measure/log_events.h"

#include <algorithm>
#include <utility>

#include "engines/engine.h"
#include "measure/line_template.h"

namespace kvplan {

namespace {

constexpr std::size_t kLinesOfAMessage = 6;
constexpr std::size_t kMostEvents = 256;
constexpr std::size_t kMostWords = 400;

// The events of all engines, since a log that was cut may not tell which engine wrote it.
struct EventTable {
  TemplateIndex index;
  std::vector<std::pair<LogEventId, std::string_view>> rows;  // with its engine

  EventTable() {
    for (const Engine& engine : engines()) add(engine.log.events, engine.name);
    add(kSystemLogEvents, "");
  }
  void add(std::span<const LogTemplate> events, std::string_view engine) {
    for (const LogTemplate& row : events) {
      index.add(row);
      rows.emplace_back(row.event, engine);
    }
  }
};

const EventTable& table() {
  static const EventTable events;
  return events;
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
  table().index.candidates(oldest.text, candidates_);
  if (candidates_.empty()) return;
  message_ = oldest.text;
  for (const Pending& next : pending_) {
    if (!message_.empty() && message_.back() != ' ') message_ += ' ';
    message_ += next.text;
  }
  const bool is_quoted = quotes_a_request(oldest.text);
  bool stated = false;  // a line reports one event; it may also show the engine, or be a frame of a traceback
  for (const std::size_t number : candidates_) {
    const auto& [id, engine] = table().rows[number];
    if ((stated || is_quoted) && id < LogEventId::kPhase) continue;
    const auto match = table().index.at(number).match(message_, oldest.text.size());
    if (!match) continue;
    LogEvent event;
    event.id = id;
    event.engine = engine;
    event.line_number = oldest.number;
    event.words = message_.substr(match->begin, std::min(kMostWords, match->end - match->begin));
    event.values = match->values;
    keep(std::move(event));
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

}  // namespace kvplan
