// The value of a key that a config leaves out. A file may omit what equals its class's default: nested text configs are
// saved as differences, and old files predate keys.
#include "models/class_defaults.h"

#include <algorithm>
#include <optional>
#include <string>

namespace kvplan {

constexpr std::string_view kColon = ": ";

static std::string_view type_of(std::string_view line) {
  return line.substr(0, line.find(kColon));
}

// "key=value key=value", values as JSON.
static std::optional<std::string_view> fields_of(std::string_view model_type) {
  const auto rows = class_default_lines().subspan(1);
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), model_type,
                       [](std::string_view line, std::string_view wanted) { return type_of(line) < wanted; });
  if (row == rows.end() || type_of(*row) != model_type) return std::nullopt;
  return row->substr(model_type.size() + kColon.size());
}

bool has_class(std::string_view model_type) {
  return fields_of(model_type).has_value();
}

Fields with_class(const Fields& fields, std::string_view model_type) {
  // A translated file (GGUF) gets no defaults: what it does not have is absent.
  return fields.with_defaults(model_type, fields.is_translated() ? "" : fields_of(model_type).value_or(""));
}

Fields with_class_as(const Fields& fields, std::string_view model_type, std::string_view another) {
  const std::string_view row = has_class(model_type) ? model_type : another;
  return fields.with_defaults(another, fields.is_translated() ? "" : fields_of(row).value_or(""));
}

Fields with_class_inside(const Fields& nested, std::string_view outer_type, std::string_view model_type) {
  std::string row = std::string(outer_type) + '/' + nested.path();
  if (row.ends_with('.')) row.pop_back();
  const auto own = fields_of((row += '/') += model_type);
  return own ? nested.with_defaults(model_type, *own) : with_class(nested, model_type);
}

}  // namespace kvplan
