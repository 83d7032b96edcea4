#include "measure/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "measure/log_events.h"
#include "measure/log_request.h"

namespace kvplan {

namespace {

using enum LogEventId;

bool is_buffer(LogEventId id) {
  return id == kBufferFailed || id == kComputeFailed || id == kCacheFailed || id == kWeightsFailed;
}

std::optional<double> bytes_of(const LogEvent& event, std::string_view name) {
  const LogValue* value = event.value(name);
  if (value == nullptr) return std::nullopt;
  if (value->unit == LogUnit::kGibibytes) return value->value * kGiB;
  if (value->unit == LogUnit::kMebibytes) return value->value * kMiB;
  if (value->unit == LogUnit::kBytes) return value->value;
  return std::nullopt;
}

double number_of(const LogEvent& event, std::string_view name) {
  const LogValue* value = event.value(name);
  return value == nullptr ? 0 : value->value;
}

// Killed by the system: 128 + SIGKILL, or Python's form of it.
bool is_killed(const LogEvent& event) {
  const double code = number_of(event, "code");
  return code == 137 || code == -9;
}

// Which of several failures is the cause: the one whose line says most, and among equals the first.
int rank_of(const LogEvent& event) {
  switch (event.id) {
    case kOutOfMemory:
    case kGraphsFailed: return event.value("wanted") != nullptr ? 0 : 2;
    case kBufferFailed:
    case kHostOutOfMemory: return 1;
    case kFitFailed:
    case kComputeFailed:
    case kCacheFailed:
    case kWeightsFailed: return 2;
    case kMemoryUnbalanced:
    case kLeak:
    case kRefused: return 3;
    case kExited: return is_killed(event) ? 4 : 6;
    case kTooManySequences: return 0;
    case kDied: return 5;
    default: return 0;
  }
}

std::size_t last_line_of(const std::vector<LogEvent>& events, LogEventId id) {
  std::size_t out = 0;
  for (const LogEvent& event : events)
    if (event.id == id) out = std::max(out, event.line_number);
  return out;
}

// An exit that is no failure: a clean one, or a stop by a signal.
bool is_stopped(const LogEvent& event) {
  const double code = number_of(event, "code");
  return code == 0 || code == 130 || code == 143 || code == -15 || code == -2;
}

// Whether llama.cpp's own fitting gave up and the load went on regardless.
bool went_on_after_fit(const LogReading& reading, const LogEvent& event) {
  const auto needed = bytes_of(event, "needed");
  const auto available = bytes_of(event, "available");
  if (needed && available && *needed <= *available) return true;
  return std::any_of(reading.observations.begin(), reading.observations.end(), [&](const Observation& seen) {
    return seen.line_number > event.line_number && (seen.what == "kv_buffer" || seen.what == "compute_buffer");
  });
}

// The failure that caused the others; null where the engine went on after each.
const LogEvent* fatal_cause(const LogReading& reading) {
  const std::vector<LogEvent>& events = reading.events;
  const std::size_t started = std::max(last_line_of(events, kStarted), last_line_of(events, kTraffic));
  const std::size_t retried = last_line_of(events, kRetried);
  const LogEvent* out = nullptr;
  for (const LogEvent& event : events) {
    if (!is_fatal(event.id) || event.line_number < started) continue;
    if (is_buffer(event.id) && event.line_number <= retried) continue;
    if (event.id == kExited && !is_killed(event) && (is_stopped(event) || started > 0)) continue;
    if (event.id == kFitFailed && went_on_after_fit(reading, event)) continue;
    if (out == nullptr || rank_of(event) < rank_of(*out)) out = &event;
  }
  return out;
}

// llama.cpp reports in one line that a buffer failed, and in another what it was for.
void join_buffer_lines(const std::vector<LogEvent>& events, LogEvent& cause) {
  constexpr std::size_t kNear = 8;
  const bool is_limit = cause.id == kBufferLimit;
  if (!is_limit && !is_buffer(cause.id) && cause.id != kHostOutOfMemory) return;
  for (const LogEvent& event : events) {
    if (event.line_number + kNear < cause.line_number || event.line_number > cause.line_number + kNear) continue;
    if (!is_buffer(event.id)) continue;
    // A buffer may be allocated in pieces: the larger figure is the whole.
    constexpr double kRounding = 1.01;
    if (bytes_of(event, "wanted").value_or(0) > bytes_of(cause, "wanted").value_or(0) * kRounding)
      std::erase_if(cause.values, [](const LogValue& value) { return value.name == "wanted"; });
    for (const LogValue& value : event.values)
      if (cause.value(value.name) == nullptr) cause.values.push_back(value);
    if (event.id != kBufferFailed && (cause.id == kBufferFailed || cause.id == kHostOutOfMemory)) cause.id = event.id;
  }
}

// Other lines that belong to a failure of llama.cpp: its own plan of the device, and the buffers it had allocated.
void join_plan_lines(const LogReading& reading, LogEvent& cause) {
  const auto take = [&](const LogEvent& event) {
    for (const LogValue& value : event.values)
      if (cause.value(value.name) == nullptr) cause.values.push_back(value);
  };
  if (cause.id == kFitFailed) {
    for (const LogEvent& event : reading.events)
      if (event.id == kBreakdown && number_of(event, "self") > number_of(event, "free")) {
        // The driver's own count of free memory is in another line.
        for (const LogEvent& device : reading.events)
          if (device.id == kDeviceFree && event.value("device") != nullptr && device.value("device") != nullptr &&
              device.value("device")->text == event.value("device")->text && device.value("free") != nullptr)
            cause.values.push_back(*device.value("free"));
        take(event);
        break;
      }
    for (const LogEvent& event : reading.events)
      if (event.id == kProjected) take(event);
  }
  if (cause.id != kComputeFailed && cause.id != kCacheFailed) return;
  const auto sum = [&](std::string_view what, std::string_view name) {
    double mebibytes = 0;
    for (const Observation& seen : reading.observations)
      if (seen.what == what && seen.line_number <= cause.line_number) mebibytes += seen.bytes() / kMiB;
    constexpr double kMost = 1e12;
    if (mebibytes > 0 && mebibytes < kMost) cause.values.push_back({name, "", mebibytes, LogUnit::kMebibytes});
  };
  sum("weights", "weights");
  sum("kv_buffer", "kv");
}

// Whether it is a line of vLLM's CPU backend, which is no frame that a failure was in.
bool tells_cpu(const LogEvent& event) {
  return event.id == kPhase && (event.words.find("cpu") != std::string::npos || event.words.starts_with("VLLM_CPU_"));
}

LogPhase phase_of_frame(std::string_view words) {
  const auto has = [&](std::string_view part) { return words.find(part) != std::string_view::npos; };
  if (has("cudagraph") || has("capture") || has("cuda_graphs") || has("warm_up")) return LogPhase::kGraphs;
  if (has("profile") || has("determine")) return LogPhase::kProfiling;
  if (has("kv_cache") || has("memory_pool")) return LogPhase::kCache;
  if (has("execute_model") || has("forward_batch")) return LogPhase::kServing;
  return LogPhase::kLoading;
}

// By the traceback's frames, the nearest before the failure first; else by the figures printed before it.
LogPhase phase_of(const LogReading& reading, const LogEvent& cause) {
  const LogEvent* frame = nullptr;
  for (const LogEvent& event : reading.events) {
    if (event.id != kPhase || tells_cpu(event)) continue;
    const bool is_before = event.line_number <= cause.line_number;
    if (is_before || frame == nullptr) frame = &event;
  }
  if (frame != nullptr) return phase_of_frame(frame->words);
  const auto printed = [&](std::string_view what) {
    return std::any_of(reading.observations.begin(), reading.observations.end(), [&](const Observation& seen) {
      return seen.what == what && seen.line_number < cause.line_number;
    });
  };
  for (const LogEvent& event : reading.events)
    if ((event.id == kStarted || event.id == kTraffic) && event.line_number < cause.line_number)
      return LogPhase::kServing;
  if (printed("kv_tokens") || printed("num_blocks") || printed("kv_budget")) return LogPhase::kGraphs;
  if (printed("weights")) return LogPhase::kProfiling;
  return LogPhase::kUnknown;
}

std::optional<Bytes> as_bytes(double value) {
  constexpr double kMost = 1e18;
  if (!(value > 0) || value > kMost) return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(value));
}

std::optional<Bytes> missing_of(const LogReading& reading, const LogEvent& cause) {
  const auto difference = [&](std::string_view wanted, std::string_view there) -> std::optional<Bytes> {
    const auto a = bytes_of(cause, wanted);
    const auto b = bytes_of(cause, there);
    return a && b ? as_bytes(*a - *b) : std::nullopt;
  };
  switch (cause.id) {
    case kFitFailed:
    case kCacheTooSmall: return difference("needed", "available");
    case kHostOutOfMemory: return cause.value("needed") != nullptr ? difference("needed", "available") : std::nullopt;
    case kFreeMemoryShort: {
      const auto wanted = bytes_of(cause, "wanted");
      return wanted ? as_bytes(*wanted - number_of(cause, "free") * kGiB) : std::nullopt;
    }
    case kOutOfMemory: return difference("wanted", "free");
    case kDoesNotFitDevices: return bytes_of(cause, "missing") ? as_bytes(*bytes_of(cause, "missing")) : std::nullopt;
    case kNoCacheMemory:
      for (const Observation& seen : reading.observations)
        if (seen.what == "kv_budget" && seen.value < 0) return as_bytes(-seen.value * kGiB);
      return std::nullopt;
    default: return std::nullopt;
  }
}

void add_figure(Diagnosis& out, std::string_view name, double value, LogUnit unit) {
  constexpr double kMost = 1e15;
  if (value > 0 && value < kMost) out.figures.push_back({name, "", value, unit});
}

// llama-server: what its cells hold of requests that are as long as those before.
void read_slots(const LogReading& reading, const LogEvent& traffic, Diagnosis& out) {
  const double tokens = number_of(traffic, "tokens");
  double cells = number_of(traffic, "slots") * number_of(traffic, "longest");
  for (const Observation& seen : reading.observations)
    if (seen.what == "n_ctx") cells = seen.value;
  if (tokens < 1 || cells < 1) return;
  add_figure(out, "tokens_per_request", tokens, LogUnit::kTokens);
  add_figure(out, "room_for", std::floor(cells / tokens), LogUnit::kSequences);
}

// Requests that run hold a share of the cache: how many hold all of it.
void read_traffic(const LogReading& reading, const LogEvent& traffic, Diagnosis& out) {
  if (traffic.value("slots") != nullptr) return read_slots(reading, traffic, out);
  const double running = number_of(traffic, "running");
  const LogValue* usage = traffic.value("usage");
  if (usage == nullptr || running < 1 || usage->value <= 0) return;
  constexpr double kPercent = 100;
  const double share = usage->unit == LogUnit::kPercent ? usage->value / kPercent : usage->value;
  add_figure(out, "usage_per_request", kPercent * share / running, LogUnit::kPercent);
  add_figure(out, "room_for", std::round(running / share), LogUnit::kSequences);
  // SGLang prints the tokens of running requests, vLLM their share of all tokens.
  if (const double tokens = number_of(traffic, "tokens"); tokens >= running) {
    add_figure(out, "tokens_per_request", std::round(tokens / running), LogUnit::kTokens);
    return;
  }
  for (const Observation& seen : reading.observations)
    if (seen.what == "kv_tokens" || seen.what == "max_total_num_tokens") {
      add_figure(out, "tokens_per_request", std::round(seen.value * share / running), LogUnit::kTokens);
      break;
    }
}

// Whether requests wait, for more than a moment.
bool is_crowded(const LogEvent& traffic) {
  const LogValue* const usage = traffic.value("usage");
  const double share = usage == nullptr ? 0 : usage->unit == LogUnit::kPercent ? usage->value / 100 : usage->value;
  constexpr double kFull = 0.9;
  const double waiting = number_of(traffic, "waiting");
  return waiting > 0 && (share >= kFull || waiting * 2 >= number_of(traffic, "running"));
}

// Troubles of a running engine, the most harmful first.
const LogEvent* trouble_of(const LogReading& reading, std::string_view engine) {
  const auto first = [&](LogEventId id) -> const LogEvent* {
    for (const LogEvent& event : reading.events)
      if (event.id == id) return &event;
    return nullptr;
  };
  if (const LogEvent* preempted = first(kPreempted)) return preempted;
  for (const LogEvent& event : reading.events)
    if (event.id == kTraffic && is_crowded(event)) return &event;
  if (const LogEvent* request = first(kRequestTooLong)) return request;
  const LogEvent* spilled = nullptr;  // only the newest model's counts
  for (const LogEvent& event : reading.events)
    if (event.id == kSpilled && engine == "ollama" && number_of(event, "on") < number_of(event, "all"))
      spilled = &event;
  return spilled;
}

}  // namespace

