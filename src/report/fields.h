// A field is one row of a table: its key, how its value is read from the answer, and what it means. JSON, the JSON
// Schema and CSV are all made from these rows, so they agree.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kvplan {

using Json = nlohmann::ordered_json;
// A line of CSV, as titles and texts.
using Cells = std::vector<std::pair<std::string_view, std::string>>;

// The other properties of a row.
struct Extra {
  bool is_column = false;  // it is a column of CSV
  bool is_json = true;
  std::string_view title;   // title of the column; empty: the key
  std::string_view limits;  // members of a JSON object that the schema has besides the type

  constexpr Extra limit(std::string_view members) const { return {is_column, is_json, title, members}; }
};
constexpr Extra limit(std::string_view members) {
  return Extra{}.limit(members);
}
constexpr std::string_view kFromZero = R"("minimum": 0)";
constexpr std::string_view kFromOne = R"("minimum": 1)";
constexpr Extra column(std::string_view title = "") {
  return {true, true, title, ""};
}
// A figure that is only in CSV, or, for a part, the columns that it has.
constexpr Extra csv_only() {
  return {true, false, "", ""};
}

// How a value of type T is written. fields_values.h defines it.
template <class T>
struct ValueOf;

// A row with a type-erased value.
struct AnyRow {
  std::string_view key, description;
  Extra extra;
  Json (*schema)(Json& definitions) = nullptr;
  Json (*json)(const void* whole) = nullptr;
  // Passes on the items of a list, one by one.
  void (*items)(const void* whole, const std::function<void(const Json&)>& take) = nullptr;
  void (*cells)(const void* whole, Cells& out) = nullptr;  // for a part with its own fields
};

template <class T>
struct Row : AnyRow {
  template <class Get>
  requires std::is_empty_v<Get> Row(std::string_view of_key, Get get, Extra beside) : Row(of_key, get, "", beside) {}
  // `Get` is at<&T::member>, or a stateless function object that takes a T.
  template <class Get>
  requires std::is_empty_v<Get> Row(std::string_view of_key, Get, std::string_view meaning = "", Extra beside = {})
      : AnyRow{of_key, meaning, beside, Value<Get>::schema, {}, {}, {}} {
    json = [](const void* whole) { return Value<Get>::json(Get()(*static_cast<const T*>(whole))); };
    if constexpr (Value<Get>::is_list)
      items = [](const void* whole, const std::function<void(const Json&)>& take) {
        Value<Get>::items(Get()(*static_cast<const T*>(whole)), take);
      };
    if constexpr (Value<Get>::has_fields)
      cells = [](const void* whole, Cells& out) {
        if (whole == nullptr) return Value<Get>::cells(nullptr, out);
        const auto& part = Get()(*static_cast<const T*>(whole));
        Value<Get>::cells(&part, out);
      };
  }

 private:
  template <class Get>
  using Value = ValueOf<std::remove_cvref_t<std::invoke_result_t<Get, const T&>>>;
};

enum class TableKind : std::uint8_t {
  kPart,
  kReport  // a whole report, which begins with its kind
};

class AnyTable {
 public:
  // A table with a name becomes a definition in the schema.
  AnyTable(std::string_view name, std::string_view description, std::vector<AnyRow> rows, TableKind kind)
      : name_(name), description_(description), rows_(std::move(rows)), kind_(kind) {}
  Json schema(Json& definitions) const;

 protected:
  Json json_of(const void* whole) const;
  std::string text_of(const void* whole) const;
  void cells_of(const void* whole, Cells& out) const;

 private:
  std::string_view name_, description_;
  std::vector<AnyRow> rows_;
  TableKind kind_;
};

template <class T>
class Table : public AnyTable {
 public:
  using Rows = std::vector<Row<T>>;
  Table(const Rows& rows) : Table("", "", rows) {}  // NOLINT: a list of rows is a table
  Table(std::string_view name, std::string_view description, const Rows& rows, TableKind kind = TableKind::kPart)
      : AnyTable(name, description, {rows.begin(), rows.end()}, kind) {}
  Json json(const T& whole) const { return json_of(&whole); }
  // The text of a report: indented by two spaces, with a line break at the end.
  std::string text(const T& whole) const { return text_of(&whole); }
  // Without a value, only the titles.
  void cells(const T* whole, Cells& out) const { cells_of(whole, out); }
};

// The table of a struct's fields: `template <> const Table<Gpu> Schema<Gpu>::table({{"name", at<&T::name>}, ...});`
template <class Whole>
struct Schema {
  using T = Whole;
  static const Table<T> table;
};

// An answer as JSON: the text of its table.
template <class T>
std::string json_of(const T& answer) {
  return Schema<T>::table.text(answer);
}

// The text of a cell; "" for null.
std::string cell_text(const Json& value);
// JSON text of values without a table.
std::string json_text(const Json& json);
// The columns of the list in its order, then all others.
std::string csv_text(std::string_view order, const Cells& titles, const std::vector<Cells>& lines);

}  // namespace kvplan
