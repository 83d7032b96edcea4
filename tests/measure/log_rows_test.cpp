// The tables of log lines: each row matches the line that it quotes, has a meaning, and names cures that exist.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "engines/log_lines.h"
#include "kvplan/strings.h"
#include "measure/diagnosis.h"
#include "measure/line_template.h"
#include "measure/log_reader.h"

namespace kvplan {

namespace {

// Calls `check` with each row of the tables of events.
template <class Check>
void for_each_row(Check check) {
  for (const LogProgram& program : log_programs())
    for (const LogTemplate& row : program.log->events) check(program.name, row);
  for (const LogTemplate& row : kSystemLogEvents) check("", row);
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

// The names in braces that are names of values.
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

TEST_CASE("log rows: the line that a row quotes is read as that row") {
  for_each_row([](std::string_view program, const LogTemplate& row) {
    const bool has_holes = row.text.find('{') != std::string_view::npos;
    CAPTURE(row.text);
    REQUIRE((!has_holes || !row.quote.empty()));
    if (row.event == LogEventId::kRaised && row.meaning.empty()) return;  // in the test of exceptions
    const std::string line(row.quote.empty() ? row.text : row.quote);
    bool is_found = false;
    for (const LogEvent& event : read_log(line + "\n").events)
      is_found = is_found || (event.id == row.event && event.meaning == row.meaning && event.engine == program) ||
                 (event.id == row.event && row.meaning.empty() && row.remedies.empty());
    CAPTURE(line);
    CHECK(is_found);
  });
}

TEST_CASE("log rows: remedies are cures that exist, and name values that the line has") {
  for_each_row([](std::string_view, const LogTemplate& row) {
    check_remedies(row.remedies);
    check_holes(row.remedies, row);
    check_holes(row.meaning, row);
  });
  for (const LogProgram& program : log_programs()) {
    for (const RemedyRule& rule : program.log->remedies) check_remedies(rule.remedies);
    for (const LogTopic& topic : program.log->topics) check_remedies(topic.remedies);
  }
  for (const LogTopic& topic : kSystemLogTopics) {
    check_remedies(topic.remedies);
    CHECK(lower(topic.words) == topic.words);
  }
}

TEST_CASE("log rows: a failing line has a remedy") {
  for_each_row([](std::string_view, const LogTemplate& row) {
    if (row.event > LogEventId::kRefused || row.event == LogEventId::kExited) return;
    const std::string line(row.quote.empty() ? row.text : row.quote);
    const Diagnosis found = diagnose(read_log(line + "\n"));
    CAPTURE(line);
    CHECK(found.verdict == LogVerdict::kDidNotStart);
    CHECK_FALSE(found.remedies.empty());
    CHECK(found.remedies.size() <= 4);
  });
}

TEST_CASE("log rows: programs have names of their own, and the last one has none") {
  REQUIRE_FALSE(log_programs().empty());
  CHECK(log_programs().back().name.empty());
  CHECK(log_program("koboldcpp")->engine != nullptr);
  CHECK(log_program("nothing of that name") == nullptr);
}

}  // namespace kvplan
