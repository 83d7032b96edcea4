#include "measure/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "measure/log_reader.h"

namespace kvplan {

using enum LogEventId;

static bool is_buffer(LogEventId id) {
  return id == kBufferFailed || id == kComputeFailed || id == kCacheFailed || id == kWeightsFailed;
}

// Killed by the system: exit code 128 + SIGKILL, or Python's -9.
static bool is_killed(const LogEvent& event) {
  const double code = event.number("code");
  return code == 137 || code == -9;
}

// An exception that another process's failure caused.
static bool is_aftermath(const LogEvent& event) {
  return has_one_of(event.words,
                    "root cause above|stack trace above|nitialization failed|failed to start|died|CancelledError|"
                    "KeyboardInterrupt|SystemExit|CalledProcessError|ChildFailedError|ConnectionReset|ConnectionError|"
                    "ConnectionRefused|BrokenPipe|EOFError|remote process exited|Connection closed|Failed core proc");
}

// Decides which of several failures is the cause: the one whose line matches the most specific row, and among equals
// the first.
static int rank_of(const LogEvent& event) {
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
    case kExited: return is_killed(event) ? 4 : 8;
    case kRaised: return is_aftermath(event) ? 7 : 5;
    case kDied: return event.value("reason") != nullptr || !event.meaning.empty() ? 6 : 7;
    default: return 0;
  }
}

static std::size_t last_line_of(const std::vector<LogEvent>& events, LogEventId id) {
  std::size_t out = 0;
  for (const LogEvent& event : events)
    if (event.id == id) out = std::max(out, event.line_number);
  return out;
}

// Adds the values that the cause does not have yet.
static void take_values(const LogEvent& event, LogEvent& cause) {
  for (const LogValue& value : event.values)
    if (cause.value(value.name) == nullptr) cause.values.push_back(value);
}

// An exit that is not a failure: a clean exit, or a stop by a signal.
static bool is_stopped(const LogEvent& event) {
  const double code = event.number("code");
  return code == 0 || code == 130 || code == 143 || code == -15 || code == -2;
}

// Whether llama.cpp's own fitting gave up and it loaded the model anyway.
static bool went_on_after_fit(const LogReading& reading, const LogEvent& event) {
  const auto needed = event.bytes("needed");
  const auto available = event.bytes("available");
  if (needed && available && *needed <= *available) return true;
  return std::any_of(reading.observations.begin(), reading.observations.end(), [&](const Observation& seen) {
    return seen.line_number > event.line_number && (seen.what == "kv_buffer" || seen.what == "compute_buffer");
  });
}

// The last line that reports an allocated cache; 0 if there is none.
static std::size_t last_line_of_cache(const LogReading& reading) {
  std::size_t out = last_line_of(reading.events, kGraphsDone);
  for (const Observation& seen : reading.observations)
    if (seen.what == "kv_tokens" || seen.what == "num_blocks" || seen.what == "kv_buffer" || seen.what == "kv_total" ||
        seen.what == "state_buffer" || seen.what == "max_concurrency" || seen.what == "compute_buffer")
      out = std::max(out, seen.line_number);
  return out;
}

// The failure that caused the others; null if the engine continued after each.
static const LogEvent* fatal_cause(const LogReading& reading) {
  const std::vector<LogEvent>& events = reading.events;
  const std::size_t started = std::max(last_line_of(events, kStarted), last_line_of(events, kTraffic));
  const std::size_t retried = last_line_of(events, kRetried);
  const std::size_t made = last_line_of_cache(reading);
  const LogEvent* out = nullptr;
  for (const LogEvent& event : events) {
    if (event.line_number < started || !(is_fatal(event.id) || event.id == kRaised)) continue;
    // A server reports the exception of a request and keeps running.
    if (event.id == kRaised && (started > 0 || event.line_number < made)) continue;
    if (is_buffer(event.id) && event.line_number <= retried) continue;
    if (event.id == kExited && !is_killed(event) && (is_stopped(event) || started > 0)) continue;
    if (event.id == kFitFailed && went_on_after_fit(reading, event)) continue;
    // Of several exceptions the last one is the most specific.
    const int more = out == nullptr ? -1 : rank_of(event) - rank_of(*out);
    if (more < 0 || (more == 0 && event.id == kRaised)) out = &event;
  }
  return out;
}

