// What kvplan measure card finds of a card: who it is, what it keeps for itself, how it hands out memory and how fast.
#ifndef KVPLAN_CARD_MEASUREMENT_H_
#define KVPLAN_CARD_MEASUREMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/calibration.h"
#include "kvplan/quantity.h"

namespace kvplan {

// A step of opening a card, and what it took of it.
struct ContextStage {
  std::string what;
  Bytes took;
};

// The card as its driver and the management library have it.
struct CardFacts {
  std::string uuid;                     // "" where nobody says
  bool is_slice = false;                // of a card that is cut (MIG)
  bool is_integrated = false;           // its memory is the machine's
  bool is_wsl = false;                  // Windows pages its memory instead of refusing
  bool is_by_process = false;           // the context is what its own process holds; else what the counter grew by
  std::optional<bool> corrects_errors;  // ECC
  std::optional<Bytes> reserved;        // that the driver keeps
  std::vector<ContextStage> stages;     // of the context
};

// What the counter grew by where so much was asked for.
struct SizeProbe {
  Bytes asked, took;
};

struct CardMeasurement {
  std::string id, name, driver;
  CardFacts facts;
  Bytes nominal, usable, free, used_by_others;
  std::optional<std::uint64_t> other_processes;
  std::vector<Bytes> contexts;   // of each time that it was opened
  std::optional<Bytes> context;  // the least of them; absent where it cannot be told, or is none
  Bytes granularity;             // as its driver says
  std::vector<SizeProbe> probes;
  Bytes block;        // that was read and copied
  Figure read, copy;  // bytes a second; n = 0 where it was not tried
  std::vector<std::string> remarks;
  bool is_disturbed = false;  // others moved memory meanwhile: nothing of it is kept
};

}  // namespace kvplan

#endif  // KVPLAN_CARD_MEASUREMENT_H_
