// Reads an engine's log as observations: each known line becomes figures with their line number. It copes with any
// text: prefixes of docker, journald and Kubernetes, JSON lines, ANSI colours, interleaved ranks, cut lines. Where a
// log has several starts, the last one counts.
#ifndef KVPLAN_MEASURE_LOG_READER_H_
#define KVPLAN_MEASURE_LOG_READER_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/observation.h"
#include "measure/line_template.h"
#include "measure/log_events.h"
#include "measure/log_prefix.h"
#include "measure/log_text.h"
#include "measure/slot_traffic.h"

namespace kvplan {

// Reads line by line, so that a log of any length takes little memory.
class LogReader {
 public:
  LogReader();
  void line(std::string_view text);
  // Text, in pieces of any length.
  void piece(std::string_view text);
  LogReading finish();

 private:
  // How far a start has come: a line of an earlier phase begins another start.
  enum class Phase : std::uint8_t { kBanner, kEngine, kWeights, kCache, kServing };
  struct Found {
    std::size_t number = 0;  // of the template
    LineTemplate::Match match;
  };

  void read_plain(const std::string& plain);
  void read_match(const Found& found, const LogRanks& ranks);
  void read_ranks(const LogRanks& ranks);
  // Where the matched line belongs before the present phase of a start, forgets everything before it.
  void follow_start(const Found& found, const LogRanks& ranks);
  void start_over(bool keeps_options);

  LogText text_;
  std::string open_line_;  // the unfinished line at the end of a piece
  bool is_open_ = false;
  LogReading out_;
  EventReader events_;
  SlotTraffic slots_;
  Phase phase_ = Phase::kBanner;
  std::vector<std::size_t> engine_votes_;  // number of figures for each engine of the table
  std::vector<std::string> since_, until_;
  std::set<std::uint64_t> workers_;
  bool has_cpu_blocks_ = false, has_data_ranks_ = false, has_expert_ranks_ = false;
  std::uint64_t world_size_ = 0;
  std::uint64_t tensor_ = 0, pipeline_ = 0, data_ = 0;  // number of ranks, by the highest seen
  std::vector<std::size_t> candidates_;
  std::vector<Found> found_;
};

LogReading read_log(std::string_view text);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_READER_H_