// llama.cpp reports in one line that a buffer failed, and in another what it was for.
static void join_buffer_lines(const std::vector<LogEvent>& events, LogEvent& cause) {
  constexpr std::size_t kNear = 8;
  const bool is_limit = cause.id == kBufferLimit;
  if (!is_limit && !is_buffer(cause.id) && cause.id != kHostOutOfMemory) return;
  bool is_tensor = false, is_cache = false;
  for (const LogEvent& event : events) {
    if (event.line_number + kNear < cause.line_number || event.line_number > cause.line_number + kNear) continue;
    if (!is_buffer(event.id)) continue;
    is_tensor = is_tensor || event.id == kWeightsFailed || event.words.starts_with("alloc_tensor_range");
    is_cache = is_cache || event.id == kCacheFailed || event.id == kComputeFailed;
    // A buffer may be allocated in pieces, and then the larger figure is the whole buffer.
    constexpr double kRounding = 1.01;
    if (event.bytes("wanted").value_or(0) > cause.bytes("wanted").value_or(0) * kRounding)
      std::erase_if(cause.values, [](const LogValue& value) { return value.name == "wanted"; });
    take_values(event, cause);
    if (event.id != kBufferFailed && (cause.id == kBufferFailed || cause.id == kHostOutOfMemory)) cause.id = event.id;
  }
  if (is_limit && is_tensor && !is_cache) cause.id = kWeightsLimit;
}