namespace {

// Whether there is a line of a listening server, of traffic, or of an allocated cache.
bool has_started(const LogReading& reading) {
  for (const LogEvent& event : reading.events)
    if (event.id == kStarted || event.id == kTraffic || event.id == kGraphsDone) return true;
  return std::any_of(reading.observations.begin(), reading.observations.end(), [](const Observation& seen) {
    return seen.what == "kv_tokens" || seen.what == "num_blocks" || seen.what == "kv_buffer" ||
           seen.what == "kv_total" || seen.what == "state_buffer" || seen.what == "max_concurrency";
  });
}

// The last exception before the line of `cause`; in the whole log where `cause` is null.
const LogEvent* raised_before(const LogReading& reading, const LogEvent* cause) {
  const LogEvent* out = nullptr;
  for (const LogEvent& event : reading.events)
    if (event.id == kRaised && (cause == nullptr || event.line_number < cause->line_number)) out = &event;
  return out;
}

}  // namespace

std::string engine_of_log(const LogReading& reading) {
  // ollama's runner prints llama.cpp's lines; a line that only one engine prints counts before lines that others took
  // over.
  std::string_view out;
  for (const LogEvent& event : reading.events) {
    if (event.id != kMark) continue;
    if (event.engine == "ollama") return "ollama";
    if (out.empty()) out = event.engine;
  }
  if (!reading.options.engine.empty()) return reading.options.engine;
  for (const LogEvent& event : reading.events)
    if (out.empty()) out = event.engine;
  return std::string(out);
}

