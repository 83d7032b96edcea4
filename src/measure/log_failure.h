// Failures that no table knows: exceptions of Python in the words of their last line, and the advice in a message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

// A line without what loggers put before a message: process names, levels, times, places.
std::string_view message_of(std::string_view plain);

// "ValueError: no such file" as the last line of a traceback. The views point into the line.
struct RaisedError {
  std::string_view kind, reason;  // reason is empty if the line has only a type
};
// Below a traceback's frames any type counts, whatever its name.
std::optional<RaisedError> raised_error(std::string_view plain, bool is_in_traceback = false);

// Whether the line continues the message that the line before it began.
bool continues_message(std::string_view plain);

// The clauses of a message that say what to try, at most two.
std::vector<std::string> advice_in(std::string_view message);

// Whether the text has one of the words, which are separated by "|".
bool has_one_of(std::string_view text, std::string_view words);

}  // namespace kvplan
