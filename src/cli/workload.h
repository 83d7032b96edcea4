// A workload as a service sees it: how often users send a prompt, how long they wait, and how long answers are. It is
// converted to the number and length of sequences at once.
#pragma once

#include <cstdint>
#include <optional>

#include "kvplan/note.h"
#include "kvplan/request.h"
#include "plan/answer.h"

namespace kvplan {

struct Workload {
  std::optional<std::uint64_t> prompt, output;  // tokens of one turn
  std::uint64_t turns = 1;
  std::optional<double> think_time;    // seconds between an answer and the next turn
  double hit_rate = 0;                 // fraction of the waiting users whose history stays in the cache
  std::optional<double> qps;           // turns per second
  std::optional<double> tokens_per_s;  // measured, of one sequence
  std::optional<double> price;         // price per GPU hour
};

// Throws Error if options of the workload need another one that is missing, or contradict the request.
void check_workload(const Workload& workload, const Request& request);
// The request with the sequences and lengths of the workload, and a note on how they are computed.
Request with_workload(const Workload& workload, const ModelSpec& model, Request request, std::vector<Note>& notes);
// "16 GPUs: 48.00 per hour"
void add_price(const Workload& workload, Answers& answers);

}  // namespace kvplan
