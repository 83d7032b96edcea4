// Helpers for pages: units, counts, widths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvplan/quantity.h"

namespace kvplan {

std::string gib(Bytes bytes);                   // "2.14 GiB", always GiB
std::string gib_number(Bytes bytes);            // "2.14"
std::string human_bytes(Bytes bytes);           // "70,272 B", "68.6 KiB", "1.50 GiB": in the unit that reads best
std::string grouped(std::uint64_t n);           // "163,840"
std::string tokens_text(std::uint64_t tokens);  // "32k" for whole multiples of 1024, else grouped

std::string plural(std::uint64_t n, std::string_view word);  // "1 layer", "61 layers"

// The text; "-" if it is empty.
std::string or_dash(std::string_view text);
// The last `width` characters after "...", if there are more.
std::string end_of(std::string_view text, std::size_t width);

// The bytes of the first `count` characters.
std::size_t first_characters(std::string_view text, std::size_t count);
// The width of a text on a terminal (in code points).
std::size_t text_width(std::string_view text);

// A word quoted for a shell.
std::string shell_word(const std::string& word);

}  // namespace kvplan
