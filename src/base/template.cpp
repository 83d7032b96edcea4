#include "kvplan/template.h"

#include <algorithm>
#include <cstdio>

#include "kvplan/quantity.h"

namespace kvplan {

static std::string text_of(const NamedValue& value, std::string_view form) {
  if (const auto* number = std::get_if<std::uint64_t>(&value.value)) {
    if (form.empty()) return std::to_string(*number);
    if (form == "GiB") return format_gib(Bytes(*number));
    if (form == "size") return format_bytes(Bytes(*number));
    return form == "size_up" ? format_bytes_up(Bytes(*number)) : counted(*number, form);
  }
  if (const auto* words = std::get_if<std::string>(&value.value)) return *words;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", std::get<double>(value.value));
  return text;
}

static void append(std::string& out, const Template::Part& part) {
  std::string_view rest = part.text;
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    out += rest.substr(0, open);
    if (open == std::string_view::npos) return;
    const std::size_t close = rest.find('}', open);
    const std::string_view field = rest.substr(open + 1, close - open - 1);
    rest.remove_prefix(close == std::string_view::npos ? rest.size() : close + 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    const auto known = std::find_if(part.values.begin(), part.values.end(),
                                    [&](const NamedValue& v) { return v.name == field.substr(0, colon); });
    if (known != part.values.end())
      out += text_of(*known, colon < field.size() ? field.substr(colon + 1) : std::string_view());
    else
      out += field;
  }
}

Template::Template(const char* constant, std::initializer_list<NamedValue> values)
    : parts_(std::make_shared<const std::vector<Part>>(1, Part{constant, values})) {}

Template& Template::operator+=(const Template& more) {
  if (more.empty()) return *this;
  if (empty()) return *this = more;
  std::vector<Part> all = *parts_;
  all.insert(all.end(), more.parts_->begin(), more.parts_->end());
  parts_ = std::make_shared<const std::vector<Part>>(std::move(all));
  return *this;
}

bool operator==(const Template& a, const Template& b) {
  if (a.parts_ == b.parts_) return true;
  const auto of_a = a.parts();
  const auto of_b = b.parts();
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end());
}

std::string in_words(const Template& text) {
  std::string out;
  for (const Template::Part& part : text.parts()) append(out, part);
  return out;
}

}  // namespace kvplan
