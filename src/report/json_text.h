// A value of JSON as its own text, without spaces. An object is its members' texts joined: a report is written once and
// needs no tree of keys and values. laid_out() indents the whole.
#ifndef KVPLAN_REPORT_JSON_TEXT_H_
#define KVPLAN_REPORT_JSON_TEXT_H_

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

struct JsonMember;

class JsonText {
 public:
  JsonText(std::nullptr_t) : text_("null") {}
  JsonText(bool value) : text_(value ? "true" : "false") {}
  JsonText(std::integral auto value) : text_(std::to_string(value)) {}
  JsonText(double value);                 // null where it is not finite
  JsonText(std::string_view characters);  // broken UTF-8 (file names) is replaced, never thrown
  JsonText(const std::string& characters) : JsonText(std::string_view(characters)) {}
  JsonText(const char* characters) : JsonText(std::string_view(characters)) {}
  JsonText(const std::vector<std::string>& list);
  JsonText(std::initializer_list<JsonMember> members);  // an object

  static JsonText array();
  static JsonText object();
  // The value that `text` spells; the characters themselves where it spells none.
  static JsonText parsed(const std::string& text);

  void push_back(const JsonText& item);                   // of an array
  void add(std::string_view key, const JsonText& value);  // of an object; the key is new, and plain text
  bool is_null() const { return text_ == "null"; }
  bool is_empty() const { return text_ == "[]" || text_ == "{}"; }

  // A line for each value, two spaces for each level, and a line break at the end.
  std::string laid_out() const;

 private:
  void open_for_more();

  std::string text_;
};

struct JsonMember {
  std::string_view key;
  JsonText value;
};

}  // namespace kvplan

#endif  // KVPLAN_REPORT_JSON_TEXT_H_
