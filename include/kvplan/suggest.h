// "Did you mean": the known names nearest to one that is not known.
#ifndef KVPLAN_SUGGEST_H_
#define KVPLAN_SUGGEST_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace kvplan {

// What a user may have meant by `spelling`; several spellings may stand for one name.
struct Candidate {
  std::string_view spelling;
  std::string_view name;
};

// The fewest insertions, deletions, replacements and swaps of neighbours from `a` to `b`. Letters and digits alone
// count, case does not. Long texts are compared by their first 64 characters.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The names nearest to `wanted`, nearest first, each once; among equals the order of `known`. A spelling that begins
// with `wanted`, or the other way round, is near whatever its length.
std::vector<std::string_view> nearest_names(std::string_view wanted, std::span<const Candidate> known,
                                            std::size_t count = 3);

}  // namespace kvplan

#endif  // KVPLAN_SUGGEST_H_
