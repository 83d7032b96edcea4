// The known names nearest to an unknown one, and the remedy of an error about it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

// "did you mean vllm?" if a known word is near, else "use one of vllm, ...". Among equally near words the first ones
// are named.
std::string nearest_remedy(std::string_view wrong, std::span<const std::string_view> known);
// The same, with words separated by spaces.
std::string nearest_remedy(std::string_view wrong, std::string_view known);
// The known words near enough to have been meant, nearest first.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> known);

// What a user may have meant by `spelling`. Several spellings may have the same name.
struct Candidate {
  std::string_view spelling;
  std::string_view name;
};

// The fewest insertions, deletions, replacements and swaps of neighbouring characters from `a` to `b`. Only letters and
// digits count, without case. Of long texts the first 64 characters are compared.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The names nearest to `wanted`, nearest first, each once; equally near ones in the order of `known`. A spelling that
// begins with `wanted`, or that `wanted` begins with, is near whatever its length.
std::vector<std::string_view> nearest_names(std::string_view wanted, std::span<const Candidate> known,
                                            std::size_t count = 3);

}  // namespace kvplan
