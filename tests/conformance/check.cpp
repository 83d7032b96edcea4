#include "conformance/check.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "conformance/causes.h"
#include "conformance/engines.h"
#include "conformance/planner.h"

namespace kvplan::conformance {

namespace {

#ifdef KVPLAN_SANITIZED
constexpr std::size_t kEach =
    8;  // only one of this many rows is checked, because sanitizers make a plan many times slower
#else
constexpr std::size_t kEach = 1;
#endif
constexpr std::size_t kMostShown = 20;
constexpr std::uint64_t kMostWarned = 3;  // percentage of plans whose figures are all equal

constexpr const char* kMisses = "misses";
using Numbers = std::map<std::string, std::uint64_t>;  // number of misses for each known error

std::string described(const Case& subject, const Figure& figure) {
  std::string out = subject.model + (subject.settings.empty() ? "" : ", " + subject.settings) + ": " + figure.name;
  if (!figure.detail.empty()) out += " (" + figure.detail + ")";
  const auto number = [](const std::optional<double>& value, const char* nothing) {
    return value ? fmt::format("{:.15g}", *value) : nothing;
  };
  out += ": " + number(figure.truth, "refused") + " executed, " + number(figure.planned, "nothing") + " planned";
  if (const auto off = figure.off()) out += fmt::format(", {:+.4g} %", 100 * *off);
  return out + " [" + subject.type + "]" + (figure.words.empty() ? "" : " " + figure.words);
}

// The number of figures with a name, and how far they are off.
struct Tally {
  std::array<std::uint64_t, kBands.size()> bands{};
  std::uint64_t estimates = 0, in_range = 0;
};

struct Outcome {
  std::uint64_t ran = 0, refused = 0, artefacts = 0, not_run = 0;
  std::map<std::string, Tally> tallies;  // by the name of a figure
  Numbers misses;
  std::vector<std::string> unexplained;
  std::uint64_t right = 0,
                warned = 0;          // cases whose figures are all equal, and cases with a warning about a known error
  std::vector<std::string> doubted;  // of these, the plans without a verdict
};

// Figures that the plan calls estimates are compared with their range.
bool is_estimate(const Figure& figure) {
  return figure.planned && figure.range && figure.range->first < figure.range->second;
}

// False for a miss.
bool add(const Case& subject, const Figure& figure, const Doubted& doubted, Outcome& out) {
  Tally& tally = out.tallies[figure.name];
  ++tally.bands.at(figure.band());
  if (is_estimate(figure)) {
    ++tally.estimates;
    if (figure.in_range()) ++tally.in_range;
    return true;
  }
  if (figure.is_exact()) return true;
  const KnownError* cause = cause_of(subject, figure);
  const std::string name(cause == nullptr ? "" : cause->name);
  if (cause == nullptr)
    out.unexplained.push_back(described(subject, figure));
  else if (cause->effect != Effect::kSilent && !doubted.sentences.contains(cause->tells))
    out.unexplained.push_back(described(subject, figure) + " (\"" + name + "\", which the plan does not say)");
  else
    ++out.misses[name];
  if (std::getenv("KVPLAN_MISSES") != nullptr)
    std::printf("%s\n  %s\n", described(subject, figure).c_str(), name.empty() ? "NO CAUSE" : name.c_str());
  return false;
}

Outcome outcome_of(const std::vector<Json>& lines) {
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
    // The row may come from a stub and not from the engine, so it is not used.
    if (row.value("artefact", false)) {
      ++out.artefacts;
      continue;
    }
    ++(row.contains("refused") ? out.refused : out.ran);
    const Json model = rows.model(row);
    Case subject{std::string(rows.engine),   release, "", planner.type_of(model), rows.settings(row),
                 planner.root_type_of(model)};
    for (const char* key : {"id", "name", "model", "config"})
      if (subject.model.empty() && row.contains(key) && row[key].is_string()) subject.model = row[key];
    planner.doubted = {};
    bool right = true;
    for (const Figure& figure : rows.figures(row, engine + row.value("release", release), planner))
      right = add(subject, figure, planner.doubted, out) && right;
    if (!right) continue;
    ++out.right;
    if (!planner.doubted.sentences.empty()) ++out.warned;
    // The memory of a draft is not compared, and it may be the reason for the doubt.
    const bool has_draft = row.contains("args") && row.at("args").contains("speculative_config");
    if (planner.doubted.is_unknown && !has_draft)
      out.doubted.push_back(subject.model + ": " + *planner.doubted.sentences.begin());
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
  Json misses = line(kMisses);
  for (const auto& [name, number] : outcome.misses) misses[name] = number;
  if (!outcome.misses.empty()) out.push_back(misses);
  return out;
}

Numbers listed_misses(const std::vector<Json>& counts) {
  Numbers out;
  for (const Json& line : counts)
    if (line.at("of") == kMisses)
      for (const auto& [key, value] : line.items())
        if (value.is_number()) out[key] = value;
  return out;
}

// check_misses tests the numbers of misses.
std::vector<Json> without_misses(std::vector<Json> counts) {
  std::erase_if(counts, [](const Json& line) { return line.at("of") == kMisses; });
  return counts;
}

const std::string kUpdate = "scripts/refresh --only figures";

void check_misses(const std::string& name, const Numbers& listed, const Numbers& now) {
  Numbers all = listed;
  all.insert(now.begin(), now.end());
  for (const auto& [cause, ignored] : all) {
    const std::uint64_t before = listed.contains(cause) ? listed.at(cause) : 0;
    const std::uint64_t after = now.contains(cause) ? now.at(cause) : 0;
    const std::string said = fmt::format("{}: \"{}\" has {} misses, {} are listed: ", name, cause, after, before);
    CHECK_MESSAGE(after <= before, said << "find what went wrong; where the new misses are true ones: " << kUpdate);
    CHECK_MESSAGE(after >= before,
                  said << "better; write that down with " << kUpdate
                       << std::string(after == 0 ? ", and take out a known error that has none left" : ""));
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
                name << ": " << outcome.unexplained.size()
                     << " misses that no known error (src/engines/known_errors.cpp) explains:" << list);
  for (const std::string& said : outcome.doubted)
    CHECK_MESSAGE(false, name << ": equal, but without a verdict: " << said);
  CHECK_MESSAGE(
      100 * outcome.warned <= kMostWarned * outcome.right,
      name << ": " << outcome.warned << " of " << outcome.right << " plans warn though every figure is equal");
  if (kEach > 1) {
    MESSAGE(name << ": a sample, one of " << kEach << " rows; the numbers are held without sanitizers");
    return;
  }
  const std::vector<Json> counts = counts_of(lines[0], outcome);
  if (updating()) {
    write_counts(engine, release, counts);
    return;
  }
  const std::vector<Json> listed = listed_counts(engine, release);
  check_misses(name, listed_misses(listed), outcome.misses);
  check_counts(name, without_misses(listed), without_misses(counts));
}

}  // namespace kvplan::conformance
