// Values as people type them: 32k tokens, 24GiB, 0.9, one of several words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

// A positive whole number, with k, m or g for powers of 1024 ("32k", "128K", "1M"). Throws Error that names `option`.
std::uint64_t parse_count(std::string_view text, std::string_view option);
// 0 to 1,023, which is vLLM's own limit.
std::uint64_t parse_redundant_experts(std::string_view text, std::string_view option);
Tokens parse_tokens(std::string_view text, std::string_view option);
// Bytes: "24GiB", "24G", "512MiB", "80GB" (10^9), "1.5GiB", or a bare number of bytes, 2^20 or more.
Bytes parse_size(std::string_view text, std::string_view option);
// The same, and "0" in any unit.
Bytes parse_size_or_none(std::string_view text, std::string_view option);
// "5%"; not negative.
double parse_percent(std::string_view text, std::string_view option);
// GB/s or TFLOPS: 0.01 to 1,000,000.
double parse_rate(std::string_view text, std::string_view option);
// Bytes; a bare number counts GiB, as in vLLM's options. 0 is allowed.
Bytes parse_gib(std::string_view text, std::string_view option);
// A fraction in (0, 1].
double parse_share(std::string_view text, std::string_view option);

// The value of one of the words. Throws Error that lists them.
template <class Value>
Value chosen(std::string_view value, std::string_view name,
             std::initializer_list<std::pair<std::string_view, Value>> choices) {
  std::string words;
  for (const auto& [word, chosen_value] : choices) {
    if (word == value) return chosen_value;
    words += (words.empty() ? "" : word == std::prev(choices.end())->first ? " or " : ", ") + std::string(word);
  }
  fail(std::string(name) + ": \"" + one_line(value, 40) + "\" is not " + words, "see kvplan --help");
}

}  // namespace kvplan
