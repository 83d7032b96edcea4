// The misses of executed rows: each needs a row of src/engines/known_errors.cpp, and counts.jsonl has their numbers.
// The numbers can be regenerated; a known error is written by hand.
#pragma once

#include <string>
#include <vector>

#include "conformance/figure.h"
#include "engines/known_errors.h"

namespace kvplan::conformance {

// Returns the first known error that explains a miss, or nullptr.
bool explains(const KnownError& error, const Case& subject, const Figure& figure);
const KnownError* cause_of(const Case& subject, const Figure& figure);

// The number of figures of each kind, how far they are off, and how many misses each known error explains
// (counts.jsonl).
std::vector<Json> listed_counts(const std::string& engine, const std::string& release);
void write_counts(const std::string& engine, const std::string& release, const std::vector<Json>& counts);

bool updating();  // KVPLAN_UPDATE_GOLDEN=1

}  // namespace kvplan::conformance
