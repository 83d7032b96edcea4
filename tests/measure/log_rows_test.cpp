// The tables of log lines: each row is found in a printed line (testdata/log_lines.txt), has a meaning, and names cures
// that exist.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engines/log_lines.h"
#include "kvplan/strings.h"
#include "measure/diagnosis.h"
#include "measure/log_reader.h"

namespace kvplan {

namespace {

// The printed lines of each program; those of the system under "".
std::map<std::string, std::vector<std::string>, std::less<>> printed_lines() {
  std::map<std::string, std::vector<std::string>, std::less<>> out;
  std::ifstream file(KVPLAN_SOURCE_DIR "/testdata/log_lines.txt");
  std::string program;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("== "))
      program = line == "== system" ? "" : line.substr(3);
    else if (!line.starts_with("# "))
      out[program].push_back(line);
  return out;
}

bool is_read_as(std::string_view line, std::string_view program, const LogTemplate& row) {
  for (const LogEvent& event : read_log(std::string(line) + "\n").events)
    if ((event.id == row.event && event.meaning == row.meaning && event.engine == program) ||
        (event.id == row.event && row.meaning.empty() && row.remedies.empty()))
      return true;
  return false;
}

// Calls `check` with each row of the tables of events, and a line that is read as that row: a printed one, or the text
// of a row without holes; "" if there is none.
template <class Check>
void for_each_row(Check check) {
  const auto printed = printed_lines();
  const auto line_of = [&](std::string_view program, const LogTemplate& row) -> std::string {
    const LineTemplate pattern(row);
    if (const auto lines = printed.find(program); lines != printed.end())
      for (const std::string& line : lines->second)
        if (pattern.match(plain_line(line)) && is_read_as(line, program, row)) return line;
    const bool has_holes = row.text.find('{') != std::string_view::npos;
    return !has_holes && is_read_as(row.text, program, row) ? std::string(row.text) : "";
  };
  for (const LogProgram& program : log_programs())
    for (const LogTemplate& row : program.log->events) check(program.name, row, line_of(program.name, row));
  for (const LogTemplate& row : system_log().events) check("", row, line_of("", row));
}

bool is_cure(std::string_view word) {
  for (auto number = 0; number <= static_cast<int>(LogCure::kOther); ++number)
    if (name(static_cast<LogCure>(number)) == word) return true;
  return false;
}

void check_remedies(std::string_view remedies) {
  CAPTURE(remedies);
  while (!remedies.empty()) {
    const std::size_t end = remedies.find("; ");
    const std::string_view item = remedies.substr(0, end);
    CHECK_FALSE(trimmed(item).empty());
    if (item.starts_with('@')) CHECK(is_cure(item.substr(1, std::min(item.find_first_of(" :"), item.size()) - 1)));
    remedies = end == std::string_view::npos ? std::string_view() : remedies.substr(end + 2);
  }
}

// The names in braces that are names of log values.
void check_holes(std::string_view text, const LogTemplate& row) {
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const std::string_view rest = text.substr(open + 1);
    const std::string_view hole = rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
    if (hole.empty() || !rest.substr(hole.size()).starts_with('}')) continue;
    CAPTURE(row.text);
    CAPTURE(hole);
    const std::string named = "{" + std::string(hole);
    CHECK(
        (row.text.find(named + "}") != std::string_view::npos || row.text.find(named + ":") != std::string_view::npos));
  }
}

}  // namespace

TEST_CASE("log rows: each row has a line that is read as that row") {
  for_each_row([](std::string_view, const LogTemplate& row, const std::string& line) {
    if (row.event == LogEventId::kRaised && row.meaning.empty()) return;  // covered by the test of exceptions
    CAPTURE(row.text);
    CHECK_FALSE(line.empty());
  });
}

TEST_CASE("log rows: each printed line is one of its program") {
  for (const auto& [program, lines] : printed_lines())
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK((program.empty() || log_program(program) != nullptr));
      CHECK_FALSE(read_log(line + "\n").events.empty());
    }
}

TEST_CASE("log rows: remedies exist in the table, and name values that the line has") {
  for_each_row([](std::string_view, const LogTemplate& row, const std::string&) {
    check_remedies(row.remedies);
    check_holes(row.remedies, row);
    check_holes(row.meaning, row);
  });
  for (const LogProgram& program : log_programs()) {
    for (const RemedyRule& rule : program.log->remedies) check_remedies(rule.remedies);
    for (const LogTopic& topic : program.log->topics) check_remedies(topic.remedies);
  }
  for (const LogTopic& topic : system_log().topics) {
    check_remedies(topic.remedies);
    CHECK(lower(topic.words) == topic.words);
  }
}

TEST_CASE("log rows: a failing line has a remedy") {
  for_each_row([](std::string_view, const LogTemplate& row, const std::string& line) {
    if (row.event > LogEventId::kRefused || row.event == LogEventId::kExited) return;
    const Diagnosis found = diagnose(read_log(line + "\n"));
    CAPTURE(line);
    CHECK(found.verdict == LogVerdict::kDidNotStart);
    CHECK_FALSE(found.remedies.empty());
    CHECK(found.remedies.size() <= 4);
  });
}

TEST_CASE("log rows: programs have different names, and the last one has none") {
  REQUIRE_FALSE(log_programs().empty());
  CHECK(log_programs().back().name.empty());
  CHECK(log_program("koboldcpp")->engine != nullptr);
  CHECK(log_program("nothing of that name") == nullptr);
}

TEST_CASE("log rows: a line that no table has is an error") {
  static constexpr std::string_view kWrong[][2] = {
      {"[options]", "by_devices"}, {"[remedies]", "out_of_memories"}, {"[figures]", "  {x} @ wheels"}};
  for (const auto& wrong : kWrong) {
    static std::span<const std::string_view> table;
    table = wrong;
    CAPTURE(wrong[1]);
    CHECK_THROWS_AS(engine_log({[] { return table; }}), std::logic_error);
  }
}

}  // namespace kvplan