bool runs_on_cpu(const LogReading& reading) {
  return std::any_of(reading.events.begin(), reading.events.end(), tells_cpu);
}

Diagnosis diagnose(const LogReading& reading) {
  Diagnosis out;
  const std::string engine = engine_of_log(reading);
  const LogEvent* cause = fatal_cause(reading);
  if (cause == nullptr && !engine.empty() && !has_started(reading)) cause = raised_before(reading, nullptr);
  if (cause != nullptr && cause->id == kDied && cause->value("reason") == nullptr)
    for (const LogEvent* after : {cause, static_cast<const LogEvent*>(nullptr)})
      if (const LogEvent* raised = raised_before(reading, after)) {
        cause = raised;
        break;
      }
  if (cause != nullptr) {
    out.cause = *cause;
    join_buffer_lines(reading.events, *out.cause);
    join_plan_lines(reading, *out.cause);
    out.phase = phase_of(reading, *cause);
    const bool had_started = std::any_of(reading.events.begin(), reading.events.end(), [&](const LogEvent& event) {
      return (event.id == kStarted || event.id == kTraffic) && event.line_number < cause->line_number;
    });
    out.verdict = had_started ? LogVerdict::kDied : LogVerdict::kDidNotStart;
    out.missing = missing_of(reading, *out.cause);
  } else if (const LogEvent* trouble = trouble_of(reading, engine)) {
    out.cause = *trouble;
    out.phase = LogPhase::kServing;
    out.verdict = LogVerdict::kServesWithTrouble;
  } else {
    out.verdict = has_started(reading) ? LogVerdict::kStarted : LogVerdict::kCannotTell;
  }
  for (const LogEvent& event : reading.events) {
    if (event.id == kTraffic) read_traffic(reading, event, out);
    const bool is_cause = out.cause && event.id == out.cause->id && event.line_number == out.cause->line_number;
    if (!is_cause && event.id >= kRetried && event.id < kPhase) out.other_events.push_back(event);
  }
  if (out.cause) out.remedies = remedies_for(reading, engine, out);
  return out;
}

