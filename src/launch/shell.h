// Simple commands in what people paste: shell lines, scripts, prompts, PowerShell. Nothing is run, and no file is read.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvplan {

struct ShellWord {
  std::string text;
  std::vector<std::string> unset;  // variables that the text does not assign; `text` has them as written
};

using Assignments = std::vector<std::pair<std::string, std::string>>;

struct ShellCommand {
  Assignments own;           // in front of it
  std::size_t exported = 0;  // how many of the text's assignments apply to it
  std::vector<ShellWord> words;
};

struct ShellText {
  Assignments environment;  // what the text assigned, in its order
  std::vector<ShellCommand> commands;
};

// Comments, quotes, continuations, pipes and redirections are read as a shell reads them. `$NAME` has the value that
// the text assigned, and `$(...)` stays as it is. Two things differ: a line that begins with an option continues the
// command before it, and a backslash before a letter or a digit stays, as in a Windows path. Throws Error beyond 10,000
// words or 1 MiB of values.
ShellText read_shell(std::string_view text);

}  // namespace kvplan
