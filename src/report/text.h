// Small tools of the text forms: units, columns, colour.
#ifndef KVPLAN_REPORT_TEXT_H_
#define KVPLAN_REPORT_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

std::string gib(Bytes bytes);                   // "2.14 GiB", always GiB
std::string gib_number(Bytes bytes);            // "2.14"
std::string human_bytes(Bytes bytes);           // "70,272 B", "68.6 KiB", "1.50 GiB": what reads best
std::string grouped(std::uint64_t n);           // "163,840"
std::string tokens_text(std::uint64_t tokens);  // "32k" where it is a whole number of 1024, else grouped

std::string plural(std::uint64_t n, std::string_view word);  // "1 layer", "61 layers"

enum class Tint { kNone, kBold, kDim, kRed, kGreen, kYellow, kBlue, kMagenta };
std::string tinted(std::string_view text, Tint tint, bool color);

// Rows of cells as aligned columns, two spaces apart. Columns whose bit is set in `right` align right. Cells hold
// plain UTF-8 without colour.
std::string columns(const std::vector<std::vector<std::string>>& rows, std::uint64_t right,
                    std::string_view indent = "  ");

// The same in `width` characters: columns go, in the order of `drop`, until the rows fit or no more may go.
std::string columns_within(std::vector<std::vector<std::string>> rows, std::uint64_t right, std::string_view indent,
                           std::size_t width, const std::vector<std::size_t>& drop);

// Lines of at most `width` characters, broken between words; all but the first begin with two spaces.
std::string wrapped(std::string_view text, std::size_t width);
// The last `width` characters with "..." before them, where there are more.
std::string end_of(std::string_view text, std::size_t width);

// How wide a text is on a terminal (counts code points).
std::size_t text_width(std::string_view text);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_TEXT_H_
