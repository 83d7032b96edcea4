
#include <algorithm>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/extras_options.h"
#include "engines/engine.h"
#include "engines/log_lines.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/progress.h"
#include "kvplan/quantity.h"
#include "measure/diagnosis.h"
#include "measure/log_reader.h"

namespace kvplan {

// Engines write shorter lines, but a disk image may have an endless one.
constexpr std::uint64_t kLongestLine = 64 * kMiB;

// Whether a file without a known line may be a log: it is text, and not a document such as a config.json.
static bool is_text(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] == '{') return false;
  // "[62617] text" begins a line of a log.
  if (head[first] == '[' && head.find("] ", first) >= head.find('\n', first)) return false;
  return std::none_of(head.begin(), head.end(), [](char c) { return static_cast<unsigned char>(c) < '\t'; });
}

static LogReading read_whole_log(const std::string& path, std::string& head) {
  LogReader reader;
  ProgressLine progress;
  std::uint64_t bytes = 0, of_line = 0;
  read_pieces(path, [&](std::string_view piece) {
    constexpr std::size_t kHead = 16384;
    if (head.size() < kHead) head.append(piece.substr(0, kHead - head.size()));
    bytes += piece.size();
    of_line += std::min(piece.find('\n'), piece.size());
    if (of_line > kLongestLine)
      fail("has a line of more than " + std::to_string(kLongestLine / kMiB) + " MiB", "give an engine's log");
    if (const auto end = piece.rfind('\n'); end != std::string_view::npos) of_line = piece.size() - end - 1;
    reader.piece(piece);
    if (progress.is_due())
      progress.show("kvplan: reading " + one_line(path, 80) + ": " + std::to_string(bytes / kMiB) + " MiB");
  });
  LogReading out = reader.finish();
  if (out.observations.empty() && out.events.empty() && !is_text(head))
    fail("not a log", "give an engine's output as text: docker logs, journalctl or a file");
  if (const LogProgram* const program = log_program(engine_of_log(out));
      program != nullptr && out.options.engine.empty())
    if (program->engine != nullptr) out.options.engine = program->engine->name;
  return out;
}

// The options of the launch command at the start of a log, for engines that do not print their arguments.
static std::optional<Invocation> asked_by_log(const Invocation& call, const LogReading& reading,
                                              std::string_view head) {
  if (reading.options.has_arguments || reading.starts > 1 || !call.with_command) return std::nullopt;
  const auto command = command_of_log(head);
  if (!command || (!reading.options.engine.empty() && command->engine->name != reading.options.engine))
    return std::nullopt;
  try {
    return call.with_command(*command);
  } catch (const Error&) {
    return std::nullopt;  // its options cannot be planned, or contradict the given ones
  }
}

// The model that a log names, if a cache has it. The log is untrusted, so a path in it is not opened.
static std::optional<ModelAndRequest> model_of_log(const LogReading& reading, const Invocation& call) {
  const std::string& name = call.pasted != nullptr ? call.models.front() : reading.options.model;
  const bool is_id = std::count(name.begin(), name.end(), '/') == 1 && name.find_first_of(".:@~\\") != 0 &&
                     name.front() != '/' && name.back() != '/';
  if (name.empty() || !is_id || exists(name)) return std::nullopt;
  Invocation local = call;
  local.source.hub.offline = true;
  try {
    return load_model_and_request(name, local);
  } catch (const Error&) {
    return std::nullopt;  // not here, or it cannot be planned
  }
}

LogCheck checked_log(const Invocation& call) {
  const std::string& path = call.models.back();
  std::optional<ModelAndRequest> asked;
  if (call.models.size() == 2) asked = load_model_and_request(call.models[0], call);
  return with_source(path, [&] {
    std::string head;
    const LogReading reading = read_whole_log(path, head);
    const std::optional<Invocation> shown = asked_by_log(call, reading, head);
    if (asked && shown) asked->request = load_model_and_request(call.models[0], *shown).request;
    if (!asked) asked = model_of_log(reading, shown ? *shown : call);
    const bool has_figures = asked && !reading.observations.empty();
    LogCheck out = has_figures ? check_log(asked->model, asked->request, reading) : without_model(reading);
    if (shown) out.read.insert(out.read.begin(), one_line(edited_command(*shown->pasted, {}), 100));
    conclude(reading, out);
    if (asked && !out.engine.empty()) try_remedies(asked->model, asked->request, reading, out.diagnosis);
    if (!call.measuring.save.empty() && has_figures)
      for (const CalibrationRecord& record : calibration_of_log(asked->model, out, today()))
        save_calibration(call.measuring.save, record);
    return out;
  });
}

}  // namespace kvplan
