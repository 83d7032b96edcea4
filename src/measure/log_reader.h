// Reads an engine's log as observations: each known line becomes figures with their line number. It copes with any
// text: prefixes of docker, journald and Kubernetes, JSON lines, ANSI colours, interleaved ranks, cut lines. Where a
// log has several starts, the last one counts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kvplan/observation.h"
#include "measure/line_template.h"
#include "measure/log_events.h"
#include "measure/log_text.h"

namespace kvplan {

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

}  // namespace kvplan
