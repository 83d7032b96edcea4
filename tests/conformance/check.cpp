#include "conformance/check.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "conformance/causes.h"
#include "conformance/engines.h"
#include "conformance/planner.h"

namespace kvplan::conformance {

namespace {

#ifdef KVPLAN_SANITIZED
constexpr std::size_t kEach = 4;  // of so many rows one: sanitizers make a plan many times slower
#else
constexpr std::size_t kEach = 1;
#endif
constexpr std::size_t kMostShown = 20;

std::string format_bytes(const Case& subject, const Figure& figure) {
  std::string out = subject.model + (subject.settings.empty() ? "" : ", " + subject.settings) + ": " + figure.name;
  if (!figure.detail.empty()) out += " (" + figure.detail + ")";
  const auto number = [](const std::optional<double>& value, const char* nothing) {
    return value ? fmt::format("{:.15g}", *value) : nothing;
  };
  out += ": " + number(figure.truth, "refused") + " executed, " + number(figure.planned, "nothing") + " planned";
  if (const auto off = figure.off()) out += fmt::format(", {:+.4g} %", 100 * *off);
  return out + " [" + subject.type + "]" + (figure.words.empty() ? "" : " " + figure.words);
}

// How many figures of a name there are, and how far off.
struct Tally {
  std::array<std::uint64_t, kBands.size()> bands{};
  std::uint64_t estimates = 0, in_range = 0;
};

struct Outcome {
  std::uint64_t ran = 0, refused = 0, artefacts = 0, not_run = 0;
  std::map<std::string, Tally> tallies;  // by the name of a figure
  Numbers misses;                        // by the name of a cause
  std::vector<std::string> unexplained;
};

// What the plan itself calls an estimate has a range in place of equality.
bool is_estimate(const Figure& figure) {
  return figure.planned && figure.range && figure.range->first < figure.range->second;
}

void add(const Case& subject, const Figure& figure, const Causes& causes, Outcome& out) {
  Tally& tally = out.tallies[figure.name];
  ++tally.bands.at(figure.band());
  if (is_estimate(figure)) {
    ++tally.estimates;
    if (figure.in_range()) ++tally.in_range;
    return;
  }
  if (figure.is_exact()) return;
  const Json* cause = causes.find(subject, figure);
  const std::string name = cause == nullptr ? "" : cause->at("cause").get<std::string>();
  if (cause == nullptr)
    out.unexplained.push_back(format_bytes(subject, figure));
  else
    ++out.misses[name];
  if (std::getenv("KVPLAN_MISSES") != nullptr)
    std::printf("%s\n  %s\n", format_bytes(subject, figure).c_str(), name.empty() ? "NO CAUSE" : name.c_str());
}

Outcome outcome_of(const std::vector<Json>& lines) {
  const Causes causes;
  const Json& head = lines.at(0);
  const EngineRows& rows = engine_rows(head.at("engine").get<std::string>());
  const std::string release = head.at("release"), engine = std::string(rows.engine) + "@";
  Planner planner;
  Outcome out;
  for (std::size_t i = 1; i < lines.size(); i += kEach) {
    const Json& row = lines[i];
    CAPTURE(i);
    if (row.contains("not_run")) {
      ++out.not_run;
      continue;
    }
    // A stub, not the engine, may have said so: that is no truth.
    if (row.value("artefact", false)) {
      ++out.artefacts;
      continue;
    }
    ++(row.contains("refused") ? out.refused : out.ran);
    const Json model = rows.model(row);
    Case subject{std::string(rows.engine), release, "", planner.type_of(model), rows.settings(row)};
    for (const char* key : {"id", "name", "model", "config"})
      if (subject.model.empty() && row.contains(key) && row[key].is_string()) subject.model = row[key];
    for (const Figure& figure : rows.figures(row, engine + row.value("release", release), planner))
      add(subject, figure, causes, out);
  }
  return out;
}

std::vector<Json> counts_of(const Json& head, const Outcome& outcome) {
  const auto line = [&](const std::string& what) {
    return Json{{"engine", head.at("engine")}, {"release", head.at("release")}, {"of", what}};
  };
  Json cases = line("cases");
  cases.update({{"ran", outcome.ran}, {"refused", outcome.refused}, {"not run", outcome.not_run}});
  if (outcome.artefacts > 0) cases["artefacts"] = outcome.artefacts;
  std::vector<Json> out{cases};
  for (const auto& [name, tally] : outcome.tallies) {
    Json of = line(name);
    for (std::size_t i = 0; i < kBands.size(); ++i)
      if (tally.bands[i] > 0) of[std::string(kBands[i].name)] = tally.bands[i];
    if (tally.estimates > 0) of.update({{"estimates", tally.estimates}, {"in range", tally.in_range}});
    out.push_back(of);
  }
  return out;
}

const std::string kUpdate = "KVPLAN_UPDATE_GOLDEN=1 build/tests/kvplan_tests -tc='conformance*,docs/accuracy*'";

void check_misses(const std::string& name, const Numbers& listed, const Numbers& now) {
  Numbers all = listed;
  all.insert(now.begin(), now.end());
  for (const auto& [cause, ignored] : all) {
    const std::uint64_t before = listed.contains(cause) ? listed.at(cause) : 0;
    const std::uint64_t after = now.contains(cause) ? now.at(cause) : 0;
    const std::string said = fmt::format("{}: \"{}\" has {} misses, {} are listed: ", name, cause, after, before);
    CHECK_MESSAGE(after <= before, said << "find what went wrong; where the new misses are true ones: " << kUpdate);
    CHECK_MESSAGE(after >= before, said << "better; write that down with " << kUpdate
                                        << std::string(after == 0 ? ", and take out a cause that has none left" : ""));
  }
}

void check_counts(const std::string& name, const std::vector<Json>& listed, const std::vector<Json>& now) {
  for (const Json& line : now) {
    const auto before =
        std::find_if(listed.begin(), listed.end(), [&](const Json& each) { return each.at("of") == line.at("of"); });
    const std::string had = before == listed.end() ? "nothing" : before->dump();
    CHECK_MESSAGE(had == line.dump(), name << ": counts.jsonl has " << had << ", now it is " << line.dump()
                                           << "; fewer estimates in their range are a defect, else: " << kUpdate);
  }
  CHECK_MESSAGE(listed.size() == now.size(), name << ": counts.jsonl has figures that are no more; " << kUpdate);
}

}  // namespace

void check_executed(const std::string& name) {
  const std::vector<Json> lines = read_lines(kFolder + name + ".jsonl");
  REQUIRE_MESSAGE(!lines.empty(), name << ".jsonl is not there; make it with tests/conformance/run");
  const std::string engine = lines[0].at("engine"), release = lines[0].at("release");
  const Outcome outcome = outcome_of(lines);
  std::string list;
  for (std::size_t i = 0; i < std::min(kMostShown, outcome.unexplained.size()); ++i)
    list += "\n  " + outcome.unexplained[i];
  CHECK_MESSAGE(outcome.unexplained.empty(),
                name << ": " << outcome.unexplained.size() << " misses that no cause in causes.json explains:" << list);
  if (kEach > 1) {
    MESSAGE(name << ": a sample, one of " << kEach << " rows; the numbers are held without sanitizers");
    return;
  }
  const std::vector<Json> counts = counts_of(lines[0], outcome);
  if (updating()) {
    write_misses(engine, release, outcome.misses);
    write_counts(engine, release, counts);
    return;
  }
  check_misses(name, listed_misses(Causes(), engine, release), outcome.misses);
  check_counts(name, listed_counts(engine, release), counts);
}

}  // namespace kvplan::conformance
