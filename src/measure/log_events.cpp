#include "measure/log_reader.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engines/engine.h"
#include "kvplan/strings.h"

namespace kvplan {

constexpr std::size_t kLinesOfAMessage = 6;
constexpr std::size_t kMostEvents = 256;
constexpr std::size_t kMostWords = 400;

// Such events repeat for days, so only the newest line is kept.
static bool is_repeated(LogEventId id) {
  return id == LogEventId::kTraffic || id == LogEventId::kPreempted || id == LogEventId::kRequestTooLong ||
         id == LogEventId::kStarted || id == LogEventId::kMark || id == LogEventId::kPhase;
}

static bool is_same(const LogEvent& a, const LogEvent& b) {
  if (a.id != b.id || a.engine != b.engine) return false;
  if (!is_repeated(a.id)) return a.words == b.words;
  if (a.id == LogEventId::kPhase) return a.words == b.words;
  // Each copy of an engine has its own traffic.
  const LogValue* const one = a.value("engine");
  const LogValue* const other = b.value("engine");
  return one == nullptr || other == nullptr || one->text == other->text;
}

// How specific a row is. A row that only reports an end is the least specific.
static std::size_t says(const TemplateIndex::Entry& entry) {
  constexpr std::size_t kLongestText = 4096;
  const bool is_end =
      entry.row->event == LogEventId::kRaised || (entry.row->event == LogEventId::kDied && entry.row->meaning.empty());
  return entry.pattern.weight() + (is_end ? 0 : kLongestText);
}

// A line with a request's text, which may contain any words.
static bool quotes_a_request(std::string_view line) {
  return line.find("Received request ") != std::string_view::npos || line.find("prompt: '") != std::string_view::npos ||
         line.find("Receive: obj=") != std::string_view::npos;
}

bool is_fatal(LogEventId id) {
  return id <= LogEventId::kDied;
}

void EventReader::line(std::string_view line, std::size_t number, const Entries& entries) {
  // If there is no space for another failure, its text is not read.
  const bool has_room = events_.size() < kMostEvents;
  const auto is_ignored = [&](LogEventId id) {
    return id == LogEventId::kRaised ? !has_room : is_full_ && is_fatal(id);
  };
  pending_.push_back({std::string(line), number, {}});
  for (const TemplateIndex::Entry* const entry : entries)
    if (entry->kind == TemplateIndex::Kind::kEvent && !is_ignored(entry->row->event))
      pending_.back().entries.push_back(entry);
  if (pending_.size() >= kLinesOfAMessage) read_oldest();
}

// Keeps the names of the current traceback's last frames. Returns whether the line may be its exception.
bool EventReader::follow_traceback(std::string_view line) {
  constexpr std::size_t kMostFrames = 500;
  constexpr int kMostBelow = 12;
  const std::size_t at = line.find("File \"");
  if (at != std::string_view::npos) {
    if (frames_.size() > kMostFrames) frames_.erase(0, frames_.size() / 2);
    frames_ += std::string(line.substr(at, kMostWords)) + " ";
    is_after_frame_ = true;
    lines_below_frames_ = kMostBelow;
  } else if (is_after_frame_) {
    code_ = message_of(line).substr(0, kMostWords);
    is_after_frame_ = false;
  } else if (!frames_.empty() && line.find("Traceback (most") != std::string_view::npos) {
    frames_.clear();
    lines_below_frames_ = 0;
  } else if (lines_below_frames_ > 0) {
    --lines_below_frames_;
    return true;
  }
  return false;
}

void EventReader::read_oldest() {
  const Pending oldest = std::move(pending_.front());
  pending_.pop_front();
  const bool may_be_raised = follow_traceback(oldest.text) && events_.size() < kMostEvents;
  if (oldest.entries.empty()) {
    if (may_be_raised) keep_exception(oldest, true);
    return;
  }
  message_ = oldest.text;
  for (const Pending& next : pending_) {
    if (!message_.empty() && message_.back() != ' ') message_ += ' ';
    message_ += next.text;
  }
  const bool is_quoted = quotes_a_request(oldest.text);
  const TemplateIndex::Entry* best = nullptr;
  std::optional<LineTemplate::Match> said;
  const auto event_of = [&](const TemplateIndex::Entry& entry, LineTemplate::Match& match) {
    // Of a failure, the whole line is kept.
    if (is_fatal(entry.row->event)) match.end = std::max(match.end, oldest.text.size());
    return LogEvent{entry.row->event,
                    oldest.number,
                    entry.program == nullptr ? "" : entry.program->name,
                    message_.substr(match.begin, std::min(kMostWords, match.end - match.begin)),
                    std::move(match.values),
                    entry.row->meaning,
                    entry.row->remedies,
                    ""};
  };
  // A line reports one event. It may also name the engine, or be a frame of a traceback.
  for (const TemplateIndex::Entry* const entry : oldest.entries) {
    const bool is_beside = entry->row->event >= LogEventId::kPhase;
    if (!is_beside && (is_quoted || (best != nullptr && says(*best) >= says(*entry)))) continue;
    auto match = entry->pattern.match(message_, oldest.text.size());
    if (!match) continue;
    if (is_beside) {
      keep(event_of(*entry, *match));
    } else {
      best = entry;
      said = std::move(match);
    }
  }
  if (best == nullptr) return;
  if (best->row->event == LogEventId::kRaised && said->values.empty()) return keep_exception(oldest, may_be_raised);
  LogEvent event = event_of(*best, *said);
  if (is_fatal(event.id) || event.id == LogEventId::kRaised) event.frames = frames_;
  keep(std::move(event));
}

// Keeps the last line of a traceback and the lines that continue its message.
void EventReader::keep_exception(const Pending& line, bool is_in_traceback) {
  const auto raised = raised_error(line.text, is_in_traceback);
  if (!raised || (raised->reason.empty() && frames_.empty())) return;
  lines_below_frames_ = 0;
  std::string reason(raised->reason);
  for (const Pending& next : pending_) {
    if (reason.empty() || !continues_message(next.text)) break;
    reason += " " + std::string(trimmed(next.text));
  }
  if (reason.empty()) reason = code_;
  reason.resize(std::min(reason.size(), kMostWords));
  LogEvent event;
  event.id = LogEventId::kRaised;
  event.line_number = line.number;
  event.words = std::string(raised->kind) + ": " + reason;
  event.values = {{"kind", std::string(raised->kind), 0, LogUnit::kCount}, {"reason", reason, 0, LogUnit::kCount}};
  event.frames = frames_;
  keep(std::move(event));
}

void EventReader::keep(LogEvent event) {
  // If a log consists of failures, most lines are new and there is no space for them.
  const bool may_be_known = is_repeated(event.id) || known_words_.find(event.words) != known_words_.end();
  const auto same = may_be_known ? std::find_if(events_.begin(), events_.end(),
                                                [&](const LogEvent& other) { return is_same(other, event); })
                                 : events_.end();
  if (same != events_.end()) {
    // A failure that is repeated after a start belongs to that start.
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
    is_full_ = spare == events_.end();
    if (is_full_) return;
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
  is_full_ = false;
}

std::vector<LogEvent> EventReader::finish() {
  const Pending last = pending_.empty() ? Pending{} : pending_.back();
  while (!pending_.empty()) read_oldest();
  if (trimmed(last.text) == "Killed" || trimmed(last.text) == "\u5df2\u6740\u6b7b")
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

// The figure of that name, if it is a whole number.
static std::optional<std::uint64_t> count_of(const LineTemplate::Match& match, std::string_view name) {
  constexpr double kLargest = 1e12;
  const LogValue* const value = match.value(name);
  if (value == nullptr || value->value < 0 || value->value > kLargest) return std::nullopt;
  return static_cast<std::uint64_t>(value->value);
}

static LogValue figure(std::string_view name, std::uint64_t value, LogUnit unit) {
  return {name, std::to_string(value), static_cast<double>(value), unit};
}

void SlotTraffic::line(std::string_view plain, std::size_t number, const EventReader::Entries& entries) {
  for (const TemplateIndex::Entry* const entry : entries) {
    if (entry->kind != TemplateIndex::Kind::kSlot) continue;
    const auto match = entry->pattern.match(plain);
    if (!match) continue;
    const auto count = [&](std::string_view name) { return count_of(*match, name); };
    if (match->value("slots") != nullptr) {  // another start
      *this = {};
      slots_ = count("slots").value_or(0);
      engine_ = entry->program->name;
    }
    longest_ = count("longest").value_or(longest_);
    if (match->value("task") == nullptr) continue;
    const std::uint64_t task = count("task").value_or(0);
    const std::uint64_t slot = count("slot").value_or(0);
    last_line_ = number;
    engine_ = entry->program->name;
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

void MetricTraffic::line(std::string_view plain, std::size_t number, const EventReader::Entries& entries) {
  constexpr std::size_t kMostSeries = 4096, kLongest = 1024;
  if (plain.starts_with('#') || plain.size() > kLongest) return;
  for (const TemplateIndex::Entry* const entry : entries) {
    if (entry->kind != TemplateIndex::Kind::kMetric || !plain.starts_with(entry->row->text)) continue;
    const std::string_view rest = plain.substr(entry->row->text.size());
    const std::size_t blank = plain.rfind(' ');
    double value = 0;
    if (!(rest.starts_with('{') || rest.starts_with(' ')) || blank == std::string_view::npos) continue;
    if (parse_real(plain.substr(blank + 1), value).ec != std::errc() || !(value >= 0 && value < 1e15)) continue;
    if (series_.size() < kMostSeries) series_[std::string(plain.substr(0, blank))] = {entry->row->meaning, value};
    last_line_ = number;
    engine_ = entry->program->name;
  }
}

std::vector<LogEvent> MetricTraffic::events() const {
  const auto total = [&](std::string_view figure, bool is_largest) {
    std::optional<double> out;
    for (const auto& [name, series] : series_)
      if (series.figure == figure)
        out = is_largest ? std::max(out.value_or(0), series.value) : out.value_or(0) + series.value;
    return out;
  };
  const auto running = total("running", false);
  if (!running) return {};
  LogEvent traffic;
  traffic.id = LogEventId::kTraffic;
  traffic.line_number = last_line_;
  traffic.engine = engine_;
  const auto add = [&](std::string_view name, std::optional<double> value, LogUnit unit) {
    if (value) traffic.values.push_back(figure(name, static_cast<std::uint64_t>(std::round(*value)), unit));
  };
  const auto add_share = [&](std::string_view name, std::optional<double> share) {
    if (!share) return;
    const double percent = std::round(*share * 1000) / 10;
    std::string text = std::to_string(percent);
    text.erase(text.find('.') + 2);
    traffic.values.push_back({name, text, percent, LogUnit::kPercent});
  };
  add("running", running, LogUnit::kSequences);
  add("waiting", total("waiting", false).value_or(0), LogUnit::kSequences);
  add_share("usage", total("usage", true));
  add("tokens", total("tokens", false), LogUnit::kTokens);
  const double queries = total("queries", false).value_or(0);
  add_share("hits", queries > 0 ? total("hits", false).value_or(0) / queries : total("hit_rate", true));
  traffic.words = "metrics of " + std::string(engine_);
  std::vector<LogEvent> out{std::move(traffic)};
  // The counter is never reset, so it says something about the present only if the cache is full.
  constexpr double kFull = 0.9;
  const double preempted = total("preemptions", false).value_or(0);
  if (preempted >= 1 && total("usage", true).value_or(0) >= kFull) {
    LogEvent event{LogEventId::kPreempted, last_line_, engine_, "metrics of " + std::string(engine_), {}};
    event.values.push_back(figure("preemptions", static_cast<std::uint64_t>(preempted), LogUnit::kCount));
    out.push_back(std::move(event));
  }
  return out;
}

}  // namespace kvplan
