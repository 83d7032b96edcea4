// Pieces that the HTML pages of a plan, a fleet, compare and fit share.
#ifndef KVPLAN_REPORT_HTML_PARTS_H_
#define KVPLAN_REPORT_HTML_PARTS_H_

#include <string>
#include <utility>
#include <vector>

#include "plan/answer.h"

namespace kvplan {

std::string html_heading(const Plan& plan);
std::string html_verdict(const Plan& plan);
std::string html_notes(const std::vector<Note>& notes);
std::string page_title(const ModelFacts& model);

std::string html_frontier(const Frontier& points);

// Memory as bars of one scale: a row for each, with the card's limit (0: none) drawn in.
struct BarRow {
  std::string title;  // markup
  const GpuMemory* gpu = nullptr;
};
std::string html_bars(const std::vector<BarRow>& rows, Bytes card);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_HTML_PARTS_H_
