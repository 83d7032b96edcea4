#include "kvplan/note.h"

#include <utility>

#include "kvplan/strings.h"

namespace kvplan {

std::string_view name(Origin origin) {
  return nth_word(origin, "file alias class_default derived");
}

void inform(std::vector<Note>& notes, std::string_view code, Template message) {
  notes.push_back({NoteLevel::kInfo, std::string(code), std::move(message)});
}

void warn(std::vector<Note>& notes, std::string_view code, Template message) {
  notes.push_back({NoteLevel::kWarning, std::string(code), std::move(message)});
}

}  // namespace kvplan
