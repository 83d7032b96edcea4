#include "report/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kvplan {

namespace {

using Tree = nlohmann::json;

bool is_plain(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

bool is_mark(char c) {
  return c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':' || c == '"';
}

// What is not plain text is left to the library, which knows escapes, UTF-8 and the shortest spelling of a number.
std::string spelled(const Tree& value) {
  return value.dump(-1, ' ', false, Tree::error_handler_t::replace);
}

void append_string(std::string& out, std::string_view characters) {
  if (std::all_of(characters.begin(), characters.end(), is_plain))
    ((out += '"') += characters) += '"';
  else
    out += spelled(Tree(std::string(characters)));
}

// Whether the text is JSON as it stands: a whole number, a word of JSON, or a plain string.
bool is_spelled(std::string_view text) {
  if (text == "true" || text == "false" || text == "null" || text == "0") return true;
  if (text.empty() || text.size() > 18) return false;
  return text[0] != '0' && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"' &&
         std::all_of(text.begin() + 1, text.end() - 1, is_plain);
}

}  // namespace

JsonText::JsonText(double value) : text_(spelled(Tree(value))) {}

JsonText::JsonText(std::string_view characters) {
  append_string(text_, characters);
}

JsonText::JsonText(const std::vector<std::string>& list) : text_("[]") {
  for (const std::string& item : list) push_back(item);
}

JsonText::JsonText(std::initializer_list<JsonMember> members) {
  std::size_t size = 2;
  for (const JsonMember& member : members) size += member.key.size() + member.value.text_.size() + 4;
  text_.reserve(size);
  text_ = "{}";
  for (const JsonMember& member : members) add(member.key, member.value);
}

JsonText JsonText::array() {
  JsonText out(nullptr);
  out.text_ = "[]";
  return out;
}

JsonText JsonText::object() {
  return std::initializer_list<JsonMember>{};
}

JsonText JsonText::parsed(const std::string& text) {
  JsonText out(nullptr);
  if (is_spelled(text) || is_quoted(text)) {
    out.text_ = text;
    return out;
  }
  const auto value = Tree::parse(text, nullptr, false);
  if (value.is_discarded()) return text;
  out.text_ = spelled(value);
  return out;
}

// Takes the closing bracket away; the caller puts it back.
void JsonText::open_for_more() {
  if (is_empty())
    text_.pop_back();
  else
    text_.back() = ',';
}

void JsonText::push_back(const JsonText& item) {
  open_for_more();
  (text_ += item.text_) += ']';
}

void JsonText::add(std::string_view key, const JsonText& value) {
  open_for_more();
  ((text_ += '"') += key) += "\":";
  (text_ += value.text_) += '}';
}

std::string JsonText::laid_out() const {
  std::string out;
  out.reserve(text_.size() * 2);
  std::size_t depth = 0;
  const auto new_line = [&] { out.append(1, '\n').append(2 * depth, ' '); };
  for (std::size_t i = 0; i < text_.size();) {
    // A string, or a number or word, as it stands.
    std::size_t end = i;
    if (text_[i] == '"') {
      for (++end; text_[end] != '"';) end += text_[end] == '\\' ? 2U : 1U;
      ++end;
    } else {
      while (end < text_.size() && !is_mark(text_[end])) ++end;
    }
    out.append(text_, i, end - i);
    if ((i = end) == text_.size()) break;
    if (text_[i] == '"') continue;
    const char mark = text_[i++];
    const bool closes = mark == '}' || mark == ']';
    const bool opens = mark == '{' || mark == '[';
    if (closes) {
      --depth;
      new_line();
    }
    out += mark;
    if (mark == ':') out += ' ';
    if (opens && (text_[i] == '}' || text_[i] == ']')) {
      out += text_[i++];
    } else if (opens) {
      ++depth;
      new_line();
    } else if (mark == ',') {
      new_line();
    }
  }
  return out += '\n';
}

}  // namespace kvplan