// Adds other lines about the same llama.cpp failure: its own plan of the device, and the buffers it had allocated.
static void join_plan_lines(const LogReading& reading, LogEvent& cause) {
  if (cause.id == kFitFailed) {
    for (const LogEvent& event : reading.events) {
      if (event.id != kBreakdown || event.number("self") <= event.number("free")) continue;
      // The driver's own count of free memory is in another line.
      for (const LogEvent& line : reading.events)
        if (const LogValue* const device = line.value("device"); line.id == kDeviceFree && device != nullptr)
          if (const LogValue* const own = event.value("device"); own != nullptr && own->text == device->text)
            if (const LogValue* const free = line.value("free")) cause.values.push_back(*free);
      take_values(event, cause);
      break;
    }
    for (const LogEvent& event : reading.events)
      if (event.id == kProjected) take_values(event, cause);
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

// Whether vLLM's CPU backend printed the line. Its stack frames do not locate a failure.
static bool tells_cpu(const LogEvent& event) {
  return event.id == kPhase && (event.words.find("cpu") != std::string::npos || event.words.starts_with("VLLM_CPU_"));
}

static LogPhase phase_of_frame(std::string_view words) {
  const auto has = [&](std::string_view part) { return words.find(part) != std::string_view::npos; };
  if (has("cudagraph") || has("apturing") || has("capture") || has("cuda_graphs") || has("warm_up"))
    return LogPhase::kGraphs;
  if (has("profile") || has("determine")) return LogPhase::kProfiling;
  if (has("kv_cache") || has("memory_pool")) return LogPhase::kCache;
  if (has("execute_model") || has("forward_batch")) return LogPhase::kServing;
  return LogPhase::kLoading;
}

static bool served_before(const LogReading& reading, const LogEvent& cause, std::size_t after = 0) {
  return std::any_of(reading.events.begin(), reading.events.end(), [&](const LogEvent& event) {
    return (event.id == kStarted || event.id == kTraffic) && event.line_number < cause.line_number &&
           event.line_number > after;
  });
}

// The phase, from the frames of the last traceback before the failure, or else from the figures printed before it.
static LogPhase phase_of(const LogReading& reading, const LogEvent& cause) {
  const LogEvent* frame = nullptr;
  for (const LogEvent& event : reading.events) {
    if (event.id != kPhase || tells_cpu(event)) continue;
    const bool is_before = event.line_number <= cause.line_number;
    if (is_before || frame == nullptr) frame = &event;
  }
  if (frame != nullptr && !served_before(reading, cause, frame->line_number)) return phase_of_frame(frame->words);
  const auto printed = [&](std::string_view what) {
    return std::any_of(reading.observations.begin(), reading.observations.end(), [&](const Observation& seen) {
      return seen.what == what && seen.line_number < cause.line_number;
    });
  };
  if (served_before(reading, cause)) return LogPhase::kServing;
  if (printed("kv_tokens") || printed("num_blocks") || printed("kv_budget")) return LogPhase::kGraphs;
  if (printed("weights")) return LogPhase::kProfiling;
  return LogPhase::kUnknown;
}

static std::optional<Bytes> as_bytes(double value) {
  constexpr double kMost = 1e18;
  if (!(value > 0) || value > kMost) return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(value));
}

static std::optional<Bytes> missing_of(const LogReading& reading, const LogEvent& cause) {
  const auto difference = [&](std::string_view wanted, std::string_view there) -> std::optional<Bytes> {
    const auto a = cause.bytes(wanted);
    const auto b = cause.bytes(there);
    return a && b ? as_bytes(*a - *b) : std::nullopt;
  };
  switch (cause.id) {
    case kFitFailed:
    case kCacheTooSmall:
    case kHostOutOfMemory: return difference("needed", "available");
    case kFreeMemoryShort:
    case kOutOfMemory: return difference("wanted", "free");
    case kDoesNotFitDevices: return cause.bytes("missing") ? as_bytes(*cause.bytes("missing")) : std::nullopt;
    case kNoCacheMemory:
      for (const Observation& seen : reading.observations)
        if (seen.what == "kv_budget" && seen.value < 0) return as_bytes(-seen.value * kGiB);
      return std::nullopt;
    default: return std::nullopt;
  }
}

static void add_figure(Diagnosis& out, std::string_view name, double value, LogUnit unit) {
  constexpr double kMost = 1e15;
  if (value > 0 && value < kMost) out.figures.push_back({name, "", value, unit});
}

// llama-server: how many requests of the same length fit in its cells.
static void read_slots(const LogReading& reading, const LogEvent& traffic, Diagnosis& out) {
  const double tokens = traffic.number("tokens");
  double cells = traffic.number("slots") * traffic.number("longest");
  for (const Observation& seen : reading.observations)
    if (seen.what == "n_ctx") cells = seen.value;
  if (tokens < 1 || cells < 1) return;
  add_figure(out, "tokens_per_request", tokens, LogUnit::kTokens);
  add_figure(out, "room_for", std::floor(cells / tokens), LogUnit::kSequences);
}

// The used share of the cache, 0 to 1.
static double used_share(const LogEvent& traffic) {
  const LogValue* const usage = traffic.value("usage");
  return usage == nullptr ? 0 : usage->unit == LogUnit::kPercent ? usage->value / 100 : usage->value;
}

// How many requests would fill the cache, given the fraction that the running ones use.
static void read_traffic(const LogReading& reading, const LogEvent& traffic, Diagnosis& out) {
  if (traffic.value("slots") != nullptr) return read_slots(reading, traffic, out);
  const double running = traffic.number("running");
  const double share = used_share(traffic);
  if (running < 1 || share <= 0) return;
  add_figure(out, "usage_per_request", 100 * share / running, LogUnit::kPercent);
  add_figure(out, "room_for", std::round(running / share), LogUnit::kSequences);
  // SGLang prints the tokens of running requests, vLLM their share of all tokens.
  if (const double tokens = traffic.number("tokens"); tokens >= running) {
    add_figure(out, "tokens_per_request", std::round(tokens / running), LogUnit::kTokens);
    return;
  }
  for (const Observation& seen : reading.observations)
    if (seen.what == "kv_tokens" || seen.what == "max_total_num_tokens") {
      add_figure(out, "tokens_per_request", std::round(seen.value * share / running), LogUnit::kTokens);
      break;
    }
}

// Whether requests wait for more than a moment, or the next one will.
static bool is_crowded(const LogEvent& traffic) {
  constexpr double kFull = 0.9;
  constexpr double kNoRoom = 0.99;
  const double waiting = traffic.number("waiting");
  if (used_share(traffic) >= kNoRoom) return true;
  return waiting > 0 && (used_share(traffic) >= kFull || waiting * 2 >= traffic.number("running"));
}

// Problems of a running engine, the most harmful first.
static const LogEvent* trouble_of(const LogReading& reading, const EngineLog& log) {
  for (const LogEventId id : {kProjectorFailed, kPreempted})
    if (const LogEvent* const found = reading.first(id)) return found;
  for (const LogEvent& event : reading.events)
    if (event.id == kTraffic && is_crowded(event)) return &event;
  if (const LogEvent* const request = reading.first(kRequestTooLong)) return request;
  const LogEvent* spilled = nullptr;  // only the newest model's line counts
  for (const LogEvent& event : reading.events)
    if (event.id == kSpilled && log.picks_layers && event.number("on") < event.number("all")) spilled = &event;
  return spilled;
}

// Whether there is a line of a listening server, of traffic, or of an allocated cache.
static bool has_started(const LogReading& reading) {
  return reading.first(kStarted) != nullptr || reading.first(kTraffic) != nullptr || last_line_of_cache(reading) > 0;
}

// The line that says by how much torch.compile reduced the cache in this start, if it is much.
static const LogEvent* lost_to_compiling(const LogReading& reading) {
  constexpr double kLeastSeconds = 10, kLeastGib = 4;
  const LogEvent* const room = reading.first(kRoomLeft);
  double seconds = 0;
  for (const LogEvent& event : reading.events)
    if (event.id == kCompiled) seconds = std::max(seconds, event.number("seconds"));
  const bool is_large = reading.first("activation").value_or(0) >= kLeastGib;
  return room != nullptr && is_large && seconds >= kLeastSeconds ? room : nullptr;
}

// Earlier lines that explain why memory was short.
static std::vector<LogEvent> hints_of(const LogReading& reading, const LogEvent& cause) {
  std::vector<LogEvent> out;
  const bool is_memory = is_buffer(cause.id) || cause.id == kOutOfMemory || cause.id == kBufferLimit ||
                         cause.id == kHostOutOfMemory || cause.id == kFitFailed;
  for (const LogEvent& event : reading.events)
    if (is_memory && (event.id == kMemoryHint || (event.id == kFitFailed && cause.id != kFitFailed)))
      out.push_back(event);
  return out;
}

// Other lines that report the failure in other words.
static std::vector<LogEvent> failures_beside(const LogReading& reading, const LogEvent& cause) {
  constexpr std::size_t kMost = 2;
  std::vector<LogEvent> out;
  for (const LogEvent& event : reading.events) {
    const bool is_failure = is_fatal(event.id) || event.id == kRaised;
    if (!is_failure || event.line_number == cause.line_number || is_aftermath(event) || event.id == kExited) continue;
    const bool is_known =
        std::any_of(out.begin(), out.end(), [&](const LogEvent& one) { return one.words == event.words; });
    if (is_known || event.words == cause.words || out.size() == kMost) continue;
    out.push_back(event);
  }
  return out;
}

std::string engine_of_log(const LogReading& reading) {
  // A line that only one program prints decides. Then come lines that several programs print, then a library's.
  std::string_view wrapper, engine, library;
  const auto take = [](std::string_view& name, std::string_view found) {
    if (name.empty()) name = found;
  };
  for (const LogEvent& event : reading.events) {
    const LogProgram* const program = event.engine.empty() ? nullptr : log_program(event.engine);
    if (program == nullptr) continue;
    if (program->log->is_library)
      take(library, event.engine);
    else if (event.id == kMark && (!program->is_engine || program->engine->wraps_engine))
      take(wrapper, event.engine);
    else if (event.id == kMark)
      take(engine, event.engine);
  }
  if (!wrapper.empty()) return std::string(wrapper);
  take(engine, reading.options.engine);
  for (const LogEvent& event : reading.events)
    if (event.engine != library) take(engine, event.engine);
  return std::string(engine.empty() ? library : engine);
}

bool runs_on_cpu(const LogReading& reading) {
  return std::any_of(reading.events.begin(), reading.events.end(), tells_cpu);
}

Diagnosis diagnose(const LogReading& reading) {
  Diagnosis out;
  const std::string engine = engine_of_log(reading);
  const LogProgram* program = log_program(engine);
  if (program == nullptr) program = log_program("");
  const LogEvent* cause = fatal_cause(reading);
  // The exception that ended an engine after it had served.
  if (cause != nullptr && cause->id == kDied && rank_of(*cause) == 7)
    for (const LogEvent& event : reading.events)
      if (event.id == kRaised && !is_aftermath(event)) cause = &event;
  if (cause != nullptr) {
    out.cause = *cause;
    join_buffer_lines(reading.events, *out.cause);
    join_plan_lines(reading, *out.cause);
    out.phase = phase_of(reading, *cause);
    out.verdict = served_before(reading, *cause) ? LogVerdict::kDied : LogVerdict::kDidNotStart;
    out.missing = missing_of(reading, *out.cause);
    out.hints = hints_of(reading, *out.cause);
    out.other_failures = failures_beside(reading, *out.cause);
  } else if (const LogEvent* trouble = trouble_of(reading, *program->log)) {
    out.cause = *trouble;
    out.phase = LogPhase::kServing;
    out.verdict = LogVerdict::kServesWithTrouble;
  } else {
    out.verdict = has_started(reading) ? LogVerdict::kStarted : LogVerdict::kCannotTell;
    if (const LogEvent* const room = lost_to_compiling(reading)) out.cause = *room;
  }
  for (const LogEvent& event : reading.events) {
    if (event.id == kTraffic) read_traffic(reading, event, out);
    const bool is_cause = out.cause && event.id == out.cause->id && event.line_number == out.cause->line_number;
    if ((event.id == kMemoryHint && !out.hints.empty()) || event.id == kCompiled || event.id == kRoomLeft) continue;
    if (!is_cause && event.id >= kRetried && event.id < kPhase) out.other_events.push_back(event);
  }
  if (out.cause) out.remedies = remedies_for(reading, engine, out);
  return out;
}

void conclude(const LogReading& reading, LogCheck& check) {
  check.engine = engine_of_log(reading);
  const LogProgram* const program = log_program(check.engine);
  check.planned_as = program != nullptr && program->engine != nullptr ? program->engine->name : "";
  check.program = program != nullptr && !check.engine.empty() ? std::string(program->title) : "unknown program";
  const bool is_python = std::any_of(reading.events.begin(), reading.events.end(), [](const LogEvent& event) {
    return event.value("allocated") != nullptr || (event.id == kRaised && event.value("kind") != nullptr);
  });
  if (check.engine.empty() && is_python) check.program = log_program("")->title;
  check.diagnosis = diagnose(reading);
  LogVerdict& verdict = check.diagnosis.verdict;
  const bool may_agree = verdict == LogVerdict::kStarted || verdict == LogVerdict::kCannotTell;
  if (!may_agree || check.compared + check.outside == 0) return;
  verdict = LogVerdict::kAsPlanned;
  if (check.disagreements + check.outside == 0) return;
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
      // If kvplan does not know the release or the type, it still reports what the log says.
    }
  }
  for (const Observation& seen : reading.observations) out.lines.push_back({seen, std::nullopt, false, ""});
  return out;
}

}  // namespace kvplan
