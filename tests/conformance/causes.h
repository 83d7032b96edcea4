// Known differences from the engines: testdata/conformance/causes.json, each cause with the cases and figures that it
// explains, why, and how many misses it has in each release. Numbers can be written anew; a cause is written by hand.
#ifndef KVPLAN_TESTS_CONFORMANCE_CAUSES_H_
#define KVPLAN_TESTS_CONFORMANCE_CAUSES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/figure.h"

namespace kvplan::conformance {

class Causes {
 public:
  Causes();  // those of the list
  explicit Causes(std::vector<Json> causes) : causes_(std::move(causes)) {}

  // The first cause that explains a miss; nullptr where none does.
  const Json* find(const Case& subject, const Figure& figure) const;
  const std::vector<Json>& all() const { return causes_; }

 private:
  std::vector<Json> causes_;
};

using Numbers = std::map<std::string, std::uint64_t>;  // misses by the name of a cause

// What the list says of a release.
Numbers listed_misses(const Causes& causes, const std::string& engine, const std::string& release);
// Writes the numbers of one release into the list; other processes may do so with theirs at the same time.
void write_misses(const std::string& engine, const std::string& release, const Numbers& misses);

// Another list of the same kind: how many figures of each sort there are, and how far off (counts.jsonl).
std::vector<Json> listed_counts(const std::string& engine, const std::string& release);
void write_counts(const std::string& engine, const std::string& release, const std::vector<Json>& counts);

bool updating();  // KVPLAN_UPDATE_GOLDEN=1

}  // namespace kvplan::conformance

#endif  // KVPLAN_TESTS_CONFORMANCE_CAUSES_H_