void conclude(const LogReading& reading, LogCheck& check) {
  check.engine = engine_of_log(reading);
  check.diagnosis = diagnose(reading);
  LogVerdict& verdict = check.diagnosis.verdict;
  if ((verdict != LogVerdict::kStarted && verdict != LogVerdict::kCannotTell) || check.compared == 0) return;
  verdict = LogVerdict::kAsPlanned;
  if (check.disagreements == 0) return;
  verdict = LogVerdict::kDiffers;
  for (const LogLine& line : check.lines)
    if (line.exact && line.predicted && (line.seen.what == "kv_tokens" || line.seen.what == "num_blocks")) {
      if (line.seen.value < *line.predicted) verdict = LogVerdict::kLessRoom;
      if (line.seen.value > *line.predicted) verdict = LogVerdict::kMoreRoom;
    }
}

LogCheck without_model(const LogReading& reading) {
  LogCheck out;
  out.options = reading.options;
  out.has_plan = false;
  if (!reading.options.engine.empty()) {
    try {
      out.read = read_request(reading, Request()).read;
    } catch (const Error&) {
      // A release or a type that kvplan does not know: the log is reported all the same.
    }
  }
  for (const Observation& seen : reading.observations) out.lines.push_back({seen, std::nullopt, false, ""});
  return out;
}

}  // namespace kvplan
