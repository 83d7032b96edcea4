#include "kvplan/note.h"

#include <utility>

namespace kvplan {

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::kFile: return "file";
    case Origin::kAlias: return "alias";
    case Origin::kClassDefault: return "class_default";
    case Origin::kDerived: return "derived";
  }
  return "";
}

void inform(std::vector<Note>& notes, std::string_view code, Template message) {
  notes.push_back({NoteLevel::kInfo, std::string(code), std::move(message)});
}

void warn(std::vector<Note>& notes, std::string_view code, Template message) {
  notes.push_back({NoteLevel::kWarning, std::string(code), std::move(message)});
}

}  // namespace kvplan
