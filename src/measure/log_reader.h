// Reads an engine's log as observations: each known line becomes figures with their line number. It copes with any
// text: prefixes of docker, journald and Kubernetes, JSON lines, ANSI colours, interleaved ranks, cut lines. Where a
// log has several starts, the last one counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kvplan/observation.h"
#include "measure/line_template.h"
#include "measure/log_events.h"

namespace kvplan {

// The bytes of a log as UTF-8. Redirection in PowerShell writes UTF-16 with a byte order mark.
// Takes pieces that may be cut anywhere.
class LogText {
 public:
  std::string utf8(std::string_view piece);

 private:
  enum class Coding : std::uint8_t { kUnknown, kBytes, kLittle, kBig };

  void decide();
  void take_unit(char32_t unit, std::string& out);

  Coding coding_ = Coding::kUnknown;
  std::string open_;   // bytes before the coding is known, or the first byte of a unit
  char32_t high_ = 0;  // a surrogate whose other half is to come
};

// "(Worker_PP0_TP1_EP1 pid=99)", "[2025-03-10 16:21:31 DP1 TP3]", "(VllmWorker rank=3 pid=105)", "[gpu_id=2]".
struct LogRanks {
  std::optional<std::uint64_t> tensor, pipeline, data, expert;
  std::optional<std::uint64_t> worker;  // the process number of a worker of V0 or Ray
  bool any() const { return tensor || pipeline || data; }
};
LogRanks ranks_of(std::string_view plain);

// The text within a JSON line ({"log": "...\n"}, {"message": ...}); nothing if the line is not JSON.
std::optional<std::string> unpacked(std::string_view line);

// Reads line by line, so that a log of any length takes little memory.
class LogReader {
 public:
  void line(std::string_view text);
  // Text, in pieces of any length.
  void piece(std::string_view text);
  LogReading finish();

 private:
  struct Found {
    const TemplateIndex::Entry* entry = nullptr;
    LineTemplate::Match match;
  };
  // The lines that an engine may have printed, and the releases that their wording leaves.
  struct Votes {
    std::size_t count = 0;
    std::string_view since, until;
  };

  void read_plain(const std::string& plain);
  void read_match(const Found& found, const LogRanks& ranks);
  void read_ranks(const LogRanks& ranks);
  // If the matched line belongs before the present phase of a start, forgets everything before it.
  void follow_start(const Found& found, const LogRanks& ranks);
  void start_over(bool keeps_options);

  LogText text_;
  std::string open_line_;  // the unfinished line at the end of a piece
  bool is_open_ = false;
  LogReading out_;
  EventReader events_;
  SlotTraffic slots_;
  MetricTraffic metrics_;
  StartPhase phase_ = StartPhase::kNone;
  std::map<const Engine*, Votes> votes_;
  std::set<std::uint64_t> workers_;
  bool has_cpu_blocks_ = false, has_data_ranks_ = false, has_expert_ranks_ = false;
  std::uint64_t world_size_ = 0;
  std::uint64_t tensor_ = 0, pipeline_ = 0, data_ = 0;  // number of ranks, by the highest seen
};

LogReading read_log(std::string_view text);

// Stores a figure that is an option; returns whether it is only that, and no observation.
bool take_option(const LogValue& value, LogOptions& out);

// Adds what follows from several figures together.
void complete_options(const LogReading& reading, LogOptions& out);

// The release that a version means: "0.8.3" and "0.20.1.post1" unchanged, a build of main before a release
// ("0.18.1rc1.dev147") as that release, a candidate ("0.11.0rc2") as its release.
std::string release_of(std::string_view version);

// Whether release `a` is older than `b`, by their numbers.
bool is_older(std::string_view a, std::string_view b);

}  // namespace kvplan
