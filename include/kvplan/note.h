// What the reader of a plan should know: assumptions, warnings, and differences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kvplan/template.h"

namespace kvplan {

enum class NoteLevel { kInfo, kWarning };

struct Note {
  NoteLevel level = NoteLevel::kInfo;
  std::string code;  // a stable code for programs: "assumed_architecture"
  Template message;  // one sentence
  bool operator==(const Note&) const = default;
};
void inform(std::vector<Note>& notes, std::string_view code, Template message);
void warn(std::vector<Note>& notes, std::string_view code, Template message);

// Where a value of the model came from.
enum class Origin { kFile, kAlias, kClassDefault, kDerived };
std::string_view name(Origin origin);

// One config value that the plan uses.
struct ConfigFact {
  std::string key;    // with its path: "text_config.head_dim"
  std::string value;  // as JSON text
  Origin origin = Origin::kFile;
};

}  // namespace kvplan
