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

// The events of all engines: a log that was cut does not tell whose it is.
struct EventTable {
  TemplateIndex index;
  std::vector<std::pair<LogEventId, std::string_view>> rows;  // and the engine

  EventTable() {
    for (const Engine& engine : engines()) add(engine.log_events, engine.name);
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

bool same_values(const LogEvent& a, const LogEvent& b) {
  return a.id == b.id && a.words == b.words;
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
  std::string message = oldest.text;
  for (const Pending& next : pending_) {
    if (!message.empty() && message.back() != ' ') message += ' ';
    message += next.text;
  }
  bool told = false;  // one line tells one thing; whose it is, and a frame of a traceback, may stand beside it
  for (const std::size_t number : candidates_) {
    const auto& [id, engine] = table().rows[number];
    if (told && id < LogEventId::kPhase) continue;
    const auto match = table().index.at(number).match(message, oldest.text.size());
    if (!match) continue;
    LogEvent event;
    event.id = id;
    event.engine = engine;
    event.line_number = oldest.number;
    event.words = message.substr(match->begin, std::min(kMostWords, match->end - match->begin));
    event.values = match->values;
    keep(std::move(event));
    told = told || id < LogEventId::kPhase;
  }
}

void EventReader::keep(LogEvent event) {
  // Traffic goes on for days: its newest line, and the largest number of preemptions, say it all.
  const bool newest_alone = event.id == LogEventId::kTraffic;
  const auto same = std::find_if(events_.begin(), events_.end(), [&](const LogEvent& other) {
    return newest_alone ? other.id == event.id : same_values(other, event);
  });
  if (same != events_.end()) {
    if (newest_alone || event.id == LogEventId::kPhase) *same = std::move(event);
    return;
  }
  if (events_.size() < kMostEvents) events_.push_back(std::move(event));
}

void EventReader::restart() {
  while (!pending_.empty()) read_oldest();
  const auto tells = [](const LogEvent& event) { return is_fatal(event.id) || event.id == LogEventId::kStarted; };
  if (std::any_of(events_.begin(), events_.end(), tells)) earlier_ = std::move(events_);
  events_.clear();
}

std::vector<LogEvent> EventReader::finish() {
  while (!pending_.empty()) read_oldest();
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
